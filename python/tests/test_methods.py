"""Every constant of the paper's methods, averaging, starts and certificates in the estimators."""

import pickle

import numpy as np
import pytest
from compare import assert_close, assert_same
from sklearn.base import clone

import kalmia
from kalmia import LinearRegression, LogisticRegression
from kalmia.errors import InputError

RNG = np.random.default_rng(5)
X = RNG.uniform(-1.0, 1.0, (300, 3))
Y = (RNG.random(300) < 1.0 / (1.0 + np.exp(-(X @ [1.0, -2.0, 0.5])))).astype(int)
CONSTANT = np.hstack([np.ones((300, 1)), X])


def fitted(method, **given):
    return LogisticRegression(method, shuffle=False, **given).fit(X, Y)


def learned(learner):
    learner.learn_many(CONSTANT, Y)
    return learner


def newton(given):
    """Algorithm 3 as the paper writes it, without a projection, which the test rules out."""
    root, radius = np.sqrt(4.0), given.get("radius", 10.0)
    alpha = given.get("exp_concavity", 1.0 / (4.0 * radius))
    extent = 2.0 * radius if given.get("diameter") else radius
    gamma = 0.5 * min(1.0 / (4.0 * given.get("gradient_bound", root) * extent), alpha)
    precision = given.get("lam", 1.0 / (gamma * radius) ** 2) * np.eye(4)
    w, mean = np.zeros(4), np.zeros(4)
    for t, (x, y) in enumerate(zip(CONSTANT, Y, strict=True)):
        mean += (w - mean) / (t + 1)
        gradient = (1.0 / (1.0 + np.exp(-w @ x)) - y) * x
        precision += np.outer(gradient, gradient)
        step = np.linalg.solve(precision, gradient) * given.get("multiplier", 1.0) / gamma
        w = w - step
        assert np.linalg.norm(w) < radius, "the ball must hold without a projection"
    return w, mean


