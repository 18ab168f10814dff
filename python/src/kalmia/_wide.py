"""Sparse and wide rows: when a model takes them, and its coefficients as arrays."""

from __future__ import annotations

from typing import Any

import numpy as np

from ._kalmia import Learner, Schema, WideRows
from ._tables import is_sparse
from .errors import InputError

#: Columns of a sparse matrix above which ``"auto"`` is wide.
MAX_SPARSE_COLUMNS = 2000
#: Columns of a dense matrix above which ``"auto"`` is wide: a full covariance predicts better while
#: it is affordable.
MAX_DENSE_COLUMNS = 5000
#: The index of column 0 of a sparse matrix.
FIRST_UNNAMED = 1 << 31


def takes_wide_rows(method: Any, averaged: Any, columns: int, sparse: bool) -> bool:
    """Whether a new model of a matrix with so many columns takes sparse rows.

    Examples
    --------
    >>> takes_wide_rows("auto", False, 3000, True), takes_wide_rows("auto", False, 3000, False)
    (True, False)
    """
    if method != "auto" or averaged is not False:
        return bool(method == "wide")
    return columns > (MAX_SPARSE_COLUMNS if sparse else MAX_DENSE_COLUMNS)


def table_rows(method: Any, averaged: Any) -> str:
    """Whether the rows of a table with texts may be sparse; under ``"auto"`` the encoder decides.

    Examples
    --------
    >>> table_rows("wide", False), table_rows("auto", False), table_rows("auto", True)
    ('always', 'auto', 'never')
    """
    if method == "wide":
        return "always"
    return "auto" if method == "auto" and averaged is False else "never"


def sparse_rows(X: Any, intercept: bool, *, named: bool) -> WideRows:
    """The rows of a matrix by index; `named` columns follow the constant, as those of tables do."""
    if not is_sparse(X):
        import scipy.sparse

        X = scipy.sparse.csr_array(X)
    data = np.ascontiguousarray(X.data, dtype=np.float64)
    return WideRows(
        np.ascontiguousarray(X.indptr),
        np.ascontiguousarray(X.indices),
        data,
        X.shape[1],
        intercept=intercept,
        named=named,
    )


def check_finite(X: Any) -> None:
    """Names the row and the column of the first entry of a CSR matrix that is not finite."""
    finite = np.isfinite(X.data)
    if finite.all():
        return
    place = int(np.argmin(finite))
    row = int(np.searchsorted(X.indptr, place, side="right")) - 1
    where = f"row {row}, column {int(X.indices[place])}"
    if np.isnan(X.data[place]):
        raise InputError(f"X has a missing value (NaN) in {where}: fill it, or drop the row")
    raise InputError(f"X has an infinite value (inf) in {where}: give finite numbers")


def is_wide(learner: Learner) -> bool:
    """Whether a learner takes sparse rows."""
    return learner.method == "wide"


def width(estimator: Any) -> int:
    """The number of columns of a model of matrices."""
    known: int = estimator.n_features_in_
    if not estimator._from_command:
        return known
    # a file of libsvm has no width
    largest = max(int(learner.features.max(initial=0)) for learner in estimator.learners_)
    return max(known, largest - FIRST_UNNAMED + 1)


def by_column(estimator: Any, learner: Learner, values: np.ndarray, fill: float) -> np.ndarray:
    """One value per coefficient, the intercept first, from those of the features seen.

    Features of a matrix that no row had get `fill`. A table has no columns of its own for words
    and levels: the values are then those of the features seen, in the order of `coef_names_`.
    """
    schema: Schema | None = getattr(estimator, "schema_", None)
    constant = int(learner.intercept)
    if schema is not None and not schema.is_numeric:
        return values
    found = np.full(constant + width(estimator), fill)
    indices = learner.features.astype(np.int64)
    if schema is not None and schema.is_sparse:
        indices[constant:] -= FIRST_UNNAMED - constant
    found[indices] = values
    return found
