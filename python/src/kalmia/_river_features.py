"""Rows and tables of River as numbers: names, checks and columns."""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterable, Iterator, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ._kalmia import WideRows, wide_row
from .errors import InputError

Vector = NDArray[np.float64]


def _number(name: Hashable, value: Any) -> float:
    """The value of a feature as a finite number, or an error that names the feature."""
    number = _finite(value)
    if number is None:
        raise InputError(
            f"feature {name!r} is {value!r}, of type {type(value).__name__}: "
            f"give a finite number, a boolean or a string, or leave the feature out{_hint(value)}"
        )
    return number


def _hint(value: Any) -> str:
    """What to do about NaN, which River's scalers make of a feature's first value."""
    if not (isinstance(value, float) and math.isnan(value)):
        return ""
    return (
        ". If it comes from a scaler such as MinMaxScaler, remove the scaler: kalmia needs none, "
        "and such a scaler has no range for a feature that it sees first"
    )


def target_number(value: Any) -> float:
    """A regression target as a finite number."""
    return _named_number("the target y", value)


def _named_number(name: str, value: Any) -> float:
    number = _finite(value)
    if number is None:
        raise InputError(
            f"{name} is {value!r}, of type {type(value).__name__}: give a finite number"
        )
    return number


def _finite(value: Any) -> float | None:
    # float() would turn numpy's dates and times into counts of their units
    if isinstance(value, (np.datetime64, np.timedelta64)):
        return None
    try:
        number = float(value)
    except (TypeError, ValueError, OverflowError):
        return None
    return number if math.isfinite(number) else None


def weight_number(value: Any) -> float:
    """The weight of a row: a finite number, not negative."""
    number = 1.0 if value is None else _named_number("the weight w", value)
    if number < 0.0:
        raise InputError(f"the weight w is {value!r}: give a number from 0 on")
    return number


def target_numbers(y: Any, rows: int) -> Vector:
    """The targets of a batch as finite numbers."""
    return _per_row("y", y, rows, target_number)


def weight_numbers(w: Any, rows: int) -> Vector | None:
    """The weights of a batch: None if all are 1; one number holds for every row."""
    if w is None or isinstance(w, (int, float, np.number)):
        weight = weight_number(w)
        return None if weight == 1.0 else np.full(rows, weight)
    return _per_row("w", w, rows, weight_number)


def _per_row(name: str, values: Any, rows: int, convert: Any) -> Vector:
    found = listed(values)
    if len(found) != rows:
        raise InputError(f"X has {rows} rows, but {name} has {len(found)}: give one per row")
    return np.fromiter((convert(value) for value in found), dtype=np.float64, count=rows)


def listed(values: Any) -> list[Any]:
    """The values of a column of numpy, pandas, polars or Arrow, or of any sequence, as a list."""
    for method in ("tolist", "to_list", "to_pylist"):
        if hasattr(values, method):
            found = getattr(values, method)()
            return found if isinstance(found, list) else [found]
    return list(values)


def row_features(x: Mapping[Any, Any]) -> list[tuple[str, float]]:
    """The features of one row by name, all checked."""
    if not isinstance(x, Mapping):
        raise InputError(
            f"x is a {type(x).__name__}: give one row as a dictionary of values by name, "
            "such as {'a': 1.0}"
        )
    return [
        (f"{key}={value}", 1.0) if isinstance(value, str) else (str(key), _number(key, value))
        for key, value in x.items()
    ]


def row_count(X: Any) -> int:
    """The number of rows of a table."""
    return X.num_rows if hasattr(X, "num_rows") else len(X)


def _table_columns(X: Any) -> Iterator[tuple[Hashable, Any]]:
    """Names and columns of a table of pandas, polars or Arrow, or of a matrix.

    The columns of a matrix are named 0, 1, 2, ..., as those of ``pandas.DataFrame(X)``.
    """
    if hasattr(X, "collect"):
        raise InputError(
            f"X is a {type(X).__name__}, whose rows are not read yet: pass X.collect()"
        )
    if hasattr(X, "iloc") and hasattr(X, "columns"):
        yield from ((key, X[key]) for key in X.columns)
    elif hasattr(X, "column_names"):
        yield from ((name, X.column(k)) for k, name in enumerate(X.column_names))
    elif hasattr(X, "columns") and hasattr(X, "get_column"):
        yield from ((name, X.get_column(name)) for name in X.columns)
    elif isinstance(X, np.ndarray) and X.ndim == 2:
        yield from enumerate(X.T)
    else:
        raise InputError(
            f"X is a {type(X).__name__}: give a table of pandas, polars or Arrow, or a matrix of "
            "numpy"
        )


