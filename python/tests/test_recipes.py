"""Split rows beside statsmodels: survival, and levels on an ordered scale."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
import statsmodels.api as sm
from statsmodels.duration.hazard_regression import PHReg
from statsmodels.miscmodels.ordinal_model import OrderedModel

from kalmia import LogisticRegression, PoissonRegression
from kalmia.errors import InputError
from kalmia.recipes import ordinal_probabilities, split_ordinal, split_survival, survival_curve

BETA = np.array([0.7, -0.5])


def survival_data(n=1500, seed=1):
    """Hazard 0.3 * 1.5 sqrt(t) exp(X beta), censored at random times up to 6."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 2))
    exposure = rng.exponential(size=n) / np.exp(X @ BETA)
    true = (exposure / 0.3) ** (1 / 1.5)
    censored = rng.uniform(0.5, 6.0, n)
    return np.minimum(true, censored), (true <= censored).astype(int), X


def survival_rows():
    time, event, X = survival_data()
    cuts = np.quantile(time[event == 1], np.arange(1, 10) / 10)
    return time, event, X, cuts, split_survival(time, event, X, cuts)


def fitted(rows):
    model = PoissonRegression("moment", prior_variance=10.0, random_state=0)
    return model.fit(rows.design, rows.y, offset=rows.offset)


def test_split_rows_keep_the_time_at_risk_and_the_events():
    time, event, X, cuts, rows = survival_rows()
    exposure = np.bincount(rows.subject, np.exp(rows.offset))
    np.testing.assert_allclose(exposure, time, rtol=1e-12)
    np.testing.assert_array_equal(np.bincount(rows.subject, rows.y), event)
    np.testing.assert_array_equal(rows.X, X[rows.subject])
    assert rows.design.shape == (len(rows.y), len(cuts) + 2)
    # an event at a cut belongs to the interval before it
    edge = split_survival([1.0], [1], [[0.0]], [1.0, 2.0])
    assert (edge.y.tolist(), edge.interval.tolist()) == ([1.0], [0])


def test_survival_is_that_of_statsmodels_on_the_same_rows():
    *_, rows = survival_rows()
    design = sm.add_constant(rows.design)
    batch = sm.GLM(rows.y, design, family=sm.families.Poisson(), offset=rows.offset).fit(tol=1e-12)
    model = fitted(rows)
    found = np.concatenate([[model.intercept_], model.coef_])
    assert (np.abs(found - batch.params) / batch.bse).max() < 0.2
    np.testing.assert_allclose(model.std_err_ / batch.bse, 1.0, atol=0.06)
    model.polish(rows.design, rows.y, offset=rows.offset, prior="flat")
    found = np.concatenate([[model.intercept_], model.coef_])
    np.testing.assert_allclose(found, batch.params, atol=1e-6)
    # a polish includes the dispersion of counts, statsmodels does not
    ratio = model.std_err_ / batch.bse
    np.testing.assert_allclose(ratio, ratio[0], rtol=1e-4)


def test_one_pass_finds_the_coefficients_of_coxs_model():
    time, event, X, _, rows = survival_rows()
    cox = PHReg(time, X, status=event).fit()
    model = fitted(rows)
    gap = np.abs(model.coef_[-2:] - cox.params) / cox.bse
    assert (gap < 0.1).all(), gap
    assert (np.abs(model.coef_[-2:] - BETA) / cox.bse < 3).all()


def test_the_survival_curve_is_the_product_of_the_intervals_and_near_the_truth():
    _, _, X, cuts, rows = survival_rows()
    model = fitted(rows)
    times = np.array([0.0, 0.3, cuts[2], 2.0, 4.0])
    curve = survival_curve(model.intercept_, model.coef_, X[:5], cuts, times)
    truth = np.exp(-0.3 * times**1.5 * np.exp(X[:5] @ BETA)[:, None])
    assert (curve[:, 0] == 1).all() and (np.diff(curve, axis=1) < 0).all()
    assert np.abs(curve - truth).max() < 0.06
    # by brute force: the hazard in small steps
    grid = np.linspace(0, 4.0, 400_001)
    middle = (grid[1:] + grid[:-1]) / 2
    steps = np.concatenate([[0.0], model.coef_[: len(cuts)]])[np.searchsorted(cuts, middle)]
    hazard = np.exp(model.intercept_ + steps + X[0] @ model.coef_[len(cuts) :])
    np.testing.assert_allclose(curve[0, -1], np.exp(-(hazard * np.diff(grid)).sum()), rtol=1e-4)


