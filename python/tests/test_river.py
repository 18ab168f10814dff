"""The River models pass River's own checks, and new features keep what was learned."""

import datetime
import math
import pickle

import numpy as np
import pandas as pd
import polars as pl
import pytest
from compare import assert_close
from river import checks, datasets, evaluate, linear_model, metrics, preprocessing

import kalmia
from kalmia.river import Classifier, Regressor

MODELS = [
    Classifier(),
    Classifier("moment", prior_variance=10.0),
    Classifier("implicit", fit_intercept=False),
    Classifier(fit_intercept=False),
    Classifier(drift="adapt"),
    Regressor(),
    Regressor("gaussian", "ekf", prior_variance=0.01, fit_intercept=False),
    Regressor("gamma"),
    Regressor("quantile:0.8"),
    Regressor("student"),
    Regressor("student:3", "moment"),
    Regressor(drift="adapt"),
]


def cases():
    for number, model in enumerate(MODELS):
        for k, check in enumerate(checks.yield_checks(model)):
            yield pytest.param(
                model, check, id=f"{number}-{type(model).__name__}-{check.__name__}-{k}"
            )


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
    # the scale is taken from the first value, so the unit does not matter
    a, b = (
        one.predict_proba_one({"a": 1.0, "later": 2.0})[True],
        two.predict_proba_one({"a": 1.0, "later": 200.0})[True],
    )
    assert a == pytest.approx(b, rel=1e-9)


@pytest.mark.parametrize("how", [{"method": "moment"}, {"method": "ekf"}])
def test_a_label_with_its_own_learner_is_learned_as_if_it_had_been_known(how):
    rng = np.random.default_rng(5)
    rows = [
        ({"a": rng.normal(), "b": rng.normal()}, label) for label in rng.choice(["x", "y"], 150)
    ]
    rows += [({"a": rng.normal() + 2.0, "b": rng.normal()}, "z") for _ in range(50)]
    late, early = Classifier(**how), Classifier(**how, classes=("x", "y", "z"))
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
    y = pd.Series(
        2.0 * table["size"] + (table["city"] == "Nice") * 3.0 + rng.normal(scale=0.1, size=200)
    )
    one, many = Regressor(), Regressor()
    for x, target in zip(table.to_dict("records"), y, strict=True):
        one.learn_one(x, target)
    many.learn_many(table, y)
    probe = {"size": 1.0, "city": "Nice"}
    assert one.predict_one(probe) == pytest.approx(5.0, abs=0.2)
    assert many.predict_many(pd.DataFrame([probe]))[0] == pytest.approx(
        one.predict_one(probe), rel=1e-9
    )
    low, high = one.predict_interval_one(probe)
    assert low < 5.0 < high


BAD = [
    math.nan,
    math.inf,
    None,
    [1.0],
    datetime.datetime(2024, 1, 1),
    np.datetime64("2024-01-01", "ns"),
    pd.Timedelta(3),
]


@pytest.mark.parametrize("bad", BAD, ids=lambda bad: type(bad).__name__)
@pytest.mark.parametrize("many", [False, True])
def test_a_refused_row_changes_nothing(bad, many):
    def learn(model, x, y):
        model.learn_many(pd.DataFrame([x]), pd.Series([y])) if many else model.learn_one(x, y)

    for make, old, ghost in [
        (Regressor, 1.0, 2.0),
        (Classifier, "old", "ghost"),
        (Classifier, True, False),
    ]:
        model = make()
        for x in ({"a": 1.0}, {"a": 2.0}):
            model.learn_one(x, old)
        before = pickle.dumps(model)
        for x in ({"a": 1.0, "new": bad}, {"new": 3.0, "a": bad}, {"a": bad, "city": "Lyon"}):
            if many and isinstance(bad, list):
                continue  # pandas cannot factorize lists
            with pytest.raises(kalmia.InputError, match="'new' is|'a' is"):
                learn(model, x, ghost)
        assert pickle.dumps(model) == before
        learn(model, {"a": 1.0, "new": 3.0}, ghost)
        assert set(model._columns.index) == {"a", "new"}


@pytest.mark.parametrize("many", [False, True])
def test_a_refused_target_changes_nothing(many):
    rates, kinds = Regressor("poisson"), Classifier()
    for model, bad in [(rates, -1.0), (rates, math.nan), (kinds, None), (kinds, math.nan)]:
        before = pickle.dumps(model)
        with pytest.raises(kalmia.InputError):
            model.learn_many(pd.DataFrame({"b": [1.0]}), [bad]) if many else model.learn_one(
                {"b": 1.0}, bad
            )
        assert pickle.dumps(model) == before


