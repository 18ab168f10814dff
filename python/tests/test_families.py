"""Counts that vary much, quantiles and outliers, wherever the package meets other things."""

import io
import pickle

import numpy as np
import pandas as pd
import pytest
from compare import assert_close, assert_same
from partitions import SHAPED, ListRows, cut, rows
from river import metrics
from scipy import sparse
from sklearn.base import clone

import kalmia
from kalmia import NegativeBinomialRegression, QuantileRegression, StudentRegression
from kalmia._declaration import declaration
from kalmia.cluster._fit import fit
from kalmia.river import Regressor

#: The estimator of each family, with its own parameter.
CLASSES = {
    "negative-binomial": NegativeBinomialRegression(),
    "quantile:0.8": QuantileRegression(quantile=0.8),
    "student": StudentRegression(),
}


def table(family, count=2000):
    made = rows(count, family)
    return made[["x", "z", "color"]], made["y"]


def interval(model, X):
    return model.predict_interval(X, 0.9)


@pytest.mark.parametrize("method", ["auto", "moment"])
@pytest.mark.parametrize("family", [*SHAPED, "student:3", "quantile:0.05"])
def test_a_file_of_the_command_is_the_right_estimator(run, tmp_path, family, method):
    made = rows(500, {"student:3": "student", "quantile:0.05": "quantile:0.8"}.get(family, family))
    data, path = tmp_path / "t.csv", tmp_path / "m.kalmia"
    made.to_csv(data, index=False)
    run("fit", data, "--target", "y", "--family", family, "--method", method, "-o", path)
    model = kalmia.load(path)
    name, _, parameter = family.partition(":")
    kind = {
        "negative-binomial": NegativeBinomialRegression,
        "quantile": QuantileRegression,
        "student": StudentRegression,
    }[name]
    assert type(model) is kind
    if kind is QuantileRegression:
        assert model.quantile == float(parameter)
    if kind is StudentRegression:
        assert model.degrees_of_freedom == float(parameter or 4.0)
    if kind is NegativeBinomialRegression:
        assert model.dispersion == (None if method == "auto" else 1.0)
    found = pd.read_csv(io.StringIO(run("predict", path, data, "--level", "0.9")))
    assert_close(model.predict(made), found["mean"], rtol=1e-12)
    assert_close(interval(model, made), found[["lower", "upper"]], rtol=1e-9, atol=1e-9)
    # an equal estimator can be made from its parameters
    again = clone(model).fit(made[["x", "z", "color"]], made["y"])
    assert again.learners_[0].family_parameters == model.learners_[0].family_parameters
    model.partial_fit(made, made["y"])
    model.save(path)
    assert '"rows":1000' in run("inspect", path, "--json").replace(" ", "")


@pytest.mark.parametrize("family", SHAPED)
def test_the_command_continues_what_python_learned(run, tmp_path, family):
    X, y = table(family)
    model = clone(CLASSES[family]).partial_fit(X[:1000], y[:1000])
    path = tmp_path / "m.kalmia"
    model.save(path)
    X[1000:].assign(y=y[1000:]).to_csv(tmp_path / "t.csv", index=False)
    run("update", path, tmp_path / "t.csv")
    model.partial_fit(X[1000:], y[1000:])
    assert_close(kalmia.load(path).coef_, model.coef_, rtol=1e-9)
    assert kalmia.load(path).get_params() == model.get_params()


@pytest.mark.parametrize("family", SHAPED)
def test_pickles_and_files_go_on(tmp_path, family):
    X, y = table(family)
    model = clone(CLASSES[family]).partial_fit(X[:700], y[:700])
    model.save(tmp_path / "m.kalmia")
    copies = [pickle.loads(pickle.dumps(model)), kalmia.load(tmp_path / "m.kalmia")]
    model.partial_fit(X[700:], y[700:])
    for copy in copies:
        assert copy.get_params() == model.get_params()
        copy.partial_fit(X[700:], y[700:])
        assert_same(interval(copy, X), interval(model, X))
        assert str(copy.summary()) == str(model.summary())
        assert copy.progressive_ == model.progressive_


