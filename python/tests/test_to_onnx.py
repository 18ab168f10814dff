"""`to_onnx` and `to_json` of the estimators, evaluated by onnxruntime and numpy."""

import json

import numpy as np
import onnxruntime
import pandas as pd
import pytest
from compare import assert_close, assert_same
from scipy.special import expit, softmax

import kalmia
from kalmia import (
    GammaRegression,
    LinearRegression,
    LogisticRegression,
    NegativeBinomialRegression,
    PoissonRegression,
    QuantileRegression,
    StudentRegression,
)

RNG = np.random.default_rng(8)
X = pd.DataFrame({"a": RNG.normal(size=400), "b": RNG.uniform(-1.0, 1.0, 400)})
U = (0.3 + 0.5 * X["a"] - 0.4 * X["b"]).to_numpy()
TARGETS = {
    LinearRegression: (U + RNG.normal(size=400), lambda u: u),
    PoissonRegression: (RNG.poisson(np.exp(U)), np.exp),
    GammaRegression: (RNG.gamma(3.0, np.exp(U) / 3.0), np.exp),
    NegativeBinomialRegression: (RNG.poisson(np.exp(U) * RNG.gamma(2.0, 0.5, 400)), np.exp),
    QuantileRegression: (U + RNG.exponential(size=400), lambda u: u),
    StudentRegression: (U + RNG.standard_t(3, size=400), lambda u: u),
    LogisticRegression: (np.where(RNG.random(400) < expit(U), "yes", "no"), expit),
}


def evaluate(path, **inputs):
    session = onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"])
    given = {name: np.asarray(values, dtype=np.float64) for name, values in inputs.items()}
    linear, mean = session.run(["linear", "mean"], given)
    return linear, mean, session.get_modelmeta().custom_metadata_map


@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("kind", list(TARGETS), ids=lambda kind: kind.__name__)
def test_the_graph_predicts_from_the_coefficients(kind, intercept, tmp_path):
    y, link = TARGETS[kind]
    model = kind(fit_intercept=intercept).fit(X, y)
    path = tmp_path / "m.onnx"
    model.to_onnx(path)
    linear, mean, texts = evaluate(path, x=X)
    expected = X.to_numpy() @ np.ravel(model.coef_) + np.ravel(model.intercept_)
    assert_close(linear[:, 0], expected, rtol=1e-12, atol=1e-14)
    assert_close(mean[:, 0], link(expected), rtol=1e-12)
    assert json.loads(texts["features"]) == ["a", "b"]
    if kind is LogisticRegression:
        assert json.loads(texts["classes"]) == ["no", "yes"]
        # E f(u) differs from f(E u) by at most half the variance of u times the largest |f''|
        found = model.predict_proba(X)[:, 1]
        variance = model.predict(X, return_std=True)[1] ** 2
        assert (abs(found - mean[:, 0]) <= variance / (12.0 * 3.0**0.5) + 1e-12).all()
    elif texts["link"] == "identity":
        assert_close(mean[:, 0], model.predict(X), rtol=1e-10, atol=1e-12)
    else:
        # E e^u is e^(E u) times e^(variance / 2)
        rows = np.insert(X.to_numpy(), 0, 1.0, axis=1) if intercept else X.to_numpy()
        variance = np.einsum("ij,jk,ik->i", rows, model.covariance_, rows)
        assert_close(np.log(model.predict(X) / mean[:, 0]), variance / 2.0, rtol=0.03)


def test_three_classes_are_a_softmax(run, tmp_path):
    y = RNG.choice([2, 10, 7], 400)
    model = LogisticRegression().fit(X, y)
    path = tmp_path / "m.onnx"
    model.to_onnx(path)
    linear, mean, texts = evaluate(path, x=X)
    assert json.loads(texts["classes"]) == model.classes_.tolist() == [2, 7, 10]
    expected = X.to_numpy() @ model.coef_.T + model.intercept_
    assert_close(linear, expected, rtol=1e-12, atol=1e-14)
    assert_close(mean, softmax(expected, axis=1), rtol=1e-12)
    assert_close(mean, model.predict_proba(X), atol=0.02)
    with pytest.raises(kalmia.InputError, match="takes no offset"):
        model.to_onnx(path, offset=True)
    # the command writes the same graph
    model.save(tmp_path / "m.kalmia")
    run("export", tmp_path / "m.kalmia", "--format", "onnx", "-o", tmp_path / "c.onnx")
    theirs = evaluate(tmp_path / "c.onnx", x=X)
    assert_same(theirs[1], mean)
    assert json.loads(theirs[2]["classes"]) == ["2", "7", "10"]


