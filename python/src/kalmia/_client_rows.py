"""Rows of any kind as request bodies of bounded size, for :class:`kalmia.Client`."""

from __future__ import annotations

import importlib
import json
import math
from collections.abc import Iterable, Iterator, Mapping
from decimal import Decimal
from typing import Any, NamedTuple

from ._tables import check_lazy
from .errors import InputError

#: Rows per request at most.
MAX_REQUEST_ROWS = 10_000
#: Bytes per request at most, unless a single row has more.
MAX_REQUEST_BYTES = 8 << 20

JSON = "application/json"
ARROW = "application/vnd.apache.arrow.stream"


class Body(NamedTuple):
    """The body of one request."""

    content_type: str
    data: bytes
    #: How many rows it has.
    rows: int


def bodies(rows: Any) -> Iterator[Body]:
    """The rows as bodies of bounded size, always cut at the same places.

    Tables go as Arrow streams if pyarrow is installed, and as JSON otherwise; dictionaries go as
    JSON. Nothing is rounded in either.

    Examples
    --------
    >>> [body.data for body in bodies({"hour": 9.5, "late": None})]
    [b'[{"hour":9.5,"late":null}]']
    """
    check_lazy(rows, "rows")
    if _is_table(rows) and (pa := _pyarrow()) is not None:
        return _arrow_bodies(rows, pa)
    return json_bodies(records(rows))


def json_bodies(rows: Iterable[Mapping[str, Any]]) -> Iterator[Body]:
    """Dictionaries as JSON arrays of bounded size."""
    parts: list[bytes] = []
    size = 0
    for number, row in enumerate(rows, 1):
        part = _row_text(row, number).encode()
        if parts and (len(parts) == MAX_REQUEST_ROWS or size + len(part) > MAX_REQUEST_BYTES):
            yield _array(parts)
            parts, size = [], 0
        parts.append(part)
        size += len(part) + 1
    if parts:
        yield _array(parts)


def records(rows: Any) -> Iterator[Mapping[str, Any]]:
    """The rows as dictionaries. Messages count rows from 1, as the service does.

    Examples
    --------
    >>> import pandas
    >>> list(records(pandas.DataFrame({"a": [1, 2]})))
    [{'a': 1}, {'a': 2}]
    """
    check_lazy(rows, "rows")
    if isinstance(rows, Mapping):
        yield rows
    elif _is_series(rows):
        yield rows.to_dict()
    elif hasattr(rows, "iloc") and hasattr(rows, "columns"):
        for first in range(0, len(rows), MAX_REQUEST_ROWS):
            yield from rows.iloc[first : first + MAX_REQUEST_ROWS].to_dict("records")
    elif hasattr(rows, "iter_rows"):
        yield from rows.iter_rows(named=True)
    elif _is_table(rows):
        pa = _pyarrow()
        if pa is None:
            raise InputError(
                f"rows is a {type(rows).__name__}, which needs pyarrow: install pyarrow, or give a "
                "list of dictionaries"
            )
        for batch in _batches(rows, pa):
            yield from batch.to_pylist()
    elif isinstance(rows, str | bytes) or not isinstance(rows, Iterable) or hasattr(rows, "dtype"):
        raise InputError(
            f"rows is a {type(rows).__name__}, which has no column names: give a list of "
            "dictionaries, or a table of pandas, polars or pyarrow"
        )
    else:
        for number, row in enumerate(rows, 1):
            if not isinstance(row, Mapping):
                raise InputError(
                    f"row {number} is a {type(row).__name__}: give a dictionary from column names "
                    "to values"
                )
            yield row


def label_records(labels: Any) -> Iterator[Mapping[str, Any]]:
    """Labels as dictionaries with the members `id` and `y`, also from pairs.

    Examples
    --------
    >>> list(label_records([("a1", 1)]))
    [{'id': 'a1', 'y': 1}]
    """
    if isinstance(labels, Mapping) or _is_table(labels) or hasattr(labels, "iter_rows"):
        yield from records(labels)
        return
    for number, label in enumerate(labels, 1):
        if isinstance(label, tuple) and len(label) == 2:
            yield {"id": label[0], "y": label[1]}
        elif isinstance(label, Mapping):
            yield label
        else:
            raise InputError(
                f"label {number} is a {type(label).__name__}: give a pair of id and y, or a "
                "dictionary with the members 'id' and 'y'"
            )