def ordinal_data(n=3000, seed=2):
    """Levels of a cumulative logit model."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 2))
    latent = X @ np.array([1.0, -0.6]) + rng.logistic(size=n)
    return np.searchsorted([-1.0, 0.5, 2.0], latent), X


def step_designs(X, steps):
    return [np.hstack([np.tile(np.eye(steps)[k, 1:], (len(X), 1)), X]) for k in range(steps)]


def probabilities(model, X, levels):
    chances = [model.predict_proba(design)[:, 1] for design in step_designs(X, levels - 1)]
    return ordinal_probabilities(np.column_stack(chances))


def test_ordinal_is_that_of_statsmodels_on_the_same_rows():
    level, X = ordinal_data()
    rows = split_ordinal(level, X)
    batch = sm.Logit(rows.y, sm.add_constant(rows.design)).fit(disp=0, tol=1e-12)
    model = LogisticRegression(random_state=0).fit(rows.design, rows.y)
    model.polish(rows.design, rows.y, prior="flat")
    found = np.concatenate([np.ravel(model.intercept_), np.ravel(model.coef_)])
    np.testing.assert_allclose(found, batch.params, atol=1e-5)
    # the likelihood of the levels is that of the split rows
    p = probabilities(model, X, 4)
    np.testing.assert_allclose(p.sum(axis=1), 1, rtol=1e-12)
    log_likelihood = np.log(p[np.arange(len(level)), level]).sum()
    assert abs(log_likelihood - batch.llf) < 1.0


def test_ordinal_predicts_as_well_as_the_cumulative_model_on_its_own_data():
    level, X = ordinal_data()
    fresh, Z = ordinal_data(seed=3)
    frame = pd.Series(pd.Categorical(level, ordered=True))
    cumulative = OrderedModel(frame, X, distr="logit").fit(method="bfgs", disp=0)
    best = -np.log(np.asarray(cumulative.predict(Z))[np.arange(len(Z)), fresh]).mean()
    rows = split_ordinal(level, X)
    model = LogisticRegression(random_state=0).fit(rows.design, rows.y)
    found = -np.log(probabilities(model, Z, 4)[np.arange(len(Z)), fresh]).mean()
    shares = np.bincount(level) / len(level)
    constant = -np.log(shares[fresh]).mean()
    print(f"sequential {found:.4f}, cumulative {best:.4f}, constant {constant:.4f}")
    assert found < best + 0.01 and found < constant - 0.1


def test_levels_are_kept_in_the_order_given():
    levels = ["low", "middle", "high"]
    rows = split_ordinal(["low", "high", "middle"], np.arange(3.0)[:, None], levels)
    assert rows.observation.tolist() == [0, 1, 1, 2, 2]
    assert rows.y.tolist() == [0, 1, 1, 1, 0]
    assert rows.step.tolist() == [0, 0, 1, 0, 1]
    assert rows.design.tolist() == [[0, 0], [0, 1], [1, 1], [0, 2], [1, 2]]


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: split_survival([1, 0], [1, 1], [[1], [2]], [1]), "time: value 1 is 0.0"),
        (lambda: split_survival([1, 2], [1, 2], [[1], [2]], [1]), "event: value 1 is 2.0"),
        (lambda: split_survival([1, 2], [1], [[1], [2]], [1]), "event has 1 values"),
        (lambda: split_survival([1, 2], [1, 0], [[1]], [1]), "two axes and 2 rows"),
        (lambda: split_survival([1], [1], [[1]], [2, 1]), "cuts: value 1 is 1.0"),
        (lambda: split_survival([np.nan], [1], [[1]], [2]), "time: value 0 is nan"),
        (lambda: survival_curve(0.0, [1.0], [[1.0]], [1.0], [1.0]), "coef has 1 values"),
        (lambda: survival_curve(0.0, [1.0, 1.0], [[1.0]], [1.0], [-1.0]), "times: value 0"),
        (lambda: split_ordinal([1, 1], [[1], [2]]), "two or more"),
        (lambda: split_ordinal([1, 9], [[1], [2]], [1, 2]), "level 9"),
        (lambda: ordinal_probabilities([[0.5, 1.5]]), "went_on: value 1 is 1.5"),
    ],
)
def test_bad_input_is_named(call, words):
    with pytest.raises(InputError, match=words):
        call()
