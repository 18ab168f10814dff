"""What `fit` does with the order, the weights and the dispersion of its rows."""

import warnings

import numpy as np
import pytest
import scipy.sparse
import statsmodels.api as sm
from compare import assert_close, assert_same
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer, load_diabetes, load_digits, load_iris
from sklearn.linear_model import LogisticRegression as BatchLogistic
from sklearn.model_selection import cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from statsmodels.datasets import fair

import kalmia
from kalmia import (
    GammaRegression,
    InputError,
    LinearRegression,
    LogisticRegression,
    PoissonRegression,
)


@pytest.mark.parametrize("load", [load_iris, load_digits])
def test_rows_sorted_by_label_are_learned_as_well_as_by_a_batch_fit(load):
    X, y = load(return_X_y=True)
    X, y = X[np.argsort(y, kind="stable")], np.sort(y)
    batch = make_pipeline(StandardScaler(), BatchLogistic(max_iter=1000))
    expected = cross_val_score(batch, X, y).mean()
    # one pass depends on the order: from one random order to the next the score moves by 1 %
    orders = range(8 if load is load_iris else 2)
    models = [LogisticRegression(drift="off", random_state=seed) for seed in orders]
    found = np.mean([cross_val_score(model, X, y).mean() for model in models])
    assert found > expected - 0.01


def test_the_order_of_the_rows_hardly_matters_and_the_loss_is_that_of_new_rows():
    data = fair.load_pandas().data
    X = data[["rate_marriage", "age", "yrs_married", "religious"]].to_numpy()
    y = (data["affairs"] > 0).to_numpy()
    assert (np.diff(y.astype(int)) != 0).sum() == 1
    model = LogisticRegression().fit(X, y)
    batch = sm.GLM(y, sm.add_constant(X), family=sm.families.Binomial()).fit()
    theta = np.r_[model.intercept_, model.coef_[0]]
    assert (np.abs(theta - batch.params) < 0.5 * batch.bse).all()
    assert model.progressive_loss_ == pytest.approx(0.5 * batch.deviance / len(y), rel=0.01)


def test_fit_shuffles_by_its_seed_and_partial_fit_does_not():
    X, y = load_breast_cancer(return_X_y=True)
    model = LogisticRegression()
    first = model.fit(X, y).coef_
    assert_same(first, clone(model).fit(X, y).coef_)
    assert_same(first, LogisticRegression(random_state=0).fit(X, y).coef_)
    other = LogisticRegression(random_state=1).fit(X, y).coef_
    in_order = LogisticRegression(shuffle=False).fit(X, y).coef_
    assert (first != other).any() and (first != in_order).any()
    assert_same(in_order, LogisticRegression().partial_fit(X, y).coef_)
    # rows that follow each other may drift, so `adapt` keeps their order by default
    adapted = LogisticRegression(drift="adapt").fit(X, y).coef_
    assert_same(adapted, LogisticRegression(drift="adapt", shuffle=False).fit(X, y).coef_)
    assert (adapted != LogisticRegression(drift="adapt", shuffle=True).fit(X, y).coef_).any()


@pytest.mark.parametrize("kind", ["C", "F", "sparse", "int", "offset and weight"])
def test_an_order_is_the_same_as_rearranged_rows(kind):
    rng = np.random.default_rng(5)
    X = rng.integers(-3, 4, size=(700, 6)).astype(float)
    y = X @ rng.normal(size=6) + rng.normal(size=700)
    order = np.random.default_rng(0).permutation(700)
    given = {}
    if kind == "offset and weight":
        given = {"offset": rng.normal(size=700), "sample_weight": rng.uniform(0.5, 2.0, 700)}
    arranged = {name: values[order] for name, values in given.items()}
    expected = LinearRegression(shuffle=False).fit(X[order], y[order], **arranged)
    table = {
        "F": np.asfortranarray(X),
        "sparse": scipy.sparse.csr_matrix(X),
        "int": X.astype(np.int32),
    }.get(kind, X)
    model = LinearRegression().fit(table, y, **given)
    assert_same(model.coef_, expected.coef_)
    assert_same(model.covariance_, expected.covariance_)
    assert model.progressive_ == expected.progressive_


