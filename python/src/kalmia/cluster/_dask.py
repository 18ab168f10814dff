"""The fit by Dask: partitions in its tasks, a tree of merges, and passes of sums."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Unpack

from .._declaration import COLUMNS, Declared, declaration
from ._engine import (
    BATCH_ROWS,
    SAMPLE_PARTITIONS,
    engine,
    groups,
    join_samples,
    partition_name,
    sample_rows,
    spread,
)
from ._fit import PASSES, Learn, PriorName, Sum, fit


class DaskRows:
    """A DataFrame of Dask as an engine takes it."""

    def __init__(self, frame: Any) -> None:
        self.dask = engine("dask")
        engine("dask.dataframe")
        self.partitions = frame.to_delayed()

    def reduce(self, work: Learn | Sum) -> bytes:
        """Merges in tasks, level by level; one part comes to the caller."""
        # one node of the graph, whatever the number of partitions
        shared = self.dask.delayed(work)
        run, merge = self.dask.delayed(_run, pure=False), self.dask.delayed(_merge, pure=False)
        parts = [
            run(shared, partition_name(number), part) for number, part in enumerate(self.partitions)
        ]
        while len(parts) > 1:
            parts = [merge(shared, list(group)) for group in groups(parts)]
        return bytes(parts[0].compute())

    def sample(self) -> Any:
        """Rows of partitions that are spread over all of them; only these are run."""
        chosen = [
            self.partitions[place] for place in spread(len(self.partitions), SAMPLE_PARTITIONS)
        ]
        sample = self.dask.delayed(_sample, pure=False)
        return join_samples(self.dask.compute(*[sample(part) for part in chosen]))


def _batches(rows: Any) -> Iterator[Any]:
    """A pandas table as Arrow batches; the index is no column."""
    import pyarrow as pa

    for first in range(0, len(rows), BATCH_ROWS):
        part = rows.iloc[first : first + BATCH_ROWS]
        yield from pa.Table.from_pandas(part, preserve_index=False).to_batches()


def _run(work: Learn | Sum, name: str, rows: Any) -> bytes:
    return work.run(name, _batches(rows))


def _merge(work: Learn | Sum, parts: list[bytes]) -> bytes:
    return work.merge(parts)


def _sample(rows: Any) -> Any:
    return sample_rows(_batches(rows))


def fit_dask(
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
        DaskRows(frame),
        declaration(target, **declared),
        sample=sample,
        passes=passes,
        robust=robust,
        prior=prior,
    )


fit_dask.__doc__ = f"""Fits a model to all rows of a DataFrame of Dask.

    It runs where Dask computes: on the cluster of the current ``distributed.Client``, else in this
    process. Tasks that Dask repeats, after a worker died, change nothing. The frame is made once
    for the sample (a few partitions), once to learn and once per pass; persist it if that is
    costly. A worker holds a partition in memory, because Dask does.

    Parameters
    ----------
    frame : dask.dataframe.DataFrame
        The rows.
    {COLUMNS}
    {PASSES}

    Returns
    -------
    estimator
        As `kalmia.load` returns it, with the report `cluster_`.

    Examples
    --------
    >>> model = fit_dask(dask.dataframe.read_parquet("flights"), "late")  # doctest: +SKIP
    """
