"""The River models: weights of rows, what was learned, files, tables, and growing vocabularies."""

import pickle
import subprocess
import sys
import warnings

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from compare import assert_close, assert_same
from river import datasets, preprocessing

import kalmia
from kalmia.river import MANY_FEATURES, Classifier, Regressor


def stream(rows=300, seed=3):
    rng = np.random.default_rng(seed)
    for _ in range(rows):
        a, b = rng.normal(size=2)
        yield {"a": a, "b": 10.0 * b}, 1.0 + 2.0 * a - b + rng.normal()


def labels(kinds, rows=300, seed=4):
    rng = np.random.default_rng(seed)
    for x, _ in stream(rows, seed):
        yield x, kinds[int(rng.integers(len(kinds)))]


def learned(model, rows):
    for x, y in rows:
        model.learn_one(x, y)
    return model


MODELS = {
    "regression": lambda: learned(Regressor(), stream()),
    "filter": lambda: learned(Regressor("gaussian", "ekf", fit_intercept=False), stream()),
    "booleans": lambda: learned(Classifier(), labels([False, True])),
    "texts": lambda: learned(Classifier(classes=("no", "yes")), labels(["no", "yes"])),
    "three": lambda: learned(Classifier(), labels(["x", "y", "z"])),
    "given": lambda: learned(Classifier(classes=("x", "y", "z")), labels(["z", "y"])),
    "numbers": lambda: learned(Classifier("moment", 10.0), labels([1, 2, 5])),
    "apart": lambda: learned(Classifier("moment"), labels(["x", "y", "z"])),
}


@pytest.mark.parametrize("make", [Regressor, Classifier])
def test_a_weight_is_that_many_rows(make):
    one, many = make(method="ekf"), make(method="ekf")
    rng = np.random.default_rng(0)
    rows = [
        ({"a": rng.normal()}, bool(rng.random() < 0.5), int(rng.integers(4))) for _ in range(80)
    ]
    for x, y, w in rows:
        one.learn_one(x, y, w)
        for _ in range(w if make is Regressor else 0):
            many.learn_one(x, y)
    if make is Regressor:  # exact for normal targets
        assert one.predict_one({"a": 0.7}) == pytest.approx(many.predict_one({"a": 0.7}), rel=1e-10)
        assert one.weights["a"] == pytest.approx(many.weights["a"], rel=1e-10)
    batch = one.clone()
    X = pd.DataFrame([x for x, _, _ in rows])
    batch.learn_many(X, [y for _, y, _ in rows], w=[w for _, _, w in rows])
    assert batch.weights["a"] == pytest.approx(one.weights["a"], rel=1e-10)
    double, given = one.clone(), one.clone()
    double.learn_many(X, [y for _, y, _ in rows], w=2.0)
    for x, y, _ in rows:
        given.learn_one(x, y, w=2.0)
    assert double.weights["a"] == pytest.approx(given.weights["a"], rel=1e-10)
    before = pickle.dumps(one)
    for bad in (-1.0, float("nan"), float("inf"), "two", [1.0]):
        with pytest.raises(kalmia.InputError, match="the weight w is"):
            one.learn_one({"a": 1.0, "new": 2.0}, True, bad)
        with pytest.raises(kalmia.InputError, match="w"):
            one.learn_many(X[:1], [True], w=[bad])
    assert pickle.dumps(one) == before


def test_a_row_of_weight_0_is_not_learned():
    model = MODELS["regression"]()
    before = model.weights
    model.learn_one({"a": 100.0, "b": -100.0}, 1e6, 0.0)
    assert model.weights == before


