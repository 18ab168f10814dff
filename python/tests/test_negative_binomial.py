"""Negative binomial counts against statsmodels, and intervals against simulated counts."""

import numpy as np
import pytest
import statsmodels.api as sm
from compare import assert_close
from scipy import stats
from statsmodels.datasets import randhie

from kalmia import InputError, NegativeBinomialRegression, PoissonRegression

BETA = np.array([0.6, -0.4])


def counts(rng, size, alpha):
    """Features, means and counts of variance ``mu + alpha * mu ** 2``."""
    X = rng.normal(size=(size, 2))
    mean = np.exp(1.0 + X @ BETA)
    return X, mean, rng.poisson(mean * rng.gamma(1.0 / alpha, alpha, size))


def theta(model):
    return np.array([model.intercept_, *model.coef_])


@pytest.fixture(scope="module")
def visits():
    """Visits to doctors, and the maximum likelihood of statsmodels."""
    data = randhie.load_pandas().data.sample(frac=1.0, random_state=1)
    X, y = data.drop(columns="mdvis").to_numpy(dtype=float), data["mdvis"].to_numpy(dtype=float)
    batch = sm.NegativeBinomial(y, sm.add_constant(X)).fit(disp=0, maxiter=200)
    assert batch.mle_retvals["converged"]
    return X, y, batch


def test_one_pass_is_close_to_the_maximum_likelihood(visits):
    X, y, batch = visits
    model = NegativeBinomialRegression().fit(X, y)
    off = (theta(model) - batch.params[:-1]) / batch.bse[:-1]
    assert abs(off).max() < 0.5, off
    ratio = model.std_err_ / batch.bse[:-1]
    assert 0.95 < ratio.min() and ratio.max() < 1.05, ratio
    assert abs(model.dispersion_ - batch.params[-1]) < batch.bse[-1]
    poisson = PoissonRegression().fit(X, y)
    # both scores are shares of the Poisson deviance, which the Poisson fit nearly maximizes
    assert model.score(X, y) == pytest.approx(poisson.score(X, y), abs=0.01)


def test_polished_it_is_the_maximum_likelihood(visits):
    X, y, batch = visits
    model = NegativeBinomialRegression().fit(X, y)
    one_pass = abs(theta(model) - batch.params[:-1]) / batch.bse[:-1]
    model.polish(X, y, prior="flat")
    # alpha stays that of the first pass, and hardly matters to the coefficients
    off = abs(theta(model) - batch.params[:-1]) / batch.bse[:-1]
    assert off.max() < 0.01 < one_pass.max(), off
    assert_close(model.std_err_, batch.bse[:-1], rtol=0.01)
    # the polish itself is exact: at its own alpha, it is the fit of a GLM
    family = sm.families.NegativeBinomial(alpha=model.dispersion_)
    glm = sm.GLM(y, sm.add_constant(X), family=family).fit(tol=1e-12)
    assert_close(theta(model), glm.params, atol=1e-4 * glm.bse.min())


@pytest.mark.parametrize("alpha", [0.3, 1.0, 3.0])
@pytest.mark.parametrize("level", [0.9, 0.95])
def test_intervals_hold_new_counts_as_often_as_the_true_law_does(alpha, level):
    rng = np.random.default_rng(5)
    X, _, y = counts(rng, 4000, alpha)
    model = NegativeBinomialRegression().fit(X, y)
    X, mean, y = counts(rng, 20_000, alpha)
    ends = model.predict_interval(X, level)
    assert_close(ends, np.floor(ends))
    inside = ((ends[:, 0] <= y) & (y <= ends[:, 1])).mean()
    # the true law: its ends are counts, so its interval too holds more than the level
    law = stats.nbinom(1.0 / alpha, 1.0 / (1.0 + alpha * mean))
    low, high = law.ppf((1.0 - level) / 2.0), law.ppf((1.0 + level) / 2.0)
    true = ((low <= y) & (y <= high)).mean()
    assert inside >= level - 0.01 and inside == pytest.approx(true, abs=0.015)


@pytest.mark.parametrize("alpha", [0.3, 1.0, 3.0])
def test_alpha_is_learned_and_the_law_is_that_of_scipy(alpha):
    rng = np.random.default_rng(6)
    X, _, y = counts(rng, 20_000, alpha)
    model = NegativeBinomialRegression().fit(X, y)
    assert model.dispersion_ == pytest.approx(alpha, rel=0.06)
    mean, std = model.predict(X[:50], return_std=True)
    assert_close(std**2, mean + model.dispersion_ * mean**2, rtol=0.02)
    law = stats.nbinom(1.0 / model.dispersion_, 1.0 / (1.0 + model.dispersion_ * mean))
    assert_close(model.predict_cdf(X[:50], 3.0), law.cdf(3), atol=0.01)


def test_an_offset_is_the_log_of_an_exposure():
    rng = np.random.default_rng(7)
    X, mean, _ = counts(rng, 5000, 0.5)
    exposure = rng.uniform(0.5, 4.0, 5000)
    y = rng.poisson(exposure * mean * rng.gamma(2.0, 0.5, 5000))
    model = NegativeBinomialRegression().fit(X, y, offset=np.log(exposure))
    off = (theta(model) - [1.0, *BETA]) / model.std_err_
    assert abs(off).max() < 4.0, off
    twice = model.predict(X[:5], offset=np.log(2.0)) / model.predict(X[:5])
    assert_close(twice, 2.0, rtol=1e-9)


@pytest.mark.parametrize("bad", [-1.0, 2.5])
def test_other_numbers_are_refused_by_row_and_change_nothing(bad):
    X, _, y = counts(np.random.default_rng(8), 100, 1.0)
    y = y.astype(float)
    model = NegativeBinomialRegression().fit(X, y)
    before = theta(model)
    y[17] = bad
    with pytest.raises(InputError, match=rf"row 17: target {bad:g} .*whole number"):
        model.partial_fit(X, y)
    assert (theta(model) == before).all() and model.n_samples_seen_ == 100


def test_a_fixed_dispersion_is_for_the_filters():
    X, _, y = counts(np.random.default_rng(9), 3000, 0.5)
    model = NegativeBinomialRegression("moment", dispersion=0.5).fit(X, y)
    assert model.dispersion_ == 0.5
    assert abs((theta(model) - [1.0, *BETA]) / model.std_err_).max() < 4.0
    with pytest.raises(InputError, match="method 'auto' takes no dispersion, because it learns it"):
        NegativeBinomialRegression(dispersion=0.5).fit(X, y)
    with pytest.raises(InputError, match="dispersion is 'much': it must be a finite number"):
        NegativeBinomialRegression("moment", dispersion="much").fit(X, y)
    with pytest.raises(InputError, match="the dispersion must lie between 1e-8 and 1e8"):
        NegativeBinomialRegression("moment", dispersion=1e9).fit(X, y)