def test_a_refused_row_is_named_by_its_place_in_the_table():
    X = np.random.default_rng(2).normal(size=(3000, 40))
    y = np.ones(3000)
    y[1234] = -1.0
    for table in (X, scipy.sparse.csr_matrix(X)):
        with pytest.raises(InputError, match="row 1234: target -1"):
            PoissonRegression().fit(table, y)
    X[77, 3] = 1e200
    with pytest.raises(InputError, match="row 77, feature 3 is 1e200"):
        LinearRegression().fit(X, y)
    learner = kalmia.Filter(1, "gaussian")
    for order in ([0, 0], [0, 2], [0], [-1, 0]):
        with pytest.raises((InputError, OverflowError)):
            learner.learn_many([[1.0], [2.0]], [1.0, 2.0], order=order)
    means = learner.learn_many(np.array([[1.0], [2.0]]), [1.0, 2.0], order=[1, 0])
    assert means[1] == 0.0 and means[0] != 0.0


def sorted_rows():
    rng = np.random.default_rng(3)
    X = rng.normal(size=(300, 2))
    y = X @ [1.0, 2.0] + rng.normal(size=300)
    order = np.argsort(y)
    return X[order], y[order]


def test_sorted_rows_are_warned_of_once_and_only_in_their_own_order():
    X, y = sorted_rows()
    for model, target in [
        (LinearRegression(shuffle=False), y),
        (LogisticRegression(shuffle=False), y > 0),
        (LogisticRegression(shuffle=False), np.digitize(y, [-1.0, 1.0])),
        (PoissonRegression("moment", shuffle=False), np.floor(np.exp(0.3 * y))),
    ]:
        with pytest.warns(UserWarning, match="sorted by the target.*shuffle=True"):
            model.fit(X, target)
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            model.partial_fit(X, target)
            clone(model).set_params(shuffle=True).fit(X, target)
    with pytest.warns(UserWarning, match="sorted by the target"):
        LinearRegression().partial_fit(X, y)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        X, y = load_diabetes(return_X_y=True)
        LinearRegression(shuffle=False).fit(X, y)
        LogisticRegression().partial_fit(X, y > 140)
        # a random walk is a time series
        walk = np.cumsum(np.random.default_rng(0).normal(size=len(y)))
        LinearRegression().partial_fit(X, walk)


@pytest.mark.parametrize("factor", [1e-4, 1.0, 1e5])
def test_precision_weights_are_those_of_weighted_least_squares(factor):
    rng = np.random.default_rng(4)
    X = rng.normal(size=(2000, 3))
    weight = rng.uniform(0.2, 5.0, 2000)
    y = 1.0 + X @ [1.0, -2.0, 0.5] + rng.normal(size=2000) / np.sqrt(weight)
    A = sm.add_constant(X)
    inverse = np.linalg.inv(A.T @ (weight[:, None] * A))
    theta = inverse @ A.T @ (weight * y)
    scale = (weight * (y - A @ theta) ** 2).sum() / (2000 - 4)
    errors = np.sqrt(scale * np.diag(inverse))
    batch = sm.WLS(y, A, weights=weight).fit()
    assert_close(errors, batch.bse, rtol=1e-9)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = LinearRegression(weights="precision").fit(X, y, sample_weight=factor * weight)
        parts = LinearRegression(weights="precision")
        for i in range(0, 2000, 150):
            part = slice(i, i + 150)
            parts.partial_fit(X[part], y[part], sample_weight=factor * weight[part])
    for found, near in [(model, 0.05), (parts, 0.3)]:
        off = np.abs(np.r_[found.intercept_, found.coef_] - theta) / errors
        assert off.max() < near, off
        assert_close(found.std_err_, errors, rtol=0.03)
    # the scale of the weights is that of their mean
    assert model.dispersion_ == pytest.approx(scale / weight.mean(), rel=0.03)


