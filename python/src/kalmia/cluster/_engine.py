"""What the engines have in common: names of what is missing, batches, samples and the tree."""

from __future__ import annotations

import importlib
import itertools
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np

#: Parts that one task merges. The tree over 100 000 partitions has then five levels.
FANOUT = 16
#: Partitions that the sample has rows of, at most.
SAMPLE_PARTITIONS = 64
#: Rows that the sample has of a partition, at most.
SAMPLE_ROWS = 1024
#: Rows of a partition that the sample looks at, at most.
SCANNED_ROWS = 20_000
#: Rows of a table in memory that are made Arrow at a time.
BATCH_ROWS = 65_536


#: What brings a module, if not the package of its name alone.
PACKAGES = {
    "pyspark": "'pyspark>=4.1,<5' 'pandas<3' pyarrow",
    "dask": "'dask[dataframe,distributed]' pyarrow",
    "datafusion": "datafusion pyarrow",
}


def engine(module: str) -> Any:
    """Imports a module of an engine, or says what to install.

    Examples
    --------
    >>> engine("no_such_engine.parts")
    Traceback (most recent call last):
        ...
    ImportError: kalmia.cluster needs the package no_such_engine: pip install no_such_engine
    """
    try:
        return importlib.import_module(module)
    except ImportError as error:
        name = module.partition(".")[0]
        install = PACKAGES.get(name, name)
        raise ImportError(
            f"kalmia.cluster needs the package {name}: pip install {install}"
        ) from error


def spread(count: int, most: int) -> list[int]:
    """At most `most` of the numbers below `count`, evenly spread.

    Examples
    --------
    >>> spread(3, 5), spread(10, 4)
    ([0, 1, 2], [0, 2, 5, 7])
    """
    if count <= most:
        return list(range(count))
    return [place * count // most for place in range(most)]


def partition_name(number: int) -> str:
    """What errors call a partition."""
    return f"partition {number}"


def sample_rows(batches: Iterable[Any], rows: int = SAMPLE_ROWS) -> Any:
    """Up to `rows` rows of a partition, evenly spread over its first ones, as an Arrow table.

    None if the partition is empty. Rows of a partition may be sorted, so the first ones alone would
    show too little.
    """
    import pyarrow as pa

    seen, found = 0, []
    for batch in batches:
        found.append(batch)
        seen += batch.num_rows
        if seen >= SCANNED_ROWS:
            break
    if seen == 0:
        return None
    table = _without_views(pa.Table.from_batches(found))
    return table.take(spread(table.num_rows, rows))


def _without_views(table: Any) -> Any:
    """The table with plain texts: pyarrow cannot take rows out of views, which DataFusion gives."""
    import pyarrow as pa

    fields = [
        field.with_type(pa.large_string()) if pa.types.is_string_view(field.type) else field
        for field in table.schema
    ]
    return table.cast(pa.schema(fields))


def join_samples(found: Iterable[Any]) -> Any:
    """The samples of partitions as one table; None if all partitions are empty.

    Their rows are shuffled, always in the same way: the first ones decide about the columns, and
    partitions are often sorted.
    """
    import pyarrow as pa

    tables = [table for table in found if table is not None]
    if not tables:
        return None
    joined = pa.concat_tables(tables, promote_options="permissive")
    return joined.take(np.random.default_rng(0).permutation(joined.num_rows))


def stream(batches: Iterable[Any]) -> Any:
    """The batches as one Arrow stream, which is read as they come; None without rows."""
    import pyarrow as pa

    filled = (batch for batch in batches if batch.num_rows)
    first = next(filled, None)
    if first is None:
        return None
    return pa.RecordBatchReader.from_batches(first.schema, itertools.chain([first], filled))


def groups(parts: Sequence[Any]) -> list[Sequence[Any]]:
    """The parts in groups of at most `FANOUT`, in their order: one level of the tree."""
    return [parts[first : first + FANOUT] for first in range(0, len(parts), FANOUT)]


def merge_tree(parts: Sequence[bytes], merge: Callable[[list[bytes]], bytes]) -> bytes:
    """Merges parts level by level, in the order and grouping that every engine uses.

    So equal parts give equal bytes, whatever engine made them.

    Examples
    --------
    >>> merge_tree([b"a", b"b", b"c"], b"".join)
    b'abc'
    """
    while len(parts) > 1:
        parts = [merge(list(group)) for group in groups(parts)]
    return parts[0]
