"""Further passes over the rows: the batch fit, its standard errors, and what is refused."""

import warnings

import numpy as np
import pandas as pd
import pytest
import statsmodels.api as sm
from partitions import FAMILIES, rows

import kalmia
from kalmia.errors import InputError, KalmiaError

CLASSES = {
    "gaussian": (kalmia.LinearRegression, sm.families.Gaussian),
    "bernoulli": (kalmia.LogisticRegression, sm.families.Binomial),
    "poisson": (kalmia.PoissonRegression, sm.families.Poisson),
    "gamma": (
        kalmia.GammaRegression,
        lambda: sm.families.Gamma(sm.families.links.Log()),
    ),
}


def table(family, count=2000):
    made = rows(count, family)
    return made[["x", "z"]].to_numpy(), made["y"].to_numpy()


def theta(model):
    return np.array([np.ravel(model.intercept_)[0], *np.ravel(model.coef_)])


@pytest.mark.parametrize("family", FAMILIES)
def test_flat_is_the_batch_fit(family):
    X, y = table(family)
    rng = np.random.default_rng(2)
    weight, offset = rng.integers(1, 4, len(y)).astype(float), rng.normal(size=len(y)) / 10
    estimator, kind = CLASSES[family]
    model = estimator().fit(X, y, sample_weight=weight, offset=offset)
    before = theta(model)
    model.polish(X, y, sample_weight=weight, offset=offset, prior="flat")
    design = sm.add_constant(X)
    batch = sm.GLM(y, design, family=kind(), freq_weights=weight, offset=offset).fit(tol=1e-12)
    assert theta(model) == pytest.approx(batch.params, abs=1e-3 * batch.bse.min())
    if family != "gaussian":
        assert abs(before - batch.params).max() > 1e-3 * batch.bse.min()
    # counts that vary more than Poisson's law allows have wider standard errors
    excess = model.polish_["dispersion"] if family == "poisson" else 1.0
    assert model.std_err_ == pytest.approx(batch.bse * np.sqrt(excess), rel=0.01)
    assert model.polish_["deviance"] == pytest.approx(batch.deviance, rel=1e-6)


def test_robust_standard_errors_are_whites():
    X, y = table("gaussian")
    y = y + np.abs(X[:, 0]) * np.random.default_rng(4).normal(size=len(y)) * 3.0
    model = kalmia.LinearRegression().fit(X, y).polish(X, y, robust=True, prior="flat")
    white = sm.OLS(y, sm.add_constant(X)).fit(cov_type="HC0").bse
    assert model.polish_["robust_std_err"] == pytest.approx(white, rel=1e-6)
    assert kalmia.LinearRegression().fit(X, y).polish(X, y).polish_["robust_std_err"] is None


def test_each_class_is_polished():
    rng = np.random.default_rng(3)
    X = rng.normal(size=(1500, 2))
    y = np.argmax(X @ rng.normal(size=(2, 3)) + rng.gumbel(size=(1500, 3)), axis=1)
    model = kalmia.LogisticRegression("moment").fit(X, y).polish(X, y, prior="flat")
    assert len(model.polish_) == 3
    for label in range(3):
        batch = sm.GLM(y == label, sm.add_constant(X), family=sm.families.Binomial()).fit()
        found = [model.intercept_[label], *model.coef_[label]]
        assert found == pytest.approx(batch.params, abs=1e-3 * batch.bse.min())


def test_the_fitted_prior_has_a_maximum_where_the_likelihood_has_none():
    X = np.linspace(-1.0, 1.0, 100)[:, None]
    y = (X[:, 0] > 0.0).astype(int)
    model = kalmia.LogisticRegression().fit(X, y).polish(X, y)
    assert np.isfinite(theta(model)).all()
    before = theta(model)
    with pytest.raises(KalmiaError, match="separate"):
        model.polish(X, y, prior="flat")
    assert (theta(model) == before).all()


def test_it_is_a_model_like_before(tmp_path):
    made = rows(1000)
    features = made[["x", "z", "color"]]
    model = kalmia.LogisticRegression().fit(features, made["y"])
    loss = model.progressive_loss_
    assert model.polish(features, made["y"]) is model
    assert model.progressive_loss_ == loss and model.n_samples_seen_ == 1000
    model.save(tmp_path / "m")
    assert (kalmia.load(tmp_path / "m").coef_ == model.coef_).all()
    again = theta(model)
    model.polish(features, made["y"])
    assert theta(model) == pytest.approx(again, rel=1e-6)
    model.partial_fit(features, made["y"])
    assert model.n_samples_seen_ == 2000


def test_passes_and_splits_of_rows():
    X, y = table("poisson")
    one = kalmia.PoissonRegression().fit(X, y).polish(X, y, passes=1)
    assert one.polish_["passes"] == 1
    done = kalmia.PoissonRegression().fit(X, y).polish(X, y)
    assert 1 < done.polish_["passes"] < 10 and done.polish_["rms"] < 1e-4
    assert one.coef_ == pytest.approx(done.coef_, abs=0.3 * done.std_err_.min())
    frame = pd.DataFrame(X, columns=["x", "z"])
    other = kalmia.PoissonRegression().fit(frame, y).polish(frame, y)
    assert other.coef_ == pytest.approx(done.coef_, rel=1e-9)


def test_a_polish_over_fewer_rows_warns():
    rng = np.random.default_rng(5)
    X = rng.normal(size=(200, 2))
    y = X[:, 0] + rng.normal(size=200)
    with pytest.warns(UserWarning, match="learned 200 rows and is polished over 20"):
        kalmia.LinearRegression().fit(X, y).polish(X[:20], y[:20])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        kalmia.LinearRegression().fit(X, y).polish(X, y)


def test_what_is_refused_changes_nothing():
    X, y = table("bernoulli", 300)
    model = kalmia.LogisticRegression().fit(X, y)
    before = theta(model)
    bad = X.copy()
    bad[17, 1] = np.nan
    with pytest.raises(InputError, match="row 17"):
        model.polish(bad, y)
    with pytest.raises(InputError, match="label 2 in row 0"):
        model.polish(X, np.full(300, 2))
    with pytest.raises(InputError, match="passes is 0"):
        model.polish(X, y, passes=0)
    with pytest.raises(InputError, match="prior"):
        model.polish(X, y, prior="vague")
    assert (theta(model) == before).all() and not hasattr(model, "polish_")
