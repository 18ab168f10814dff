"""Model files: a loaded model equals the saved one, and the command shares the format."""

import io
import json
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from compare import assert_close, assert_same
from sklearn.datasets import load_diabetes, load_iris

import kalmia
from kalmia._kalmia import Schema

DATA = Path(__file__).parent / "data"


def estimators():
    X, y = load_diabetes(return_X_y=True, as_frame=True, scaled=False)
    amounts = y.to_numpy()
    flowers, kinds = load_iris(return_X_y=True)
    small = X / X.std()
    return {
        "gaussian": (kalmia.LinearRegression(), X, y),
        "named filter": (
            kalmia.LinearRegression("implicit", prior_variance=3.0, noise_variance=2.0),
            small,
            y,
        ),
        "poisson": (kalmia.PoissonRegression(fit_intercept=False), small, np.round(amounts / 50)),
        "gamma": (kalmia.GammaRegression(), X.to_numpy(), amounts),
        "negative binomial": (kalmia.NegativeBinomialRegression(), X, np.round(amounts / 50)),
        "fixed dispersion": (
            kalmia.NegativeBinomialRegression("moment", dispersion=0.3),
            small,
            np.round(amounts / 50),
        ),
        "quantile": (kalmia.QuantileRegression(quantile=0.8), X, y),
        "student": (kalmia.StudentRegression(degrees_of_freedom=3), X, y),
        "numbers": (kalmia.LogisticRegression(), X, (y > 140).astype(int)),
        "truth": (kalmia.LogisticRegression(drift="adapt"), X, y > 140),
        "texts": (kalmia.LogisticRegression("moment"), small, np.where(y > 140, "high", "low")),
        "one and two": (
            kalmia.LogisticRegression("ons", radius=2.0, exp_concavity=0.1),
            small,
            (y > 140) + 1,
        ),
        "three": (kalmia.LogisticRegression(), flowers, load_iris().target_names[kinds]),
        "asgd": (kalmia.LogisticRegression("asgd", step=0.01), small, y > 140),
    }


@pytest.mark.parametrize("name", estimators())
def test_saved_models_come_back_whole(name, tmp_path):
    model, X, y = estimators()[name]
    model.fit(X, y)
    path = tmp_path / "model.kalmia"
    model.save(path)
    again = kalmia.load(path)
    assert type(again) is type(model) and again.get_params() == model.get_params()
    assert_same(again.predict(X), model.predict(X))
    assert_same(again.coef_, model.coef_)
    assert again.progressive_loss_ == model.progressive_loss_
    assert str(again.summary()) == str(model.summary())
    assert hasattr(again, "feature_names_in_") == hasattr(model, "feature_names_in_")
    again.save(tmp_path / "again.kalmia")
    assert (tmp_path / "again.kalmia").read_bytes() == path.read_bytes()
    if name != "asgd":  # has reached its horizon
        model.partial_fit(X, y)
        again.partial_fit(X, y)
        assert_same(again.coef_, model.coef_)


@pytest.mark.parametrize("make", [pd.DataFrame, pl.DataFrame])
def test_columns_with_blanks_in_their_names_come_back(run, tmp_path, make):
    rng = np.random.default_rng(6)
    table = make({name: rng.normal(size=50) for name in (" a", "b ", "", " y", "d e")})
    y = rng.normal(size=50)
    model = kalmia.LinearRegression().fit(table, y)
    path = tmp_path / "model.kalmia"
    model.save(path)
    again = kalmia.load(path)
    assert_same(again.predict(table), model.predict(table))
    assert str(again.summary()) == str(model.summary())
    again.save(tmp_path / "again.kalmia")
    assert (tmp_path / "again.kalmia").read_bytes() == path.read_bytes()
    pd.DataFrame(np.asarray(table), columns=list(table.columns)).to_csv(
        tmp_path / "table.csv", index=False
    )
    found = pd.read_csv(io.StringIO(run("predict", path, tmp_path / "table.csv")))
    assert_close(found["mean"], model.predict(table), rtol=1e-12)
    with pytest.raises(kalmia.InputError, match="cannot be stored.*names column `a` twice"):
        kalmia.LinearRegression().fit(make({" a": [0.0, 1.0], "a": [1.0, 0.0]}), [0.0, 1.0]).save(
            path
        )


def test_models_with_parameters_of_numpy_are_saved(tmp_path):
    given = {
        "prior_variance": np.float32(2.0),
        "fit_intercept": np.bool_(True),
        "noise_variance": np.float64(0.5),
        "scale": np.int64(2),
    }
    model = kalmia.LinearRegression("truncated", **given).fit([[0.0], [1.0]], [0.0, 1.0])
    model.save(tmp_path / "model.kalmia")
    again = kalmia.load(tmp_path / "model.kalmia")
    assert again.get_params() == model.get_params() and again.predict([[2.0]]) == model.predict(
        [[2.0]]
    )


