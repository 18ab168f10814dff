"""Several classes after further passes, merges and partitions, beside statsmodels' MNLogit."""

import numpy as np
import pandas as pd
import pytest
import statsmodels.api as sm
from compare import assert_close
from partitions import ListRows, cut
from scipy.special import softmax
from sklearn.datasets import load_iris

import kalmia
from kalmia import LogisticRegression
from kalmia._declaration import declaration
from kalmia.cluster._fit import fit
from kalmia.errors import InputError, KalmiaError, StateError

LABELS = np.array(["pear", "fig", "apple", "kiwi"])


def softmax_rows(seed, rows, classes=4, features=3):
    """Rows of a true softmax."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(rows, features))
    theta = rng.normal(size=(classes, features + 1))
    linear = theta[:, 0] + X @ theta[:, 1:].T
    return X, np.argmax(linear + rng.gumbel(size=linear.shape), axis=1)


def batch(X, y, **weights):
    return sm.MNLogit(y, sm.add_constant(X), **weights).fit(disp=False, tol=1e-12, maxiter=100)


def theta(model):
    """The coefficients of all classes but the first, the intercept first."""
    return np.column_stack([model.intercept_, model.coef_])[1:]


def test_flat_is_the_multinomial_fit_of_statsmodels():
    X, y = softmax_rows(1, 3000)
    expected = batch(X, y)
    model = LogisticRegression().fit(X, y).polish(X, y, prior="flat", robust=True)
    errors = expected.bse.T
    assert (np.abs(theta(model) - expected.params.T) < 1e-4 * errors).all()
    assert_close(model.std_err_[1:], errors, rtol=1e-6)
    assert (model.std_err_[0] == 0).all()
    # statsmodels orders by class, then by feature, as the summary does
    covariance = model.summary().cov_params()
    assert_close(covariance.to_numpy(), np.asarray(expected.cov_params()), rtol=1e-5, atol=1e-9)
    assert list(covariance.index[:2]) == ["1: (intercept)", "1: x0"]
    assert_close(model.covariance_[2], covariance.to_numpy()[4:8, 4:8], rtol=1e-12)
    assert_close(model.polish_["deviance"], -2.0 * expected.llf, rtol=1e-9)
    # in a true model the sandwich is near the information
    robust = model.polish_["robust_std_err"]
    assert robust.shape == (4, 4) and (robust[0] == 0).all()
    assert_close(robust[1:], errors, rtol=0.15)
    sandwich = sm.MNLogit(y, sm.add_constant(X)).fit(disp=False, tol=1e-12, cov_type="HC0")
    assert_close(robust[1:], sandwich.bse.T, rtol=1e-3)


def test_weights_are_rows():
    X, y = softmax_rows(2, 600)
    weight = np.random.default_rng(3).integers(0, 4, len(y))
    weighted = LogisticRegression().fit(X, y, sample_weight=weight)
    weighted.polish(X, y, sample_weight=weight, prior="flat")
    expected = batch(np.repeat(X, weight, axis=0), np.repeat(y, weight))
    assert (np.abs(theta(weighted) - expected.params.T) < 1e-4 * expected.bse.T).all()
    # the last step, of at most 1e-4 standard errors, is taken after the information is summed
    assert_close(weighted.std_err_[1:], expected.bse.T, rtol=1e-4)


def test_a_polished_model_moves_no_more_and_goes_on(tmp_path):
    X, y = load_iris(return_X_y=True)
    model = LogisticRegression(random_state=1).fit(X, y)
    model.polish(X, y)
    first, errors = theta(model), model.std_err_
    assert model.polish_["max"] <= 1e-4
    chances = model.predict_proba(X)
    # a polished model predicts at the mode, averaged over 2 % of the variance
    at_the_mode = softmax(model.intercept_ + X @ model.coef_.T, axis=1)
    assert np.abs(chances - at_the_mode).max() < 0.05
    model.polish(X, y)
    assert model.polish_["passes"] == 1
    assert_close(theta(model), first, rtol=1e-4)
    model.save(tmp_path / "m.kalmia")
    again = kalmia.load(tmp_path / "m.kalmia")
    assert_close(again.std_err_, model.std_err_, rtol=1e-12)
    assert_close(again.std_err_, errors, rtol=1e-3)
    assert_close(again.predict_proba(X), model.predict_proba(X), rtol=1e-12)
    # the second polish moved up to 0.0001 standard errors
    assert_close(again.predict_proba(X), chances, rtol=1e-4)
    # draws have the joint covariance
    draws = again.sample_coefficients(4000, random_state=2)
    spread = (draws[:, 2] - draws[:, 0]).std(axis=0)
    assert_close(spread, model.std_err_[2], rtol=0.1)
    again.partial_fit(X, y)
    assert again.n_samples_seen_ == 300


def test_two_classes_of_the_command_are_polished_and_learned(tmp_path):
    """A file may have two classes that are learned jointly."""
    X, y = softmax_rows(9, 800, classes=2)
    rows = pd.DataFrame(X, columns=["a", "b", "c"]).assign(y=LABELS[y])
    model = fitted([rows], 0, family="categorical")
    assert list(model.classes_) == ["fig", "pear"]
    model.partial_fit(rows[["a", "b", "c"]], rows["y"])
    found = model.predict(rows[["a", "b", "c"]])
    probable = model.classes_[model.predict_proba(rows[["a", "b", "c"]]).argmax(axis=1)]
    assert (found == probable).all()
    assert (found == rows["y"]).mean() > 0.6
    model.polish(rows[["a", "b", "c"]], rows["y"], prior="flat")
    # the classes are sorted by name, so that fig (1) is the reference
    expected = sm.Logit(y == 0, sm.add_constant(X)).fit(disp=False)
    assert (np.abs(theta(model)[0] - expected.params) < 1e-4 * expected.bse).all()
    assert_close(model.std_err_[1], expected.bse, rtol=1e-5)


def test_a_refused_polish_changes_nothing():
    X, y = softmax_rows(4, 300)
    model = LogisticRegression().fit(X, y)
    before = theta(model)
    for bad in (
        lambda: model.polish(X, np.where(y == 1, 9, y)),
        lambda: model.polish(np.where(X > 2.0, np.nan, X), y),
        lambda: model.polish(X, y, offset=np.ones(len(y))),
        lambda: model.polish(X, y, prior="wide"),
        lambda: model.polish(X, y, passes=0),
    ):
        with pytest.raises((KalmiaError, ValueError)):
            bad()
    assert (theta(model) == before).all() and not hasattr(model, "polish_")
    # labels that a plane separates have no maximum
    apart = np.arange(90.0)[:, None]
    separated = LogisticRegression().fit(apart, np.arange(90) // 30)
    with pytest.raises(KalmiaError, match=r"`\d: .*separates"):
        separated.polish(apart, np.arange(90) // 30, prior="flat")
    separated.polish(apart, np.arange(90) // 30)


def test_halves_merge_and_polish_to_the_whole(tmp_path):
    X, codes = softmax_rows(5, 4000)
    y = LABELS[codes]
    halves = [slice(0, 2000), slice(2000, 4000)]
    parts = [LogisticRegression(shuffle=False).fit(X[half], y[half]) for half in halves]
    merged = parts[0].merge(parts[1])
    assert merged.merged_exactly_ is False and merged.n_samples_seen_ == 4000
    other = parts[1].merge(parts[0])
    assert_close(merged.predict_proba(X), other.predict_proba(X), rtol=1e-9)
    losses = [part.progressive_loss_ for part in parts]
    assert_close(merged.progressive_loss_, np.mean(losses), rtol=1e-12)
    whole = LogisticRegression(shuffle=False).fit(X, y)
    errors = whole.std_err_[1:]
    assert (np.abs(theta(merged) - theta(whole)) < 1.0 * errors).all()
    for model in (merged, whole):
        model.polish(X, y, prior="flat")
    assert (np.abs(theta(merged) - theta(whole)) < 1e-3 * errors).all()
    merged.save(tmp_path / "merged.kalmia")
    loaded = kalmia.load(tmp_path / "merged.kalmia")
    assert list(loaded.classes_) == sorted(LABELS)
    assert_close(loaded.predict_proba(X), merged.predict_proba(X), rtol=1e-12)


def test_a_short_part_merges_exactly():
    X, y = softmax_rows(6, 1000)
    long = LogisticRegression(shuffle=False).partial_fit(X[:900], y[:900], classes=range(4))
    short = LogisticRegression(shuffle=False).partial_fit(X[900:], y[900:], classes=range(4))
    whole = LogisticRegression(shuffle=False).partial_fit(X, y, classes=range(4))
    merged = long.merge(short)
    assert merged.merged_exactly_ is True
    assert_close(merged.predict_proba(X), whole.predict_proba(X), rtol=1e-9)


def test_what_cannot_be_merged_is_named():
    X, y = softmax_rows(7, 400)
    model = LogisticRegression().fit(X, y)
    with pytest.raises(InputError, match="one has the classes"):
        model.merge(LogisticRegression().fit(X, y % 3))
    with pytest.raises(InputError, match="drift is"):
        model.merge(LogisticRegression(drift="off").fit(X, y))
    adapting = [LogisticRegression(drift="adapt").fit(X, y) for _ in range(2)]
    with pytest.raises(StateError, match="follow a drift"):
        adapting[0].merge(adapting[1])


def table(count, seed=8):
    """A table of classes by numbers and a category. The last class and color come late."""
    X, codes = softmax_rows(seed, count)
    rng = np.random.default_rng(seed)
    late = np.arange(count) >= count // 2
    color = np.where(late, rng.choice(["red", "blue", "green"], count), "red")
    color = np.where(~late, rng.choice(["red", "blue"], count), color)
    codes = np.where(~late & (codes == 3), rng.integers(0, 3, count), codes)
    made = pd.DataFrame(X, columns=["a", "b", "c"])
    return made.assign(color=color, y=LABELS[codes])


def fitted(tables, passes=None, family=None, **options):
    engine = ListRows(tables)
    chosen = {"robust": False, "prior": "fitted", "sample": None} | options
    return fit(engine, declaration("y", family=family), passes=passes, **chosen)


def test_partitions_of_classes_are_one_fit():
    rows = table(4000)
    # one sample, so that all fits have the same baseline color
    sample = rows[::5]
    one = fitted([rows], 9, prior="flat", robust=True, sample=sample)
    assert list(one.classes_) == sorted(LABELS) and one.cluster_.rows == 4000
    names = dict(zip(one.coef_names_, range(len(one.coef_names_)), strict=True))
    for parts in (3, 20):
        model = fitted(cut(rows, parts), 9, prior="flat", robust=True, sample=sample)
        assert model.cluster_.shards == parts and list(model.classes_) == sorted(LABELS)
        order = [names[name] for name in model.coef_names_]
        errors = model.std_err_[1:, 1:]
        assert (np.abs(model.coef_ - one.coef_[:, order])[1:] < 1e-3 * errors).all()
        assert_close(errors, one.std_err_[1:, 1:][:, order], rtol=1e-3)
        found = model.cluster_.robust_std_err
        assert found.shape == (4, 6)
        expected = one.cluster_.robust_std_err[:, [0, *(1 + j for j in order)]]
        assert_close(found, expected, rtol=1e-3)
        assert_close(model.predict_proba(rows), one.predict_proba(rows), rtol=1e-3)
    # by default few passes are enough
    default = fitted(cut(rows, 20))
    assert default.cluster_.moved["rms"] <= 0.3 and default.cluster_.passes >= 1
    merged = fitted(cut(rows, 20), 0)
    assert merged.cluster_.passes == 0 and merged.cluster_.heterogeneity["degrees"] == 0


def test_equal_partitions_give_equal_bytes(tmp_path):
    rows = table(1500)
    for name in ("a", "b"):
        fitted(cut(rows, 5), 1).save(tmp_path / name)
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()