def test_inside_is_what_an_estimator_has_learned():
    rows = list(stream())
    model = learned(Regressor(), rows)
    X = pd.DataFrame([x for x, _ in rows])
    same = kalmia.LinearRegression(shuffle=False).fit(X, [y for _, y in rows])
    assert list(model.weights) == ["a", "b"]
    assert_close(list(model.weights.values()), same.coef_, rtol=1e-9)
    assert model.intercept == pytest.approx(same.intercept_, rel=1e-9)
    assert list(model.standard_errors) == ["(intercept)", "a", "b"]
    assert_close(list(model.standard_errors.values()), same.std_err_, rtol=1e-9)
    assert model.progressive_loss_ == pytest.approx(same.progressive_loss_, rel=1e-9)
    assert 0.9 < model.progressive_["coverage"] < 1.0
    assert model.drifts_ is same.drifts_ is False and model.n_samples_seen_ == 300
    for mine, theirs in zip(model.summary(0.9).rows, same.summary(0.9).rows, strict=True):
        assert mine[0] == theirs[0]
        assert_close(mine[1:], theirs[1:], rtol=1e-8)
    assert "Regressor (gaussian)" in str(model.summary())


def test_inside_of_one_learner_per_label_is_by_label():
    model = MODELS["apart"]()
    assert model.classes_ == list(model.weights) == list(model.intercept)
    assert set(model.classes_) == {"x", "y", "z"}
    for label, learner in zip(model.classes_, model.learners_, strict=True):
        assert_same([model.intercept[label], *model.weights[label].values()], learner.theta)
        assert_same(list(model.standard_errors[label].values()), learner.standard_errors)
        assert model.progressive_[label]["rows"] == 300
    losses = [one["loss"] for one in model.progressive_.values()]
    assert model.progressive_loss_ == pytest.approx(np.mean(losses))
    assert "x: (intercept)" in str(model.summary())


def test_before_the_first_row_there_is_nothing_inside():
    assert Classifier().weights == {} and Regressor().weights == {}
    assert Regressor().n_samples_seen_ == 0 and Classifier().n_samples_seen_ == 0
    with pytest.raises(kalmia.InputError, match="has learned no row yet"):
        Classifier().summary()
    with pytest.raises(kalmia.InputError, match="nothing to save"):
        Classifier().save("unused")


def test_a_followed_drift_shows():
    model = Regressor(drift="adapt")
    assert not model.drifts_
    assert learned(model, stream(400)).drifts_
    assert "drift" in str(model.summary())


def test_intervals_of_probabilities():
    for name in ("booleans", "texts", "apart"):
        model = MODELS[name]()
        x = {"a": 0.5, "b": -3.0}
        found = model.predict_interval_one(x, 0.8)
        assert list(found) == model.classes_
        event = model.classes_[-1]
        assert found[event] == model._learners[event].predict(model._row(x)).mean_interval(0.8)
        if name != "apart":
            chance = model.predict_proba_one(x)
            for label, (low, high) in found.items():
                assert 0.0 < low < chance[label] < high < 1.0
            (low, high), (first, last) = found.values()
            assert low + last == pytest.approx(1.0) and high + first == pytest.approx(1.0)
            wide = model.predict_interval_one(x, 0.99)[event]
            assert wide[0] < found[event][0] and wide[1] > found[event][1]
    assert Classifier().predict_interval_one({"a": 1.0}) == {}


@pytest.mark.parametrize("name", list(MODELS))
def test_files_continue_exactly(name, tmp_path):
    model = MODELS[name]()
    path = tmp_path / "m.kalmia"
    model.save(path)
    for again in (type(model).load(path), kalmia.load(path)):
        assert type(again) is type(model)
        assert again._get_params() == model._get_params()
        twin = pickle.loads(pickle.dumps(model))
        kinds = model.classes_ or [1.0, 2.5]
        more = [{"a": 1.0, "b": 2.0}, {"b": -1.0, "late": 3.0}, {"city": "Lyon"}]
        for x, y in zip(more, [kinds[0], kinds[1], kinds[0]], strict=True):
            again.learn_one(x, y)
            twin.learn_one(x, y)
        assert again._columns.index == twin._columns.index
        assert again.classes_ == twin.classes_
        for mine, theirs in zip(again._all_learners(), twin._all_learners(), strict=True):
            assert mine.to_bytes() == theirs.to_bytes()
    other = Regressor if isinstance(model, Classifier) else Classifier
    with pytest.raises(kalmia.ModelFileError, match=f"holds a {type(model).__name__} and no"):
        other.load(path)


