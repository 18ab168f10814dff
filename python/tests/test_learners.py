"""The learners: custom families, merging, storing, bounds, errors, threads, interruption."""

import copy
import json
import math
import os
import pickle
import signal
import threading
import time
from pathlib import Path

import numpy as np
import pytest
from compare import assert_close, assert_same

import kalmia
from kalmia._kalmia import model

RNG = np.random.default_rng(11)
X = RNG.normal(size=(400, 3))
LABELS = (RNG.random(400) < 1.0 / (1.0 + np.exp(-X @ [1.0, -0.5, 0.2]))).astype(float)
BOUNDS = json.loads(
    (Path(__file__).parents[2] / "crates/kalmia-theory/tests/data/bounds_cases.json").read_text()
)["functions"]


def own_logistic(**more):
    def mean(u):
        return 0.5 * (1.0 + math.tanh(0.5 * u))

    return kalmia.Family(
        "own logistic",
        loss=lambda y, u: max(u, 0.0) + math.log1p(math.exp(-abs(u))) - y * u,
        derivatives=lambda y, u: (mean(u) - y, mean(u) * (1.0 - mean(u))),
        mean=mean,
        legal=lambda y: y in (0.0, 1.0),
        domain="0 or 1",
        **more,
    )


@pytest.mark.parametrize("rule", ["ekf", "truncated", "implicit", "moment"])
def test_a_family_of_callables_learns_as_the_built_in_one(rule):
    own, built_in = kalmia.Filter(3, own_logistic(), rule), kalmia.Filter(3, "bernoulli", rule)
    means = own.learn_many(X[:60], LABELS[:60])
    assert_close(means, built_in.learn_many(X[:60], LABELS[:60]), rtol=1e-9)
    assert_close(own.covariance, built_in.covariance, rtol=1e-8, atol=1e-12)
    assert own.predict(X[0]).mean == pytest.approx(built_in.predict(X[0]).mean, rel=1e-9)


def test_the_mixture_takes_a_family_of_callables():
    own, built_in = kalmia.Auto(3, own_logistic()), kalmia.Auto(3)
    own.learn_many(X[:40], LABELS[:40])
    built_in.learn_many(X[:40], LABELS[:40])
    assert_close(own.theta, built_in.theta, rtol=1e-6)


def test_exceptions_of_callables_are_raised_and_change_nothing():
    def broken(y, u):
        raise KeyError("no such row")

    family = kalmia.Family("broken", loss=broken, derivatives=broken, mean=lambda u: u)
    filter = kalmia.Filter(3, family)
    with pytest.raises(KeyError, match="no such row"):
        filter.learn(X[0], 1.0)
    assert filter.count == 0 and not filter.theta.any()
    with pytest.raises(
        kalmia.InputError,
        match="row 1: target 0.5 is not legal for the own logistic family, which takes 0 or 1",
    ):
        kalmia.Filter(3, own_logistic()).learn_many(X[:2], [1.0, 0.5])
    prediction = kalmia.Filter(3, own_logistic()).predict(X[0])
    with pytest.raises(kalmia.InputError, match="made without `cdf`|made without `quantile`"):
        prediction.interval()
    with pytest.raises(kalmia.InputError, match="not callable"):
        kalmia.Family("x", loss=1, derivatives=2, mean=3)
    with pytest.raises(kalmia.InputError, match="its callables are code"):
        pickle.dumps(filter)


def test_merging_is_exact_for_the_gaussian_filter_only():
    y = X @ [1.0, 2.0, 3.0] + RNG.normal(size=400)
    a, b, both = (kalmia.Filter(3, "gaussian:0.5", covariance=4.0) for _ in range(3))
    a.learn_many(X[:150], y[:150])
    b.learn_many(X[150:], y[150:])
    both.learn_many(X, y)
    merged, exact = kalmia.merge(a, b)
    assert exact and merged.count == 400
    assert_close(merged.theta, both.theta, rtol=1e-9)
    assert_close(merged.covariance, both.covariance, rtol=1e-9, atol=1e-15)
    c = kalmia.Filter(3, "bernoulli", "moment")
    c.learn_many(X, LABELS)
    assert kalmia.merge(c, c.copy())[1] is False
    with pytest.raises(kalmia.StateError, match="same family, rule and prior"):
        kalmia.merge(a, kalmia.Filter(3, "gaussian"))
    with pytest.raises(kalmia.KalmiaError):
        kalmia.merge(a, kalmia.Auto(3, "gaussian"))