def test_precision_weights_go_through_pickles_and_files(tmp_path):
    rng = np.random.default_rng(6)
    X, y, w = rng.normal(size=(200, 2)), rng.normal(size=200), rng.uniform(100.0, 200.0, 200)
    model = LinearRegression(weights="precision").fit(X, y, sample_weight=w)
    model.save(tmp_path / "m.kalmia")
    again = kalmia.load(tmp_path / "m.kalmia")
    assert again.weights == "precision"
    for one in (model, again):
        one.partial_fit(X, y, sample_weight=w)
    assert_same(again.covariance_, model.covariance_)
    assert model.learners_[0].mean_weight == pytest.approx(w.mean())
    # about 400 rows, not 60 000
    plain = LinearRegression().fit(np.r_[X, X], np.r_[y, y])
    assert_close(model.std_err_, plain.std_err_, rtol=0.1)


def test_frequency_weights_count_rows_and_unusual_ones_are_warned_of():
    rng = np.random.default_rng(7)
    X, w = rng.normal(size=(500, 2)), rng.integers(1, 4, 500).astype(float)
    y = X @ [1.0, -1.0] + rng.normal(size=500)
    repeated = np.repeat(np.arange(500), w.astype(int))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        weighted = LinearRegression().fit(X, y, sample_weight=w)
    rows = LinearRegression().fit(X[repeated], y[repeated])
    assert_close(weighted.std_err_, rows.std_err_, rtol=0.02)
    for bad in (w / w.sum(), 1e3 * w):
        with pytest.warns(UserWarning, match='mean of sample_weight is .*weights="precision"'):
            LinearRegression().fit(X, y, sample_weight=bad)
    # recent versions of scikit-learn refuse such weights themselves
    with pytest.raises(ValueError, match="every sample_weight is 0|at least one non-zero"):
        LinearRegression().fit(X, y, sample_weight=np.zeros(500))
    with pytest.raises(ValueError, match="every sample_weight is 0|at least one non-zero"):
        LogisticRegression().fit(X, y > 0, sample_weight=np.zeros(500))


def test_rates_with_exposure_are_counts_with_an_offset():
    rng = np.random.default_rng(8)
    X, exposure = rng.normal(size=(3000, 2)), rng.uniform(0.5, 8.0, 3000)
    counts = rng.poisson(exposure * np.exp(0.3 + X @ [0.5, -0.2]))
    by_offset = PoissonRegression().fit(X, counts, offset=np.log(exposure))
    by_rate = PoissonRegression().fit(X, counts / exposure, sample_weight=exposure)
    off = np.abs(by_rate.coef_ - by_offset.coef_) / by_offset.std_err_[1:]
    assert off.max() < 0.3, off
    assert_close(by_rate.std_err_, by_offset.std_err_, rtol=0.1)
    half = by_rate.progressive_["last_half"]
    assert half["pearson_dispersion"] == pytest.approx(1.0, abs=0.15)
    assert 0.9 < half["coverage"] <= 1.0


