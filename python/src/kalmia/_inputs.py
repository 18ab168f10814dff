"""Tables and targets of the estimators: what they may be, and as the learners take them."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils import check_array
from sklearn.utils.validation import _check_feature_names, column_or_1d, validate_data

from . import _data, _encoding, _tables
from ._kalmia import ArrowBlocks, Schema
from ._parameters import check_flag
from .errors import InputError


class Inputs:
    """The part of an estimator that reads tables and targets."""

    fit_intercept: bool
    n_features_in_: int
    #: Whether the command fitted the model, which takes columns by their names.
    _from_command = False

    def _rows(
        self,
        X: Any,
        offset: Any = None,
        *,
        reset: bool = False,
        learn: bool = False,
        streamed: int | None = None,
    ) -> _data.Rows:
        """The rows of `X` as numbers, with offsets; columns must match those of earlier calls.

        With `learn`, levels that no row had become features. `streamed` is the number of rows if
        they may be learned as they come.
        """
        if reset:
            for name in ("schema_", "_from_command"):
                self.__dict__.pop(name, None)
        # one copy, because another thread may replace both while it learns new levels
        fitted = vars(self).copy()
        schema = fitted.get("schema_")
        learners = fitted.get("learners_")
        _tables.check_lazy(X)
        stream = ArrowBlocks(X) if _tables.is_arrow(X) else None
        if reset:
            schema = self._text_schema(X, stream)
        if schema is not None and not schema.is_numeric:
            return self._encoded(schema, X, stream, offset, learn)._replace(learners=learners)
        names = None
        if stream is not None and streamed is not None and hasattr(X, "read_next_batch"):
            return self._stream(stream, offset, streamed, reset)
        if stream is not None:
            names = _data.names(X)
            X = _data.joined(stream)
        if schema is not None and schema.offset is not None:
            X, names, found = self._split_column(X, names, schema.offset)
            offset = found if offset is None else offset
            if offset is None:
                raise InputError(_encoding.no_offset(schema.offset))
        X = self._table(X, names, reset)
        rows = X.shape[0]
        return _data.Rows(X, _data.offsets(offset, rows), rows, learners=learners)

    def _stream(self, stream: ArrowBlocks, offset: Any, rows: int, reset: bool) -> _data.Rows:
        """The rows of a stream that can be read once, in blocks."""
        names = stream.names
        if reset:
            self.feature_names_in_ = np.array(names, dtype=object)
            self.n_features_in_ = len(names)
        self._check_names(names)
        if len(names) != self.n_features_in_:
            raise self._wrong_width(len(names))
        empty = np.empty((0, len(names)))
        return _data.Rows(empty, _data.offsets(offset, rows), rows, blocks=stream)

    def _text_schema(self, X: Any, stream: ArrowBlocks | None) -> Schema | None:
        """A new schema, with the names of the columns, if some column is a category."""
        if stream is not None:
            names, kinds = stream.names, stream.kinds
        elif hasattr(X, "iloc") and hasattr(X, "columns"):
            names, kinds = [str(name) for name in X.columns], _encoding.frame_kinds(X)
        else:
            return None
        if "category" not in kinds:
            return None
        if stream is None:
            _tables.check_columns(X, texts=True)
            _check_feature_names(self, X, reset=True)
        else:
            self.feature_names_in_ = np.array(names, dtype=object)
        self.n_features_in_ = len(names)
        intercept = check_flag("fit_intercept", self.fit_intercept)
        return _encoding.new_schema(names, kinds, intercept)

    def _encoded(
        self, schema: Schema, X: Any, stream: ArrowBlocks | None, offset: Any, learn: bool
    ) -> _data.Rows:
        """The rows of a table with categories. The command's models take columns by name."""
        if self._from_command:
            wide = stream is not None and not hasattr(X, "hstack")
            return _encoding.encode(schema, stream if wide else X, offset, learn=learn)
        if stream is not None:
            self._check_names(stream.names)
        elif hasattr(X, "iloc") and hasattr(X, "columns"):
            _check_feature_names(self, X, reset=False)
            if X.shape[1] != self.n_features_in_:
                raise self._wrong_width(X.shape[1])
        return _encoding.encode(
            schema, X if stream is None else stream, offset, learn=learn, by_place=True
        )

    def _check_finite(self, X: np.ndarray) -> None:
        """Names the row and the column of the first number that is missing or infinite."""
        if np.isfinite(X).all():
            return
        row, column = (int(place) for place in np.argwhere(~np.isfinite(X))[0])
        names = getattr(self, "feature_names_in_", None)
        where = f"row {row}, column {column if names is None else names[column]!r}"
        if np.isnan(X[row, column]):
            raise InputError(f"X has a missing value (NaN) in {where}: fill it, or drop the row")
        raise InputError(f"X has an infinite value (inf) in {where}: give finite numbers")

    def _check_names(self, names: list[str]) -> None:
        """Refuses columns other than those of the fit."""
        expected = list(getattr(self, "feature_names_in_", names))
        if expected != names:
            raise InputError(
                f"the columns are {names}, but the model was fitted with {expected}: "
                "select these columns in this order"
            )

    def _wrong_width(self, found: int) -> InputError:
        return InputError(
            f"X has {found} features, but {type(self).__name__} is expecting "
            f"{self.n_features_in_} features as input"
        )

    @staticmethod
    def _split_column(
        X: Any, names: list[str] | None, name: str
    ) -> tuple[Any, list[str] | None, Any]:
        """The table without the named column, its other names, and that column (None if absent)."""
        if names is not None and name in names:
            j = names.index(name)
            return np.delete(X, j, axis=1), names[:j] + names[j + 1 :], X[:, j]
        if hasattr(X, "iloc") and name in getattr(X, "columns", ()):
            return X.drop(columns=name), names, X[name].to_numpy(dtype=np.float64)
        return X, names, None

    def _table(self, X: Any, names: list[str] | None, reset: bool) -> Any:
        """`X` as a float64 array or a CSR matrix; `names` are the columns of an Arrow stream."""
        if not reset and self._is_plain(X):
            return X
        if names is None:
            _tables.check_columns(X)
            _tables.check_texts(X)
            sparse = _tables.is_sparse(X)
            found = validate_data(
                self,
                X,
                accept_sparse="csr",
                dtype=np.float64,
                reset=reset,
                # the learner itself checks every number of an array
                ensure_all_finite=sparse,
            )
            if not sparse and not self._is_float64(X):
                self._check_finite(found)
            return found
        if reset:
            X = validate_data(self, X, dtype=np.float64, reset=True, ensure_min_samples=1)
            self.feature_names_in_ = np.array(names, dtype=object)
            return X
        self._check_names(names)
        if X.shape[1] != self.n_features_in_:
            raise self._wrong_width(X.shape[1])
        return X

    def _is_plain(self, X: Any) -> bool:
        """Whether `X` needs neither conversion nor a check of names; the learner checks numbers."""
        fits = self._is_float64(X) and X.ndim == 2 and X.shape[1] == self.n_features_in_
        return fits and len(X) > 0 and not hasattr(self, "feature_names_in_")

    @staticmethod
    def _is_float64(values: Any) -> bool:
        """Whether the learner can read the values without conversion."""
        return type(values) is np.ndarray and values.dtype == np.float64

    @classmethod
    def _column(cls, y: Any, rows: int, *, numbers: bool = True, first: bool = True) -> np.ndarray:
        """`y` as one column: a number or a label per row.

        After the first call a float64 array is passed on; the learner checks its numbers.
        """
        if cls._is_float64(y) and y.ndim == 1 and not first and len(y) == rows:
            return y
        if y is None:
            raise ValueError("requires y to be passed, but the target y is None")
        _tables.check_lazy(y, "y")
        y = y.to_numpy() if hasattr(y, "to_numpy") else y
        if numbers:
            _tables.check_columns(y, "y")
            _tables.check_targets(y)
            y = check_array(y, ensure_2d=False, dtype=np.float64, input_name="y")
        y = column_or_1d(y, warn=True)
        if len(y) != rows:
            raise ValueError(f"X has {rows} rows, but y has {len(y)}: give one target per row")
        return y
