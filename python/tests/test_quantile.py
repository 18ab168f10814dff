"""Quantiles against statsmodels' QuantReg, and the share of targets below them."""

import numpy as np
import pytest
import statsmodels.api as sm
from sklearn.linear_model import QuantileRegressor
from sklearn.metrics import d2_pinball_score, mean_pinball_loss
from statsmodels.datasets import engel

from kalmia import InputError, QuantileRegression

BETA = np.array([1.0, -0.5, 0.2])


def rows(rng, size):
    """Skewed noise whose spread depends on a feature."""
    X = rng.normal(size=(size, 3))
    spread = 1.0 + 0.5 * (X[:, 0] > 0.0)
    return X, 1.0 + X @ BETA + spread * rng.gumbel(size=size)


def theta(model):
    return np.array([model.intercept_, *model.coef_])


@pytest.mark.parametrize("level", [0.1, 0.5, 0.9])
def test_one_pass_is_close_to_the_batch_fit(level):
    X, y = rows(np.random.default_rng(1), 20_000)
    model = QuantileRegression(quantile=level).fit(X, y)
    design = sm.add_constant(X)
    batch = sm.QuantReg(y, design).fit(q=level)
    off = (theta(model) - batch.params) / batch.bse
    assert abs(off).max() < 1.0, off
    ratio = model.std_err_ / batch.bse
    assert 0.65 < ratio.min() and ratio.max() < 1.35, ratio
    loss = mean_pinball_loss(y, model.predict(X), alpha=level)
    best = mean_pinball_loss(y, batch.predict(design), alpha=level)
    assert best * (1.0 - 1e-9) <= loss < 1.001 * best


@pytest.mark.parametrize("level", [0.25, 0.5, 0.75])
def test_engels_food_expenditure(level):
    data = engel.load_pandas().data
    X, y = data[["income"]].to_numpy(), data["foodexp"].to_numpy()
    model = QuantileRegression(quantile=level).fit(X, y)
    batch = sm.QuantReg(y, sm.add_constant(X)).fit(q=level)
    assert abs((theta(model) - batch.params) / batch.bse).max() < 1.0
    best = mean_pinball_loss(y, batch.fittedvalues, alpha=level)
    assert mean_pinball_loss(y, model.predict(X), alpha=level) < 1.01 * best


@pytest.mark.parametrize("level", [0.05, 0.2, 0.5, 0.8, 0.95])
def test_the_share_of_new_targets_below_is_the_level(level):
    rng = np.random.default_rng(2)
    X, y = rows(rng, 4000)
    model = QuantileRegression(quantile=level).fit(X, y)
    X, y = rows(rng, 40_000)
    error = (level * (1.0 - level) / 4000) ** 0.5  # that of the share among the rows learned
    below = (y <= model.predict(X)).mean()
    assert below == pytest.approx(level, abs=4.0 * error)
    progressive = model.progressive_
    assert progressive["level"] == level and progressive["coverage"] is None
    assert progressive["share_below"] == pytest.approx(level, abs=5.0 * error)
    assert progressive["last_half"]["share_below"] == pytest.approx(level, abs=6.0 * error)


def test_the_progressive_scores_are_those_of_the_predictions():
    X, y = rows(np.random.default_rng(3), 500)
    model = QuantileRegression(quantile=0.8)
    ahead = model.partial_fit_predict(X, y)
    # the first row has no constant predictor and is left out
    below = (y <= ahead)[1:].mean()
    assert model.progressive_["share_below"] == pytest.approx(below, rel=1e-12)
    loss = mean_pinball_loss(y[1:], ahead[1:], alpha=0.8)
    assert model.progressive_loss_ == pytest.approx(loss, rel=1e-9)


def test_scores_are_shares_of_the_pinball_loss():
    X, y = rows(np.random.default_rng(4), 2000)
    weight = np.random.default_rng(5).uniform(size=2000)
    model = QuantileRegression(quantile=0.8).fit(X, y)
    expected = d2_pinball_score(y, model.predict(X), sample_weight=weight, alpha=0.8)
    assert model.score(X, y, sample_weight=weight) == expected
    other = QuantileRegressor(quantile=0.8, alpha=0.0).fit(X, y)
    best = d2_pinball_score(y, other.predict(X), alpha=0.8)
    assert best - 0.002 < model.score(X, y) <= best + 1e-9


def test_the_interval_is_that_of_the_quantile():
    """It holds the true quantile about as often as docs/families.md says."""
    rng = np.random.default_rng(6)
    point = np.array([[0.5, -0.5, 1.0]])
    held = {0.5: 0, 0.9: 0}
    for level in held:
        for _ in range(150):
            X = rng.normal(size=(1500, 3))
            y = 1.0 + X @ BETA + rng.gumbel(size=1500)
            truth = 1.0 + point[0] @ BETA - np.log(-np.log(level))
            low, high = QuantileRegression(quantile=level).fit(X, y).predict_interval(point, 0.9)[0]
            held[level] += int(low <= truth <= high)
    # 0.83 to 0.88, and three standard errors of a share of 150
    assert all(0.74 < count / 150 < 0.97 for count in held.values()), held
    model = QuantileRegression().fit(X, y)
    both = [model.predict_interval(point, 0.9, of_mean=of_mean) for of_mean in (False, True)]
    assert (both[0] == both[1]).all()
    draws = model.sample_predictions(point, 4000, random_state=1, of_mean=True)
    assert np.quantile(draws, [0.05, 0.95]) == pytest.approx(both[0][0], abs=0.02)


def test_what_needs_a_law_of_the_target_is_refused():
    X, y = rows(np.random.default_rng(7), 200)
    model = QuantileRegression(quantile=0.8).fit(X, y)
    before = theta(model)
    for refused, name in [
        (lambda: model.predict(X, return_std=True), "return_std"),
        (lambda: model.predict_quantiles(X, 0.5), "predict_quantiles"),
        (lambda: model.predict_cdf(X, 0.5), "predict_cdf"),
        (lambda: model.sample_predictions(X), "sample_predictions"),
    ]:
        with pytest.raises(InputError, match=f"{name}.* one quantile and no law of the target"):
            refused()
    with pytest.raises(InputError, match="a quantile cannot be polished: .* no curvature"):
        model.polish(X, y)
    assert (theta(model) == before).all() and not hasattr(model, "polish_")


@pytest.mark.parametrize("bad", [0.0, 1.0, 1.5, -0.1, float("nan"), "high", None, True])
def test_other_levels_are_refused(bad):
    with pytest.raises(InputError, match=rf"quantile is {bad!r}: "):
        QuantileRegression(quantile=bad).fit([[0.0], [1.0]], [0.0, 1.0])
