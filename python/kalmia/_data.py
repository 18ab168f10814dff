"""Tables of any kind as blocks of numbers: numpy, pandas, polars, Arrow streams, scipy.sparse and sequences."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from ._kalmia import ArrowBlocks
from .errors import InputError

#: Numbers in a block of a table that must be converted: 32 MB.
BLOCK_NUMBERS = 1 << 22

#: Most columns of a sparse matrix. Learners keep a dense covariance of the columns, which is 3.2 GB at this limit.
SPARSE_COLUMNS = 20_000


class Rows(NamedTuple):
    """The rows of a table that a model takes, with their offsets."""

    X: Any
    offset: np.ndarray | None
    #: Rows of the table, and the places in it of those in `X`; None where it is all of them.
    given: int
    places: np.ndarray | None = None

    def pick(self, values: np.ndarray | None) -> np.ndarray | None:
        """Of one value a row of the table, those of the rows in `X`."""
        return values if values is None or self.places is None else values[self.places]

    def spread(self, values: np.ndarray) -> np.ndarray:
        """One result a row of the table, NaN where the row was left out."""
        if self.places is None:
            return values
        kind = values.dtype if values.dtype.kind == "f" else object
        full = np.full((self.given, *values.shape[1:]), np.nan, dtype=kind)
        full[self.places] = values
        return full


def offsets(offset: Any, rows: int) -> np.ndarray | None:
    """An offset a row, from a number or an array of them.

    Examples
    --------
    >>> offsets(1.5, 2)
    array([1.5, 1.5])
    """
    if offset is None:
        return None
    try:
        offset = np.asarray(offset, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise InputError(f"offset holds something that is no number: {error}") from error
    if offset.ndim == 0:
        return np.full(rows, float(offset))
    if offset.shape != (rows,):
        raise InputError(f"X has {rows} rows, but offset is of shape {offset.shape}")
    return offset


def is_sparse(X: Any) -> bool:
    """Whether `X` is a scipy.sparse matrix or array."""
    return hasattr(X, "tocsr") and hasattr(X, "nnz")


def check_sparse(X: Any) -> None:
    """Refuses a sparse matrix of more than :data:`SPARSE_COLUMNS` columns."""
    if len(X.shape) == 2 and X.shape[1] > SPARSE_COLUMNS:
        raise InputError(
            f"X has {X.shape[1]} columns; a sparse matrix may have at most {SPARSE_COLUMNS}"
        )


def check_times(X: Any, what: str = "X") -> None:
    """Refuses dates and times, which numpy would turn into counts of their units."""
    kinds = (
        X.dtypes.items()
        if hasattr(X, "iloc") and hasattr(X, "columns")
        else [(None, getattr(X, "dtype", None))]
    )
    for name, kind in kinds:
        if getattr(kind, "kind", None) in ("M", "m"):
            where = what if name is None else f"column {name!r}"
            raise InputError(
                f"{where} is of type {kind}: turn dates and times into numbers, such as days since a start"
            )


def is_arrow(X: Any) -> bool:
    """Whether `X` speaks the Arrow PyCapsule interface and is not pandas, whose own conversion needs no pyarrow."""
    return hasattr(X, "__arrow_c_stream__") and not hasattr(X, "iloc")


def names(X: Any) -> list[str] | None:
    """The names of the columns, where the table has names and all of them are texts.

    Examples
    --------
    >>> import pandas
    >>> names(pandas.DataFrame({"a": [1], "b": [2]}))
    ['a', 'b']
    """
    for source in (X, getattr(X, "schema", None)):
        for attribute in ("column_names", "columns", "names"):
            columns = getattr(source, attribute, None)
            if columns is not None and not callable(columns):
                columns = list(columns)
                if columns and all(isinstance(column, str) for column in columns):
                    return columns
    return None


def matrix(X: Any) -> np.ndarray:
    """The rows of a table as one matrix."""
    parts = list(blocks(X))
    return parts[0] if len(parts) == 1 else np.concatenate(parts) if parts else np.empty((0, 0))


def blocks(X: Any) -> Iterator[np.ndarray]:
    """The rows of a table as matrices of float64, in order.

    A sparse matrix is densified block by block, and refused above :data:`SPARSE_COLUMNS` columns; a pandas table and an array of
    another type are converted block by block as well, so that no second copy of the whole table is made.

    Examples
    --------
    >>> [block.shape for block in blocks([[1, 2], [3, 4]])]
    [(2, 2)]
    """
    if is_sparse(X):
        check_sparse(X)
        X = X.tocsr()
        for part in _parts(*X.shape):
            yield np.asarray(X[part].todense(), dtype=np.float64)
    elif is_arrow(X):
        yield from ArrowBlocks(X)
    elif hasattr(X, "iloc"):
        check_times(X)
        for part in _parts(*X.shape):
            yield _numbers(X.iloc[part].to_numpy)
    else:
        array = X if isinstance(X, np.ndarray) else np.asarray(X)
        if array.ndim != 2:
            raise InputError(f"X must be a matrix, got an array of {array.ndim} dimensions")
        if array.dtype == np.float64:
            yield array
            return
        if array.dtype.kind not in "biuf" and array.dtype != object:
            raise InputError(f"X is of type {array.dtype}: only numbers and booleans are features")
        for part in _parts(*array.shape):
            yield _numbers(array[part].astype)


def _numbers(convert: Any) -> np.ndarray:
    try:
        return convert(dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise InputError(f"X holds something that is no number: {error}") from error


def _parts(rows: int, columns: int) -> Iterator[slice]:
    step = max(1, BLOCK_NUMBERS // max(1, columns))
    for first in range(0, rows, step):
        yield slice(first, min(first + step, rows))