@pytest.mark.parametrize(
    "values",
    [
        pd.Series([True, False, 1.5, 0], dtype=object),
        pd.Series(["Lyon", 2.0, "Nice", False], dtype=object),
        pd.Series([1.5, 2.5, 1.5, 3.0], dtype="category"),
        pd.Series(["x", "y", "x", "y"], dtype="category"),
        pd.Series([True, False, True, True], dtype="boolean"),
        pd.Series([3, 1, 2, 2], dtype="Int64"),
    ],
    ids=lambda values: f"{values.dtype}-{values[0]}",
)
def test_tables_are_learned_as_their_rows_are(values):
    y = [1.0, 2.0, 2.5, 0.5]
    one, many = Regressor(), Regressor()
    for value, target in zip(values.tolist(), y, strict=True):
        one.learn_one({"a": value}, target)
    many.learn_many(pd.DataFrame({"a": values}), y)
    assert set(one._columns.index) == set(many._columns.index)
    for value in values.tolist():
        assert many.predict_one({"a": value}) == pytest.approx(
            one.predict_one({"a": value}), rel=1e-9
        )
    assert_close(
        many.predict_many(pd.DataFrame({"a": values})),
        [many.predict_one({"a": v}) for v in values],
        rtol=1e-9,
    )


@pytest.mark.parametrize(
    "values",
    [
        ["x", None],
        pd.Series(["x", None], dtype="category"),
        pd.to_datetime(["2024-01-01", "2024-01-02"]),
        pd.to_timedelta([1, 2]),
    ],
    ids=["text", "category", "datetime", "timedelta"],
)
def test_columns_that_no_row_could_hold_are_refused(values):
    model = Regressor()
    with pytest.raises(kalmia.InputError, match="'a' is"):
        model.learn_many(pd.DataFrame({"a": values}), [0.0, 1.0])
    assert not model._columns.index


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


def test_the_first_features_have_the_prior_without_a_constant_too():
    given = {"prior_variance": 0.01, "fit_intercept": False}
    model = Regressor("gaussian", "ekf", **given)
    model.learn_one({"a": 1.0}, 1.0)
    assert model.predict_one({"a": 1.0}) == pytest.approx(0.01 / 1.01)
    labels = Classifier("ekf", classes=("no", "yes"), **given)
    wide = kalmia.Filter(1, "bernoulli", covariance=0.01)
    labels.learn_one({"a": 1.0}, "yes")
    wide.learn([1.0], 1.0)
    assert labels.predict_proba_one({"a": 1.0})["yes"] == pytest.approx(wide.predict([1.0]).mean)


def test_errors_say_what_is_wrong_and_what_to_do():
    with pytest.raises(kalmia.InputError, match="target y is 'x', of type str: give a finite"):
        Regressor().learn_one({"a": 1.0}, "x")
    with pytest.raises(kalmia.InputError, match="target y is 'x', of type str: give a finite"):
        Regressor().learn_many(pd.DataFrame({"a": [1.0, 2.0]}), [1.0, "x"])
    for model, y in [(Regressor(), [1.0, 2.0]), (Classifier(), [True, False])]:
        with pytest.raises(kalmia.InputError, match=r"X is a list: give a table of pandas, polars"):
            model.learn_many([[1.0], [2.0]], y)
        with pytest.raises(kalmia.InputError, match=r"X is a LazyFrame, .*pass X.collect\(\)"):
            model.learn_many(pl.LazyFrame({"a": [1.0, 2.0]}), y)
        with pytest.raises(kalmia.InputError, match="X has 2 rows, but y has 1: give one per row"):
            model.learn_many(pd.DataFrame({"a": [1.0, 2.0]}), y[:1])
        with pytest.raises(kalmia.InputError, match="x is a list: give one row as a dictionary"):
            model.learn_one([1.0], y[0])
    with pytest.raises(kalmia.InputError, match="drift is True"):
        Classifier(drift=True)


def test_bad_parameters_are_refused_at_once():
    with pytest.raises(kalmia.InputError, match="has several levels, .* one Regressor per level"):
        Regressor("quantile:0.1,0.9")
    with pytest.raises(kalmia.InputError, match="no method is named"):
        Classifier(method="sgd")
    with pytest.raises(ValueError, match="family"):
        Regressor(family="normal")
