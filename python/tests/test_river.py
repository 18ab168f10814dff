"""The River models pass River's own checks, and grow without forgetting."""

import pickle

import numpy as np
import pandas as pd
import pytest
from river import checks, datasets, evaluate, linear_model, metrics, preprocessing

import kalmia
from kalmia.river import Classifier, Regressor

MODELS = [
    Classifier(),
    Classifier("moment", prior_variance=10.0),
    Classifier("implicit", fit_intercept=False),
    Classifier(drift="adapt"),
    Regressor(),
    Regressor("gaussian", "ekf", prior_variance=0.01, fit_intercept=False),
    Regressor("gamma"),
    Regressor(drift="adapt"),
]


def cases():
    for number, model in enumerate(MODELS):
        for k, check in enumerate(checks.yield_checks(model)):
            yield pytest.param(model, check, id=f"{number}-{type(model).__name__}-{check.__name__}-{k}")


@pytest.mark.parametrize(("model", "check"), list(cases()))
def test_river_checks(model, check):
    assert not model._unit_test_skips()
    check(model.clone())


def test_a_feature_that_appears_late_leaves_the_rest_as_it_was():
    rng = np.random.default_rng(2)
    rows = [({"a": rng.normal(), "b": rng.normal()}, bool(rng.random() < 0.5)) for _ in range(300)]
    one, two = Classifier(), Classifier()
    for x, y in rows:
        one.learn_one(x, y)
        two.learn_one(x, y)
    probe = {"a": 0.3, "b": -1.0}
    before = one.predict_proba_one(probe)
    assert one.predict_proba_one({**probe, "later": 4.0}) == before
    one.learn_one({**probe, "later": 4.0}, True)
    two.learn_one({**probe, "later": 400.0}, True)
    # its scale comes from its first value, so that its unit does not matter
    a, b = one.predict_proba_one({"a": 1.0, "later": 2.0})[True], two.predict_proba_one({"a": 1.0, "later": 200.0})[True]
    assert a == pytest.approx(b, rel=1e-9)


def test_a_label_that_appears_late_is_learned_as_if_it_had_been_known():
    rng = np.random.default_rng(5)
    rows = [({"a": rng.normal(), "b": rng.normal()}, label) for label in rng.choice(["x", "y"], 150)]
    rows += [({"a": rng.normal() + 2.0, "b": rng.normal()}, "z") for _ in range(50)]
    late, early = Classifier(), Classifier(classes=("x", "y", "z"))
    for x, y in rows:
        late.learn_one(x, y)
        early.learn_one(x, y)
    probe = {"a": 1.0, "b": 0.0}
    a, b = late.predict_proba_one(probe), early.predict_proba_one(probe)
    assert set(a) == set(b) == {"x", "y", "z"}
    for label in a:
        assert a[label] == pytest.approx(b[label], rel=1e-9)
    with pytest.raises(kalmia.InputError, match="not among the classes"):
        early.learn_one(probe, "w")


def test_texts_are_categories_in_rows_and_tables():
    rng = np.random.default_rng(9)
    table = pd.DataFrame({"size": rng.normal(size=200), "city": rng.choice(["Lyon", "Nice"], 200)})
    y = pd.Series(2.0 * table["size"] + (table["city"] == "Nice") * 3.0 + rng.normal(scale=0.1, size=200))
    one, many = Regressor(), Regressor()
    for x, target in zip(table.to_dict("records"), y, strict=True):
        one.learn_one(x, target)
    many.learn_many(table, y)
    probe = {"size": 1.0, "city": "Nice"}
    assert one.predict_one(probe) == pytest.approx(5.0, abs=0.2)
    assert many.predict_many(pd.DataFrame([probe]))[0] == pytest.approx(one.predict_one(probe), rel=1e-9)
    low, high = one.predict_interval_one(probe)
    assert low < 5.0 < high


def test_pickles_are_deterministic_and_go_on():
    rows = list(datasets.Phishing().take(300))
    model, twin = Classifier(), Classifier()
    for x, y in rows[:200]:
        model.learn_one(x, y)
        twin.learn_one(x, y)
    assert pickle.dumps(model) == pickle.dumps(twin)
    again = pickle.loads(pickle.dumps(model))
    for x, y in rows[200:]:
        again.learn_one(x, y)
        model.learn_one(x, y)
    assert pickle.dumps(model) == pickle.dumps(again)


def test_raw_features_need_no_scaler():
    def loss(model):
        return evaluate.progressive_val_score(datasets.TrumpApproval(), model, metrics.RMSE()).get()

    scaled = preprocessing.StandardScaler() | linear_model.LinearRegression()
    assert loss(Regressor()) < loss(scaled)


def test_bad_parameters_are_refused_at_once():
    with pytest.raises(kalmia.InputError, match="no method is named"):
        Classifier(method="sgd")
    with pytest.raises(ValueError, match="family"):
        Regressor(family="normal")