def json_text(value: Any) -> str:
    """A value as JSON; scalars of numpy are numbers, NaN is null."""
    try:
        return json.dumps(value, allow_nan=False, separators=(",", ":"), default=_plain)
    except ValueError:
        return json.dumps(_cleaned(value), allow_nan=False, separators=(",", ":"), default=_plain)


def _array(parts: list[bytes]) -> Body:
    return Body(JSON, b"[" + b",".join(parts) + b"]", len(parts))


def _row_text(row: Mapping[str, Any], number: int) -> str:
    if not isinstance(row, dict):
        row = dict(row)
    try:
        return json_text(row)
    except (TypeError, ValueError):
        for column, value in row.items():
            if isinstance(value, float) and math.isinf(value):
                problem = "is infinite: give a finite number, or None if it is missing"
            else:
                try:
                    json_text({column: value})
                    continue
                except (TypeError, ValueError) as error:
                    problem = f"cannot be sent: {error}"
            raise InputError(f"row {number}, column {column!r}: the value {problem}") from None
        raise


def _cleaned(value: Any) -> Any:
    """Plain values for JSON, with None for NaN."""
    if isinstance(value, Mapping):
        return {name: _cleaned(one) for name, one in value.items()}
    if isinstance(value, list | tuple):
        return [_cleaned(one) for one in value]
    if value is None or isinstance(value, str | bool | int | float):
        return None if isinstance(value, float) and math.isnan(value) else value
    return _cleaned(_plain(value))


def _plain(value: Any) -> Any:
    """The plain Python value for one that JSON lacks."""
    if isinstance(value, Decimal):
        return float(value)
    # pandas' NA and NaT; both say so by their type alone
    if type(value).__name__ in ("NAType", "NaTType"):
        return None
    if hasattr(value, "dtype") and getattr(value, "ndim", None) == 0:
        plain = value.item()
        if isinstance(plain, str | bool | int | float):
            return plain
    raise TypeError(
        f"it is a {type(value).__name__}; give a number, a text, a truth value or None, and turn "
        "dates into numbers"
    )


def _is_series(rows: Any) -> bool:
    """Whether this is one row of a pandas table."""
    return hasattr(rows, "iloc") and hasattr(rows, "to_dict") and not hasattr(rows, "columns")


def _is_table(rows: Any) -> bool:
    if hasattr(rows, "iloc"):
        return hasattr(rows, "columns")
    return hasattr(rows, "__arrow_c_stream__")


def _pyarrow() -> Any:
    """The module pyarrow, None if it is not installed."""
    try:
        return importlib.import_module("pyarrow")
    except ImportError:
        return None


def _arrow_bodies(rows: Any, pa: Any) -> Iterator[Body]:
    """The rows as Arrow streams; a batch that is too large is halved."""
    for given in _batches(rows, pa):
        batch = _plain_columns(given, pa)
        waiting = [
            batch.slice(first, MAX_REQUEST_ROWS)
            for first in range(0, batch.num_rows, MAX_REQUEST_ROWS)
        ]
        waiting.reverse()
        while waiting:
            part = waiting.pop()
            sink = pa.BufferOutputStream()
            with pa.ipc.new_stream(sink, part.schema) as stream:
                stream.write_batch(part)
            data = sink.getvalue().to_pybytes()
            if len(data) > MAX_REQUEST_BYTES and part.num_rows > 1:
                half = part.num_rows // 2
                waiting += [part.slice(half), part.slice(0, half)]
            else:
                yield Body(ARROW, data, part.num_rows)


def _plain_columns(batch: Any, pa: Any) -> Any:
    """The batch without dictionaries and views, which every part of it would carry as a whole."""
    columns = []
    for column in batch.columns:
        is_dictionary = pa.types.is_dictionary(column.type)
        values = column.dictionary if is_dictionary else column
        # before the values are spread, for which pyarrow has no kernel of views
        if pa.types.is_string_view(values.type):
            values = values.cast(pa.large_string())
        columns.append(values.take(column.indices) if is_dictionary else values)
    return pa.RecordBatch.from_arrays(columns, names=batch.schema.names)


def _batches(rows: Any, pa: Any) -> Any:
    """The rows as Arrow batches; those of a table are joined, so that its chunks do not matter."""
    try:
        if hasattr(rows, "iloc"):
            table = pa.Table.from_pandas(rows, preserve_index=False)
        elif isinstance(rows, pa.RecordBatchReader):
            return rows
        else:
            table = pa.table(rows)
    except (pa.ArrowException, TypeError, ValueError) as error:
        raise InputError(f"rows has a column that Arrow cannot hold: {error}") from error
    return table.combine_chunks().to_batches()
