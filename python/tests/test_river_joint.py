"""River's classifier with labels that one learner holds jointly."""

import copy
import pickle
import warnings

import numpy as np
import pandas as pd
import pytest
from compare import assert_close
from labelled import learned, same_probabilities, softmax_stream, table
from sklearn.datasets import load_iris, load_wine

import kalmia
import kalmia._river_model
from kalmia._kalmia import ClassLearner
from kalmia.river import Classifier


def refuse_copies(monkeypatch, model):
    """From now on the model may not make the copy that new labels and features need."""

    def refuse(*_):
        raise AssertionError("a row of known features and labels was learned by a copy")

    monkeypatch.setattr(model, "_replace_learners", refuse, raising=True)


def log_losses(load, seed):
    """The mean log-loss of predictions before each row: jointly, and by a model per label."""
    X, y = load(return_X_y=True)
    order = np.random.default_rng(seed).permutation(len(y))
    rows = [(dict(enumerate(x)), int(label)) for x, label in zip(X[order], y[order], strict=True)]
    joint = Classifier(classes=(0, 1, 2))
    apart = [Classifier(classes=(False, True)) for _ in range(3)]
    losses = []
    for x, label in rows:
        each = np.array([one.predict_proba_one(x)[True] for one in apart])
        both = [joint.predict_proba_one(x)[label], each[label] / each.sum()]
        losses.append(-np.log(both))
        joint.learn_one(x, label)
        for k, one in enumerate(apart):
            one.learn_one(x, k == label)
    return np.mean(losses, axis=0)


@pytest.mark.parametrize(("load", "share"), [(load_iris, 0.8), (load_wine, 1.0)])
def test_labels_learned_jointly_have_a_lower_loss_than_a_model_per_label(load, share):
    joint, apart = np.mean([log_losses(load, seed) for seed in range(5)], axis=0)
    assert joint < share * apart, (joint, apart)


def test_one_learner_has_all_labels_unless_the_parameters_say_otherwise():
    rows = list(softmax_stream(20))
    (learner,) = learned(Classifier(), rows).learners_
    assert isinstance(learner, ClassLearner) and learner.classes == 3
    (learner,) = learned(Classifier(method="wide"), rows).learners_
    assert isinstance(learner, ClassLearner) and learner.classes == 3
    assert len(learned(Classifier(method="ekf"), rows).learners_) == 3
    pair = learned(Classifier(classes=("x", "y")), [row for row in rows if row[1] != "z"])
    assert [one.family for one in pair.learners_] == ["bernoulli"]
    truth = learned(Classifier(), [(x, y == "x") for x, y in rows])
    assert [one.family for one in truth.learners_] == ["bernoulli"]
    assert truth.classes_ == [False, True]
    # two labels that are not given may become more, so they are learned jointly
    two = learned(Classifier(), [row for row in rows if row[1] != "z"])
    assert isinstance(two.learners_[0], ClassLearner) and set(two.classes_) == {"x", "y"}


@pytest.mark.parametrize("intercept", [True, False])
def test_given_labels_are_learned_as_the_estimator_learns_them(intercept):
    rows = list(softmax_stream(500))
    X, y = table(rows)
    model = Classifier(fit_intercept=intercept, classes=("z", "x", "y"))
    learned(model, rows)
    same = kalmia.LogisticRegression(fit_intercept=intercept, shuffle=False)
    same.partial_fit(X, y, classes=["x", "y", "z"])
    found = model.predict_proba_many(X)
    assert list(found) == model.classes_ == ["z", "x", "y"]
    assert_close(found[same.classes_], same.predict_proba(X), rtol=1e-9, atol=1e-9)
    assert model.progressive_loss_ == pytest.approx(same.progressive_loss_, rel=1e-9)
    one = [list(model.predict_proba_one(x).values()) for x, _ in rows[:50]]
    assert_close(one, found[:50], rtol=1e-12)
    ends = model.predict_interval_one(rows[0][0], 0.8)
    expected = dict(zip(same.classes_, same.predict_interval(X[:1], 0.8)[0], strict=True))
    for label, chance in model.predict_proba_one(rows[0][0]).items():
        assert_close(ends[label], expected[label], rtol=1e-9)
        assert ends[label][0] < chance < ends[label][1]


