"""The client with a real service: what it learns, predicts, refuses and keeps."""

import uuid
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from service import flights

import kalmia
from kalmia import _client_rows
from kalmia.errors import InputError, ServiceError

FEATURES = ["hour", "dist"]


def with_carriers(table):
    carriers = np.array(["AA", "BA", "LH"])
    return table.assign(carrier=carriers[(table["hour"] + np.arange(len(table))) % 3])


@pytest.fixture
def client(service):
    with kalmia.Client(service.url) as one:
        yield one


@pytest.fixture
def late(client):
    """The name of a new model of labels."""
    name = f"late-{uuid.uuid4().hex[:12]}"
    assert client.create(name, family="bernoulli", target="late")["state"] == "empty"
    return name


KINDS = {
    "list": lambda table: table.to_dict("records"),
    "pandas": lambda table: table,
    "polars": pl.from_pandas,
    "pyarrow": lambda table: pa.Table.from_pandas(table, preserve_index=False),
    "stream": lambda table: pa.Table.from_pandas(table, preserve_index=False).to_reader(),
}


@pytest.mark.parametrize("kind", KINDS)
def test_all_kinds_of_rows_make_the_same_model(client, late, kind):
    table, convert = with_carriers(flights(300)), KINDS[kind]
    reference = f"{late}-reference"
    client.create(reference, family="bernoulli", target="late")
    for part in (table[:200], table[200:]):
        client.learn(reference, part.to_dict("records"), predict=True)
        learned = client.learn(late, convert(part), predict=True)
        assert learned.rows == len(part) == len(learned.predictions)
        assert not learned.duplicate and learned.skipped == 0 and learned.ignored == ()
    assert client.model(late)["rows"] == 300
    model, other = client.snapshot(late), client.snapshot(reference)
    assert model.coef_names_.tolist() == other.coef_names_.tolist()
    assert model.coef_.tolist() == other.coef_.tolist()
    assert model.std_err_.tolist() == other.std_err_.tolist()
    new = with_carriers(flights(20, seed=2)).drop(columns="late")
    assert client.predict(late, convert(new)) == client.predict(reference, new.to_dict("records"))


def test_predictions_are_those_of_the_snapshot(client, late):
    table = with_carriers(flights(500))
    client.learn(late, table)
    model = client.snapshot(late)
    assert isinstance(model, kalmia.LogisticRegression) and model.n_samples_seen_ == 500
    new = with_carriers(flights(50, seed=2)).drop(columns="late")
    found = client.predict(late, new, level=0.8, interval="mean")
    ends = model.predict_interval(new, level=0.8)
    expected = {"mean": model.predict_proba(new)[:, 1], "lower": ends[:, 0], "upper": ends[:, 1]}
    for name, values in expected.items():
        assert [getattr(one, name) for one in found] == pytest.approx(values, rel=1e-12), name
    labels = [one.predicted for one in found]
    assert [float(label) for label in labels] == model.predict(new).astype(float).tolist()
    without = client.predict(late, new, interval="none")
    assert {(one.lower, one.upper) for one in without} == {(None, None)}
    assert [one.mean for one in without] == [one.mean for one in found]


def test_a_regression(client, late):
    rng = np.random.default_rng(5)
    table = pd.DataFrame(rng.normal(size=(200, 3)), columns=["a", "b", "y"])
    table["y"] += 3.0 * table["a"] + 2.0
    name = f"{late}-line"
    client.create(name, family="gaussian", target="y", drift="off")
    client.learn(name, table)
    model, new = client.snapshot(name), table[["a", "b"]][:10]
    for of_mean, interval in ((False, "y"), (True, "mean")):
        found = client.predict(name, new, level=0.9, interval=interval)
        ends = model.predict_interval(new, level=0.9, of_mean=of_mean)
        assert [one.mean for one in found] == pytest.approx(model.predict(new), rel=1e-12)
        assert [one.lower for one in found] == pytest.approx(ends[:, 0], rel=1e-12)
        assert [one.upper for one in found] == pytest.approx(ends[:, 1], rel=1e-12)
        assert all(one.predicted is None and one.linear_sd > 0.0 for one in found)


def test_a_repeated_key_changes_nothing(client, late, tmp_path):
    table = flights(100)
    first = client.learn(late, table, key="monday")
    before = client.snapshot(late, tmp_path / "before.kalmia").read_bytes()
    again = client.learn(late, table, key="monday")
    assert again.duplicate and not first.duplicate
    assert (again.sequence, again.rows) == (first.sequence, first.rows)
    with pytest.raises(ServiceError) as caught:
        client.learn(late, table[:50], key="monday")
    assert (caught.value.status, caught.value.code) == (422, "key_reused")
    assert client.snapshot(late, tmp_path / "after.kalmia").read_bytes() == before
    assert client.model(late)["rows"] == 100


def test_a_large_table_goes_in_parts(client, late, monkeypatch):
    monkeypatch.setattr(_client_rows, "MAX_REQUEST_ROWS", 40)
    table = flights(100)
    learned = client.learn(late, table, key="monday", predict=True)
    assert learned.rows == len(learned.predictions) == 100 and not learned.duplicate
    assert client.learn(late, table, key="monday", predict=True).duplicate
    assert client.model(late)["rows"] == 100
    assert len(client.predict(late, table)) == 100
    wrong = table.to_dict("records")
    wrong[84]["dist"] = None
    with pytest.raises(ServiceError, match="row 5 of this request is row 85") as caught:
        client.learn(late, wrong, key="tuesday")
    assert (caught.value.row, caught.value.column, caught.value.rows_done) == (85, "dist", 80)
    # a repeated call with the same key learns what is left
    learned = client.learn(late, wrong[:84] + table.to_dict("records")[84:], key="tuesday")
    assert learned.rows == 100 and client.model(late)["rows"] == 200


