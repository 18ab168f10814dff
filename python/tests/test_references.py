"""One pass over real data against the batch fits of statsmodels and scikit-learn."""

import numpy as np
import pytest
import statsmodels.api as sm
from compare import assert_close
from sklearn.datasets import load_breast_cancer, load_diabetes
from sklearn.linear_model import LogisticRegression as BatchLogistic
from statsmodels.datasets import fair, randhie

from kalmia import GammaRegression, LinearRegression, LogisticRegression, PoissonRegression


def compare(model, X, y, family, *, errors, spread):
    """Bounds the coefficients by `errors` standard errors, the standard errors by a factor."""
    # quasi-likelihood for counts, whose dispersion kalmia learns
    scale = "X2" if isinstance(family, sm.families.Poisson) else None
    batch = sm.GLM(y, sm.add_constant(X), family=family).fit(scale=scale)
    theta = (
        np.array([model.intercept_, *model.coef_])
        if np.isscalar(model.intercept_)
        else np.r_[model.intercept_, model.coef_[0]]
    )
    off = np.abs(theta - batch.params) / batch.bse
    assert off.max() < errors, off
    ratio = model.std_err_ / batch.bse
    assert (1.0 / spread < ratio).all() and (ratio < spread).all(), ratio
    return batch


def shuffled(frame, target, columns=None, seed=1):
    frame = frame.sample(frac=1.0, random_state=seed)
    columns = [name for name in frame.columns if name != target] if columns is None else columns
    return frame[columns].to_numpy(dtype=float), frame[target].to_numpy(dtype=float)


def test_gaussian():
    X, y = load_diabetes(return_X_y=True, scaled=False)
    model = LinearRegression().fit(X, y)
    batch = compare(model, X, y, sm.families.Gaussian(), errors=1.2, spread=1.6)
    # nearly collinear columns are shrunk a little; the fitted values hardly change
    assert_close(model.predict(X), batch.fittedvalues, atol=0.3 * batch.scale**0.5)
    assert model.dispersion_ == pytest.approx(batch.scale, rel=0.1)
    ends, frame = (
        model.predict_interval(X, of_mean=True),
        batch.get_prediction(sm.add_constant(X)).summary_frame(),
    )
    width = (ends[:, 1] - ends[:, 0]) / (frame["mean_ci_upper"] - frame["mean_ci_lower"]).to_numpy()
    assert 0.78 < width.min() and width.max() < 1.25


def test_bernoulli():
    data = fair.load_pandas().data
    data["any"] = data["affairs"] > 0
    columns = ["rate_marriage", "age", "yrs_married", "religious"]
    X, y = shuffled(data, "any", columns)
    model = LogisticRegression().fit(X, y)
    compare(model, X, y, sm.families.Binomial(), errors=0.35, spread=1.1)
    batch = BatchLogistic(C=np.inf, max_iter=10_000, tol=1e-8).fit(X, y)
    assert_close(model.predict_proba(X)[:, 1], batch.predict_proba(X)[:, 1], atol=0.02)


def test_bernoulli_with_well_separated_classes_predicts_as_regularised_batch():
    X, y = load_breast_cancer(return_X_y=True)
    model = LogisticRegression().fit(X[:400], y[:400])
    assert model.score(X[400:], y[400:]) > 0.95


def test_poisson():
    X, y = shuffled(randhie.load_pandas().data, "mdvis")
    model = PoissonRegression().fit(X, y)
    compare(model, X, y, sm.families.Poisson(), errors=1.0, spread=1.1)
    assert model.score(X, y) > 0.05


def test_gamma():
    data = fair.load_pandas().data
    amounts = data[data["affairs"] > 0]
    X, y = shuffled(amounts, "affairs", ["rate_marriage", "age", "yrs_married", "religious"])
    model = GammaRegression().fit(X, y)
    batch = compare(model, X, y, sm.families.Gamma(sm.families.links.Log()), errors=0.6, spread=1.3)
    assert model.dispersion_ == pytest.approx(batch.scale, rel=0.3)