def test_coefficients_are_log_odds_against_the_first_label():
    rows = list(softmax_stream(500))
    X, y = table(rows)
    model = learned(Classifier(classes=("x", "y", "z")), rows)
    same = kalmia.LogisticRegression(shuffle=False).partial_fit(X, y, classes=["x", "y", "z"])
    assert list(model.weights) == list(model.intercept) == list(model.standard_errors)
    for k, label in enumerate(model.classes_):
        assert list(model.weights[label]) == ["a", "b"]
        assert list(model.standard_errors[label]) == ["(intercept)", "a", "b"]
        assert_close(list(model.weights[label].values()), same.coef_[k], rtol=1e-9)
        assert_close(list(model.standard_errors[label].values()), same.std_err_[k], rtol=1e-9)
        assert model.intercept[label] == pytest.approx(same.intercept_[k], rel=1e-9)
    assert set(model.weights["x"].values()) == {0.0}
    for mine, theirs in zip(model.summary(0.9).rows, same.summary(0.9).rows, strict=True):
        assert mine[0] == theirs[0]
        assert_close(mine[1:], theirs[1:], rtol=1e-8)
    text = str(model.summary())
    assert "Classifier (categorical)" in text and "against the class x" in text
    assert model.progressive_["accuracy"] > 0.4 and model.progressive_["rows"] == 500
    assert model.n_samples_seen_ == 500 and model.drifts_ is False


def test_labels_come_in_the_order_of_their_first_rows():
    model = Classifier()
    assert model.predict_proba_one({"a": 1.0}) == {} == model.predict_interval_one({"a": 1.0})
    assert model.predict_one({"a": 1.0}) is None
    x = {"a": 1.0, "b": -2.0}
    model.learn_one(x, "late")
    assert model.predict_proba_one(x) == {"late": 1.0}
    assert model.predict_interval_one(x) == {"late": (1.0, 1.0)}
    assert model.weights == {"late": {"a": 0.0, "b": 0.0}} and "late" in str(model.summary())
    for n, label in enumerate(["early", 3, True, "late", 3], start=2):
        model.learn_one({"a": float(n), "c": 1.0}, label)
    assert model.classes_ == ["late", "early", 3, True]
    found = model.predict_proba_one(x)
    assert list(found) == model.classes_
    assert sum(found.values()) == pytest.approx(1.0, rel=1e-12)
    given = Classifier(classes=("p", "q", "r"))
    assert given.predict_proba_one(x) == pytest.approx(dict.fromkeys("pqr", 1 / 3))
    assert list(given.predict_proba_many(pd.DataFrame([x]))) == ["p", "q", "r"]
    before = pickle.dumps(given)
    for learn in (
        lambda: given.learn_one(x, "s"),
        lambda: given.learn_many(pd.DataFrame([x, x]), ["p", "s"]),
    ):
        with pytest.raises(kalmia.InputError, match=r"label 's' is not among the classes \['p'"):
            learn()
    assert pickle.dumps(given) == before


def test_a_label_of_the_first_rows_is_learned_as_if_it_had_been_known():
    """The first 128 rows are learned again at the last of them, with the labels known then."""
    rows = [row for row in softmax_stream(300) if row[1] != "z"][:100]
    rows += list(softmax_stream(200, seed=5))
    late, early = Classifier(), Classifier(classes=(rows[0][1], *{"x", "y"} - {rows[0][1]}, "z"))
    learned(late, rows)
    learned(early, rows)
    assert late.classes_ == early.classes_
    same_probabilities(late, early, {"a": 1.0, "b": -3.0})


def test_a_later_label_and_feature_are_added_to_the_learner():
    rows = list(softmax_stream(200))
    model = learned(Classifier(), rows)
    by_hand = ClassLearner(1, 2)
    for x, y in rows:
        by_hand.learn([x["a"], x["b"]], model.classes_.index(y))
    by_hand.grow(1)
    for _ in range(20):
        model.learn_one({"c": 3.0}, "new")
        by_hand.learn([0.0, 0.0, 3.0], 3)
    assert model.classes_[3] == "new" and model.predict_one({"c": 3.0}) == "new"
    assert model.learners_[0].to_bytes() == by_hand.to_bytes()


@pytest.mark.parametrize("intercept", [True, False])
def test_a_table_is_learned_as_its_rows_are(intercept):
    rows = list(softmax_stream(300, labels=("x", "y", "z", "w")))
    # a feature and a label that appear late, and a feature that goes
    rows[180:] = [({"a": x["a"], "c": x["b"]}, y) for x, y in rows[180:]]
    rows += [({"a": 4.0, "c": 1.0}, "new")] * 3
    weights = [float(k % 3) for k in range(len(rows))]
    one = Classifier(fit_intercept=intercept)
    for (x, y), w in zip(rows, weights, strict=True):
        one.learn_one(x, y, w)
    for cut in (0, 150, 181):
        many = Classifier(fit_intercept=intercept)
        for part in (slice(0, cut), slice(cut, None)):
            if rows[part]:
                many.learn_many(*table(rows[part]), w=weights[part])
        assert many._columns.index == one._columns.index
        assert many.n_samples_seen_ == one.n_samples_seen_ == len(rows)
        assert many.progressive_loss_ == pytest.approx(one.progressive_loss_, rel=1e-9)
        for x in ({"a": 1.0}, {"a": -1.0, "b": 5.0, "c": 2.0}):
            same_probabilities(one, many, x)
    with pytest.raises(kalmia.InputError, match="X has 2 rows, but y has 1"):
        one.learn_many(pd.DataFrame({"a": [1.0, 2.0]}), ["x"])
    frame, _ = table(rows)
    found = one.predict_proba_many(frame)
    assert_close(found, [list(one.predict_proba_one(x).values()) for x, _ in rows], rtol=1e-12)
    assert list(one.predict_many(frame)[:20]) == [one.predict_one(x) for x, _ in rows[:20]]


