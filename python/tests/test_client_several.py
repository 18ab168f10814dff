"""The client with models of several classes, of several quantiles and with conformal intervals."""

import math
import uuid

import numpy as np
import pandas as pd
import pytest

import kalmia
from kalmia.errors import ServiceError

SPECIES = ["setosa", "versicolor", "virginica"]


@pytest.fixture
def client(service):
    with kalmia.Client(service.url) as one:
        yield one


def new_name(kind):
    return f"{kind}-{uuid.uuid4().hex[:12]}"


def flowers(rows, seed=1):
    """Flowers whose species follows two measures and a place."""
    rng = np.random.default_rng(seed)
    code = rng.integers(0, 3, rows)
    return pd.DataFrame(
        {
            "petal": np.round(2.0 * code + rng.normal(0.0, 1.0, rows), 2),
            "sepal": np.round(5.0 + 0.5 * code + rng.normal(0.0, 0.5, rows), 2),
            "place": np.where(rng.random(rows) < 0.3, "east", "west"),
            "species": np.array(SPECIES)[code],
        }
    )


def times(rows, seed=1):
    """Waiting times with skewed noise."""
    rng = np.random.default_rng(seed)
    queue = rng.integers(0, 8, rows).astype(float)
    return pd.DataFrame({"queue": queue, "minutes": 5 + 2 * queue + rng.exponential(3.0, rows)})


def test_classes_are_learned_predicted_labelled_and_loaded(client):
    name = new_name("species")
    made = client.create(name, family="categorical", target="species")
    assert made["state"] == "empty"
    learned = client.learn(name, flowers(300), predict=True)
    assert learned.rows == 300 == len(learned.predictions)
    # the first row is predicted with what the rows of the request show: three classes
    assert learned.predictions[0].probabilities == pytest.approx(dict.fromkeys(SPECIES, 1 / 3))
    new = flowers(50, seed=2)
    found = client.predict(name, new.drop(columns="species"))
    for one in found:
        assert list(one.probabilities) == SPECIES
        assert math.isnan(one.mean) and one.quantiles is None and one.lower is None
        assert sum(one.probabilities.values()) == pytest.approx(1.0, abs=1e-12)
        assert one.predicted == max(one.probabilities, key=one.probabilities.get)
    right = sum(one.predicted == true for one, true in zip(found, new["species"], strict=True))
    assert right > 35
    asked = new.drop(columns="species").assign(id=[f"r{i}" for i in range(50)])
    client.predict(name, asked)
    labelled = client.label(name, list(zip(asked["id"], new["species"], strict=True)))
    losses = [
        -math.log(one.probabilities[true]) for one, true in zip(found, new["species"], strict=True)
    ]
    assert labelled.served.rows == 50
    assert labelled.served.loss == pytest.approx(np.mean(losses), rel=1e-9)
    estimator = client.snapshot(name)
    assert isinstance(estimator, kalmia.LogisticRegression)
    assert estimator.classes_.tolist() == SPECIES
    again = client.predict(name, new.drop(columns="species"))
    expected = [[one.probabilities[name] for name in SPECIES] for one in again]
    np.testing.assert_array_equal(estimator.predict_proba(new.drop(columns="species")), expected)
    with pytest.raises(ServiceError, match="cannot choose"):
        client.choose(name, asked.drop(columns="id")[:2])
    other = new_name("uploaded")
    assert client.upload(other, estimator)["classes"] == SPECIES


def test_quantiles_have_a_value_per_level(client, tmp_path, run):
    name = new_name("minutes")
    client.create(name, family="quantile:0.1,0.5,0.9", target="minutes")
    client.learn(name, times(2000))
    new = times(500, seed=2)
    found = client.predict(name, new[["queue"]])
    values = np.array([[one.quantiles[level] for level in (0.1, 0.5, 0.9)] for one in found])
    assert (np.diff(values) >= 0).all() and all(one.probabilities is None for one in found)
    below = (new["minutes"].to_numpy()[:, None] <= values).mean(axis=0)
    # 500 rows, 5 standard errors
    levels = np.array([0.1, 0.5, 0.9])
    assert (np.abs(below - levels) < 5 * np.sqrt(levels * (1 - levels) / 500)).all()
    # the file is the one that the command reads
    path = client.snapshot(name, tmp_path / "minutes.kalmia")
    new[["queue"]].to_csv(tmp_path / "new.csv", index=False)
    made = tmp_path / "made.csv"
    run("predict", path, tmp_path / "new.csv", "-o", made, "-q")
    assert made.read_text().splitlines()[0] == "q0.1,q0.5,q0.9"
    printed = np.loadtxt(made, delimiter=",", skiprows=1)
    np.testing.assert_array_equal(printed, values)
    with pytest.raises(ServiceError, match="has no intervals"):
        client.predict(name, {"queue": 3}, interval="y")


def test_conformal_intervals_and_outliers_are_declared(client):
    name = new_name("conformal")
    options = {"conformal": True, "outliers": "downweight"}
    client.create(name, family="gaussian", target="minutes", **options)
    client.learn(name, times(1000))
    (own,) = client.predict(name, {"queue": 3.0}, level=0.9)
    (found,) = client.predict(name, {"queue": 3.0}, level=0.9, interval="conformal")
    assert found.mean == own.mean and found.lower < found.mean < found.upper
    # skewed noise: the conformal interval is no symmetric one
    assert (found.lower, found.upper) != (own.lower, own.upper)
    conformal = client.model(name)["conformal"]
    assert conformal["coverage"] == pytest.approx(0.95, abs=0.02) and conformal["width"] > 0
    with pytest.raises(ServiceError) as caught:
        client.create(new_name("wrong"), family="bernoulli", target="y", conformal=True)
    assert caught.value.code == "bad_request"


def test_classes_can_be_declared(client):
    name = new_name("declared")
    columns = {"petal": "number", "sepal": "number", "place": "category"}
    options = {"columns": columns, "classes": SPECIES}
    client.create(name, family="categorical", target="species", **options)
    (found,) = client.predict(name, {"petal": 1.0, "sepal": 5.0, "place": "east"})
    assert found.probabilities == pytest.approx(dict.fromkeys(SPECIES, 1 / 3))