@pytest.mark.parametrize(
    "given",
    [
        {"radius": 50.0, "lam": 3e5},
        {"radius": 50.0, "lam": 3e5, "exp_concavity": 2.0},
        {"radius": 50.0, "lam": 3e5, "gradient_bound": 7.0},
        {"radius": 50.0, "lam": 3e5, "multiplier": 3.0, "diameter": True},
    ],
)
def test_online_newton_steps_take_all_constants_of_the_paper(given):
    last, mean = newton(given)
    model = fitted("ons", **given)
    assert_close(np.r_[model.intercept_, model.coef_[0]], last, rtol=1e-9, atol=1e-12)
    averaged = fitted("ons", averaged=True, **given)
    assert_close(np.r_[averaged.intercept_, averaged.coef_[0]], mean, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("method", ["auto", "ekf", "truncated", "implicit", "moment", "ons"])
def test_an_averaged_model_is_the_mean_of_the_iterates(method, tmp_path):
    model = LogisticRegression(method, averaged=True, shuffle=False).fit(X, Y)
    plain = LogisticRegression(method, shuffle=False)
    theta = np.zeros(4)
    for t in range(300):
        if t > 0:
            plain.partial_fit(X[t - 1 : t], Y[t - 1 : t], classes=[0, 1])
            theta += plain.learners_[0].theta
    assert_close(model.learners_[0].theta, theta / 300, rtol=1e-9, atol=1e-12)
    assert model.std_err_ is None and model.learners_[0].averaged
    assert f"method averaged {method}" in str(model.summary())
    with pytest.raises(InputError, match=f"method 'averaged {method}' keeps no covariance"):
        model.learners_[0].predict_interval(X[:2], of_mean=True)
    path = tmp_path / "averaged.kalmia"
    half = LogisticRegression(method, averaged=True, shuffle=False).fit(X[:200], Y[:200])
    half.save(path)
    again = kalmia.load(path)
    assert again.averaged is True
    assert_same(again.predict_proba(X), half.predict_proba(X))
    again.partial_fit(X[200:], Y[200:])
    assert_same(again.learners_[0].theta, model.learners_[0].theta)
    copy = pickle.loads(pickle.dumps(again))
    assert_same(copy.predict_proba(X), model.predict_proba(X))


def test_thresholds_and_steps_have_names():
    assert_same(fitted("truncated", scale="bercu").coef_, fitted("truncated", scale=1e-10).coef_)
    other = kalmia.Filter(4, "bernoulli", "truncated", scale="bercu")
    assert_same(learned(other).theta[1:], fitted("truncated", scale=1e-10).coef_[0])
    norm = 2.5
    oracle = fitted("asgd", oracle=norm)
    assert_same(oracle.coef_, fitted("asgd", step=norm / np.sqrt(4 * 300)).coef_)
    low = learned(kalmia.AveragedSGD(4, "bernoulli", 300, oracle=norm))
    assert_same(low.theta[1:], oracle.coef_[0])
    plain = learned(kalmia.AveragedSGD(4, "bernoulli", 300))
    assert_same(plain.theta[1:], fitted("asgd").coef_[0])


def test_a_filter_starts_where_it_is_told(tmp_path):
    root = RNG.normal(size=(4, 4))
    mean, matrix = RNG.normal(size=4), root @ root.T + np.eye(4)
    for method in ("ekf", "truncated", "implicit", "moment"):
        low = learned(kalmia.Filter(4, "bernoulli", method, theta=mean, covariance=matrix))
        model = fitted(method, prior_mean=mean, prior_variance=matrix)
        assert_same(model.learners_[0].theta, low.theta)
        assert_same(model.covariance_, low.covariance)
        model.save(tmp_path / "m.kalmia")
        again = kalmia.load(tmp_path / "m.kalmia")
        assert_same(again.prior_mean, mean)
        assert_same(clone(again).fit(X, Y).coef_, model.coef_)
    variances = [4.0, 1.0, 2.0, 3.0]
    low = learned(kalmia.Filter(4, "bernoulli", "ekf", covariance=np.diag(variances)))
    assert_close(fitted("ekf", prior_variance=variances).learners_[0].theta, low.theta, rtol=1e-12)
    # the ridge solution about the prior mean
    ridge = LinearRegression("ekf", prior_mean=mean, prior_variance=matrix, shuffle=False)
    y = X @ [1.0, 2.0, 3.0] + 0.5
    information = np.linalg.inv(matrix) + CONSTANT.T @ CONSTANT
    target = np.linalg.inv(matrix) @ mean + CONSTANT.T @ y
    expected = np.linalg.solve(information, target)
    assert_close(ridge.fit(X, y).learners_[0].theta, expected, rtol=1e-9)
    start = 0.01 * mean
    newton = kalmia.OnlineNewtonStep(4, "bernoulli", 10.0, 0.025, covariance=matrix, theta=start)
    model = fitted("ons", prior_mean=start, prior_variance=matrix)
    assert_same(model.learners_[0].theta, learned(newton).theta)


def test_the_certificate_is_that_of_the_lemma(tmp_path):
    y = X @ [1.0, 2.0, 3.0] + RNG.normal(size=300)
    model = LinearRegression("ekf", prior_variance=2.0, certificate=True, shuffle=False).fit(X, y)
    found = model.certificate_
    path = LinearRegression("ekf", prior_variance=2.0, shuffle=False)
    loss = 0.0
    for t in range(300):
        theta = path.learners_[0].theta if t else np.zeros(4)
        loss += 0.5 * (y[t] - theta @ CONSTANT[t]) ** 2
        path.partial_fit(X[t : t + 1], y[t : t + 1])
    theta = path.learners_[0].theta
    hindsight = 0.5 * np.sum((y - CONSTANT @ theta) ** 2) + 0.25 * theta @ theta
    assert_close(found["loss"], loss, rtol=1e-10)
    assert_close(found["hindsight"], hindsight, rtol=1e-9)
    assert_close(found["regret"], loss - hindsight, rtol=1e-8)
    assert_close(found["bound"], found["movement"] + 0.25 * theta @ theta, rtol=1e-10)
    growth = np.linalg.slogdet(model.covariance_ / 2.0)[1]
    assert_close(found["log_det_growth"], -growth, rtol=1e-10)
    assert "certificate: linearized regret at most" in str(model.summary())
    half = LinearRegression("ekf", prior_variance=2.0, certificate=True, shuffle=False)
    half.fit(X[:100], y[:100]).save(tmp_path / "half.kalmia")
    again = kalmia.load(tmp_path / "half.kalmia").partial_fit(X[100:], y[100:])
    assert again.certificate_ == found
    assert pickle.loads(pickle.dumps(again)).certificate_ == found
    with pytest.raises(InputError):
        again.partial_fit([[np.nan] * 3], [1.0])
    assert again.certificate_ == found
    assert LinearRegression("ekf").fit(X, y).certificate_ is None
    classes = LogisticRegression("ekf", certificate=True).fit(X, np.arange(300) % 3)
    assert [one["rows"] for one in classes.certificate_] == [300] * 3


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"method": "asgd", "averaged": True}, "method 'asgd' takes no averaged; it takes horizon"),
        ({"method": "asgd", "step": 0.1, "oracle": 1.0}, "got both step and oracle: each decides"),
        ({"method": "truncated", "scale": "berku"}, 'scale is "berku": give a number'),
        ({"method": "ekf", "averaged": "no"}, "averaged is 'no': give True or False"),
        ({"method": "ons", "lam": -1.0}, "lam is -1: it must be finite and positive"),
        ({"method": "ekf", "lam": 1.0}, "method 'ekf' takes no lam; it takes prior_variance"),
        ({"method": "auto", "prior_mean": [0.0] * 4}, "method 'auto' takes no prior_mean"),
        ({"method": "ekf", "prior_mean": [0.0] * 3}, "the prior has 3 means for 4 coefficients"),
        ({"method": "ekf", "prior_variance": [1.0, 2.0]}, "the prior has 2 variances for 4"),
        ({"method": "ekf", "prior_variance": -np.eye(4)}, "prior_variance is not positive def"),
        ({"method": "ekf", "prior_mean": ["a"] * 4}, "prior_mean must be a vector of numbers"),
        (
            {"method": "ons", "lam": 1.0, "prior_variance": np.eye(4)},
            "the prior holds a covariance, and lam is given too: give one of them",
        ),
        ({"method": "auto", "certificate": True}, "method 'auto' has no certificate; 'ekf', "),
        ({"method": "ons", "certificate": True}, "method 'ons' has no certificate; 'ekf', "),
    ],
)
def test_what_contradicts_itself_is_refused(given, message):
    with pytest.raises(InputError) as refused:
        LogisticRegression(**given).fit(X, Y)
    assert message in str(refused.value)
