"""Conformal intervals of the estimators, on real rows and on rows that the model does not fit."""

import pickle

import numpy as np
import pytest
from kalmia import GammaRegression, LinearRegression, LogisticRegression, PoissonRegression
from kalmia import load
from kalmia.errors import InputError
from sklearn.base import clone
from sklearn.datasets import load_diabetes


def drifting(rows, seed):
    """Rows whose noise grows tenfold in the middle."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(rows, 3))
    scale = np.where(np.arange(rows) < rows // 2, 1.0, 10.0)
    return X, X @ [1.0, -2.0, 0.5] + scale * rng.normal(size=rows)


def held(ends, y):
    return np.mean((ends[:, 0] <= y) & (y <= ends[:, 1]))


def test_they_hold_where_the_model_does_not():
    X, y = drifting(20_000, 1)
    model = LinearRegression(conformal=True, shuffle=False).fit(X, y)
    found = model.progressive_["conformal"]
    assert found["rows"] == 20_000 - 32
    assert abs(found["coverage"] - 0.95) < 0.01
    assert found["model_coverage"] < 0.9
    assert found["width"] > found["model_width"]
    assert "conformal 95 % intervals held" in str(model.summary())
    X, y = drifting(20_000, 2)
    X, y = X[10_000:], y[10_000:]
    for level in (0.5, 0.7, 0.9, 0.95):
        ends = model.predict_interval(X, level, conformal=True)
        assert ends.shape == (10_000, 2)
        assert abs(held(ends, y) - level) < 0.03, level
    assert held(model.predict_interval(X), y) < 0.9


def test_real_rows_are_covered():
    X, y = load_diabetes(return_X_y=True)
    rng = np.random.default_rng(0)
    inside = {0.8: [], 0.9: []}
    for _ in range(20):
        order = rng.permutation(len(y))
        train, test = order[:300], order[300:]
        model = LinearRegression(conformal=True).fit(X[train], y[train])
        for level, found in inside.items():
            found.append(held(model.predict_interval(X[test], level, conformal=True), y[test]))
    for level, found in inside.items():
        # 300 rows leave thresholds an error of their own
        assert abs(np.mean(found) - level) < 0.03, (level, np.mean(found))


def test_counts_of_real_patients_are_covered():
    data = pytest.importorskip("statsmodels.api").datasets.randhie.load_pandas().data
    X = data.drop(columns="mdvis").to_numpy(float)
    y = data["mdvis"].to_numpy(float)
    model = PoissonRegression(conformal=True).fit(X, y)
    found = model.progressive_["conformal"]
    # at least the level, because ends are counts; visits are far from Poisson
    assert 0.945 < found["coverage"] < 0.98, found
    ends = model.predict_interval(X[:500], 0.9, conformal=True)
    assert (ends == np.round(ends)).all() and (ends >= 0).all()


def test_pieces_files_and_pickles_continue_them(tmp_path):
    X, y = drifting(3000, 3)
    whole = LinearRegression(conformal=True, shuffle=False).fit(X, y)
    expected = whole.predict_interval(X, conformal=True)
    parts = LinearRegression(conformal=True)
    for start in range(0, 3000, 700):
        parts.partial_fit(X[start : start + 700], y[start : start + 700])
        parts = pickle.loads(pickle.dumps(parts))
    assert (parts.predict_interval(X, conformal=True) == expected).all()
    path = tmp_path / "m.kalmia"
    whole.save(path)
    again = load(path)
    assert again.conformal is True
    assert (again.predict_interval(X, conformal=True) == expected).all()
    assert again.progressive_ == whole.progressive_
    assert clone(again).conformal is True


def test_amounts_stay_positive():
    rng = np.random.default_rng(4)
    X = rng.normal(size=(4000, 2))
    y = np.exp(X @ [0.3, -0.2] + 1.5 * rng.normal(size=4000))
    model = GammaRegression(conformal=True).fit(X, y)
    ends = model.predict_interval(X, 0.99, conformal=True)
    assert (ends >= 0).all() and np.isfinite(ends).all()
    assert abs(held(model.predict_interval(X, 0.9, conformal=True), y) - 0.9) < 0.02


def test_what_has_no_conformal_interval_says_so():
    X, y = drifting(100, 5)
    plain = LinearRegression().fit(X, y)
    with pytest.raises(InputError, match="make it with conformal=True and fit it again"):
        plain.predict_interval(X, conformal=True)
    assert "conformal" not in plain.progressive_
    model = LinearRegression(conformal=True).fit(X, y)
    for level in (0.0, 0.995, 1.0, float("nan")):
        with pytest.raises(InputError, match="at most 0.99"):
            model.predict_interval(X, level, conformal=True)
    with pytest.raises(InputError, match="of_mean and conformal are both True"):
        model.predict_interval(X, of_mean=True, conformal=True)
    with pytest.raises(InputError, match="family 'bernoulli' has no conformal intervals"):
        LogisticRegression(conformal=True).fit(X, y > 0)
    with pytest.raises(InputError, match="conformal is 3"):
        LinearRegression(conformal=3).fit(X, y)
