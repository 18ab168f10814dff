"""Tables as blocks of float64 for the compiled module, and what it refuses.

The compiled module imports this one, so it imports nothing compiled.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from .errors import InputError

#: Numbers per block of a table that needs conversion: 32 MB.
BLOCK_NUMBERS = 1 << 22


def is_sparse(X: Any) -> bool:
    """Whether `X` is a scipy.sparse matrix or array."""
    return hasattr(X, "tocsr") and hasattr(X, "nnz")


def check_lazy(X: Any, what: str = "X") -> None:
    """Refuses tables that have not been read yet, which numpy would take for one object."""
    for attribute, call in (("collect", "collect()"), ("to_table", "to_table()")):
        if hasattr(X, attribute) and not hasattr(X, "__arrow_c_stream__"):
            raise InputError(
                f"{what} is a {type(X).__name__}, whose rows are not read yet: pass {what}.{call}"
            )


def check_columns(X: Any, what: str = "X", *, texts: bool = False) -> None:
    """Refuses names that occur twice, dates and times, and names columns of text.

    numpy would turn dates into counts.

    With `texts`, columns of text are accepted.
    """
    is_frame = hasattr(X, "iloc") and hasattr(X, "columns")
    if is_frame and not X.columns.is_unique:
        name = X.columns[X.columns.duplicated()][0]
        raise InputError(f"{what} has the column {name!r} twice: rename one, or leave it out")
    kinds = X.dtypes.items() if is_frame else [(None, getattr(X, "dtype", None))]
    for position, (name, kind) in enumerate(kinds):
        if getattr(kind, "kind", None) in ("M", "m"):
            where = what if name is None else f"column {name!r}"
            raise InputError(
                f"{where} is of type {kind}: turn dates and times into numbers, such as days since "
                "a start"
            )
        if is_frame and not texts and getattr(kind, "kind", "O") == "O":
            found = first_text(X.iloc[:, position])
            if found is not None:
                raise InputError(
                    f"column {name!r} holds {found[1]!r} in row {found[0]}, which is no number: "
                    "give numbers, or fit an estimator on a table with texts in this column"
                )


def first_text(column: Any) -> tuple[int, str] | None:
    """The row and value of the first text that is no number; None if there is none."""
    for row, value in enumerate(column):
        try:
            if isinstance(value, str):
                float(value)
        except ValueError:
            return row, str(value)
    return None


def check_texts(X: Any) -> None:
    """Refuses texts in arrays and lists, which have no types per column, and names the place."""
    if hasattr(X, "iloc") or is_sparse(X):
        return
    array = X if isinstance(X, np.ndarray) else np.asarray(X) if _has_texts(X) else None
    if array is None or array.ndim != 2 or array.dtype.kind not in "OUST":
        return
    for column in range(array.shape[1]):
        found = first_text(array[:, column])
        if found is not None:
            raise InputError(
                f"X holds the text {found[1]!r} in row {found[0]}, column {column}: arrays must "
                "hold numbers; give a table of pandas, polars or pyarrow, whose texts are "
                "categories"
            )


def _has_texts(X: Any) -> bool:
    """Whether the first row of a list of lists has a text, without a copy of the table."""
    try:
        return any(isinstance(value, str) for row in X for value in row)
    except TypeError:
        return False


def check_targets(y: Any) -> None:
    """Names the first target that is a text, for which numpy has an obscure message."""
    if getattr(getattr(y, "dtype", None), "kind", "O") in "biufc":
        return
    try:
        found = first_text(y)
    except TypeError:
        return
    if found is not None:
        raise InputError(
            f"y holds the text {found[1]!r} in row {found[0]}: a regression needs numbers; labels "
            "are for LogisticRegression"
        )


def is_arrow(X: Any) -> bool:
    """Whether to read `X` through the Arrow PyCapsule interface.

    Not for pandas, whose own conversion works without pyarrow.
    """
    return hasattr(X, "__arrow_c_stream__") and not hasattr(X, "iloc")


def blocks(X: Any) -> Iterator[np.ndarray]:
    """The rows of a table as matrices of float64, in order.

    Not for Arrow streams, which the compiled module reads itself. A float64 array is returned as
    it is. A sparse matrix, a pandas table and an array of another type are converted block by
    block, which avoids a second copy of the whole table.

    Examples
    --------
    >>> [block.shape for block in blocks([[1, 2], [3, 4]])]
    [(2, 2)]
    """
    check_lazy(X)
    if is_sparse(X):
        X = X.tocsr()
        for part in _block_slices(*X.shape):
            yield np.asarray(X[part].todense(), dtype=np.float64)
    elif hasattr(X, "iloc"):
        check_columns(X)
        for part in _block_slices(*X.shape):
            yield _numbers(X.iloc[part].to_numpy)
    else:
        array = X if isinstance(X, np.ndarray) else np.asarray(X)
        if array.ndim != 2:
            raise InputError(
                f"X must be a matrix of rows and features, got an array of {array.ndim} dimensions"
            )
        if array.dtype == np.float64:
            yield array
            return
        if array.dtype.kind not in "biuf" and array.dtype != object:
            raise InputError(f"X is of type {array.dtype}: features must be numbers or booleans")
        for part in _block_slices(*array.shape):
            yield _numbers(array[part].astype)


def _numbers(convert: Any) -> np.ndarray:
    try:
        return convert(dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise InputError(f"X holds a value that is no number: {error}") from error


def _block_slices(rows: int, columns: int) -> Iterator[slice]:
    step = max(1, BLOCK_NUMBERS // max(1, columns))
    for first in range(0, rows, step):
        yield slice(first, min(first + step, rows))