def table_features(X: Any) -> dict[str, Vector]:
    """The features of a table by name, one value per row, as `row_features` has them."""
    found: dict[str, Vector] = {}
    for key, column in _table_columns(X):
        numbers = _numeric(column)
        if numbers is not None:
            if not np.isfinite(numbers).all():
                _number(key, float(numbers[~np.isfinite(numbers)][0]))
            found[str(key)] = numbers
            continue
        codes, levels = _levels(key, column)
        for code, level in enumerate(levels):
            ((name, value),) = row_features({key: level})
            found[name] = found.get(name, 0.0) + value * (codes == code)
    return found


def _numeric(column: Any) -> Vector | None:
    """A column of numbers or booleans as float64, with NaN for missing values; else None."""
    if hasattr(column, "iloc"):
        import pandas as pd

        if pd.api.types.is_any_real_numeric_dtype(column.dtype) or column.dtype == bool:
            return np.asarray(column.to_numpy(dtype=np.float64, na_value=np.nan))
        return None
    if hasattr(column, "to_pylist"):
        column = column.to_numpy(zero_copy_only=False)
    elif not isinstance(column, np.ndarray):
        column = column.to_numpy()
    return column.astype(np.float64) if column.dtype.kind in "biuf" else None


def _levels(key: Hashable, column: Any) -> tuple[NDArray[np.int64], list[Any]]:
    """The distinct values of a column, in the order in which they appear, and each row's place."""
    places: dict[tuple[bool, Any], int] = {}
    codes = np.empty(len(column), dtype=np.int64)
    for row, value in enumerate(listed(column)):
        try:
            hash(value)
        except TypeError:
            value = _number(key, value)
        codes[row] = places.setdefault((isinstance(value, str), value), len(places))
    return codes, [value for _, value in places]


class Columns:
    """The column of each feature; new features are appended, those of one call sorted by name."""

    def __init__(self, index: dict[str, int] | None = None) -> None:
        self.index: dict[str, int] = {} if index is None else index

    def lacks(self, names: Iterable[str]) -> bool:
        return any(name not in self.index for name in names)

    def add(self, names: Iterable[str]) -> int:
        """Appends a column per new name, and returns their number."""
        new = sorted(name for name in set(names) if name not in self.index)
        for name in new:
            self.index[name] = len(self.index)
        return len(new)

    def remove(self, count: int) -> None:
        """Removes the last columns."""
        for _ in range(count):
            self.index.popitem()

    def row(self, pairs: Iterable[tuple[str, float]]) -> Vector:
        """The numbers of a row; features without a column are ignored."""
        row = np.zeros(len(self.index))
        for name, value in pairs:
            column = self.index.get(name)
            if column is not None:
                row[column] = value
        return row

    def wide_row(self, pairs: Iterable[tuple[str, float]], intercept: bool) -> WideRows:
        """The features of a row that have a column and are not 0, for a wide learner."""
        known = {name: value for name, value in pairs if name in self.index}
        found = wide_row(self.index, known, True, intercept)
        assert found is not None, "the values are finite, and each has a column"
        return found

    def wide_table(self, features: dict[str, Vector], rows: int, intercept: bool) -> WideRows:
        """As `wide_row`, of several rows."""
        index = self.index
        known = {index[name]: values for name, values in features.items() if name in index}
        places = [np.flatnonzero(values) for values in known.values()]
        total = np.concatenate(places) if places else np.empty(0, dtype=np.int64)
        columns = np.repeat(
            np.fromiter(known, dtype=np.int64, count=len(known)),
            [len(found) for found in places],
        )
        kept = [values[found] for values, found in zip(known.values(), places, strict=True)]
        data = np.concatenate(kept) if kept else np.empty(0)
        order = np.lexsort((columns, total))
        starts = np.zeros(rows + 1, dtype=np.int64)
        np.cumsum(np.bincount(total, minlength=rows), out=starts[1:])
        width = len(self.index)
        return WideRows(
            starts, columns[order], data[order], width, intercept=intercept, named=True
        )

    def table(self, features: dict[str, Vector], rows: int) -> Vector:
        """The numbers of several rows; features without a column are ignored."""
        table = np.zeros((rows, len(self.index)), order="F")
        for name, values in features.items():
            column = self.index.get(name)
            if column is not None:
                table[:, column] = values
        return table