GOLDEN = json.loads((DATA / "python-0.1.json").read_text())


@pytest.mark.parametrize("name", GOLDEN)
def test_files_of_version_0_1_are_read(name, tmp_path):
    """They hold a value for every parameter, of other methods too."""
    model = kalmia.load(DATA / f"python-0.1-{name}.kalmia")
    predict = model.predict_proba if hasattr(model, "classes_") else model.predict
    assert_close(np.ravel(predict([[0.3, -0.2]])), GOLDEN[name]["prediction"], rtol=1e-14)
    assert_same(np.ravel(model.coef_), GOLDEN[name]["coef"])
    model.save(tmp_path / "again.kalmia")
    again = kalmia.load(tmp_path / "again.kalmia")
    assert again.get_params() == model.get_params()
    assert_same(again.coef_, model.coef_)
    parameters = model.get_params()
    assert parameters["scale"] is None and parameters["horizon"] is None
    assert parameters["drift"] == ("detect" if name == "auto" else None)
    labels = getattr(model, "classes_", [0.0, 1.0])
    model.fit([[0.0, 1.0], [1.0, 0.0], [1.0, 1.0]], np.resize(labels, 3))


def test_learners_pickled_by_version_0_1_are_read():
    averaged = kalmia.restore((DATA / "python-0.1-averaged-learner.bin").read_bytes())
    expected = kalmia.Averaged(kalmia.Filter(2))
    expected.learn([1.0, 2.0], 1)
    assert type(averaged) is kalmia.Averaged
    assert_same(averaged.theta, expected.theta)
    assert averaged.to_bytes() == expected.to_bytes()


def test_columns_of_values_are_encoded_as_an_arrow_table_is():
    schema = Schema(["a", "b", "c"], "y")
    columns = {"a": [1, 2, 3], "b": [0.5, 1, 2.5], "c": [1.0, 0.0, 1.0]}
    for table in (pa.table(columns), columns):
        features, rows, offset, unseen = schema.encode(table)
        assert unseen is None
        assert_same(features, np.column_stack(list(columns.values())))
        assert rows.tolist() == [0, 1, 2] and offset is None
    with pytest.raises(kalmia.InputError, match="column `a` has a missing value in row 1: fill it"):
        schema.encode(columns | {"a": [1, None, 3]})


def test_files_that_are_no_models_are_refused(tmp_path):
    path = tmp_path / "x.kalmia"
    with pytest.raises(kalmia.ModelFileError, match="cannot read"):
        kalmia.load(path)
    path.write_bytes(b"hello " * 100)
    with pytest.raises(kalmia.ModelFileError, match="not a kalmia model"):
        kalmia.load(path)
    kalmia.LinearRegression().fit([[0.0], [1.0]], [0.0, 1.0]).save(path)
    path.write_bytes(path.read_bytes()[:-3])
    with pytest.raises(kalmia.ModelFileError, match="cut short"):
        kalmia.load(path)
    with pytest.raises(kalmia.ModelFileError, match="cannot write"):
        kalmia.LinearRegression().fit([[0.0], [1.0]], [0.0, 1.0]).save(
            tmp_path / "none" / "x.kalmia"
        )


@pytest.fixture
def patients(tmp_path):
    X, y = load_diabetes(return_X_y=True, as_frame=True, scaled=False)
    table = X.assign(
        city=np.resize(["Lyon", "Nice", "Metz"], len(y)), high=np.where(y > 140, "yes", "no"), y=y
    )
    path = tmp_path / "patients.csv"
    table.to_csv(path, index=False)
    return path, table


@pytest.mark.parametrize("method", ["auto", "moment"])
def test_the_command_reads_what_python_saved(run, patients, tmp_path, method):
    path, table = patients
    X = table.iloc[:, :10]
    for model, y in [
        (kalmia.LogisticRegression(method), table["high"]),
        (kalmia.LinearRegression(method), table["y"]),
        (kalmia.NegativeBinomialRegression(method), table["y"].round()),
        (kalmia.QuantileRegression(method, quantile=0.8), table["y"]),
        (kalmia.StudentRegression(method, degrees_of_freedom=3), table["y"]),
    ]:
        model.fit(X / 100.0, y)
        model.save(tmp_path / "model.kalmia")
        (X / 100.0).to_csv(tmp_path / "scaled.csv", index=False)
        found = pd.read_csv(
            io.StringIO(run("predict", tmp_path / "model.kalmia", tmp_path / "scaled.csv"))
        )
        expected = (
            model.predict_proba(X / 100.0)[:, 1]
            if hasattr(model, "classes_")
            else model.predict(X / 100.0)
        )
        assert_close(found["mean"], expected, rtol=1e-12)
        assert str(model.n_samples_seen_) in run("inspect", tmp_path / "model.kalmia")


