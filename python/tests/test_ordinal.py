"""Ordered levels, beside statsmodels' OrderedModel and models that do not know the order."""

import io
import json
import pickle

import numpy as np
import onnxruntime
import pandas as pd
import pytest
from compare import assert_close, assert_same
from scipy.special import expit
from sklearn.base import clone
from sklearn.metrics import log_loss
from statsmodels.miscmodels.ordinal_model import OrderedModel

import kalmia
from kalmia import InputError, LogisticRegression, OrdinalRegression
from kalmia.recipes import ordinal_probabilities, split_ordinal

LEVELS = ["low", "medium", "high", "top"]
CUTS = np.array([-1.0, 0.5, 2.0])
SLOPES = np.array([1.0, -0.5, 0.3])


def draw(seed, rows, cuts=CUTS, slopes=SLOPES):
    """Rows of a proportional odds model, with the places of their levels."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(rows, len(slopes)))
    return X, np.searchsorted(cuts, X @ slopes + rng.logistic(size=rows))


@pytest.fixture(scope="module")
def rows():
    X, y = draw(1, 2000)
    return X, np.array(LEVELS)[y]


@pytest.fixture(scope="module")
def model(rows):
    return OrdinalRegression(levels=LEVELS, random_state=0).fit(*rows)


@pytest.mark.parametrize(
    ("seed", "cuts"), [(1, CUTS), (2, np.array([1.0, 2.5, 4.0, 4.5])), (3, np.array([-0.1, 0.1]))]
)
def test_one_pass_is_close_to_the_batch_fit_of_statsmodels(seed, cuts):
    X, y = draw(seed, 3000, cuts)
    model = OrdinalRegression(random_state=0).fit(X, y)
    batch = OrderedModel(y, X, distr="logit").fit(method="bfgs", disp=False)
    params = np.asarray(batch.params)
    d = X.shape[1]
    cutpoints = batch.model.transform_threshold_params(params)[1:-1]
    errors = model.std_err_
    distance = np.abs(np.append(model.coef_, model.cutpoints_) - np.append(params[:d], cutpoints))
    assert (distance < 0.4 * errors).all(), distance / errors
    assert_close(errors[:d], np.asarray(batch.bse)[:d], rtol=0.05)
    # of the cutpoints statsmodels has the first, and logarithms of the gaps
    assert_close(errors[d], batch.bse[d], rtol=0.05)
    assert_close(log_loss(y, model.predict_proba(X)), -batch.llf / len(y), rtol=0.002)
    assert_close(model.predict_proba(X), batch.predict(X), rtol=0.0, atol=0.02)


def test_the_progressive_loss_is_below_that_of_models_without_the_order():
    own, classes, sequential = [], [], []
    for seed in range(4):
        X, y = draw(10 + seed, 1000)
        order = {"shuffle": False}
        own.append(OrdinalRegression(**order).fit(X, y).progressive_loss_)
        classes.append(LogisticRegression(drift="off", **order).fit(X, y).progressive_loss_)
        split = split_ordinal(y, X)
        steps = LogisticRegression(drift="off")
        means = steps.partial_fit_predict(split.design, split.y, classes=[0, 1])
        likelihood = means[np.arange(len(split.y)), split.y.astype(int)]
        sequential.append(-np.log(likelihood).sum() / len(y))
    assert np.mean(own) < np.mean(classes), (own, classes)
    assert np.mean(own) < np.mean(sequential), (own, sequential)


def test_probabilities_are_those_of_a_sequential_fit_or_closer_to_the_truth(rows, model):
    X, y = rows
    split = split_ordinal(y, X, LEVELS)
    steps = LogisticRegression().fit(split.design, split.y)
    fresh, _ = draw(77, 500)

    def went_on(step):
        indicators = np.tile(np.eye(3)[step, 1:], (len(fresh), 1))
        return steps.predict_proba(np.hstack([indicators, fresh]))[:, 1]

    recipe = ordinal_probabilities(np.column_stack([went_on(step) for step in range(3)]))
    below = expit(CUTS - (fresh @ SLOPES)[:, None])
    truth = np.diff(np.hstack([np.zeros((500, 1)), below, np.ones((500, 1))]))
    found = model.predict_proba(fresh)
    assert_close(found.sum(axis=1), np.ones(500), rtol=1e-12)
    assert np.abs(found - truth).mean() < np.abs(recipe - truth).mean()


def test_levels_are_in_their_order_everywhere(rows, model):
    X, _ = rows
    assert model.classes_.tolist() == LEVELS
    assert (np.diff(model.cutpoints_) > 0).all()
    best = np.array(LEVELS)[model.predict_proba(X).argmax(axis=1)]
    assert_same(model.predict(X), best)
    assert model.score(*rows) == pytest.approx(np.mean(best == rows[1]))
    assert_close(np.exp(model.predict_log_proba(X)), model.predict_proba(X), rtol=1e-12)
    summary = model.summary()
    names = ["x0", "x1", "x2", "low|medium", "medium|high", "high|top"]
    assert list(summary.params) == names
    assert_same(list(summary.params.values()), np.append(model.coef_, model.cutpoints_))
    assert_close(list(summary.std_err.values()), model.std_err_, rtol=1e-12)
    assert_close(summary.cov_params().to_numpy(), model.covariance_, rtol=1e-12)
    assert summary.conf_int(0.5)["x0"][0] > summary.conf_int(0.95)["x0"][0]
    text = str(summary)
    assert "OrdinalRegression (ordinal)" in text and "log odds of a higher level" in text
    report = model.progressive_
    assert report["loss"] == model.progressive_loss_ < report["constant_loss"]


def test_the_order_comes_from_numbers_ordered_categories_or_the_parameter(rows, model):
    X, y = rows
    places = np.array([LEVELS.index(one) for one in y])
    by_size = OrdinalRegression(random_state=0).fit(X, 10 * places)
    assert by_size.classes_.tolist() == [0, 10, 20, 30]
    assert_same(by_size.coef_, model.coef_)
    series = pd.Series(pd.Categorical(y, categories=LEVELS, ordered=True))
    by_category = OrdinalRegression(random_state=0).fit(X, series)
    assert by_category.classes_.tolist() == LEVELS
    assert_same(by_category.cutpoints_, model.cutpoints_)
    for unordered in (y, pd.Series(y).astype("category")):
        with pytest.raises(InputError, match="order is not known: give all levels"):
            OrdinalRegression().fit(X, unordered)
    with pytest.raises(InputError, match="each once"):
        OrdinalRegression(levels=["low", "low"]).fit(X, y)
    with pytest.raises(InputError, match="level 'top' in row"):
        OrdinalRegression(levels=LEVELS[:3]).fit(X, y)
    with pytest.raises(InputError, match="only one class"):
        OrdinalRegression().fit(X, np.zeros(len(X)))


def test_batches_are_one_pass_and_new_levels_are_refused(rows):
    X, y = rows
    whole = OrdinalRegression(levels=LEVELS, shuffle=False).fit(X, y)
    parts = OrdinalRegression()
    before = [
        parts.partial_fit_predict(X[i : i + 300], y[i : i + 300], classes=LEVELS)
        for i in range(0, len(y), 300)
    ]
    assert_same(parts.coef_, whole.coef_)
    assert_same(parts.covariance_, whole.covariance_)
    p = np.concatenate(before)[np.arange(len(y)), [LEVELS.index(one) for one in y]]
    assert parts.progressive_loss_ == pytest.approx(-np.log(p).mean(), rel=1e-9)
    state = pickle.dumps(parts.learners_[0])
    with pytest.raises(InputError, match="'great' in row 1, which is not among the levels"):
        parts.partial_fit(X[:2], ["low", "great"])
    with pytest.raises(InputError, match="pass the same"):
        parts.partial_fit(X[:2], y[:2], classes=LEVELS[::-1])
    assert pickle.dumps(parts.learners_[0]) == state
    parts.levels = LEVELS
    with pytest.raises(InputError, match="levels was None"):
        parts.partial_fit(X[:2], y[:2])


def test_weights_count_rows(rows):
    X, y = rows
    model = OrdinalRegression(levels=LEVELS, shuffle=False)
    doubled = model.fit(X, y, sample_weight=np.full(len(y), 2.0)).std_err_
    assert_close(doubled * np.sqrt(2.0), clone(model).fit(X, y).std_err_, rtol=0.05)
    precise = OrdinalRegression(levels=LEVELS, shuffle=False, weights="precision")
    again = precise.fit(X, y, sample_weight=np.full(len(y), 7.0))
    assert_close(again.coef_, clone(model).fit(X, y).coef_, rtol=1e-9)


def test_files_pickles_and_the_command_s_levels(rows, model, tmp_path):
    X, y = rows
    path = tmp_path / "m.kalmia"
    model.save(path)
    for again in (kalmia.load(path), pickle.loads(pickle.dumps(model))):
        assert isinstance(again, OrdinalRegression)
        assert_same(again.predict_proba(X), model.predict_proba(X))
        assert again.classes_.tolist() == LEVELS
        assert again.get_params()["levels"] == LEVELS
        more = again.partial_fit(X[:50], y[:50])
        expected = pickle.loads(pickle.dumps(model)).partial_fit(X[:50], y[:50])
        assert_same(more.coef_, expected.coef_)
    numbers = OrdinalRegression().fit(X, [LEVELS.index(one) for one in y])
    numbers.save(path)
    assert kalmia.load(path).classes_.tolist() == [0, 1, 2, 3]


def test_the_command_and_python_share_files(run, rows, model, tmp_path):
    X, y = rows
    data, path = tmp_path / "t.csv", tmp_path / "m.kalmia"
    table = pd.DataFrame(X, columns=["a", "b", "c"])
    table["town"] = np.where(np.arange(len(y)) % 2 == 0, "Ulm", "Bonn")
    table.assign(rating=y).to_csv(data, index=False)
    levels = ",".join(LEVELS)
    run("fit", data, "-t", "rating", "--family", "ordinal", "--levels", levels, "-o", path)
    theirs = kalmia.load(path)
    assert type(theirs) is OrdinalRegression and theirs.classes_.tolist() == LEVELS
    found = pd.read_csv(io.StringIO(run("predict", path, data)))
    assert list(found)[:4] == [f"p_{level}" for level in LEVELS]
    assert_close(theirs.predict_proba(table), found.iloc[:, :4], rtol=1e-12)
    assert_same(theirs.predict(table), found["predicted"].to_numpy())
    theirs.partial_fit(table[:100], y[:100])
    theirs.save(path)
    stored = json.loads(run("inspect", path, "--json"))
    assert (stored["rows"], stored["classes"]) == (2100, LEVELS)
    names = [one["name"] for one in stored["levels"]["coefficients"]]
    assert names == ["a", "b", "c", "town=Bonn"]

    # and the other way round
    model.save(path)
    pd.DataFrame(X, columns=["x0", "x1", "x2"]).assign(y=y).to_csv(data, index=False)
    found = pd.read_csv(io.StringIO(run("predict", path, data)))
    assert_close(model.predict_proba(X), found.iloc[:, :4], rtol=1e-12)
    run("update", path, data)
    again = kalmia.load(path)
    assert again.n_samples_seen_ == 4000 and again.classes_.tolist() == LEVELS
    # numbers of the command are numbers
    places = np.array([LEVELS.index(one) for one in y]) + 1
    table.assign(rating=places).to_csv(data, index=False)
    run("fit", data, "-t", "rating", "--family", "ordinal", "-o", path)
    assert kalmia.load(path).classes_.tolist() == [1, 2, 3, 4]


def test_tables_with_categories(rows):
    X, y = rows
    table = pd.DataFrame(X, columns=["a", "b", "c"])
    table["town"] = np.where(np.arange(len(y)) % 3 == 0, "Ulm", "Bonn")
    model = OrdinalRegression(levels=LEVELS, random_state=0).fit(table[:1500], y[:1500])
    assert list(model.coef_names_) == ["a", "b", "c", "town=Bonn"]
    assert model.coef_.shape == (4,)
    table.loc[1500:, "town"] = "Rome"  # a new level
    model.partial_fit(table[1500:], y[1500:])
    assert list(model.coef_names_) == ["a", "b", "c", "town=Bonn", "town=Rome"]
    assert list(model.summary().params)[3:6] == ["town=Bonn", "town=Rome", "low|medium"]
    sparse = OrdinalRegression(levels=LEVELS, shuffle=False)
    from scipy.sparse import csr_matrix

    dense = clone(sparse).fit(X, y)
    assert_close(sparse.fit(csr_matrix(X), y).coef_, dense.coef_, rtol=1e-9)


def test_exports(rows, model, tmp_path):
    X, _ = rows
    path = tmp_path / "m.onnx"
    model.to_onnx(path)
    session = onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"])
    linear, mean = session.run(["linear", "mean"], {"x": X})
    expected = (X @ model.coef_)[:, None] - model.cutpoints_
    assert_close(linear, expected, rtol=1e-12, atol=1e-12)
    above = np.hstack([np.ones((len(X), 1)), expit(expected), np.zeros((len(X), 1))])
    assert_close(mean, -np.diff(above), rtol=1e-9, atol=1e-14)
    assert_close(mean, model.predict_proba(X), rtol=0.0, atol=0.01)
    texts = session.get_modelmeta().custom_metadata_map
    assert json.loads(texts["classes"]) == LEVELS and texts["link"] == "cumulative logit"
    model.to_json(tmp_path / "m.json")
    stored = json.loads((tmp_path / "m.json").read_text())
    assert_close([one["estimate"] for one in stored["cutpoints"]], model.cutpoints_, rtol=1e-12)
    assert_close(stored["covariance"], model.covariance_, rtol=1e-12)


def test_what_ordered_levels_do_not_have_is_refused(rows, model):
    X, y = rows
    with pytest.raises(InputError, match="cannot be merged: learn the rows of both"):
        model.merge(model)
    with pytest.raises(InputError, match="cannot be polished"):
        model.polish(X, y)
    with pytest.raises(InputError, match="multivariate_normal"):
        model.sample_coefficients()
    with pytest.raises(InputError, match="weights is 3"):
        OrdinalRegression(weights=3).fit(X, np.arange(len(X)) % 3)


def test_pictures(model):
    pytest.importorskip("matplotlib").use("Agg")
    marks = model.plot_coefficients().get_yticklabels()
    assert [mark.get_text() for mark in marks] == ["x0", "x1", "x2"]
    model.plot_progressive_loss()
    model.plot_calibration()