MAKERS = [
    lambda: kalmia.Filter(3, "bernoulli", "truncated", scale=1e-10, beta=0.3),
    lambda: kalmia.Filter(3, "bernoulli", "moment", forget=0.99),
    lambda: kalmia.Filter(3, "bernoulli", walk=1e-4),
    lambda: kalmia.OnlineNewtonStep(3, "bernoulli", 2.0, 0.1, gradient_bound=2.0),
    lambda: kalmia.AveragedSGD(3, "bernoulli", 400, 0.1),
    lambda: kalmia.Averaged(kalmia.Filter(3)),
    lambda: kalmia.Auto(3),
    lambda: kalmia.Auto(3, drift="adapt"),
]


@pytest.mark.parametrize("make", MAKERS)
def test_a_stored_learner_goes_on_bit_for_bit(make):
    one = make()
    one.learn_many(X[:200], LABELS[:200])
    again, deep = pickle.loads(pickle.dumps(one)), copy.deepcopy(one)
    assert type(again) is type(deep) is type(one) and again.to_bytes() == one.to_bytes()
    results = [learner.learn_many(X[200:], LABELS[200:]) for learner in (one, again, deep)]
    assert_same(results[0], results[1])
    assert_same(results[0], results[2])
    assert again.to_bytes() == one.to_bytes() == deep.to_bytes()


@pytest.mark.parametrize("name", sorted(BOUNDS))
def test_bounds_meet_the_reference(name):
    function = getattr(kalmia.bounds, name)
    assert function.__doc__
    for case in BOUNDS[name]["cases"]:
        given = {
            key: float(value) if value == "-inf" else value for key, value in case["in"].items()
        }
        found = function(**given)
        assert list(found) == list(case["out"])
        for key, expected in case["out"].items():
            value = found[key]
            if expected is None:
                assert value == math.inf
            elif isinstance(expected, (bool, str)):
                assert value == (float(expected) if expected == "-inf" else expected)
            else:
                assert value == pytest.approx(
                    expected, rel=case.get("rtol", {}).get(key, 0.0), abs=1e-13
                )


def test_bounds_name_what_is_wrong():
    with pytest.raises(kalmia.InputError, match="needs the parameter"):
        kalmia.bounds.uniform_design()
    with pytest.raises(kalmia.InputError, match="did you mean `m`"):
        kalmia.bounds.uniform_design(n=3)
    with pytest.raises(AttributeError):
        kalmia.bounds.no_such_bound  # noqa: B018


def test_the_exceptions_are_a_tree():
    for error in (
        kalmia.InputError,
        kalmia.StateError,
        kalmia.DivergenceError,
        kalmia.ModelFileError,
    ):
        assert issubclass(error, kalmia.KalmiaError)
    assert issubclass(kalmia.InputError, ValueError)
    with pytest.raises(ValueError, match="row 1, feature 2 is NaN"):
        kalmia.Filter(3).learn_many([[1.0, 2.0, 3.0], [1.0, 2.0, math.nan]], [0, 1])
    with pytest.raises(kalmia.InputError, match="X has 3 features, but the learner expects 2"):
        kalmia.Filter(2).learn_many(X, LABELS)
    with pytest.raises(kalmia.InputError, match="X has 400 rows, but y has 401"):
        kalmia.Filter(3).learn_many(X, [*LABELS, 1.0])
    with pytest.raises(kalmia.InputError, match="more rows than y"):
        kalmia.Filter(3).learn_many(X, LABELS[:-1])
    with pytest.raises(kalmia.InputError, match="has no parameter `scale`"):
        kalmia.Filter(3, rule="ekf", scale=1.0)
    with pytest.raises(kalmia.StateError, match="fixed number of features"):
        kalmia.AveragedSGD(3, "bernoulli", 10, 0.1).grow()


def test_divergence_far_into_a_batch_leaves_the_learner_as_it_was():
    rows = np.ones((20_000, 1))
    filter = kalmia.Filter(1, "poisson", "ekf", covariance=1e4)
    y = np.zeros(20_000)
    y[15_000] = 1e9
    before = filter.to_bytes()
    with pytest.raises(kalmia.DivergenceError, match="row 15001"):
        filter.learn_many(rows, y)
    assert filter.to_bytes() == before


