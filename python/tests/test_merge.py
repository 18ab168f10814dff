"""Merged estimators against one fit on all rows."""

import numpy as np
import pandas as pd
import pytest
from compare import assert_close, assert_same

from kalmia import InputError, LinearRegression, LogisticRegression, PoissonRegression, StateError

RNG = np.random.default_rng(2)
X = RNG.normal(size=(2000, 3))
Y = X @ [1.0, -0.5, 0.2] + RNG.normal(size=2000)


def test_gaussian_filters_merge_exactly():
    parts = [LinearRegression("ekf").fit(X[i::2], Y[i::2]) for i in (0, 1)]
    whole = LinearRegression("ekf").fit(X, Y)
    merged = parts[0].merge(parts[1])
    assert merged.merged_exactly_ is True
    assert_close(merged.coef_, whole.coef_, rtol=1e-9)
    assert_close(merged.covariance_, whole.covariance_, rtol=1e-8)
    assert merged.n_samples_seen_ == 2000 and parts[0].n_samples_seen_ == 1000
    merged.partial_fit(X[:10], Y[:10])
    whole.partial_fit(X[:10], Y[:10])
    assert_close(merged.coef_, whole.coef_, rtol=1e-9)


def test_a_short_model_merges_exactly():
    long, short = (LinearRegression(shuffle=False) for _ in range(2))
    long.fit(X[:1900], Y[:1900])
    short.fit(X[1900:], Y[1900:])
    whole = LinearRegression(shuffle=False).fit(X, Y)
    merged = long.merge(short)
    assert merged.merged_exactly_ is True
    assert_close(merged.coef_, whole.coef_, rtol=1e-9)


@pytest.mark.parametrize("classes", [2, 3])
def test_other_models_merge_nearly(classes, tmp_path):
    y = np.digitize(Y, [0.0] if classes == 2 else [-0.7, 0.7])
    method = "auto" if classes == 2 else "moment"
    parts = [LogisticRegression(method).fit(X[i::2], y[i::2]) for i in (0, 1)]
    whole = LogisticRegression(method).fit(X, y)
    merged = parts[0].merge(parts[1])
    assert merged.merged_exactly_ is False
    errors = whole.std_err_ if classes == 3 else whole.std_err_[None]
    near = 0.25 if method == "auto" else 0.4
    assert (np.abs(merged.coef_ - whole.coef_) < near * errors[:, 1:]).all()
    # the two halves were learned in other orders than the whole
    assert_close(merged.std_err_, whole.std_err_, rtol=0.06)
    # the loss is that of all rows, each predicted by the model that learned it
    losses = [part.progressive_loss_ for part in parts]
    assert_close(merged.progressive_loss_, np.mean(losses), rtol=1e-12)
    merged.save(tmp_path / "merged.kalmia")
    assert merged.predict(X).shape == (2000,) and "2000 rows" in str(merged.summary())


def test_what_cannot_be_merged_is_named():
    a = LinearRegression("ekf").fit(X, Y)
    text = pd.DataFrame({"c": np.where(X[:, 0] > 0, "u", "v")})
    labels = LogisticRegression().fit(X, Y > 0)
    for other, message in [
        (labels, "a LinearRegression cannot be merged with a LogisticRegression"),
        (
            LinearRegression("ekf", prior_variance=2.0).fit(X, Y),
            "prior_variance is None in one and 2",
        ),
        (LinearRegression("ekf").fit(X[:, :2], Y), "3 and 2 features"),
        (
            LinearRegression("ekf").fit(pd.DataFrame(X, columns=list("abc")), Y),
            "feature 0 is 'x0' in one and 'a' in the other",
        ),
    ]:
        with pytest.raises(InputError, match=message):
            a.merge(other)
    one, two = (LinearRegression().fit(text[rows], Y[rows]) for rows in (slice(500), slice(1, 500)))
    if text["c"][0] != text["c"][1]:
        with pytest.raises(InputError, match="levels in the same order"):
            one.merge(two)
    with pytest.raises(InputError, match="one has the classes"):
        labels.merge(LogisticRegression().fit(X, np.where(Y > 0, "a", "b")))
    with pytest.raises(StateError, match="the models cannot be merged: .*follow a drift"):
        LinearRegression(drift="adapt").fit(X, Y).merge(LinearRegression(drift="adapt").fit(X, Y))
    with pytest.raises(StateError, match="asgd"):
        LinearRegression("asgd").fit(X, Y).merge(LinearRegression("asgd").fit(X, Y))
    before = a.coef_.copy()
    a.merge(LinearRegression("ekf").fit(X, Y))
    assert_same(a.coef_, before)
    counts = [PoissonRegression().fit(X[i::2], np.exp(Y[i::2])) for i in (0, 1)]
    assert counts[0].merge(counts[1]).n_samples_seen_ == 2000
