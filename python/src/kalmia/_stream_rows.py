"""Rows of any kind as the compiled module takes them: an Arrow stream, or JSON Lines."""

from __future__ import annotations

from typing import Any

from ._client_rows import _pyarrow, _row_text, records
from ._tables import check_lazy


def as_rows(rows: Any) -> tuple[Any, int]:
    """The rows and their number. Tables are Arrow streams; dictionaries and bytes, JSON Lines.

    Examples
    --------
    >>> as_rows([{"x": 1.0, "y": None}, {"x": 2.0, "y": 3}])
    (b'{"x":1.0,"y":null}\\n{"x":2.0,"y":3}', 2)
    """
    if isinstance(rows, bytes):
        return rows, sum(1 for line in rows.splitlines() if line.strip())
    check_lazy(rows, "rows")
    is_frame = hasattr(rows, "iloc") and hasattr(rows, "columns")
    if is_frame and _pyarrow() is not None:
        # the index is no column
        return rows.reset_index(drop=True), len(rows)
    if hasattr(rows, "read_all"):
        # a reader gives its rows once, and the first rows of a model are looked at twice
        rows = rows.read_all()
    if not is_frame and hasattr(rows, "__arrow_c_stream__"):
        return rows, rows.num_rows if hasattr(rows, "num_rows") else len(rows)
    lines = [_row_text(row, number) for number, row in enumerate(records(rows), 1)]
    return "\n".join(lines).encode(), len(lines)
