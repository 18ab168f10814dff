"""Predictions of batches: means without the covariance, labels, and levels never learned."""

import numpy as np
import pytest
from kalmia import (
    GammaRegression,
    LinearRegression,
    LogisticRegression,
    PoissonRegression,
)


def rows(n: int, features: int, seed: int = 0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, features))
    return rng, X, 0.5 * X[:, 0] - 0.3 * X[:, 1]


def test_the_mean_of_a_linear_regression_is_that_of_its_coefficients():
    rng, X, linear = rows(600, 7)
    model = LinearRegression().fit(X, linear + rng.normal(size=600))
    offset = rng.normal(size=600)
    expected = X @ model.coef_ + model.intercept_
    np.testing.assert_allclose(model.predict(X), expected, rtol=1e-12, atol=1e-12)
    found = model.predict(X, offset=offset)
    np.testing.assert_allclose(found, expected + offset, rtol=1e-12, atol=1e-12)
    mean, std = model.predict(X, return_std=True)
    np.testing.assert_allclose(mean, expected, rtol=1e-12, atol=1e-12)
    assert (std > 0).all()


@pytest.mark.parametrize("n", [3, 50, 2000])
@pytest.mark.parametrize("method", ["auto", "ekf", "ons"])
def test_labels_are_those_of_the_probabilities(n, method):
    rng, X, linear = rows(n, 4, seed=n)
    y = rng.random(n) < 1 / (1 + np.exp(-3 * linear))
    y[:2] = [False, True]
    model = LogisticRegression(method).fit(X, y)
    new = np.concatenate([rng.normal(size=(500, 4)), 1e-9 * rng.normal(size=(50, 4))])
    for offset in (None, 0.7, -model.intercept_[0]):
        chance = model.predict_proba(new, offset=offset)[:, 1]
        np.testing.assert_array_equal(model.predict(new, offset=offset), chance > 0.5)


@pytest.mark.parametrize(
    "model", [LinearRegression(), PoissonRegression(), GammaRegression(), LogisticRegression()]
)
def test_a_batch_predicts_as_single_rows(model):
    rng, X, linear = rows(300, 3)
    y = rng.poisson(np.exp(linear)) + 0.0
    if isinstance(model, GammaRegression):
        y = y + 0.5
    if isinstance(model, LogisticRegression):
        y = y > 1
    model.fit(X, y)
    learner = model.learners_[0]
    lower, upper = learner.predict_interval(X, of_mean=True)
    means = learner.predict_many(X)
    for i in range(0, 300, 29):
        alone = learner.predict(X[i])
        ends = alone.mean_interval()
        found = [means[i], lower[i], upper[i]]
        np.testing.assert_allclose(found, [alone.mean, *ends], rtol=1e-9, atol=1e-12)
        assert ends[0] <= alone.mean <= ends[1]


def test_far_outside_the_data_nothing_is_known():
    model = PoissonRegression().fit([[0.0], [1.0], [2.0], [3.0]], [1, 2, 4, 9])
    lower, upper = model.predict_interval([[1e3]])[0]
    assert lower < upper == np.inf
    lower, upper = model.predict_interval([[1e3]], of_mean=True)[0]
    assert lower <= model.predict([[1e3]])[0] < upper == np.inf


def test_unseen_levels_widen_a_prediction():
    rng, X, linear = rows(200, 2)
    model = LinearRegression("ekf", prior_variance=4.0).fit(X, linear)
    learner = model.learners_[0]
    known = learner.predict_linear(X)[1]
    unseen = np.arange(200) % 3
    np.testing.assert_allclose(learner.predict_linear(X, unseen=unseen)[1], known + 4.0 * unseen)
    with pytest.raises(ValueError, match="unseen"):
        learner.predict_linear(X, unseen=[1])