@pytest.mark.parametrize("family", SHAPED)
def test_merged_models_are_close_to_one_of_all_rows(family):
    made = rows(4000, family)
    X, y = made[["x", "z"]].to_numpy(), made["y"].to_numpy()
    whole = clone(CLASSES[family]).fit(X, y)
    parts = [clone(CLASSES[family]).fit(X[i::2], y[i::2]) for i in (0, 1)]
    merged = parts[0].merge(parts[1])
    assert not merged.merged_exactly_ and merged.n_samples_seen_ == 4000
    assert abs((merged.coef_ - whole.coef_) / whole.std_err_[1:]).max() < 1.0
    if family == "quantile:0.8":
        below = [part.progressive_["share_below"] for part in parts]
        assert merged.progressive_["share_below"] == pytest.approx(np.mean(below), rel=1e-9)
        with pytest.raises(kalmia.KalmiaError, match="quantile"):
            parts[0].merge(QuantileRegression(quantile=0.5).fit(X, y))


@pytest.mark.parametrize("family", SHAPED)
def test_partitions_are_the_fit_on_all_rows(family):
    made = rows(4000, family)
    sample = made[::10]
    declared = declaration("y", family=family)
    found = [
        fit(ListRows(way), declared, sample=sample, passes=None, robust=False, prior="fitted")
        for way in (cut(made, 1), cut(made, 5))
    ]
    assert {type(model) for model in found} == {type(CLASSES[family])}
    units = abs(found[0].coef_ - found[1].coef_) / found[0].std_err_[1:]
    if family == "quantile:0.8":  # cannot be polished
        assert found[1].cluster_.passes == 0 and units.max() < 1.0
        with pytest.raises(kalmia.InputError, match="a quantile cannot be polished"):
            fit(ListRows([made]), declared, sample=sample, passes=1, robust=False, prior="fitted")
    else:
        assert found[1].cluster_.passes >= 1 and units.max() < 0.1


def test_wide_models_learn_sparse_counts():
    rng = np.random.default_rng(2)
    X = sparse.random(5000, 3000, density=0.003, random_state=3, format="csr")
    u = 0.5 + X @ rng.normal(size=3000)
    y = rng.poisson(np.exp(u) * rng.gamma(2.0, 0.5, 5000))
    model = NegativeBinomialRegression().fit(X, y)
    assert model.learners_[0].method == "wide"
    ends = interval(model, X)
    assert ((ends[:, 0] <= y) & (y <= ends[:, 1])).mean() > 0.88
    half = model.progressive_["last_half"]
    assert half["loss"] < half["constant_loss"]


@pytest.mark.parametrize("family", SHAPED)
def test_rivers_regressor_learns_as_the_estimator(family):
    made = rows(800, family)
    model, other = Regressor(family), clone(CLASSES[family])
    error = metrics.MAE()
    for x, z, y in made[["x", "z", "y"]].to_numpy().tolist():
        row = {"x": x, "z": z}
        error.update(y, model.predict_one(row))
        model.learn_one(row, y)
    X, y = made[["x", "z"]], made["y"]
    other.partial_fit(X, y)
    assert_close(list(model.weights.values()), other.coef_, rtol=1e-9)
    assert_close(model.predict_many(X), other.predict(X), rtol=1e-9)
    found = [model.predict_interval_one(row, 0.9) for row in X[:5].to_dict("records")]
    assert_close(found, interval(other, X[:5]), rtol=1e-6)
    assert error.get() < 1.5 * abs(y - y.median()).mean()
    again = pickle.loads(pickle.dumps(model))
    assert again.predict_one({"x": 1.0}) == model.predict_one({"x": 1.0})


def test_rivers_regressor_refuses_wrong_counts_and_levels():
    model = Regressor("negative-binomial")
    for count in (0, 3, 1, 7):
        model.learn_one({"a": float(count)}, count)
    before = dict(model.weights)
    for bad in (-1, 2.5):
        with pytest.raises(kalmia.InputError, match="whole number"):
            model.learn_one({"a": 1.0}, bad)
    assert model.weights == before and model.n_samples_seen_ == 4
    with pytest.raises(kalmia.InputError, match="the level must lie between 0 and 1"):
        Regressor("quantile:1.5")
    with pytest.raises(kalmia.InputError, match="degrees of freedom must lie between 2.1 and 100"):
        Regressor("student:1")


@pytest.mark.parametrize("family", ["negative-binomial", "student"])
def test_draws_of_targets_have_the_predicted_distribution(family):
    made = rows(600, family)
    X = made[["x", "z"]].to_numpy()
    model = clone(CLASSES[family]).fit(X, made["y"])
    draws = model.sample_predictions(X[:2], 20_000, random_state=4)
    for q in (0.1, 0.5, 0.9):
        at = model.predict_quantiles(X[:2], q)
        below = model.predict_cdf(X[:2], at)
        assert_close((draws <= at).mean(axis=0), below, atol=5.0 * 0.5 / 20_000**0.5)