def test_the_command_reads_truth_values_that_python_learned(run, patients, tmp_path):
    path, table = patients
    X, truth = table.iloc[:, :10], table["y"] > 140
    model = kalmia.LogisticRegression().fit(X[:300], truth[:300])
    model.save(tmp_path / "model.kalmia")
    rest = tmp_path / "rest.csv"
    X[300:].assign(y=truth[300:]).to_csv(rest, index=False)
    assert "accuracy" in run("evaluate", tmp_path / "model.kalmia", rest)
    run("update", tmp_path / "model.kalmia", rest, "-o", tmp_path / "more.kalmia")
    model.partial_fit(X[300:], truth[300:])
    again = kalmia.load(tmp_path / "more.kalmia")
    assert_close(again.coef_, model.coef_, rtol=1e-9)


@pytest.mark.parametrize("target", ["high", "y"])
def test_python_reads_what_the_command_fitted(run, patients, tmp_path, target, monkeypatch):
    path, table = patients
    other = {"high": "y", "y": "high"}[target]
    model_file = tmp_path / "model.kalmia"
    run("fit", path, "--target", target, "--exclude", other, "-o", model_file)
    found = pd.read_csv(io.StringIO(run("predict", model_file, path)))
    model = kalmia.load(model_file)
    for frame in (table, pl.from_pandas(table)):
        mean = model.predict_proba(frame)[:, 1] if target == "high" else model.predict(frame)
        assert_close(mean, found["mean"], rtol=1e-12)
    assert model._feature_names()[-2:] == ["city=Nice", "city=Metz"]
    assert "city=Nice" in str(model.summary())
    if target == "high":
        assert list(model.classes_) == ["no", "yes"]
    with pytest.raises(kalmia.InputError, match="pandas or polars"):
        model.predict(np.zeros((2, 11)))

    def no_stream(self, requested_schema=None):
        raise ImportError("pyarrow")

    expected = model.predict(table)
    monkeypatch.setattr(pd.DataFrame, "__arrow_c_stream__", no_stream)
    assert_same(model.predict(table), expected)
    monkeypatch.undo()
    model.save(tmp_path / "carried.kalmia")
    assert run("inspect", tmp_path / "carried.kalmia").count("patients.csv") >= 1
    for frame in (table.drop(columns="city"), pl.from_pandas(table).drop("city")):
        with pytest.raises(kalmia.InputError, match="no column 'city'"):
            model.predict(frame)


@pytest.mark.parametrize("target", ["high", "y"])
def test_rows_that_the_model_leaves_out_are_predicted_as_nan(run, patients, tmp_path, target):
    path, table = patients
    other = {"high": "y", "y": "high"}[target]
    table.loc[[0, 7], "bmi"] = np.nan
    table.loc[[20, len(table) - 1], "city"] = None
    table.to_csv(path, index=False)
    run(
        "fit",
        path,
        "--target",
        target,
        "--exclude",
        other,
        "--missing",
        "skip",
        "-o",
        tmp_path / "model.kalmia",
    )
    found = pd.read_csv(io.StringIO(run("predict", tmp_path / "model.kalmia", path)))
    model = kalmia.load(tmp_path / "model.kalmia")
    out = table[["bmi", "city"]].isna().any(axis=1).to_numpy()
    assert out.sum() == 4
    for frame in (table, pl.from_pandas(table)):
        results = [model.predict_interval(frame), *model.predict(frame, return_std=True)]
        mean = model.predict(frame)
        if target == "high":
            mean = model.predict_proba(frame)[:, 1]
            results.append(model.decision_function(frame))
        assert_same(np.isnan(mean), out)
        assert_close(mean[~out], found["mean"].dropna(), rtol=1e-12)
        for result in results:
            assert len(result) == len(table)
            assert_same(pd.isna(result).reshape(len(table), -1).any(axis=1), out)
    count = model.n_samples_seen_
    ahead = model.partial_fit_predict(table, table[target])
    assert model.n_samples_seen_ == count + len(table) - 4
    assert_same(np.isnan(ahead).reshape(len(table), -1).any(axis=1), out)


def test_a_table_of_one_column_keeps_its_empty_rows(run, patients, tmp_path):
    path, table = patients
    run(
        "fit",
        path,
        "--target",
        "y",
        "--features",
        "city",
        "--missing",
        "skip",
        "-o",
        tmp_path / "model.kalmia",
    )
    model = kalmia.load(tmp_path / "model.kalmia")
    for make in (pd.DataFrame, pl.DataFrame):
        found = model.predict(make({"city": ["Lyon", None, "Nice"]}))
        assert np.isnan(found).tolist() == [False, True, False]