def test_files_refuse_what_they_cannot_hold(tmp_path):
    model = learned(Classifier(), labels([("a", 1), ("b", 2)], 5))
    with pytest.raises(kalmia.InputError, match="of type tuple: a file holds labels that are"):
        model.save(tmp_path / "m.kalmia")
    assert not list(tmp_path.iterdir())
    path = tmp_path / "estimator.kalmia"
    kalmia.LinearRegression().fit([[0.0], [1.0]], [1.0, 2.0]).save(path)
    with pytest.raises(kalmia.ModelFileError, match="holds no River model: use kalmia.load"):
        Regressor.load(path)


def test_the_command_reads_a_river_file(run, tmp_path):
    model, data = tmp_path / "m.kalmia", tmp_path / "t.csv"
    rows = list(stream(50))
    river = learned(Regressor(), rows)
    river.save(model)
    pd.DataFrame([x for x, _ in rows]).to_csv(data, index=False)
    lines = run("predict", model, data).splitlines()
    place = lines[0].split(",").index("mean")
    found = [float(line.split(",")[place]) for line in lines[1:]]
    assert_close(found, [river.predict_one(x) for x, _ in rows], rtol=1e-9)


TABLES = {
    "polars": pl.from_pandas,
    "arrow table": pa.Table.from_pandas,
    "arrow batch": pa.RecordBatch.from_pandas,
}


@pytest.mark.parametrize("kind", list(TABLES))
def test_tables_of_other_libraries(kind):
    rng = np.random.default_rng(9)
    frame = pd.DataFrame(
        {
            "size": rng.normal(size=60),
            "rooms": rng.integers(1, 6, 60),
            "garden": rng.random(60) < 0.5,
            "city": rng.choice(["Lyon", "Nice"], 60),
        }
    )
    y = (frame["size"] + (frame["city"] == "Nice")).to_numpy()
    table = TABLES[kind](frame)
    one, other = Regressor(), Regressor()
    one.learn_many(frame, y)
    other.learn_many(table, pl.Series(y) if kind == "polars" else pa.array(y))
    assert other._columns.index == one._columns.index
    assert other.weights == one.weights
    assert_same(other.predict_many(table), one.predict_many(frame))
    a, b = Classifier(), Classifier()
    label = pd.Series(np.where(y > 0.0, "high", "low"))
    a.learn_many(frame, label)
    b.learn_many(table, pl.from_pandas(label) if kind == "polars" else pa.array(label))
    pd.testing.assert_frame_equal(a.predict_proba_many(frame), b.predict_proba_many(table))
    assert list(a.predict_many(frame)) == list(b.predict_many(table))


def test_missing_values_of_other_libraries_are_refused():
    for table in (pl.DataFrame({"a": [1.0, None]}), pl.DataFrame({"a": ["x", None]})):
        model = Regressor()
        with pytest.raises(kalmia.InputError, match="feature 'a' is"):
            model.learn_many(table, [0.0, 1.0])
        assert not model._columns.index


def test_a_matrix_has_the_columns_of_its_frame():
    X = np.random.default_rng(1).normal(size=(40, 3))
    y = X @ [1.0, 2.0, 3.0]
    a, b, c = Regressor(), Regressor(), Regressor()
    a.learn_many(X, y)
    b.learn_many(pd.DataFrame(X), y)
    for row, target in zip(X, y, strict=True):
        c.learn_one(dict(enumerate(row)), target)
    assert list(a.weights) == ["0", "1", "2"]
    assert a.weights == b.weights
    assert_close(list(a.weights.values()), list(c.weights.values()), rtol=1e-9)
    assert_same(a.predict_many(X), b.predict_many(pd.DataFrame(X)))


