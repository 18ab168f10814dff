"""Class weights, scores with offsets, and what a summary exports."""

import sys

import numpy as np
import pytest
from compare import assert_close, assert_same
from sklearn import config_context
from sklearn.metrics import accuracy_score, d2_tweedie_score, r2_score
from sklearn.model_selection import cross_validate
from sklearn.utils.class_weight import compute_class_weight, compute_sample_weight

from kalmia import InputError, LinearRegression, LogisticRegression, PoissonRegression

RNG = np.random.default_rng(3)
X = RNG.normal(size=(800, 3))
RARE = np.where(X[:, 0] + RNG.normal(size=800) > 2.0, "yes", "no")
THREE = np.digitize(X[:, 0] + RNG.normal(size=800), [-1.5, 0.5])


@pytest.mark.parametrize("y", [RARE, THREE], ids=["two", "three"])
def test_balanced_weights_are_those_of_scikit_learn(y):
    weighted = LogisticRegression().fit(X, y, sample_weight=compute_sample_weight("balanced", y))
    balanced = LogisticRegression(class_weight="balanced").fit(X, y)
    assert_close(balanced.coef_, weighted.coef_, rtol=1e-12)
    classes = np.unique(y)
    given = dict(
        zip(classes.tolist(), compute_class_weight("balanced", classes=classes, y=y), strict=True)
    )
    by_label = LogisticRegression(class_weight=given).fit(X, y)
    assert_close(by_label.coef_, weighted.coef_, rtol=1e-12)


def test_class_weights_multiply_sample_weights():
    own = RNG.uniform(0.5, 2.0, 800)
    model = LogisticRegression(class_weight={"yes": 3.0}).fit(X, RARE, sample_weight=own)
    plain = LogisticRegression().fit(X, RARE, sample_weight=own * np.where(RARE == "yes", 3.0, 1.0))
    assert_same(model.coef_, plain.coef_)
    parts = LogisticRegression(class_weight={"yes": 3.0})
    whole = LogisticRegression(class_weight={"yes": 3.0}, shuffle=False).fit(X, RARE)
    for rows in (slice(0, 400), slice(400, 800)):
        parts.partial_fit(X[rows], RARE[rows], classes=["no", "yes"])
    assert_close(parts.coef_, whole.coef_, rtol=1e-9)
    # probabilities are those of balanced classes
    rare = LogisticRegression().fit(X, RARE)
    even = LogisticRegression(class_weight="balanced").fit(X, RARE)
    share = (RARE == "yes").mean()
    assert abs(rare.predict_proba(X)[:, 1].mean() - share) < 0.01
    assert even.predict_proba(X)[:, 1].mean() > 2.0 * share


def test_class_weights_that_cannot_be_used_are_named():
    with pytest.raises(
        ValueError, match="'balanced' is not supported for partial_fit"
    ):
        LogisticRegression(class_weight="balanced").partial_fit(X, RARE)
    for given, message in [
        ("even", "class_weight is 'even': give \"balanced\", or a dictionary"),
        ({"maybe": 2.0}, "class_weight has a weight for the label 'maybe', which is not among"),
        ({"yes": "much"}, r"class_weight\['yes'\] is 'much': give a number"),
    ]:
        with pytest.raises(InputError, match=message):
            LogisticRegression(class_weight=given).fit(X, RARE)


def test_scores_take_offsets():
    exposure = RNG.uniform(0.2, 20.0, 800)
    counts = RNG.poisson(exposure * np.exp(0.3 * X[:, 0]))
    offset = np.log(exposure)
    model = PoissonRegression().fit(X, counts, offset=offset)
    found = model.score(X, counts, offset=offset)
    assert found == d2_tweedie_score(counts, model.predict(X, offset=offset), power=1)
    assert found > model.score(X, counts) + 0.3
    y = X[:, 0] + offset + RNG.normal(size=800)
    line = LinearRegression().fit(X, y, offset=offset)
    assert line.score(X, y, offset=offset) == r2_score(y, line.predict(X, offset=offset))
    labels = LogisticRegression().fit(X, y > 0, offset=offset)
    assert labels.score(X, y > 0, offset=offset) == accuracy_score(
        y > 0, labels.predict(X, offset=offset)
    )


def test_offsets_are_routed_to_scores():
    exposure = RNG.uniform(0.2, 20.0, 800)
    counts = RNG.poisson(exposure * np.exp(0.3 * X[:, 0]))
    with config_context(enable_metadata_routing=True):
        model = PoissonRegression().set_fit_request(offset=True).set_score_request(offset=True)
        routed = cross_validate(model, X, counts, cv=4, params={"offset": np.log(exposure)})
    deaf = PoissonRegression().fit(X, counts)
    assert routed["test_score"].min() > deaf.score(X, counts) + 0.2


def test_a_summary_is_exported():
    model = LinearRegression().fit(X, X[:, 0] + RNG.normal(size=800))
    summary = model.summary(level=0.9)
    frame = summary.to_frame()
    assert list(frame.index) == ["(intercept)", "x0", "x1", "x2"]
    assert list(frame.columns) == ["coef", "std err", "z", "P>|z|", "lower", "upper"]
    assert_same(frame.to_numpy(), np.array([row[1:] for row in summary.rows], dtype=float))
    assert summary.params == dict(frame["coef"]) and summary.pvalues == dict(frame["P>|z|"])
    assert summary.std_err == dict(frame["std err"])
    assert summary.conf_int() == {
        name: (row.lower, row.upper) for name, row in frame[["lower", "upper"]].iterrows()
    }
    wide = {row[0]: (row[5], row[6]) for row in model.summary(level=0.99).rows}
    assert summary.conf_int(0.99) == wide
    with pytest.raises(InputError, match="level is 2"):
        summary.conf_int(2.0)
    covariance = summary.cov_params()
    assert list(covariance.columns) == list(frame.index)
    assert_same(covariance.to_numpy(), model.covariance_)
    joint = LogisticRegression().fit(X, THREE).summary()
    assert [row[0] for row in joint.rows[:2]] == ["1: (intercept)", "1: x0"]
    assert joint.conf_int(0.5)["2: x0"][0] > joint.conf_int()["2: x0"][0]
    between = joint.cov_params()
    assert list(between.index) == list(joint.params)
    # both are compared with the first class, so they are correlated
    assert between.loc["1: x0", "2: x0"] > 0.0
    assert np.linalg.eigvalsh(between.to_numpy()).min() > 0.0
    three = LogisticRegression("moment").fit(X, THREE).summary()
    assert three.cov_params().shape == (12, 12) and three.cov_params().loc["0: x0", "1: x0"] == 0.0
    without = LinearRegression("asgd").fit(X, X[:, 0]).summary()
    assert np.isnan(without.to_frame()["std err"]).all()
    with pytest.raises(InputError, match="method 'asgd' keeps no covariance"):
        without.cov_params()


def test_frames_need_pandas(monkeypatch):
    summary = LinearRegression().fit(X, X[:, 0]).summary()
    monkeypatch.setitem(sys.modules, "pandas", None)
    for refused in (summary.to_frame, summary.cov_params):
        with pytest.raises(ImportError, match=r"\(\) needs the package pandas: pip install pandas"):
            refused()
