"""What the estimators need of tables beside :mod:`kalmia._tables`: rows, offsets, names."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ._kalmia import ArrowBlocks, Schema
from .errors import InputError


class Rows(NamedTuple):
    """The rows of a table that a model uses, with their offsets."""

    X: Any
    offset: np.ndarray | None
    #: Number of rows of the table.
    given: int
    #: Positions in the table of the rows in `X`; None if `X` has all of them.
    places: np.ndarray | None = None
    #: Levels per row of `X` that the model never learned; None if there are none.
    unseen: np.ndarray | None = None
    #: What is known of the columns after these rows, if they brought it.
    schema: Schema | None = None
    #: The learners that fit the number of features of `X`; None before the first call.
    learners: Any = None
    #: The blocks of a stream that is learned as it comes; `X` is then empty, with its columns.
    blocks: ArrowBlocks | None = None
    #: Leading features that are numbers, for a learner of sparse rows; None for dense rows.
    numbers: int | None = None

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


def arrow_matrix(X: Any) -> np.ndarray:
    """The rows of an Arrow stream as one matrix."""
    return joined(ArrowBlocks(X))


#: Largest size of a feature that a learner takes.
MAX_FEATURE = 1e120


def check_numbers(X: np.ndarray, names: Any = None, first_row: int = 0) -> None:
    """Names the row and the column of the first number that a learner would refuse.

    Columns are named by `names`, or by their place. Rows count from `first_row`.

    Examples
    --------
    >>> check_numbers(np.array([[1.0, 2.0]]), ["age", "dose"])
    >>> check_numbers(np.array([[1.0, 1e200]]), ["a", "b"], 10)
    Traceback (most recent call last):
    kalmia.errors.InputError: X has the number 1e+200 in row 10, column 'b': give at most 1e120
    """
    legal = (X <= MAX_FEATURE) & (X >= -MAX_FEATURE)
    if legal.all():
        return
    row, column = (int(place) for place in np.argwhere(~legal)[0])
    value = X[row, column]
    name = column if names is None else str(names[column])
    where = f"row {first_row + row}, column {name!r}"
    if np.isnan(value):
        raise InputError(f"X has a missing value (NaN) in {where}: fill it, or drop the row")
    if np.isinf(value):
        raise InputError(f"X has an infinite value (inf) in {where}: give finite numbers")
    raise InputError(f"X has the number {value:g} in {where}: give at most 1e120")


def joined(blocks: ArrowBlocks) -> np.ndarray:
    """The rows of all blocks as one matrix."""
    parts = list(blocks)
    return parts[0] if len(parts) == 1 else np.concatenate(parts) if parts else np.empty((0, 0))


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