def test_kalmia_river_needs_no_import_of_its_own():
    code = "import kalmia; print(kalmia.river.Regressor.__name__, 'river' in dir(kalmia))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["Regressor", "True"]
    with pytest.raises(AttributeError, match="module 'kalmia' has no attribute 'rivers'"):
        _ = kalmia.rivers


def test_without_river_the_message_says_what_to_install():
    code = """
import sys
sys.modules["river"] = None
import kalmia
try:
    kalmia.river
except ImportError as error:
    print(error)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "kalmia.river needs the package river: pip install river pandas\n"


def test_a_growing_vocabulary_is_warned_of_once():
    model = Regressor("gaussian", "ekf")
    words = [f"w{k}" for k in range(MANY_FEATURES + 20)]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model.learn_one(dict.fromkeys(words[:-25], 1.0), 1.0)
    with pytest.warns(
        UserWarning, match=r'1000 features .* at least 8 MB: .*method="wide"'
    ) as all:
        for k in range(len(words) - 25, len(words)):
            model.learn_one({words[k]: 1.0}, 1.0)
    assert len(all) == 1 and all[0].filename == __file__
    assert all[0].message.args[0].startswith("this model has 1000 features and keeps 1 covariance")
    hashed = preprocessing.FeatureHasher(n_features=16, seed=1) | Regressor()
    for word in words[:50]:
        hashed.learn_one({word: 1.0}, 1.0)
    assert len(hashed["Regressor"].weights) <= 16


@pytest.mark.parametrize("make", [Regressor, Classifier, lambda: Classifier("ekf")])
def test_refused_rows_with_new_features_change_nothing(make):
    """Values that only the learner refuses: the new features are there by then."""
    model = make()
    for x, y in stream(140):
        model.learn_one(x, y > 1.0)
    for row in ({"a": 1e200, "new": 1.0}, {"a": 1.0, "new": 1e200, "city": "Lyon"}):
        before = pickle.dumps(model)
        with pytest.raises(kalmia.InputError, match="at most 1e120 in size"):
            model.learn_one(row, True)
        assert pickle.dumps(model) == before
        twin = pickle.loads(before)
        for one in (model, twin):
            one.learn_one({"new": 2.0}, False)
        assert pickle.dumps(model) == pickle.dumps(twin)


def test_a_refused_count_with_new_features_changes_nothing():
    model = Regressor("poisson")
    for k in range(5):
        model.learn_one({"a": float(k)}, k)
    before = pickle.dumps(model)
    with pytest.raises(kalmia.InputError):
        model.learn_one({"a": 1.0, "b": 2.0}, -1.0)
    assert pickle.dumps(model) == before


def test_nan_of_a_scaler_is_explained():
    model = preprocessing.MinMaxScaler() | Regressor()
    model.learn_one({"a": 1.0}, 1.0)
    with pytest.raises(kalmia.InputError, match="feature 'b' is nan.*remove the scaler"):
        model.predict_one({"a": 1.0, "b": 2.0})


def test_one_row_and_a_table_predict_the_same():
    rows = list(datasets.Phishing().take(250))
    model = learned(Classifier(), rows)
    X = pd.DataFrame([x for x, _ in rows])
    one = [model.predict_proba_one(x)[True] for x, _ in rows]
    assert_close(one, model.predict_proba_many(X)[True], rtol=1e-12)
    for family in ("gaussian", "poisson", "gamma"):
        numbers = Regressor(family)
        for x, y in rows:
            numbers.learn_one(x, 1.0 + y)
        found = [numbers.predict_one(x) for x, _ in rows]
        assert_close(found, numbers.predict_many(X), rtol=1e-12)
        assert found[0] == pytest.approx(numbers._learner.predict(numbers._row(rows[0][0])).mean)