@pytest.mark.parametrize("target", ["high", "y"])
@pytest.mark.parametrize("excluded", ["", ",city"])
def test_the_offset_of_the_commands_model_is_applied(run, patients, tmp_path, target, excluded):
    path, table = patients
    table["num"] = np.random.default_rng(4).normal(size=len(table))
    table.to_csv(path, index=False)
    other = {"high": "y", "y": "high"}[target]
    run(
        "fit",
        path,
        "--target",
        target,
        "--exclude",
        other + excluded,
        "--offset",
        "num",
        "-o",
        tmp_path / "model.kalmia",
    )
    expected = pd.read_csv(io.StringIO(run("predict", tmp_path / "model.kalmia", path)))["mean"]
    model = kalmia.load(tmp_path / "model.kalmia")

    def mean(X, **offset):
        return (
            model.predict_proba(X, **offset)[:, 1]
            if target == "high"
            else model.predict(X, **offset)
        )

    used = table[[*model.feature_names_in_, "num"]]
    bare = used.drop(columns="num")
    for convert in (lambda frame: frame, pl.from_pandas):
        assert_close(mean(convert(used)), expected, rtol=1e-12)
        assert_close(mean(convert(bare), offset=table["num"]), expected, rtol=1e-12)
        assert_close(
            mean(convert(used), offset=0.0),
            mean(convert(bare), offset=np.zeros(len(table))),
            rtol=1e-12,
        )
        with pytest.raises(kalmia.InputError, match="fitted with the offset 'num'"):
            mean(convert(bare))
        with pytest.raises(kalmia.InputError, match="X has 442 rows, but offset is of shape"):
            mean(convert(bare), offset=[1.0, 2.0])
    run("update", tmp_path / "model.kalmia", path, "-o", tmp_path / "more.kalmia")
    model.partial_fit(used, table[target])
    assert_close(model.coef_, kalmia.load(tmp_path / "more.kalmia").coef_, rtol=1e-9)


def test_a_refused_fit_leaves_the_commands_model_as_it_was(run, patients, tmp_path):
    path, table = patients
    run("fit", path, "--target", "y", "--exclude", "high", "-o", tmp_path / "model.kalmia")
    model = kalmia.load(tmp_path / "model.kalmia")
    before, summary = model.predict(table), str(model.summary())
    with pytest.raises(ValueError, match="NaN"):
        model.fit(table[["age", "bmi"]], [*table["y"][:-1], np.nan])
    assert_same(model.predict(table), before)
    assert str(model.summary()) == summary


def test_the_command_goes_on_where_python_stopped(run, patients, tmp_path):
    path, table = patients
    X, model_file = table.iloc[:, :10], tmp_path / "model.kalmia"
    model = kalmia.LogisticRegression().fit(X[:200], table["high"][:200])
    model.save(model_file)
    rest = tmp_path / "rest.csv"
    X[200:].assign(y=table["high"][200:]).to_csv(rest, index=False)
    run("update", model_file, rest, "-o", tmp_path / "more.kalmia")
    model.partial_fit(X[200:], table["high"][200:])
    assert_close(kalmia.load(tmp_path / "more.kalmia").coef_, model.coef_, rtol=1e-9)


def test_several_classes_are_one_model_for_both(run, tmp_path):
    model, X, y = estimators()["three"]
    path, data = tmp_path / "three.kalmia", tmp_path / "t.csv"
    model.set_params(shuffle=False).fit(X, y).save(path)
    table = pd.DataFrame(np.asarray(X), columns=[f"x{j}" for j in range(np.shape(X)[1])])
    table.assign(y=y).to_csv(data, index=False)
    found = pd.read_csv(io.StringIO(run("predict", path, data)))
    names = [f"p_{label}" for label in model.classes_]
    assert_close(found[names].to_numpy(), model.predict_proba(X), rtol=1e-12)
    theirs = tmp_path / "command.kalmia"
    run("fit", data, "--target", "y", "--family", "categorical", "-o", theirs)
    again = kalmia.load(theirs)
    assert again.classes_.tolist() == model.classes_.tolist()
    assert_close(again.predict_proba(table), model.predict_proba(X), rtol=1e-12)
    # numbers of a file are numbers again, and more rows can be learned
    assert_close(again.partial_fit(table, y).n_samples_seen_, 2 * len(y))


def test_the_command_leaves_one_learner_per_class_to_python(run, tmp_path):
    _, X, y = estimators()["three"]
    path = tmp_path / "three.kalmia"
    kalmia.LogisticRegression("moment").fit(X, y).save(path)
    said = run("inspect", path, fails=2)
    assert "three.kalmia: holds several classes" in said and "`kalmia.load` reads" in said