def test_labels_that_come_later(client, late):
    client.learn(late, flights(200))
    rows = flights(20, seed=2)
    asked = rows.drop(columns="late").assign(id=[f"f{n}" for n in range(20)])
    served = client.predict(late, asked)
    assert client.model(late)["pending"] == 20 and client.model(late)["rows"] == 200
    labels = list(zip(asked["id"], rows["late"], strict=True))
    done = client.label(late, labels, key="evening")
    p = np.array([one.mean for one in served])
    losses = -np.log(np.where(rows["late"] == 1, p, 1.0 - p))
    assert done.rows == done.served.rows == 20 and not done.duplicate
    assert done.served.loss == pytest.approx(losses.mean(), rel=1e-9)
    assert client.label(late, labels, key="evening").duplicate
    shown = client.model(late)
    assert shown["rows"] == 220 and shown["pending"] == 0
    with pytest.raises(ServiceError) as caught:
        client.label(late, [("f0", 1)])
    assert caught.value.code == "unknown_id"
    # the rows count as if they had been learned with their targets
    reference = f"{late}-reference"
    client.create(reference, family="bernoulli", target="late")
    client.learn(reference, flights(200))
    client.learn(reference, rows)
    same = client.snapshot(reference).coef_
    assert client.snapshot(late).coef_ == pytest.approx(same, rel=1e-9)


def test_choices(client, late):
    client.learn(late, flights(200))
    candidates = [{"hour": 3, "dist": 100.0}, {"hour": np.int64(22), "dist": 900.0}]
    for given in (candidates, pd.DataFrame(candidates), pl.DataFrame(candidates)):
        found = client.choose(late, given)
        assert found.choice in (0, 1) and 0.0 < found.probability <= 1.0
        mean = client.predict(late, candidates)[found.choice].mean
        assert found.prediction.mean == pytest.approx(mean, rel=1e-12)
        assert client.label(late, {"id": found.id, "y": 1}).rows == 1
    assert client.choose(late, candidates, id="mine").id == "mine"
    assert client.label(late, [("mine", 0)]).rows == 1
    assert client.model(late)["rows"] == 204


def test_errors_say_where(client, late):
    rows = flights(10).to_dict("records")
    client.learn(late, rows)
    for value, code in ((None, "missing_value"), ("soon", "bad_row")):
        with pytest.raises(ServiceError, match="row 4.*hour|hour.*row 4") as caught:
            client.learn(late, [*rows[:3], rows[3] | {"hour": value}])
        error = caught.value
        assert (error.code, error.row, error.column) == (code, 4, "hour")
        assert 400 <= error.status < 500
    assert client.model(late)["rows"] == 10
    with pytest.raises(ServiceError) as caught:
        client.predict("nobody", rows)
    assert (caught.value.status, caught.value.code) == (404, "unknown_model")
    with pytest.raises(ServiceError) as caught:
        client.create(late, family="poisson", target="late")
    assert (caught.value.status, caught.value.code) == (409, "model_exists")
    assert client.create(late, family="bernoulli", target="late")["rows"] == 10
    assert client.learn(late, [rows[0] | {"gate": "B4"}]).ignored == ("gate",)


def test_missing_values_are_skipped_if_the_model_says_so(client, late):
    name = f"{late}-skips"
    client.create(name, family="bernoulli", target="late", missing="skip")
    table = flights(50).astype({"dist": float})
    table.loc[[3, 7], "dist"] = np.nan
    learned = client.learn(name, table)
    assert (learned.rows, learned.skipped) == (48, 2)
    found = client.predict(name, table)
    assert [n for n, one in enumerate(found) if one is None] == [3, 7]


def test_a_snapshot_is_a_model_that_continues(client, late, tmp_path):
    table = flights(300)
    client.learn(late, table[:200])
    path = client.snapshot(late, tmp_path / "late.kalmia")
    model, copy = kalmia.load(path), f"{late}-copy"
    assert client.upload(copy, path)["rows"] == 200
    estimator = f"{late}-estimator"
    assert client.upload(estimator, model)["rows"] == 200
    model.partial_fit(table[FEATURES][200:], table["late"][200:])
    for name in (late, copy, estimator):
        client.learn(name, table[200:])
        again = client.snapshot(name)
        assert again.n_samples_seen_ == 300
        assert again.coef_ == pytest.approx(model.coef_, rel=1e-12)
    with pytest.raises(ServiceError) as caught:
        client.upload(copy, path)
    assert caught.value.code == "model_exists" and client.model(copy)["rows"] == 300
    with pytest.raises(InputError, match="model is a int: give the path"):
        client.upload("other", 3)


def test_models_come_and_go(client, late):
    client.learn(late, flights(10))
    listed = {one["name"]: one for one in client.models()}
    assert listed[late]["rows"] == 10 and listed[late]["family"] == "bernoulli"
    events = client.events(late)
    assert next(events)["rows"] == 10
    client.learn(late, flights(5))
    assert next(events)["rows"] == 15
    events.close()
    client.delete(late)
    assert late not in {one["name"] for one in client.models()}
    with pytest.raises(ServiceError, match="unknown_model"):
        client.model(late)


def test_threads_share_a_client(client, late):
    rows = flights(200).to_dict("records")
    client.learn(late, rows[:2])
    with ThreadPoolExecutor(8) as pool:
        learned = list(pool.map(lambda row: client.learn(late, row), rows[2:]))
    assert len({one.sequence for one in learned}) == 198
    assert client.model(late)["rows"] == 200
