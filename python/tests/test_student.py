"""Student's noise against scipy's and statsmodels' fits, and against wrong targets."""

import numpy as np
import pytest
import statsmodels.api as sm
from compare import assert_close
from scipy import optimize, stats
from sklearn.linear_model import HuberRegressor
from sklearn.metrics import d2_absolute_error_score

from kalmia import InputError, LinearRegression, StudentRegression

BETA = np.array([1.0, -0.5, 0.2])


def rows(rng, size, freedom, scale=2.0):
    X = rng.normal(size=(size, 3))
    return X, 1.0 + X @ BETA + scale * rng.standard_t(freedom, size=size)


def theta(model):
    return np.array([model.intercept_, *model.coef_])


def most_likely(X, y, freedom):
    """Coefficients, standard errors and scale at the maximum of the likelihood, by scipy."""
    design = sm.add_constant(X)

    def loss(at):
        law = stats.t(freedom, loc=design @ at[:-1], scale=np.exp(at[-1]))
        return -law.logpdf(y).mean()

    start = np.r_[np.linalg.lstsq(design, y, rcond=None)[0], 0.0]
    found = optimize.minimize(loss, start, method="BFGS", options={"gtol": 1e-8}).x
    scale = np.exp(found[-1])
    # the information of a location is (nu + 1) / (nu + 3) / scale^2
    covariance = np.linalg.inv(design.T @ design) * (freedom + 3.0) / (freedom + 1.0)
    return found[:-1], scale * np.diag(covariance) ** 0.5, scale


@pytest.mark.parametrize("freedom", [3.0, 4.0, 10.0])
def test_one_pass_is_close_to_the_maximum_likelihood(freedom):
    X, y = rows(np.random.default_rng(1), 4000, freedom)
    model = StudentRegression(degrees_of_freedom=freedom).fit(X, y)
    best, errors, scale = most_likely(X, y, freedom)
    off = abs(theta(model) - best) / errors
    assert off.max() < 0.3, off
    assert model.dispersion_ == pytest.approx(scale, rel=0.02)
    ratio = model.std_err_ / errors
    assert 0.85 < ratio.min() and ratio.max() < 1.15, ratio
    model.polish(X, y, prior="flat")
    polished = abs(theta(model) - best) / errors
    assert polished.max() < 0.01 < off.max(), polished


def test_it_agrees_with_hubers_regression():
    X, y = rows(np.random.default_rng(2), 4000, 4.0)
    batch = sm.RLM(y, sm.add_constant(X), M=sm.robust.norms.HuberT()).fit()
    model = StudentRegression().fit(X, y)
    assert abs((theta(model) - batch.params) / batch.bse).max() < 1.0


def coefficient_errors(share, repetitions=20):
    """Root mean square errors of coefficients, by class and repetition, with wrong targets."""
    rng = np.random.default_rng(3)
    kinds = (StudentRegression, HuberRegressor, LinearRegression)
    errors = {kind: [] for kind in kinds}
    for _ in range(repetitions):
        X = rng.normal(size=(2000, 3))
        y = 1.0 + X @ BETA + rng.normal(size=2000)
        bad = rng.random(2000) < share
        y[bad] = 100.0 + 50.0 * X[bad, 0] + 20.0 * rng.normal(size=bad.sum())
        for kind in kinds:
            off = theta(kind().fit(X, y)) - [1.0, *BETA]
            errors[kind].append(np.mean(off**2) ** 0.5)
    return [np.array(errors[kind]) for kind in kinds]


def test_clean_rows_cost_little():
    student, _, gaussian = coefficient_errors(0.0)
    assert np.median(student) < 1.15 * np.median(gaussian)


def test_one_wrong_target_in_a_hundred_moves_nothing():
    student, huber, gaussian = coefficient_errors(0.01)
    # 0.02 is the error of least squares on clean rows
    assert np.median(student) < 0.03 and np.median(student) < 1.1 * np.median(huber)
    assert (student < 0.1 * gaussian).all()


def test_one_wrong_target_in_ten_moves_less_than_with_hubers_loss():
    student, huber, gaussian = coefficient_errors(0.1)
    assert np.median(student) < 0.03 and np.median(student) < 0.4 * np.median(huber)
    # a run that meets many wrong targets among its first rows learns the scale slowly
    assert (student < 1.1 * huber).all() and (student < 0.1 * gaussian).all()


@pytest.mark.parametrize("freedom", [3.0, 4.0, 8.0])
@pytest.mark.parametrize("level", [0.9, 0.95])
def test_intervals_hold_new_targets(freedom, level):
    rng = np.random.default_rng(4)
    X, y = rows(rng, 4000, freedom)
    model = StudentRegression(degrees_of_freedom=freedom).fit(X, y)
    X, y = rows(rng, 20_000, freedom)
    ends = model.predict_interval(X, level)
    inside = ((ends[:, 0] <= y) & (y <= ends[:, 1])).mean()
    assert inside == pytest.approx(level, abs=0.012)
    reach = stats.t.ppf(0.5 + level / 2.0, freedom) * model.dispersion_
    assert_close(ends[:, 1] - ends[:, 0], 2.0 * reach, rtol=0.02)


def test_scores_are_shares_of_the_absolute_error():
    X, y = rows(np.random.default_rng(5), 1000, 3.0)
    model = StudentRegression()
    ahead = model.partial_fit_predict(X, y)
    assert model.score(X, y) == d2_absolute_error_score(y, model.predict(X))
    assert model.progressive_loss_ == pytest.approx(abs(y - ahead)[1:].mean(), rel=1e-9)
    mean, std = model.predict(X[:20], return_std=True)
    # the variance of Student's law with 4 degrees of freedom is twice its squared scale
    assert_close(std, 2.0**0.5 * model.dispersion_, rtol=0.02)
    assert_close(model.predict_cdf(X[:20], mean), 0.5, atol=1e-3)


@pytest.mark.parametrize("bad", [2.0, 101.0, float("nan"), "few", None, True])
def test_other_degrees_of_freedom_are_refused(bad):
    with pytest.raises(InputError, match=rf"degrees_of_freedom is {bad!r}: "):
        StudentRegression(degrees_of_freedom=bad).fit([[0.0], [1.0]], [0.0, 1.0])