def test_one_learner_per_class_has_a_column_each(tmp_path):
    y = RNG.choice([2, 3, 7], 400)
    model = LogisticRegression("moment").fit(X, y)
    path = tmp_path / "m.onnx"
    model.to_onnx(path)
    linear, mean, texts = evaluate(path, x=X)
    assert json.loads(texts["classes"]) == model.classes_.tolist() == [2, 3, 7]
    expected = X.to_numpy() @ model.coef_.T + model.intercept_
    assert_close(linear, expected, rtol=1e-12, atol=1e-14)
    shares = expit(expected)
    assert_close(mean, shares / shares.sum(axis=1, keepdims=True), rtol=1e-12)
    assert_close(mean, model.predict_proba(X), atol=0.02)
    # classes that are all impossible get equal shares, as in `predict_proba`
    far = np.full((1, 2), 1e6) * np.sign(model.coef_.sum(axis=0))
    assert_close(evaluate(path, x=far)[1].sum(axis=1), 1.0, rtol=1e-12)


def test_an_offset_is_a_second_input(tmp_path):
    exposure = RNG.uniform(0.5, 4.0, 400)
    y = RNG.poisson(exposure * np.exp(U))
    model = PoissonRegression().fit(X, y, offset=np.log(exposure))
    path = tmp_path / "m.onnx"
    model.to_onnx(path, offset=True)
    offset = np.log(exposure)[:, None]
    linear, mean, _ = evaluate(path, x=X, offset=offset)
    plain = X.to_numpy() @ model.coef_ + model.intercept_
    assert_close(linear[:, 0], plain + offset[:, 0], rtol=1e-12, atol=1e-14)
    assert_close(mean, np.exp(linear), rtol=1e-12)


def test_an_offset_of_the_command_is_an_input_in_both(run, tmp_path):
    data, model = tmp_path / "t.csv", tmp_path / "m.kalmia"
    table = X.assign(e=0.7, city=np.resize(["Lyon", "Nice"], 400), n=RNG.poisson(2.0, 400))
    table.to_csv(data, index=False)
    run("fit", data, "--target", "n", "--family", "poisson", "--offset", "e", "-o", model)
    ours, theirs = tmp_path / "python.onnx", tmp_path / "command.onnx"
    kalmia.load(model).to_onnx(ours)
    run("export", model, "--format", "onnx", "-o", theirs)
    x = table[["a", "b"]].assign(nice=(table["city"] == "Nice").astype(float))
    found = [evaluate(path, x=x, offset=table[["e"]]) for path in (ours, theirs)]
    assert json.loads(found[0][2]["features"]) == ["a", "b", "city=Nice"]
    assert_same(found[0][1], found[1][1])
    assert_close(found[0][0][:, 0], np.log(kalmia.load(model).predict(table)), atol=0.05)


def test_the_json_is_that_of_the_command(run, tmp_path):
    y = TARGETS[GammaRegression][0]
    model = GammaRegression().fit(X, y)
    model.save(tmp_path / "m.kalmia")
    model.to_json(tmp_path / "m.json")
    document = json.loads((tmp_path / "m.json").read_text())
    assert document == json.loads(run("export", tmp_path / "m.kalmia", "--format", "json"))


def test_the_json_of_several_classes_lists_their_models(tmp_path):
    y = RNG.choice(["x", "y", "z"], 400)
    joint = LogisticRegression().fit(X, y)
    joint.to_json(tmp_path / "m.json")
    document = json.loads((tmp_path / "m.json").read_text())
    assert document["classes"] == ["x", "y", "z"] and document["reference"] == "x"
    for one, row, constant in zip(
        document["coefficients"], joint.coef_[1:], joint.intercept_[1:], strict=True
    ):
        assert_same([line["estimate"] for line in one["coefficients"]], [constant, *row])
    model = LogisticRegression("moment").fit(X, y)
    model.to_json(tmp_path / "m.json")
    document = json.loads((tmp_path / "m.json").read_text())
    assert document["classes"] == ["x", "y", "z"]
    for one, learner in zip(document["models"], model.learners_, strict=True):
        assert_same([line["estimate"] for line in one["coefficients"]], learner.theta)


def test_refusals(tmp_path):
    with pytest.raises(ValueError, match="not fitted yet"):
        LinearRegression().to_onnx(tmp_path / "m.onnx")
    model = LinearRegression().fit(X, TARGETS[LinearRegression][0])
    with pytest.raises(kalmia.ModelFileError, match=r"cannot write .*/absent/m.onnx"):
        model.to_onnx(tmp_path / "absent" / "m.onnx")
    assert not list(tmp_path.iterdir())
