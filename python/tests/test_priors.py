"""The default learner on data where zero has a meaning, and on targets far from zero."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.datasets import load_digits

from kalmia import LinearRegression, LogisticRegression


def total_loss(X: np.ndarray, y: np.ndarray, intercept: bool) -> float:
    """Total progressive log-loss, row after row."""
    model = LogisticRegression(fit_intercept=intercept)
    found = model.partial_fit_predict(X, y, classes=[0, 1])[:, 1]
    return -np.log(np.where(y == 1, found, 1 - found)).sum()


@pytest.mark.parametrize("digit", [0, 3])
def test_an_intercept_costs_little_where_zero_has_a_meaning(digit: int) -> None:
    X, y = load_digits(return_X_y=True)
    y = (y == digit).astype(int)
    # the right member starts with a twelfth of the weight or more; with centered features alone
    # the difference was 17 and 14 nats
    assert total_loss(X, y, True) <= total_loss(X, y, False) + np.log(12) + 1


def test_a_level_far_from_zero_is_learned_at_once() -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(1000, 1))
    noise = 0.5 * rng.normal(size=1000)
    model = LinearRegression()
    found = model.partial_fit_predict(X, 300 + 2 * X[:, 0] + noise)
    errors = found - (300 + 2 * X[:, 0])
    assert abs(errors[1]) < 10
    assert np.sqrt(np.mean(errors[10:] ** 2)) < 0.3
