"""Spark: partitions in its tasks, which fail and are killed, one model per key, and predictions."""

import os
import signal

import numpy as np
import pyarrow as pa
import pytest
from partitions import ListRows, cut, rows

import kalmia
from kalmia._declaration import declaration
from kalmia.cluster import fit_spark, fit_spark_by, from_bytes, predict_spark
from kalmia.cluster._fit import fit
from kalmia.errors import InputError


def frame(spark, parts):
    """A DataFrame whose partitions are the tables."""
    tables = [pa.Table.from_pandas(part, preserve_index=False) for part in parts]
    schema = spark.createDataFrame(parts[0].iloc[:1]).schema

    def give(batches):
        for batch in batches:
            for number in batch.column(0).to_pylist():
                yield from tables[number].to_batches(max_chunksize=97)

    return spark.range(0, len(parts), 1, len(parts)).mapInArrow(give, schema)


def plain(parts, sample, passes=None, **declared):
    return fit(
        ListRows(parts),
        declaration("y", **declared),
        sample=sample,
        passes=passes,
        robust=False,
        prior="fitted",
    )


def same(model, expected):
    assert (model.coef_ == expected.coef_).all()
    assert (model.std_err_ == expected.std_err_).all()
    assert model.n_samples_seen_ == expected.n_samples_seen_
    assert model.progressive_loss_ == expected.progressive_loss_


def test_partitions_give_the_model_of_any_engine(spark):
    """More partitions than one task merges, so merges run in tasks too."""
    parts, sample = cut(rows(1000), 20), rows(400, seed=3)
    model = fit_spark(frame(spark, parts), "y", sample=sample)
    assert model.cluster_.shards == 20
    same(model, plain(parts, sample))


def test_it_takes_its_own_sample(spark):
    model = fit_spark(frame(spark, cut(rows(2000).sort_values("y"), 4)), "y")
    assert model.n_samples_seen_ == 2000 and isinstance(model, kalmia.LogisticRegression)


@pytest.mark.parametrize("end", ["fails", "is killed"])
def test_a_repeated_task_changes_nothing(spark, end):
    """The first attempt at partition 1 ends after it has given its rows."""
    parts, sample = cut(rows(800), 3), rows(400, seed=3)
    whole = frame(spark, parts)

    def disturb(batches):
        from pyspark import TaskContext

        yield from batches
        context = TaskContext.get()
        if context.partitionId() == 1 and context.attemptNumber() == 0:
            if end == "is killed":
                os.kill(os.getpid(), signal.SIGKILL)
            raise RuntimeError("lost after its output")

    model = fit_spark(whole.mapInArrow(disturb, whole.schema), "y", sample=sample)
    same(model, plain(parts, sample))


def test_a_malformed_row_is_named(spark):
    parts = cut(rows(300), 3)
    parts[2] = parts[2].copy()
    parts[2].iloc[16, 0] = np.nan
    with pytest.raises(InputError, match="^partition 2, row 17, column `x`: missing value"):
        fit_spark(frame(spark, parts), "y", sample=rows(100))


def test_empty_partitions_are_fine(spark):
    table = rows(600)
    whole = spark.createDataFrame(table).repartition(2)
    none = whole.filter("x > 1000")
    model = fit_spark(none.union(whole), "y")
    assert model.n_samples_seen_ == 600 and model.cluster_.shards == 2
    with pytest.raises(InputError, match="every partition is empty"):
        fit_spark(none, "y")


def test_one_model_per_key(spark):
    table = rows(1200, "poisson")
    table["key"] = np.where(np.arange(1200) % 3 == 0, "a", "b")
    table["time"] = np.random.default_rng(5).permutation(1200)
    sample = table[:300]
    how = {"family": "poisson", "exclude": ["time"]}
    found = fit_spark_by(
        spark.createDataFrame(table), "y", "key", order="time", sample=sample, **how
    )
    models = {row["key"]: row for row in found.collect()}
    assert sorted(models) == ["a", "b"]
    for key, row in models.items():
        own = table[table["key"] == key].sort_values("time")
        model = from_bytes(bytes(row["model"]))
        assert row["rows"] == model.n_samples_seen_ == len(own)
        assert list(model.feature_names_in_) == ["x", "z", "color"]
        from kalmia._kalmia import Shard, Template
        from kalmia._stream_rows import as_rows

        made = declaration("y", family="poisson", exclude=["time", "key"])
        shard = Shard(Template(as_rows(sample)[0], made), "alone")
        shard.learn(as_rows(own)[0])
        same(model, from_bytes(shard.model()))


def test_a_key_at_fault_is_named(spark):
    table = rows(300)
    table["key"] = np.arange(300) % 2
    table.loc[7, "x"] = np.nan
    found = fit_spark_by(spark.createDataFrame(table), "y", "key", sample=table[10:200])
    with pytest.raises(Exception, match=r"key key=1, row \d+, column `x`: missing value"):
        found.collect()


@pytest.mark.parametrize("family", ["bernoulli", "gaussian"])
def test_predictions(spark, family):
    table = rows(500, family)
    parts = cut(table, 2)
    model = plain(parts, table, family=family)
    found = predict_spark(frame(spark, parts), model).toPandas()
    features = table[["x", "z", "color"]]
    proba = family == "bernoulli"
    expected = model.predict_proba(features)[:, 1] if proba else model.predict(features)
    assert found["prediction"].to_numpy() == pytest.approx(expected, rel=1e-12)
    assert list(found.columns) == ["x", "z", "color", "y", "prediction"]
    without = frame(spark, parts).drop("z")
    with pytest.raises(InputError, match="no column 'z', which the model needs"):
        predict_spark(without, model)