@pytest.mark.parametrize("rows", [4, 100, 40_000])
def test_a_refused_call_changes_neither_learner_nor_metrics(rows):
    """In a call of one block, in one of several, and with a thread for the metrics."""
    learner = model("ekf", "poisson", 1, prior_variance=1e4)
    table = np.ones((rows, 1))
    learner.learn_many(table, np.zeros(rows))
    before = learner.to_bytes()
    progressive = learner.progressive
    y = np.zeros(rows)
    y[rows // 2] = 1e9
    with pytest.raises(kalmia.DivergenceError):
        learner.learn_many(table, y)
    assert learner.to_bytes() == before and learner.progressive == progressive
    with pytest.raises(kalmia.DivergenceError):
        for target in y:
            learner.learn([1.0], target)
            before = learner.to_bytes()
    assert learner.to_bytes() == before
    with pytest.raises(kalmia.DivergenceError):
        learner.learn_many(table, y, undo=False)


def test_lengths_that_disagree_are_named():
    filter = kalmia.Filter(3)
    for name in ("weight", "offset"):
        with pytest.raises(kalmia.InputError, match=f"y has 400 rows, but {name} has 2"):
            filter.learn_many(X, LABELS, **{name: [1.0, 1.0]})
    for offset in ([0.0], np.zeros(401)):
        with pytest.raises(kalmia.InputError, match="offset, which has 1|but offset has 401"):
            filter.predict_many(X, offset)
    with pytest.raises(kalmia.InputError, match="x has 2 features, but the learner has 3: give"):
        filter.learn([1.0, 2.0], 1)
    assert filter.count == 0


def test_averages_of_any_learner():
    own = kalmia.Averaged(kalmia.Filter(3, own_logistic()))
    twice = kalmia.Averaged(kalmia.Averaged(kalmia.Filter(3)))
    once = kalmia.Averaged(kalmia.Filter(3))
    for averaged in (own, twice, once):
        averaged.learn_many(X, LABELS)
    assert_close(own.theta, once.theta, rtol=1e-9)
    assert_same(kalmia.restore(twice.to_bytes()).theta, twice.theta)


def big(rows):
    return np.ones((rows, 60)) + RNG.normal(size=(1, 60)), np.zeros(rows)


def test_other_threads_run_while_rows_are_learned():
    """Depends on timing: one call is enough on an idle machine, a busy one has 30 seconds."""
    table, y = big(60_000)
    ticks, done = [], threading.Event()

    def tick():
        while not done.is_set():
            ticks.append(time.perf_counter())
            time.sleep(0.001)

    other = threading.Thread(target=tick)
    other.start()
    within, deadline = 0, time.monotonic() + 30.0
    while within <= 10 and time.monotonic() < deadline:
        learner = kalmia.Filter(60, "bernoulli", "moment")
        start = time.perf_counter()
        learner.learn_many(table, y)
        end = time.perf_counter()
        within = sum(start < t < end for t in list(ticks))
    done.set()
    other.join()
    # if the call held the interpreter's lock, the other thread could run at its two ends only
    assert within > 10


def test_calls_of_several_threads_wait_for_each_other():
    table, y = big(2_000)
    learner, seen = kalmia.Filter(60, "bernoulli", "moment"), []

    def learn():
        for _ in range(10):
            learner.learn_many(table, y)
            learner.learn(table[0], 0.0)

    def look():
        while any(thread.is_alive() for thread in threads):
            seen.append(
                (
                    learner.count,
                    learner.theta.copy(),
                    learner.predict_many(table[:5]),
                    learner.copy(),
                    repr(learner),
                )
            )

    threads = [threading.Thread(target=learn) for _ in range(4)]
    looker = threading.Thread(target=look)
    for thread in (*threads, looker):
        thread.start()
    for thread in (*threads, looker):
        thread.join()
    assert learner.count == 4 * 10 * 2_001
    counts = [count for count, *_ in seen]
    # every observed count lies between two calls, never within one
    assert counts == sorted(counts) and all(count % 2_000 <= 40 for count in counts)


def test_a_callable_that_uses_its_own_learner_is_refused():
    def mean(u):
        return learner.theta[0] + u

    family = kalmia.Family(
        "nosy",
        loss=lambda y, u: (y - u) ** 2,
        derivatives=lambda y, u: (learner.learn([1.0], 1.0), 2.0),
        mean=mean,
    )
    learner = kalmia.Filter(1, family)
    with pytest.raises(kalmia.StateError, match="already in use by the current call"):
        learner.learn([1.0], 1.0)
    assert learner.count == 0
    assert learner.predict([1.0]).mean == pytest.approx(0.0, abs=1e-12)


@pytest.mark.skipif(os.name == "nt", reason="signals are sent the POSIX way")
def test_control_c_stops_a_long_call_and_changes_nothing():
    """Depends on timing: the signal is sent after 0.3 seconds and must stop a call within 30."""
    table, y = big(400_000)
    filter = kalmia.Filter(60, "bernoulli", "moment")
    timer = threading.Timer(0.3, os.kill, (os.getpid(), signal.SIGINT))
    # a process in the background ignores the signal, and so would the tests
    handler = signal.signal(signal.SIGINT, signal.default_int_handler)
    start = time.monotonic()
    timer.start()
    try:
        with pytest.raises(KeyboardInterrupt):
            while time.monotonic() < start + 30.0:
                filter.learn_many(table, y)
    finally:
        timer.cancel()
        signal.signal(signal.SIGINT, handler)
    assert time.monotonic() < start + 30.0
    assert filter.count % 400_000 == 0


def test_bounds_estimate_what_rows_show():
    rng = np.random.default_rng(4)
    rows = rng.normal(size=(500, 3))
    design = np.column_stack([np.ones(500), rows])
    found = kalmia.bounds.estimate(rows)
    assert found["n"] == 500 and found["d"] == 4
    assert found["D_X"] == pytest.approx(np.linalg.norm(design, axis=1).max(), rel=1e-14)
    assert found["Lmin"] == pytest.approx(np.linalg.eigvalsh(design.T @ design / 500)[0], rel=1e-9)
    plain = kalmia.bounds.estimate(rows, fit_intercept=False)
    assert plain["d"] == 3 and "nstar" not in plain
    y = 1 + rows @ [2.0, -1.0, 0.0] + 0.5 * rng.normal(size=500)
    model = kalmia.LinearRegression().fit(rows, y)
    found = kalmia.bounds.estimate(rows, model)
    norm = np.linalg.norm([model.intercept_, *model.coef_])
    assert found["nstar"] == found["dist1"] == pytest.approx(norm, rel=1e-12)
    assert found["sigma"] == pytest.approx(0.5, rel=0.1)
    labels = kalmia.LogisticRegression().fit(rows, y > 1)
    found = kalmia.bounds.estimate(rows, labels)
    assert found["nstar"] > 1 and "sigma" not in found
    three = kalmia.LogisticRegression().fit(rows, np.arange(500) % 3)
    with pytest.raises(kalmia.InputError, match="3 classes"):
        kalmia.bounds.estimate(rows, three)
    with pytest.raises(kalmia.InputError, match="no rows"):
        kalmia.bounds.estimate(rows[:0])
    rows[3, 1] = np.nan
    with pytest.raises(kalmia.InputError, match="row 3, column 1"):
        kalmia.bounds.estimate(rows)


def test_the_minimum_over_a_sphere_is_reproducible():
    settings = dict(points=30, draws=200, repeats=4)
    found = kalmia.bounds.sphere_minimum([-0.9, 0.3, 1.5], **settings)
    assert found == kalmia.bounds.sphere_minimum([-0.9, 0.3, 1.5], **settings, seed=1)
    minima = found["ln_minima"]
    assert minima == sorted(minima) and len(minima) == 4 and minima[0] > found["ln_proved"]
    assert found["radius"] == pytest.approx(1.1 * np.linalg.norm([-0.9, 0.3, 1.5]))
    with pytest.raises(kalmia.InputError, match="draws"):
        kalmia.bounds.sphere_minimum([1.0, 2.0], draws=1)


def test_docstrings_of_bounds_name_their_errata():
    assert "E11 (changes a number)" in kalmia.bounds.localized_linear.__doc__
    assert "condP1" in kalmia.bounds.result_linear.__doc__
    assert "Errata" not in kalmia.bounds.C_delta.__doc__
