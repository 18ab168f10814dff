"""Every algorithm of the paper against trajectories computed with 60 significant digits."""

import json
from pathlib import Path

import numpy as np
import pytest
from compare import assert_close

import kalmia

DATA = Path(__file__).parents[2] / "crates/kalmia/tests/data"
FILE = json.loads((DATA / "trajectory_cases.json").read_text())
X = np.array(FILE["X"])
CASES = [pytest.param(case, id=f"{i}-{case['algorithm']}") for i, case in enumerate(FILE["cases"])]


def close(found, expected):
    expected = np.asarray(expected)
    assert_close(found, expected, rtol=0.0, atol=1e-12 * np.abs(expected).max())


def learner(case):
    algorithm, given = case["algorithm"], case["params"]
    start = {"theta": FILE["theta1"], "covariance": FILE["P1"]}
    if algorithm == "kalman_linear":
        return kalmia.Filter(3, "gaussian", "ekf", **start)
    if algorithm == "ekf_logistic":
        return kalmia.Filter(3, "bernoulli", "ekf", **start)
    if algorithm == "ekf_logistic_truncated":
        return kalmia.Filter(
            3, "bernoulli", "truncated", scale=given["c"], beta=given["beta"], **start
        )
    if algorithm == "ons":
        constants = {
            "radius": given["D"],
            "exp_concavity": 1.0,
            "gamma": given["gamma"],
            "multiplier": given["mult"],
        }
        return kalmia.OnlineNewtonStep(3, "bernoulli", covariance=1.0 / given["lam"], **constants)
    assert algorithm == "asgd"
    return kalmia.AveragedSGD(3, "bernoulli", horizon=12, step=given["gamma"])


@pytest.mark.parametrize("case", CASES)
def test_row_by_row(case):
    one, out = learner(case), case["out"]
    y = FILE["y_linear" if case["algorithm"] == "kalman_linear" else "y_pm1"]
    gradient = case["algorithm"] == "asgd"
    iterates = [one.iterate if gradient else one.theta]
    means = []
    for x, target in zip(X, y, strict=True):
        one.learn(x, target)
        iterates.append(one.iterate if gradient else one.theta)
        means.append(one.theta)
    close(iterates, out["theta"])
    if gradient:
        close(means, out["avg"])
    elif case["algorithm"] == "ons":
        averaged = kalmia.Averaged(learner(case))
        averages = []
        for x, target in zip(X, y, strict=True):
            averaged.learn(x, target)
            averages.append(averaged.theta)
        close(averages, out["avg"])
        assert_close(one.covariance @ np.array(out["A_final"]), np.eye(3), atol=1e-12)
    else:
        close(one.covariance, out["P_final"])


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("layout", ["C", "F", "strided", "int"])
def test_in_one_batch_whatever_the_layout(case, layout):
    many, out = learner(case), case["out"]
    y = FILE["y_linear" if case["algorithm"] == "kalman_linear" else "y_pm1"]
    wide = np.full((24, 7), np.nan)
    wide[::2, 1::2] = X
    table = {
        "C": np.ascontiguousarray(X),
        "F": np.asfortranarray(X),
        "strided": wide[::2, 1::2],
        "int": X.tolist(),
    }[layout]
    means = many.learn_many(table, y)
    assert many.count == 12 and means.shape == (12,)
    close(many.iterate if case["algorithm"] == "asgd" else many.theta, out["theta"][-1])


def test_every_algorithm_is_there():
    assert len({case["algorithm"] for case in FILE["cases"]}) == 5
