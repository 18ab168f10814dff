"""The fit by Spark: partitions in its tasks, a tree of merges, and passes of sums."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterator
from typing import Any, Unpack

from .._declaration import COLUMNS, Declared, declaration
from ..errors import InputError
from ._engine import (
    FANOUT,
    SAMPLE_PARTITIONS,
    engine,
    join_samples,
    partition_name,
    sample_rows,
    spread,
)
from ._fit import PASSES, Learn, PriorName, Sum, fit

#: The columns of what a task returns.
STATE = "part long, state binary"


class SparkRows:
    """A DataFrame of Spark as an engine takes it."""

    def __init__(self, frame: Any) -> None:
        engine("pyspark")
        self.frame = frame

    def reduce(self, work: Learn | Sum) -> bytes:
        """Merges in tasks, level by level; only the last few parts come to the driver.

        Parts are grouped by their numbers and merged in their order, so a task that runs again
        merges the same parts in the same way.
        """

        def run(batches: Iterator[Any]) -> Iterator[Any]:
            number = _partition()
            yield _state(number, work.run(partition_name(number), batches))

        states = self.frame.mapInArrow(run, STATE).rdd
        count = states.getNumPartitions()
        if count == 0:
            return work.run(partition_name(0), ())
        parts = states.map(lambda row: (row.part, bytes(row.state)))
        while count > FANOUT:
            count = -(-count // FANOUT)
            grouped = parts.map(lambda part: (part[0] // FANOUT, part)).groupByKey(count)
            parts = grouped.map(lambda group: (group[0], _merged(work, group[1])))
        with input_errors():
            return _merged(work, parts.collect())

    def sample(self) -> Any:
        """Rows of partitions that are spread over all of them; only these are run."""
        import pyarrow as pa

        def run(batches: Iterator[Any]) -> Iterator[Any]:
            found = sample_rows(batches)
            if found is not None:
                sink = pa.BufferOutputStream()
                with pa.ipc.new_stream(sink, found.schema) as stream:
                    stream.write_table(found)
                yield _state(_partition(), sink.getvalue().to_pybytes())

        states = self.frame.mapInArrow(run, STATE).rdd
        chosen = spread(states.getNumPartitions(), SAMPLE_PARTITIONS)
        with input_errors():
            found = states.context.runJob(states, list, chosen)
        return join_samples(pa.ipc.open_stream(bytes(row.state)).read_all() for row in found)


@contextlib.contextmanager
def input_errors() -> Iterator[None]:
    """Raises what a task says about its rows as the error that it was there."""
    try:
        yield
    except Exception as error:
        found = re.search(r"kalmia\.errors\.InputError: (.*)", str(error))
        if found is None:
            raise
        raise InputError(found.group(1).strip()) from error


def _partition() -> int:
    from pyspark import TaskContext

    context = TaskContext.get()
    return 0 if context is None else int(context.partitionId())


def _state(part: int, state: bytes) -> Any:
    """A task's result as a batch of one row."""
    import pyarrow as pa

    return pa.RecordBatch.from_pydict(
        {"part": pa.array([part], pa.int64()), "state": pa.array([state], pa.binary())}
    )


def _merged(work: Learn | Sum, parts: Any) -> bytes:
    return work.merge([state for _, state in sorted(parts)])


def fit_spark(
    frame: Any,
    target: str,
    *,
    passes: int | None = None,
    robust: bool = False,
    prior: PriorName = "fitted",
    sample: Any = None,
    **declared: Unpack[Declared],
) -> Any:
    return fit(
        SparkRows(frame),
        declaration(target, **declared),
        sample=sample,
        passes=passes,
        robust=robust,
        prior=prior,
    )


fit_spark.__doc__ = f"""Fits a model to all rows of a DataFrame of Spark.

    Tasks that Spark repeats change nothing: what a partition gives is a function of its rows alone,
    in their order. The frame is read once for the sample (a few partitions), once to learn and once
    per pass; persist it if it is costly to make.

    Parameters
    ----------
    frame : pyspark.sql.DataFrame
        The rows.
    {COLUMNS}
    {PASSES}

    Returns
    -------
    estimator
        As `kalmia.load` returns it, with the report `cluster_`.

    Examples
    --------
    >>> model = fit_spark(spark.read.parquet("flights"), "late")  # doctest: +SKIP
    >>> model.cluster_.shards, model.save("late.kalmia")  # doctest: +SKIP
    """
