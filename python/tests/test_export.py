"""Exports of ``kalmia export``, evaluated by onnxruntime (graph) and numpy (JSON)."""

import io
import json

import numpy as np
import onnxruntime
import pandas as pd
import pytest
from compare import assert_close, assert_same
from scipy.special import expit

import kalmia
from kalmia._encoding import encode

LINKS = {"identity": lambda u: u, "logit": expit, "log": np.exp}

#: Per family: arguments of the fit, and a function that draws targets from linear predictors.
FAMILIES = {
    "gaussian": ([], lambda rng, u: u + rng.normal(0.0, 0.5, len(u))),
    "bernoulli": (
        ["--positive", "yes"],
        lambda rng, u: np.where(rng.random(len(u)) < expit(u), "yes", "no"),
    ),
    "binomial": (["--family", "binomial:10"], lambda rng, u: rng.binomial(10, expit(u))),
    "binomial proportion": (
        ["--family", "binomial", "--weight", "n"],
        lambda rng, u: rng.binomial(4, expit(u)) / 4,
    ),
    "poisson": (["--family", "poisson", "--no-intercept"], lambda rng, u: rng.poisson(np.exp(u))),
    "gamma": (["--family", "gamma"], lambda rng, u: rng.gamma(3.0, np.exp(u) / 3.0)),
    "negative-binomial": (
        ["--family", "negative-binomial"],
        lambda rng, u: rng.poisson(np.exp(u) * rng.gamma(2.0, 0.5, len(u))),
    ),
    "quantile": (["--family", "quantile:0.8"], lambda rng, u: u + rng.exponential(size=len(u))),
    "student": (["--family", "student:3"], lambda rng, u: u + rng.standard_t(3, size=len(u))),
}

#: Whether the method predicts from the coefficients alone, without their uncertainty.
METHODS = {"auto": False, "moment": False, "asgd": True}


@pytest.fixture(
    scope="module",
    params=[(family, method) for family in FAMILIES for method in METHODS],
    ids=" ".join,
)
def exported(request, run, tmp_path_factory):
    """A model fitted by the command, with its table, graph and JSON."""
    family, method = request.param
    rng = np.random.default_rng(5)
    table = pd.DataFrame(
        {
            "a": rng.normal(size=600),
            "b": rng.uniform(-1.0, 1.0, 600),
            "city": np.resize(["Lyon", "Nice", "Metz"], 600),
        }
    )
    linear = 0.3 + 0.5 * table["a"] - 0.4 * table["b"] + 0.2 * (table["city"] == "Metz")
    arguments, draw = FAMILIES[family]
    if "--weight" in arguments:
        table["n"] = 4
    folder = tmp_path_factory.mktemp("export")
    table["y"] = draw(rng, linear.to_numpy())
    data, model, graph = (folder / name for name in ("t.csv", "m.kalmia", "m.onnx"))
    table.to_csv(data, index=False)
    run("fit", data, "--target", "y", "--method", method, *arguments, "-o", model)
    run("export", model, "--format", "onnx", "-o", graph)
    predicted = pd.read_csv(io.StringIO(run("predict", model, data)))
    return (
        family,
        method,
        table,
        model,
        graph,
        json.loads(run("export", model, "--format", "json")),
        predicted,
    )


def features(table):
    """The columns of `x`, encoded without kalmia."""
    levels = {f"city={name}": (table["city"] == name).astype(float) for name in ("Nice", "Metz")}
    return table[["a", "b"]].assign(**levels)


def test_onnxruntime_predicts_as_the_command_and_python(exported):
    family, method, table, path, graph, document, predicted = exported
    session = onnxruntime.InferenceSession(graph, providers=["CPUExecutionProvider"])
    texts = session.get_modelmeta().custom_metadata_map
    x = features(table)
    assert json.loads(texts["features"]) == list(x.columns) and texts["target"] == "y"
    assert [(i.name, i.type, i.shape[1]) for i in session.get_inputs()] == [
        ("x", "tensor(double)", 4)
    ]
    linear, mean = (column[:, 0] for column in session.run(["linear", "mean"], {"x": x.to_numpy()}))
    assert_close(linear, predicted["linear"], rtol=1e-10, atol=1e-12)
    trials = 10.0 if family == "binomial" else 1.0
    assert_close(mean, trials * LINKS[texts["link"]](linear), rtol=1e-12)
    moderated = predicted["mean"].to_numpy()
    if not family.startswith("binomial"):  # no estimator has this family
        model = kalmia.load(path)
        assert model._feature_names() == list(x.columns)
        assert_same(encode(model.schema_, table, None).X, x)
        found = model.predict_proba(table)[:, 1] if family == "bernoulli" else model.predict(table)
        assert_close(found, moderated, rtol=1e-12)
    if METHODS[method] or texts["link"] == "identity":
        assert_close(moderated, mean, rtol=1e-10, atol=1e-12)
    # E f(u) differs from f(E u) by at most half the variance of u times the largest |f''|
    variance = predicted["linear_sd"].to_numpy() ** 2
    if texts["link"] == "logit":
        assert (abs(moderated - mean) <= trials * variance / (12.0 * 3.0**0.5) + 1e-12).all()
    elif texts["link"] == "log":
        assert_close(np.log(moderated / mean), variance / 2.0, rtol=0.02, atol=1e-12)


def test_the_json_predicts_as_the_graph_and_holds_what_python_reads(exported):
    family, method, table, path, graph, document, predicted = exported
    names = [one["name"] for one in document["coefficients"]]
    theta = np.array([one["estimate"] for one in document["coefficients"]])
    x = features(table)
    assert [name for name in names if name != "(intercept)"] == list(x.columns)
    assert ("(intercept)" in names) == (family != "poisson")
    rows = x.assign(**{"(intercept)": 1.0})[names].to_numpy()
    assert_close(rows @ theta, predicted["linear"], rtol=1e-10, atol=1e-12)
    assert document["family"]["kind"] == family.split()[0] and document["rows"] == len(table)
    assert document["method"] == method
    covariance = document["covariance"]
    if method == "asgd":
        assert covariance is None
    else:
        variance = np.einsum("ij,jk,ik->i", rows, covariance, rows)
        # With a learned noise the covariance is the scale of a Student law, whose variance is
        # larger. The members of the mixture differ a little.
        freedom = document["degrees_of_freedom"]
        student = 1.0 if freedom is None else freedom / (freedom - 2.0)
        assert_close(
            student * variance, predicted["linear_sd"] ** 2, rtol=1e-6 if freedom is None else 1e-4
        )
    if not family.startswith("binomial"):
        model = kalmia.load(path)
        assert_same(model._learner.theta, theta)
        if covariance is not None:
            assert_close(model.covariance_, covariance, rtol=1e-12)
