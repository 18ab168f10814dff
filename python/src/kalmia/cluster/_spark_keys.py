"""Spark: one model per key, and predictions."""

from __future__ import annotations

import functools
from collections.abc import Iterable, Iterator
from typing import Any, Unpack

from .._declaration import COLUMNS, Declared, declaration
from .._kalmia import Shard, Template
from ..errors import InputError
from ._engine import engine, stream
from ._fit import from_bytes, template
from ._spark import SparkRows


def fit_spark_by(
    frame: Any,
    target: str,
    by: str | Iterable[str],
    *,
    order: str | Iterable[str] = (),
    sample: Any = None,
    **declared: Unpack[Declared],
) -> Any:
    keys = [by] if isinstance(by, str) else list(by)
    sorting = [order] if isinstance(order, str) else list(order)
    if not keys:
        raise InputError("by is empty: name the columns that make the key")
    declared["exclude"] = [*declared.get("exclude", ()), *keys]
    made = template(SparkRows(frame), declaration(target, **declared), sample).to_bytes()
    types = {field.name: field.dataType.simpleString() for field in frame.schema.fields}
    schema = ", ".join(f"`{key}` {types[key]}" for key in keys) + ", rows long, model binary"

    def run(key: tuple[Any, ...], batches: Iterator[Any]) -> Iterator[Any]:
        import pyarrow as pa

        values = [value.as_py() for value in key]
        named = ", ".join(f"{name}={value!r}" for name, value in zip(keys, values, strict=True))
        shard = Shard(Template.from_bytes(made), f"key {named}")
        rows = stream(batches)
        if rows is not None:
            shard.learn(rows)
        columns = {name: pa.array([value]) for name, value in zip(keys, key, strict=True)}
        columns["rows"] = pa.array([shard.rows], pa.int64())
        columns["model"] = pa.array([shard.model()], pa.binary())
        yield pa.RecordBatch.from_pydict(columns)

    # Spark looks at the annotations: with these it gives the rows of a key batch by batch
    pa: Any = engine("pyarrow")
    iterator: Any = Iterator
    pairs = {"key": tuple[Any, ...], "batches": iterator[pa.RecordBatch]}
    run.__annotations__ = {**pairs, "return": iterator[pa.RecordBatch]}
    if sorting:
        frame = frame.repartition(*keys).sortWithinPartitions(*keys, *sorting)
    return frame.groupBy(*keys).applyInArrow(run, schema)


fit_spark_by.__doc__ = f"""Fits one model per key.

    All models share the columns, levels and family that the sample shows.

    Parameters
    ----------
    frame : pyspark.sql.DataFrame
        The rows.
    {COLUMNS}
    by : str or list of str
        The columns that make the key; they are no features.
    order : str or list of str
        The rows of a key are learned in the order of these columns. Without it Spark decides, and
        the models of two runs may differ in their last digits.
    sample : table, optional
        As for :func:`fit_spark`.

    Returns
    -------
    pyspark.sql.DataFrame
        The key, the number of ``rows``, and ``model``: the bytes of the model file, which
        :func:`from_bytes` reads.

    Examples
    --------
    >>> models = fit_spark_by(flights, "late", "carrier")  # doctest: +SKIP
    >>> first = models.first()  # doctest: +SKIP
    >>> first.carrier, from_bytes(bytes(first.model)).coef_  # doctest: +SKIP
    """


@functools.lru_cache(maxsize=8)
def _loaded(model: bytes) -> Any:
    """A model that a worker reads once."""
    return from_bytes(model)


def predict_spark(frame: Any, model: Any, column: str = "prediction") -> Any:
    """Adds predictions to a DataFrame of Spark.

    Parameters
    ----------
    frame : pyspark.sql.DataFrame
        Rows with the columns of the model.
    model : estimator, or bytes
        A fitted estimator, or the content of a model file.
    column : str
        The name of the new column. It has the mean of the target, and for two labels the
        probability of the second. A row that is left out for a missing value has null.

    Returns
    -------
    pyspark.sql.DataFrame

    Examples
    --------
    >>> predict_spark(flights, model).select("late", "prediction").show()  # doctest: +SKIP
    """
    functions = engine("pyspark.sql.functions")
    data = model if isinstance(model, bytes) else _file_of(model)
    first = _loaded(data)
    if len(getattr(first, "classes_", (0, 1))) > 2:
        raise InputError(
            "the model has more than two classes: predict them with model.predict_proba"
        )
    names = [str(name) for name in first.feature_names_in_]
    offset = getattr(first.schema_, "offset", None)
    used = [*names, offset] if offset is not None and offset in frame.columns else names
    absent = [name for name in used if name not in frame.columns]
    if absent:
        raise InputError(f"the frame has no column {absent[0]!r}, which the model needs")

    def predict(rows: Any) -> Any:
        import pandas as pd

        found = _loaded(data)
        if hasattr(found, "predict_proba"):
            return pd.Series(found.predict_proba(rows)[:, 1])
        return pd.Series(found.predict(rows))

    pd = engine("pandas")
    predict.__annotations__ = {"rows": pd.DataFrame, "return": pd.Series}
    made = functions.pandas_udf(predict, "double")
    struct = functions.struct(*[functions.col(f"`{name}`") for name in used])
    return frame.withColumn(column, made(struct))


def _file_of(estimator: Any) -> bytes:
    """The bytes of the estimator's model file."""
    import tempfile
    from pathlib import Path

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.kalmia"
        estimator.save(path)
        return path.read_bytes()
