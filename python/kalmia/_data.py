"""Conversion of tables (numpy, pandas, polars, Arrow, scipy.sparse, sequences) to float64."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from ._kalmia import ArrowBlocks
from .errors import InputError

#: Numbers per block of a table that needs conversion: 32 MB.
BLOCK_NUMBERS = 1 << 22

#: Largest number of columns of a sparse matrix. One covariance takes 3.2 GB at this limit, and
#: the method "auto" starts with about 20 of them.
SPARSE_COLUMNS = 20_000


class Rows(NamedTuple):
    """The rows of a table that a model uses, with their offsets."""

    X: Any
    offset: np.ndarray | None
    #: Number of rows of the table.
    given: int
    #: Positions in the table of the rows in `X`; None if `X` has all of them.
    places: np.ndarray | None = None

    def pick(self, values: np.ndarray | None) -> np.ndarray | None:
        """From one value per row of the table, those of the rows in `X`."""
        return values if values is None or self.places is None else values[self.places]

    def spread(self, values: np.ndarray) -> np.ndarray:
        """One result per row of the table, NaN for rows that are not in `X`."""
        if self.places is None:
            return values
        kind = values.dtype if values.dtype.kind == "f" else object
        full = np.full((self.given, *values.shape[1:]), np.nan, dtype=kind)
        full[self.places] = values
        return full


def offsets(offset: Any, rows: int) -> np.ndarray | None:
    """One offset per row, from a single number or an array.

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
        raise InputError(f"offset must hold numbers only: {error}") from error
    if offset.ndim == 0:
        return np.full(rows, float(offset))
    if offset.shape != (rows,):
        raise InputError(
            f"X has {rows} rows, but offset is of shape {offset.shape}: "
            "give one number, or one per row"
        )
    return offset


def is_sparse(X: Any) -> bool:
    """Whether `X` is a scipy.sparse matrix or array."""
    return hasattr(X, "tocsr") and hasattr(X, "nnz")


def check_sparse(X: Any) -> None:
    """Refuses a sparse matrix of more than :data:`SPARSE_COLUMNS` columns."""
    if len(X.shape) == 2 and X.shape[1] > SPARSE_COLUMNS:
        raise InputError(
            f"X has {X.shape[1]} columns; a sparse matrix may have at most {SPARSE_COLUMNS}, "
            "because the covariance is dense: select or hash features first"
        )


def check_names(**given: Any) -> None:
    """Refuses a parameter that takes a name and was given something else; None is a default.

    Examples
    --------
    >>> check_names(method="auto", drift=True)
    Traceback (most recent call last):
        ...
    kalmia.errors.InputError: drift is True: give one of "detect", "off" and "adapt"
    """
    choices = {
        "drift": 'one of "detect", "off" and "adapt"',
        "method": 'the name of a method, such as "auto" or "ekf"',
        "family": 'the name of a family, such as "gaussian" or "poisson"',
    }
    for name, value in given.items():
        if value is not None and not isinstance(value, str):
            raise InputError(f"{name} is {value!r}: give {choices[name]}")


def check_lazy(X: Any) -> None:
    """Refuses tables that have not been read yet, which numpy would take for one object."""
    for attribute, call in (("collect", "X.collect()"), ("to_table", "X.to_table()")):
        if hasattr(X, attribute) and not hasattr(X, "__arrow_c_stream__"):
            raise InputError(f"X is a {type(X).__name__}, whose rows are not read yet: pass {call}")


def check_columns(X: Any, what: str = "X") -> None:
    """Refuses dates and times, which numpy would turn into counts, and names columns of text."""
    is_frame = hasattr(X, "iloc") and hasattr(X, "columns")
    kinds = X.dtypes.items() if is_frame else [(None, getattr(X, "dtype", None))]
    for position, (name, kind) in enumerate(kinds):
        if getattr(kind, "kind", None) in ("M", "m"):
            where = what if name is None else f"column {name!r}"
            raise InputError(
                f"{where} is of type {kind}: turn dates and times into numbers, such as days since "
                "a start"
            )
        if is_frame and getattr(kind, "kind", "O") == "O":
            _check_text(name, X.iloc[:, position])


def _check_text(name: Any, column: Any) -> None:
    """Refuses a pandas column with a text that is no number; numpy would not name the column."""
    for row, value in enumerate(column):
        try:
            if isinstance(value, str):
                float(value)
        except ValueError:
            raise InputError(
                f"column {name!r} holds {value!r} in row {row}, which is no number: encode text, "
                "for example with sklearn.preprocessing.OneHotEncoder"
            ) from None


def is_arrow(X: Any) -> bool:
    """Whether to read `X` through the Arrow PyCapsule interface.

    Not for pandas, whose own conversion works without pyarrow.
    """
    return hasattr(X, "__arrow_c_stream__") and not hasattr(X, "iloc")


def names(X: Any) -> list[str] | None:
    """The column names, or None if the table has none or some are not strings.

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

    A float64 array is returned as it is. A sparse matrix, a pandas table and an array of another
    type are converted block by block, which avoids a second copy of the whole table. A sparse
    matrix of more than :data:`SPARSE_COLUMNS` columns is refused.

    Examples
    --------
    >>> [block.shape for block in blocks([[1, 2], [3, 4]])]
    [(2, 2)]
    """
    check_lazy(X)
    if is_sparse(X):
        check_sparse(X)
        X = X.tocsr()
        for part in _block_slices(*X.shape):
            yield np.asarray(X[part].todense(), dtype=np.float64)
    elif is_arrow(X):
        yield from ArrowBlocks(X)
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


def class_probabilities(columns: list[np.ndarray], binary: bool) -> np.ndarray:
    """The probabilities of all classes, one column per class.

    `columns` holds that of the second class if `binary`, else those of each class against the
    rest, which are renormalized to sum to 1. If all are 0 in a row, the classes get equal shares.

    Examples
    --------
    >>> class_probabilities([np.array([0.25])], binary=True)
    array([[0.75, 0.25]])
    """
    if binary:
        return np.column_stack([1.0 - columns[0], columns[0]])
    table = np.column_stack(columns)
    total = table.sum(axis=1, keepdims=True)
    equal = np.full_like(table, 1.0 / len(columns))
    return np.divide(table, total, out=equal, where=total > 0.0)
