"""River models with method="wide": features by name, in any number."""

import pickle
import time
import warnings

import numpy as np
import pandas as pd
import pytest
from compare import assert_close

import kalmia
from kalmia.errors import InputError
from kalmia.river import Classifier, Regressor


def stream(n=400, words=5000, seed=2):
    rng = np.random.default_rng(seed)
    weights = rng.normal(size=words)
    for _ in range(n):
        chosen = np.unique((words * rng.random(6) ** 3).astype(int))
        x = {f"w{k}": 1.0 for k in chosen} | {"town": str(rng.choice(["Rome", "Lyon"]))}
        yield x, bool(weights[chosen].sum() + rng.logistic() > 0)


def learned(kind=Classifier, **how):
    model = kind(method="wide", **how)
    for x, y in stream():
        model.learn_one(x, y if kind is Classifier else float(y))
    return model


@pytest.mark.parametrize("intercept", [True, False])
def test_features_have_their_names(intercept):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = learned(fit_intercept=intercept)
    names = {f"town={x['town']}" if k == "town" else k for x, _ in stream() for k in x}
    assert set(model.weights) == names
    assert set(model.standard_errors) == names | ({"(intercept)"} if intercept else set())
    assert (model.intercept != 0.0) == intercept
    assert model.progressive_loss_ < np.log(2.0)
    assert model.n_samples_seen_ == 400
    first = model.summary().rows[int(intercept)]
    assert model.weights[first[0]] == first[1]
    p = model.predict_proba_one({"w0": 1.0, "never seen": 3.0})
    assert p[True] + p[False] == pytest.approx(1.0)
    low, high = model.predict_interval_one({"w0": 1.0})[True]
    assert low < model.predict_proba_one({"w0": 1.0})[True] < high


def test_the_sign_of_a_word_is_learned():
    model = Regressor(method="wide")
    for k in range(300):
        word = f"w{k % 30}"
        model.learn_one({word: 1.0}, 1.0 if k % 2 else -1.0)
    assert model.weights["w1"] > 0.0 > model.weights["w2"]
    assert model.predict_one({"w1": 1.0}) > 0.5 and model.predict_one({"w2": 1.0}) < -0.5


@pytest.mark.parametrize("kind", [Classifier, Regressor])
def test_tables_files_and_pickles_are_the_same_model(kind, tmp_path):
    one = learned(kind)
    rows = list(stream())
    frame = pd.DataFrame([x for x, _ in rows]).fillna(0.0)
    many = kind(method="wide")
    many.learn_many(frame, [y if kind is Classifier else float(y) for _, y in rows])
    for name, weight in one.weights.items():
        assert many.weights[name] == pytest.approx(weight, rel=1e-6, abs=1e-9)
    path = tmp_path / "model.kalmia"
    one.save(path)
    x = rows[3][0]
    for again in (kind.load(path), kalmia.load(path), pickle.loads(pickle.dumps(one))):
        assert again.weights == one.weights
        ask = "predict_proba_one" if kind is Classifier else "predict_one"
        expected = getattr(one, ask)(x)
        assert getattr(again, ask)(x) == pytest.approx(expected, rel=1e-12)
        again.learn_one({"late": 1.0}, True if kind is Classifier else 1.0)
        assert "late" in again.weights
    table = frame.head(20)
    found = one.predict_many(table) if kind is Regressor else one.predict_proba_many(table)[True]
    each = [
        one.predict_one(x) if kind is Regressor else one.predict_proba_one(x)[True]
        for x, _ in rows[:20]
    ]
    assert_close(found, each, rtol=1e-12)


def test_labels_may_be_many_and_late():
    model = Classifier(method="wide")
    for k in range(300):
        label = ["a", "b", "c"][k % 3] if k > 60 else ["a", "b"][k % 2]
        model.learn_one({f"is {label}": 1.0, f"n{k}": 1.0}, label)
    assert [model.predict_one({f"is {label}": 1.0}) for label in "abc"] == ["a", "b", "c"]
    assert set(model.weights) == {"a", "b", "c"}


def test_a_refused_row_changes_nothing():
    model = learned(Regressor)
    before = pickle.dumps(model)
    for x, y in [({"new": float("nan")}, 1.0), ({"new": 1.0}, "much"), ({"new": 1e200}, 1.0)]:
        with pytest.raises(InputError):
            model.learn_one(x, y)
        assert pickle.dumps(model) == before
    counts = Regressor("poisson", method="wide")
    counts.learn_one({"a": 1.0}, 2.0)
    with pytest.raises(InputError, match="target -1 is not legal"):
        counts.learn_one({"b": 1.0}, -1.0)
    assert set(counts.weights) == {"a"} and counts.n_samples_seen_ == 1


def test_a_row_costs_as_much_as_it_has_keys():
    """With 200 000 features known, rows take at most a few times as long as with none."""

    def seconds(model):
        rows = [({f"w{k}": 1.0, f"w{k + 1}": 1.0}, k % 2 == 0) for k in range(300)]
        start = time.perf_counter()
        for x, y in rows:
            model.predict_proba_one(x)
            model.learn_one(x, y)
        return time.perf_counter() - start

    small, large = Classifier(method="wide"), Classifier(method="wide")
    for first in range(0, 200_000, 1000):
        large.learn_one({f"w{k}": 1.0 for k in range(first, first + 1000)}, first % 2000 == 0)
    assert len(large.weights) == 200_000
    seconds(small)
    # a dense row of 200 000 numbers alone would take a hundred times as long
    assert min(seconds(large) for _ in range(3)) < 10.0 * min(seconds(small) for _ in range(3))