def test_a_weight_of_0_changes_no_probability_and_2_is_more_than_1():
    model = learned(Classifier(), softmax_stream(200))
    x = {"a": 2.0, "b": 0.0}
    once, twice, never = (copy.deepcopy(model) for _ in range(3))
    never.learn_one(x, "y", 0.0)
    assert never.predict_proba_one(x) == model.predict_proba_one(x)
    once.learn_one(x, "y")
    twice.learn_one(x, "y", 2.0)
    chances = [one.predict_proba_one(x)["y"] for one in (model, once, twice)]
    assert chances[0] < chances[1] < chances[2]


def test_known_features_and_labels_are_learned_without_copies(monkeypatch):
    rows = list(softmax_stream(150))
    model = learned(Classifier(), rows)
    learner = model.learners_[0]
    refuse_copies(monkeypatch, model)
    learned(model, rows)
    model.learn_one({"a": 1.0}, "x")
    model.learn_many(*table(rows))
    assert model.learners_[0] is learner and learner.count == 451
    with pytest.raises(AssertionError, match="by a copy"):
        model.learn_one({"a": 1.0, "new": 1.0}, "x")
    with pytest.raises(AssertionError, match="by a copy"):
        model.learn_one({"a": 1.0}, "new")


@pytest.mark.parametrize("rows", [0, 5, 200])
def test_a_refused_row_changes_nothing(rows):
    model = learned(Classifier(), softmax_stream(rows))
    before = pickle.dumps(model)
    huge, new = {"a": 1e200}, {"a": 1.0, "new": 1e200, "city": "Lyon"}
    for x, y in [(huge, "x"), (huge, "ghost"), (new, "x"), (new, "ghost")]:
        with pytest.raises(kalmia.InputError, match="at most 1e120 in size"):
            model.learn_one(x, y)
        good = {"a": 1.0, "b": 2.0}
        with pytest.raises(kalmia.InputError, match="row 1.*at most 1e120 in size"):
            model.learn_many(*table([(good, "x"), (x, y)]))
        assert pickle.dumps(model) == before
    for bad in (-1.0, float("nan"), "two"):
        with pytest.raises(kalmia.InputError, match="the weight w is"):
            model.learn_one({"new": 1.0}, "ghost", bad)
    for label in (None, float("nan")):
        with pytest.raises(kalmia.InputError, match="skip rows without a label"):
            model.learn_one({"new": 1.0}, label)
        with pytest.raises(kalmia.InputError, match="skip rows without a label"):
            model.learn_many(pd.DataFrame({"new": [1.0, 2.0]}), ["ghost", label])
    assert pickle.dumps(model) == before
    twin = pickle.loads(before)
    for one in (model, twin):
        one.learn_one({"new": 2.0}, "ghost")
    assert pickle.dumps(model) == pickle.dumps(twin)


def test_rows_without_features_and_without_an_intercept_say_nothing():
    model = Classifier(fit_intercept=False)
    for label in ("x", "y", "z", "x"):
        model.learn_one({}, label)
    model.learn_many(pd.DataFrame(index=range(2)), ["y", "z"])
    assert model.predict_proba_one({"a": 1.0}) == pytest.approx(dict.fromkeys("xyz", 1 / 3))
    assert_close(model.predict_proba_many(pd.DataFrame(index=range(2))), 1 / 3, rtol=1e-12)
    assert model.weights == {"x": {}, "y": {}, "z": {}}
    with pytest.raises(kalmia.InputError, match="no feature column is left"):
        model.save("unused")
    for k in range(20):
        model.learn_one({"a": 1.0, "b": -1.0} if k % 2 else {"a": -1.0}, "x" if k % 2 else "z")
    assert model.predict_one({"a": 1.0, "b": -1.0}) == "x" and model.predict_one({"a": -1.0}) == "z"
    assert list(model.weights["z"]) == ["a", "b"] and model.n_samples_seen_ == 26


def test_many_features_are_warned_of_once(monkeypatch):
    monkeypatch.setattr(kalmia._river_model, "MANY_FEATURES", 10)
    model = Classifier()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for k, label in enumerate("xyz"):
            model.learn_one({f"w{j}": 1.0 for j in range(9)}, label)
    with pytest.warns(UserWarning, match="10 features and keeps at least 3 cov") as found:
        for k in range(9, 12):
            model.learn_one({f"w{k}": 1.0}, "x")
    assert len(found) == 1 and found[0].filename == __file__
