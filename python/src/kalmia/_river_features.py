"""Rows and tables of River as numbers: names, checks and columns."""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterable
from typing import Any

import numpy as np

from .errors import InputError


def _number(name: Hashable, value: Any) -> float:
    """The value of a feature as a finite number, or an error that names the feature."""
    number = _finite(value)
    if number is None:
        raise InputError(
            f"feature {name!r} is {value!r}, of type {type(value).__name__}: "
            "give a finite number, a boolean or a string, or leave the feature out"
        )
    return number


def target_number(value: Any) -> float:
    """A regression target as a finite number."""
    number = _finite(value)
    if number is None:
        raise InputError(
            f"the target y is {value!r}, of type {type(value).__name__}: give a finite number"
        )
    return number


def _finite(value: Any) -> float | None:
    # float() would turn numpy's dates and times into counts of their units
    if isinstance(value, (np.datetime64, np.timedelta64)):
        return None
    try:
        number = float(value)
    except (TypeError, ValueError):
        return None
    return number if math.isfinite(number) else None


def row_features(x: dict[Hashable, Any]) -> list[tuple[str, float]]:
    """The features of one row by name, all checked."""
    return [
        (f"{key}={value}", 1.0) if isinstance(value, str) else (str(key), _number(key, value))
        for key, value in x.items()
    ]


def check_frame(X: Any) -> None:
    if not hasattr(X, "iloc") or not hasattr(X, "columns"):
        hint = "X.to_pandas()" if hasattr(X, "to_pandas") else "pandas.DataFrame(X)"
        raise InputError(
            f"X is a {type(X).__name__}: River's batches are pandas tables, use {hint}"
        )


def frame_features(X: Any) -> dict[str, np.ndarray]:
    """The features of a pandas table by name, one value per row, as `row_features` has them."""
    import pandas as pd

    check_frame(X)
    found: dict[str, np.ndarray] = {}
    for key in X.columns:
        if pd.api.types.is_any_real_numeric_dtype(X[key].dtype) or X[key].dtype == bool:
            values = X[key].to_numpy(dtype=np.float64, na_value=np.nan)
            if not np.isfinite(values).all():
                _number(key, values[~np.isfinite(values)][0])
            found[str(key)] = values
            continue
        codes, levels = pd.factorize(X[key])
        if (codes < 0).any():
            _number(key, None)
        for code, level in enumerate(levels.tolist()):
            ((name, value),) = row_features({key: level})
            found[name] = found.get(name, 0.0) + value * (codes == code)
    return found


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

    def row(self, pairs: Iterable[tuple[str, float]]) -> np.ndarray:
        """The numbers of a row; features without a column are ignored."""
        row = np.zeros(len(self.index))
        for name, value in pairs:
            column = self.index.get(name)
            if column is not None:
                row[column] = value
        return row

    def table(self, features: dict[str, np.ndarray], rows: int) -> np.ndarray:
        """The numbers of several rows; features without a column are ignored."""
        table = np.zeros((rows, len(self.index)), order="F")
        for name, values in features.items():
            column = self.index.get(name)
            if column is not None:
                table[:, column] = values
        return table