def test_the_first_row_costs_neither_predictor_and_the_last_half_is_shown():
    rng = np.random.default_rng(9)
    X = rng.normal(size=(1000, 1))
    y = 300.0 + 2.0 * X[:, 0] + 0.5 * rng.normal(size=1000)
    model = LinearRegression("ekf", prior_variance=1e6, noise_variance=0.25)
    means = model.partial_fit_predict(X, y)
    found = model.progressive_
    before = np.cumsum(y)[:-1] / np.arange(1, 1000)
    assert found["constant_loss"] == pytest.approx(0.5 * ((y[1:] - before) ** 2).mean())
    assert found["loss"] == pytest.approx(0.5 * ((y[1:] - means[1:]) ** 2).mean())
    half = found["last_half"]
    start = half["first_row"] - 1
    assert half["last_row"] == 1000 and 400 < start <= 500
    assert half["loss"] == pytest.approx(0.5 * ((y[start:] - means[start:]) ** 2).mean(), rel=1e-9)
    assert half["pearson_dispersion"] == pytest.approx(2.0 * half["loss"], rel=1e-9)
    assert half["loss"] < 0.1 * half["constant_loss"]
    assert found["trace"][0][0] == 2
    assert f"last half, rows {start + 1} to 1000" in str(model.summary())
    assert "95 % intervals held" in str(model.summary())


@pytest.mark.parametrize("method", ["ekf", "moment", "auto"])
def test_counts_that_vary_more_are_reported(method):
    rng = np.random.default_rng(10)
    X = rng.normal(size=(4000, 2))
    mean = np.exp(0.5 + X @ [0.3, -0.2])
    wide = rng.poisson(rng.gamma(mean / 4.0, 4.0))
    model = PoissonRegression(method).fit(X, wide)
    note = str(model.summary())
    if method == "auto" and model.dispersion_ is not None:
        assert "learned; standard errors include it" in note
    else:
        factor = model.progressive_["last_half"]["pearson_dispersion"]
        assert 4.0 < factor < 6.5
        assert f"vary {factor:.1f} times as much as poisson allows" in note
        assert f"standard errors are {factor**0.5:.1f} times too small" in note
        assert ('method="auto" learns the dispersion' in note) is (method != "auto")
    plain = PoissonRegression(method).fit(X, rng.poisson(mean))
    assert "times as much" not in str(plain.summary())
    assert 0.94 < plain.progressive_["coverage"] < 1.0
    assert LogisticRegression().fit(X, wide > 1).progressive_["coverage"] > 0.94


def test_a_dispersion_that_is_learned_cannot_be_given():
    X, y = [[0.0], [1.0], [2.0]], [1.0, 2.0, 4.0]
    for kind, name in [(LinearRegression, "noise_variance"), (GammaRegression, "dispersion")]:
        with pytest.raises(InputError, match=f"'auto' takes no {name}, because it learns it"):
            kind(**{name: 2.0}).fit(X, y)
        assert kind("ekf", **{name: 2.0}).fit(X, y).dispersion_ == 2.0
        assert kind("ekf").fit(X, y).dispersion_ == 1.0
    with pytest.raises(InputError, match="fixes the dispersion, which Auto learns"):
        kalmia.Auto(2, "gaussian:0.5")
    with pytest.raises(InputError, match="`gamma:2` fixes the dispersion"):
        kalmia._kalmia.model("auto", "gamma:2", 1)


def test_parameters_that_change_after_fit_are_refused_and_files_tell_the_truth(tmp_path):
    X, y = load_diabetes(return_X_y=True)
    model = LinearRegression().fit(X, y)
    before = model.coef_
    for change in ({"method": "ekf"}, {"drift": "adapt"}, {"fit_intercept": False}):
        name, value = next(iter(change.items()))
        was = model.get_params()[name]
        model.set_params(**change)
        with pytest.raises(InputError, match=f"{name} was {was!r} .* is now {value!r}: call fit"):
            model.partial_fit(X, y)
        assert_same(model.coef_, before)
        model.save(tmp_path / "m.kalmia")
        assert kalmia.load(tmp_path / "m.kalmia").get_params()[name] == was
        model.set_params(**{name: was})
    model.set_params(shuffle=False, random_state=3)
    model.partial_fit(X, y)
    again = kalmia.load(tmp_path / "m.kalmia").set_params(method="ekf")
    with pytest.raises(InputError, match="method was 'auto'"):
        again.partial_fit(X, y)
    assert again.fit(X, y).learners_[0].method == "ekf"
