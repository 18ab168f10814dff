"""Tables and targets of the estimators: what they may be, and as the learners take them."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils import check_array
from sklearn.utils.validation import _check_feature_names, column_or_1d, validate_data

from . import _data, _encoding, _tables, _wide
from ._kalmia import ArrowBlocks, Schema
from ._parameters import check_flag
from .errors import InputError


class Inputs:
    """The part of an estimator that reads tables and targets."""

    fit_intercept: bool
    method: Any
    averaged: Any
    text: Any
    analyzer: Any
    hash_bits: Any
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
            for name in ("schema_", "_from_command", "_stream_entry", "stream_position_"):
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
            rows = self._encoded(schema, X, stream, offset, learn)
            after = rows.schema
            numbers = after.numbers if after is not None and after.is_wide else None
            return rows._replace(learners=learners, numbers=numbers)
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
        found = _data.Rows(X, _data.offsets(offset, rows), rows, learners=learners)
        if reset:
            columns = X.shape[1]
            sparse = _tables.is_sparse(X)
            wide = _wide.takes_wide_rows(self.method, self.averaged, columns, sparse)
            return self._new_wide(found, sparse) if wide else found
        if learners is None or not _wide.is_wide(learners[0]):
            return found
        by_index = schema is not None and schema.is_sparse
        if not by_index and not _tables.is_sparse(X):
            return found
        intercept = learners[0].intercept
        return found._replace(X=_wide.sparse_rows(X, intercept, named=not by_index))

    def _new_wide(self, rows: _data.Rows, sparse: bool) -> _data.Rows:
        """The first rows of a wide model.

        The columns of a sparse matrix are known by their numbers, as in the libsvm format. Those of
        a dense matrix are numbers that every row has, which are centered.
        """
        intercept = check_flag("fit_intercept", self.fit_intercept)
        if not sparse:
            return rows._replace(numbers=rows.X.shape[1])
        found = _wide.sparse_rows(rows.X, intercept, named=False)
        return rows._replace(X=found, numbers=0, schema=Schema.sparse(intercept))

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
        wide = _wide.takes_wide_rows(self.method, self.averaged, len(names), sparse=False)
        numbers = len(names) if wide else None
        offset = _data.offsets(offset, rows)
        return _data.Rows(empty, offset, rows, blocks=stream, numbers=numbers)

    def _text_schema(self, X: Any, stream: ArrowBlocks | None) -> Schema | None:
        """A new schema, with the names of the columns, if some column is a category or a text."""
        texts = _encoding.text_columns(self.text)
        hashed = bool(texts) or self.hash_bits is not None
        if stream is not None:
            names, kinds = stream.names, stream.kinds
        elif hasattr(X, "iloc") and hasattr(X, "columns"):
            names, kinds = [str(name) for name in X.columns], _encoding.frame_kinds(X)
        elif hashed:
            raise InputError(
                f"{'text' if texts else 'hash_bits'} is for tables, but X is a "
                f"{type(X).__name__}: give a table of pandas, polars or Arrow, or hash the "
                "features before with kalmia.FeatureHasher or kalmia.TextHasher"
            )
        else:
            return None
        kinds = _encoding.with_texts(names, kinds, texts)
        if "category" not in kinds and not hashed:
            return None
        if stream is None:
            _tables.check_columns(X, texts=True)
            _check_feature_names(self, X, reset=True)
        else:
            self.feature_names_in_ = np.array(names, dtype=object)
        self.n_features_in_ = len(names)
        intercept = check_flag("fit_intercept", self.fit_intercept)
        wide = _wide.table_rows(self.method, self.averaged)
        if hashed and wide == "never":
            averaged = " with averaged=True" if self.method == "auto" else ""
            raise InputError(
                f"method {self.method!r}{averaged} takes no text and no hashed features: use "
                'method="auto" or "wide", not averaged'
            )
        return _encoding.new_schema(
            names, kinds, intercept, wide=wide, analyzer=self.analyzer, hash_bits=self.hash_bits
        )

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
            how: dict[str, Any] = {
                "accept_sparse": "csr",
                "dtype": np.float64,
                # with row and column below; the learner itself checks every number of an array
                "ensure_all_finite": False,
            }
            schema = getattr(self, "schema_", None)
            if self._from_command and schema is not None and schema.is_sparse:
                # a file of libsvm has no width
                found = check_array(X, **how)
            else:
                found = validate_data(self, X, reset=reset, **how)
            if _tables.is_sparse(X):
                _wide.check_finite(found)
            elif not self._is_float64(X) or hasattr(self, "feature_names_in_"):
                # the learner does not know names
                _data.check_numbers(found, getattr(self, "feature_names_in_", None))
            return found
        _data.check_numbers(X, names)
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
