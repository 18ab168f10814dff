"""DataFusion: the fit over its partitions, and the SQL aggregate ``kalmia_fit``."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Unpack

from .._declaration import COLUMNS, Declared, declaration
from .._kalmia import Fit, Shard, Template, merge_shards
from ..errors import InputError
from ._engine import (
    SAMPLE_PARTITIONS,
    engine,
    join_samples,
    merge_tree,
    partition_name,
    sample_rows,
    spread,
)
from ._fit import PASSES, Learn, PriorName, Sum, fit, template


class DataFusionRows:
    """A DataFrame of DataFusion as an engine takes it."""

    def __init__(self, frame: Any) -> None:
        engine("datafusion")
        self.frame = frame

    def reduce(self, work: Learn | Sum) -> bytes:
        """Reads all partitions at once, one thread each; learning releases the interpreter."""
        streams = self.frame.execute_stream_partitioned()

        def run(number: int) -> bytes:
            return work.run(partition_name(number), _batches(streams[number]))

        # partitions may wait for each other, so each needs a thread
        with ThreadPoolExecutor(max(len(streams), 1)) as pool:
            parts = list(pool.map(run, range(len(streams))))
        return merge_tree(parts, work.merge)

    def sample(self) -> Any:
        """Rows of partitions that are spread over all of them."""
        streams = self.frame.execute_stream_partitioned()
        chosen = spread(len(streams), SAMPLE_PARTITIONS)
        return join_samples(sample_rows(_batches(streams[place])) for place in chosen)


def _batches(stream: Any) -> Iterator[Any]:
    for batch in stream:
        yield batch.to_pyarrow()


def fit_datafusion(
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
        DataFusionRows(frame),
        declaration(target, **declared),
        sample=sample,
        passes=passes,
        robust=robust,
        prior=prior,
    )


fit_datafusion.__doc__ = f"""Fits a model to all rows of a DataFrame of DataFusion.

    Partitions are learned at the same time, on the cores of this machine. The frame is executed
    once for the sample, once to learn and once per pass.

    Parameters
    ----------
    frame : datafusion.DataFrame
        The rows, such as ``context.sql("SELECT ...")``.
    {COLUMNS}
    {PASSES}

    Returns
    -------
    estimator
        As `kalmia.load` returns it, with the report `cluster_`.

    Examples
    --------
    >>> model = fit_datafusion(context.table("flights"), "late")  # doctest: +SKIP
    """


def register_datafusion(
    context: Any,
    rows: Any,
    target: str,
    *,
    name: str = "kalmia_fit",
    sample: Any = None,
    **declared: Unpack[Declared],
) -> list[str]:
    module = engine("datafusion")
    pa = engine("pyarrow")
    frame = context.table(rows) if isinstance(rows, str) else rows
    start = template(DataFusionRows(frame), declaration(target, **declared), sample)
    schema = frame.schema()
    columns: list[str] = list(start.columns)
    absent = [column for column in columns if column not in schema.names]
    if absent:
        raise InputError(f"the table has no column {absent[0]!r}, which the sample has")
    data = start.to_bytes()

    class Accumulator(module.Accumulator):  # type: ignore[name-defined, misc]
        """The rows of a group so far."""

        def __init__(self) -> None:
            self.template = Template.from_bytes(data)
            self.shard = Shard(self.template, name)
            self.parts: list[bytes] = []

        def update(self, *values: Any) -> None:
            self.shard.learn(pa.RecordBatch.from_arrays(list(values), names=columns))

        def _merged(self) -> bytes:
            return merge_shards([self.shard.to_bytes(), *self.parts])

        def state(self) -> list[Any]:
            return [pa.scalar(self._merged(), pa.binary())]

        def merge(self, states: list[Any]) -> None:
            # one array per column of the state, one value per part
            self.parts += [value.as_py() for value in states[0] if value.is_valid]
            if len(self.parts) > 1:
                self.parts = [merge_shards(self.parts)]

        def evaluate(self) -> Any:
            fitted = Fit(self.template, self._merged())
            return pa.scalar(fitted.model() if fitted.rows else None, pa.binary())

    types = [schema.field(column).type for column in columns]
    made = module.udaf(Accumulator, types, pa.binary(), [pa.binary()], "stable", name=name)
    context.register_udaf(made)
    return columns


register_datafusion.__doc__ = f"""Registers an aggregate of SQL that fits a model, also per group.

    ``SELECT kalmia_fit(x, z, y) FROM t`` gives the bytes of a model file, which
    :func:`from_bytes` reads; with ``GROUP BY`` there is one per group. The model is merged from the
    partitions and not polished: SQL reads the rows once. A group has memory for a covariance in
    each partition.

    Parameters
    ----------
    context : datafusion.SessionContext
        Where to register it.
    rows : str or datafusion.DataFrame
        The table, which decides the types of the columns.
    {COLUMNS}
    name : str
        The name of the aggregate.
    sample : table, optional
        As for :func:`fit_datafusion`.

    Returns
    -------
    list of str
        The columns in the order in which the aggregate takes them: features, target, and weight and
        offset if they are declared.

    Examples
    --------
    >>> register_datafusion(context, "flights", "late", exclude=["carrier"])  # doctest: +SKIP
    ['hour', 'dist', 'late']
    >>> query = "SELECT carrier, kalmia_fit(hour, dist, late) FROM flights GROUP BY carrier"
    >>> models = context.sql(query)  # doctest: +SKIP
    """
