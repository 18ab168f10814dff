"""Draws, quantiles and distribution functions of the estimators agree with their moments."""

import numpy as np
import pytest
from compare import assert_close, assert_same
from scipy import stats

import kalmia
from kalmia import GammaRegression, LinearRegression, LogisticRegression, PoissonRegression

RNG = np.random.default_rng(11)
X = RNG.normal(size=(150, 3)) + [0.0, 2.0, 0.0]
LINEAR = 0.4 + X @ [0.5, -0.3, 0.2]
TARGETS = {
    LinearRegression: LINEAR + RNG.normal(size=150),
    PoissonRegression: RNG.poisson(np.exp(LINEAR)),
    GammaRegression: RNG.gamma(2.0, np.exp(LINEAR) / 2.0),
    LogisticRegression: (LINEAR + RNG.logistic(size=150) > 0.0).astype(int),
}
DRAWS = 40_000


def check_moments(draws, mean, covariance):
    """Compares the moments of draws within five standard errors of the draws' own."""
    errors = draws.std(axis=0) / np.sqrt(len(draws))
    assert (np.abs(draws.mean(axis=0) - mean) < 5.0 * errors).all()
    found = np.cov(draws, rowvar=False)
    deviations = np.sqrt(np.diag(covariance))
    scale = np.outer(deviations, deviations)
    assert np.abs((found - covariance) / scale).max() < 0.05


@pytest.mark.parametrize("method", ["auto", "moment"])
@pytest.mark.parametrize("kind", TARGETS)
def test_draws_have_the_mean_and_the_covariance(kind, method):
    model = kind(method).fit(X, TARGETS[kind])
    learner = model.learners_[0]
    draws = model.sample_coefficients(DRAWS, random_state=1)
    degrees = learner.degrees_of_freedom
    # Student's law is wider than its scale
    factor = degrees / (degrees - 2.0) if np.isfinite(degrees) else 1.0
    within = np.array(learner.covariance)
    if kind is LinearRegression and method == "auto":
        # only the part within the members is widened; with one member that is all of it
        assert len(learner.weights) >= 1
        check_moments(draws, learner.theta, within * factor)
    else:
        check_moments(draws, learner.theta, within)
    assert_same(model.sample_coefficients(5, random_state=3), model.sample_coefficients(5, 3))
    assert not np.array_equal(model.sample_coefficients(5), model.sample_coefficients(5))


def test_a_mixture_is_drawn_by_its_weights():
    """With two rows the members differ most: the mixture's kurtosis shows in the draws."""
    model = LogisticRegression().fit(X[:12], TARGETS[LogisticRegression][:12])
    learner = model.learners_[0]
    assert len(learner.weights) > 3
    draws = model.sample_coefficients(DRAWS, random_state=2)
    check_moments(draws, learner.theta, learner.covariance)
    # the mean of a function that is not linear: the probability of a row
    row = np.array([1.0, *X[0]])
    p = 1.0 / (1.0 + np.exp(-draws @ row))
    assert abs(p.mean() - model.predict_proba(X[:1])[0, 1]) < 5.0 * p.std() / np.sqrt(DRAWS)


@pytest.mark.parametrize("kind", [LinearRegression, PoissonRegression, GammaRegression])
def test_draws_of_targets_have_the_predicted_distribution(kind):
    model = kind().fit(X, TARGETS[kind])
    offset = [0.1, 0.2]
    draws = model.sample_predictions(X[:2], DRAWS, random_state=4, offset=offset)
    assert draws.shape == (DRAWS, 2)
    for q in (0.1, 0.5, 0.9):
        at = model.predict_quantiles(X[:2], q, offset=offset)
        below = model.predict_cdf(X[:2], at, offset=offset)
        assert_close((draws <= at).mean(axis=0), below, atol=5.0 * 0.5 / np.sqrt(DRAWS))
    means = model.sample_predictions(X[:2], DRAWS, random_state=4, offset=offset, of_mean=True)
    assert (means.std(axis=0) < draws.std(axis=0)).all()
    # rows of a draw share coefficients: equal rows have equal means
    twice = model.sample_predictions(X[[0, 0]], 10, random_state=5, of_mean=True)
    assert_same(twice[:, 0], twice[:, 1])


def test_draws_of_labels():
    y = np.where(TARGETS[LogisticRegression] == 1, "yes", "no")
    model = LogisticRegression().fit(X, y)
    labels = model.sample_predictions(X[:3], DRAWS, random_state=6)
    assert_close((labels == "yes").mean(axis=0), model.predict_proba(X[:3])[:, 1], atol=0.013)
    three = np.digitize(TARGETS[LinearRegression], [-0.5, 0.5])
    model = LogisticRegression().fit(X, three)
    assert model.sample_coefficients(4, 1).shape == (4, 3, 4)
    shares = model.sample_predictions(X[:3], 50, random_state=7, of_mean=True)
    assert shares.shape == (50, 3, 3)
    assert_close(shares.sum(axis=2), 1.0)
    labels = model.sample_predictions(X[:3], DRAWS, random_state=8)
    expected = model.sample_predictions(X[:3], DRAWS, random_state=8, of_mean=True).mean(axis=0)
    found = np.stack([(labels == k).mean(axis=0) for k in range(3)], axis=1)
    assert_close(found, expected, atol=0.02)


@pytest.mark.parametrize("kind", [LinearRegression, PoissonRegression, GammaRegression])
@pytest.mark.parametrize("method", ["auto", "ekf"])
def test_many_quantiles_are_those_of_single_predictions(kind, method):
    model = kind(method).fit(X, TARGETS[kind])
    one = [model.learners_[0].predict(x) for x in X[:20]]
    q = [0.01, 0.5, 0.975]
    found = model.predict_quantiles(X[:20], q)
    assert_close(found, [[p.quantile(level) for level in q] for p in one], rtol=1e-9)
    ends = model.predict_interval(X[:20], level=0.95)
    assert_close(model.predict_quantiles(X[:20], [0.025, 0.975]), ends, rtol=1e-9)
    assert_close(model.predict_cdf(X[:20], 1.5), [p.cdf(1.5) for p in one], rtol=1e-9)
    for bad in (0.0, 1.0, np.nan):
        with pytest.raises(kalmia.InputError, match="q is .*: it must lie strictly between 0 and"):
            model.predict_quantiles(X, [0.5, bad])
    with pytest.raises(ValueError, match="X has 20 rows, but y has 3"):
        model.predict_cdf(X[:20], [1.0, 2.0, 3.0])


def test_the_gaussian_filter_has_scipys_quantiles():
    model = LinearRegression("ekf", noise_variance=0.5).fit(X, TARGETS[LinearRegression])
    mean, std = model.predict(X, return_std=True)
    assert_close(model.predict_quantiles(X, 0.3), stats.norm.ppf(0.3, mean, std), rtol=1e-9)
    assert_close(model.predict_cdf(X, 0.7), stats.norm.cdf(0.7, mean, std), rtol=1e-9)


def test_methods_without_a_belief_refuse_draws():
    model = LinearRegression("asgd").fit(X, TARGETS[LinearRegression])
    for refused in (model.sample_coefficients, lambda: model.sample_predictions(X)):
        with pytest.raises(
            kalmia.StateError, match="asgd keeps no covariance, so there is nothing"
        ):
            refused()
