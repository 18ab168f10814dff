"""Exports the real data sets as CSV, and the batch fits that the tests compare with.

Run in an environment with scikit-learn and statsmodels:  python export.py
Sets that the examples use go to the folder examples, the others beside this script.
Every file: a header, features first, the target in the last column, rows in the source's order,
and the shortest decimals that read back as the same 64-bit floats.
"""

import csv
import gzip
import io
import json
from importlib.metadata import version
from pathlib import Path

import numpy as np
import statsmodels.api as sm
from scipy.optimize import brentq
from scipy.special import digamma
from sklearn import datasets
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import log_loss
from sklearn.model_selection import cross_val_predict
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

HERE = Path(__file__).resolve().parent
EXAMPLES = HERE.parents[4] / "examples"


def shortest(value):
    """Shortest decimal of a float, plain or scientific; integers without a point."""
    value = float(value)
    if value.is_integer() and abs(value) < 1e15:
        return str(int(value))
    return min(repr(value), np.format_float_scientific(value, trim="-", exp_digits=1), key=len)


def write(path, columns, x, target, y):
    """Writes one set and checks that it reads back exactly."""
    table = np.column_stack([np.asarray(x, dtype=float), np.asarray(y, dtype=float)])
    assert np.isfinite(table).all()
    text = io.StringIO()
    out = csv.writer(text, lineterminator="\n")
    out.writerow([*(c.replace(" ", "_") for c in columns), target])
    out.writerows([shortest(v) for v in row] for row in table)
    data = text.getvalue().encode()
    path.write_bytes(gzip.compress(data, mtime=0) if path.suffix == ".gz" else data)
    assert np.array_equal(np.loadtxt(path, delimiter=",", skiprows=1), table)


def generalized(family, columns, x, y):
    """Maximum likelihood with an intercept, iterated until the score vanishes to rounding.

    statsmodels only bounds the change of its criterion, so Newton steps in double precision finish
    the fit: the stored coefficients must be better than any tolerance that a test would use.
    `standard_errors` are statsmodels' own (expected information); the observed ones use l'' at the
    data, and are the same if the link is canonical.
    """
    design = np.column_stack([np.ones(len(y)), np.asarray(x, dtype=float)])
    y = np.asarray(y, dtype=float)
    fit = sm.GLM(y, design, family=family).fit(tol=1e-14, maxiter=200)
    theta = fit.params.copy()
    scale = np.sqrt((design**2).mean(axis=0))
    for _ in range(20):
        score = fit.model.score(theta, scale=1.0)
        hessian = fit.model.hessian(theta, scale=1.0, observed=True) / np.outer(scale, scale)
        theta -= np.linalg.solve(hessian, score / scale) / scale
    assert np.allclose(theta, fit.params, rtol=1e-6, atol=0)
    assert np.abs(score / scale).max() / len(y) < 1e-12
    observed = -fit.model.hessian(theta, scale=fit.scale, observed=True) / np.outer(scale, scale)
    return {
        "rows": len(y),
        "columns": ["intercept", *columns],
        "coefficients": theta.tolist(),
        "standard_errors": fit.bse.tolist(),
        "standard_errors_observed": (np.sqrt(np.diag(np.linalg.inv(observed))) / scale).tolist(),
        "dispersion": fit.scale,
        "mean_deviance": fit.deviance / len(y),
        "null_mean_deviance": fit.null_deviance / len(y),
    }


def ordinary(columns, x, y):
    """Least squares with an intercept; the residual variance is unbiased (divided by n - d)."""
    fit = sm.OLS(y, sm.add_constant(x)).fit(method="qr")
    return {
        "rows": len(y),
        "columns": ["intercept", *columns],
        "coefficients": fit.params.tolist(),
        "standard_errors": fit.bse.tolist(),
        "residual_variance": fit.scale,
        "r_squared": fit.rsquared,
    }


def logistic(x, y):
    """For orientation: log-loss of L2-regularized logistic regression on standardized features."""
    model = make_pipeline(StandardScaler(), LogisticRegression(C=1.0, tol=1e-10, max_iter=10_000))
    folds = cross_val_predict(model, x, y, cv=10, method="predict_proba")
    return {
        "rows": len(y),
        "log_loss_in_sample": log_loss(y, model.fit(x, y).predict_proba(x)),
        "log_loss_10_folds": log_loss(y, folds),
    }


def likelihood_dispersion(mean_deviance):
    """Maximum-likelihood dispersion 1/k of a Gamma fit: ln k - digamma(k) = mean deviance / 2."""

    def equation(k):
        return np.log(k) - digamma(k) - mean_deviance / 2

    return 1.0 / brentq(equation, 1e-6, 1e9, xtol=1e-14, rtol=1e-14)


def main():
    packages = ("numpy", "scipy", "scikit-learn", "statsmodels")
    results = {"versions": {package: version(package) for package in packages}}

    data = datasets.load_breast_cancer()
    write(EXAMPLES / "breast_cancer.csv", data.feature_names, data.data, "benign", data.target)
    results["breast_cancer"] = logistic(data.data, data.target)

    data = datasets.load_digits()
    write(HERE / "digits.csv", data.feature_names, data.data, "odd", data.target % 2)
    results["digits"] = logistic(data.data, data.target % 2)

    data = datasets.load_diabetes(scaled=False)
    write(HERE / "diabetes.csv", data.feature_names, data.data, "progression", data.target)
    results["diabetes"] = ordinary(data.feature_names, data.data, data.target)

    data = sm.datasets.randhie.load().data
    columns = [c for c in data.columns if c != "mdvis"]
    write(EXAMPLES / "randhie.csv.gz", columns, data[columns], "mdvis", data["mdvis"])
    results["randhie"] = generalized(sm.families.Poisson(), columns, data[columns], data["mdvis"])

    data = sm.datasets.grunfeld.load().data
    columns = ["value", "capital"]
    write(EXAMPLES / "grunfeld.csv", columns, data[columns], "invest", data["invest"])
    gamma = sm.families.Gamma(sm.families.links.Log())
    fit = generalized(gamma, columns, data[columns], data["invest"])
    fit["dispersion_likelihood"] = likelihood_dispersion(fit["mean_deviance"])
    results["grunfeld"] = fit

    (HERE / "batch_results.json").write_text(json.dumps(results, indent=1) + "\n")


if __name__ == "__main__":
    main()
