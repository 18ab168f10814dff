"""Feature hashing: :class:`FeatureHasher` for names and values, :class:`TextHasher` for texts."""

from __future__ import annotations

import numbers
from collections.abc import Iterable
from typing import Any, Literal, Self

import numpy as np
import scipy.sparse
from numpy.typing import DTypeLike
from sklearn.base import BaseEstimator, TransformerMixin

from ._kalmia import hash_features, hash_texts
from ._parameters import check_flag
from .errors import InputError

InputType = Literal["dict", "pair", "string"]


class _Hasher(TransformerMixin, BaseEstimator):
    """The base of both: nothing is learned, so `fit` only checks the parameters."""

    n_features: int
    dtype: Any
    alternate_sign: bool

    def fit(self, X: Any = None, y: Any = None) -> Self:
        """Checks the parameters; there is nothing to learn.

        Returns
        -------
        self
        """
        self._bits()
        check_flag("alternate_sign", self.alternate_sign)
        return self

    def _bits(self) -> int:
        given = self.n_features
        whole = isinstance(given, numbers.Integral) and not isinstance(given, bool)
        if not whole or given not in [2**bits for bits in range(1, 31)]:
            raise InputError(
                f"n_features is {given!r}: give a power of two from 2 to 2**30, such as 2**18"
            )
        return int(given).bit_length() - 1

    def _matrix(self, parts: Any) -> scipy.sparse.csr_matrix:
        starts, indices, values = parts
        if len(starts) == 1:
            raise InputError("there is no row to hash: give at least one")
        shape = (len(starts) - 1, int(self.n_features))
        matrix = scipy.sparse.csr_matrix((values, indices, starts), shape=shape, dtype=self.dtype)
        matrix.sum_duplicates()  # sorts the indices too
        return matrix

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.requires_fit = False
        tags.input_tags.two_d_array = False
        return tags


class FeatureHasher(_Hasher):
    """Features by name as columns of a sparse matrix, without a list of the names.

    A name has the column of its hash, so rows may have any names and no memory is needed for them.
    Two names may share a column; with n names, a name shares its column with about
    ``n / n_features`` others. The result is that of scikit-learn's class of the same name.

    Parameters
    ----------
    n_features : int
        Number of columns, a power of two up to ``2**30``.
    input_type : {"dict", "pair", "string"}
        What a row is: a dictionary of values by name, a list of pairs of name and value, or a list
        of names, each with the value 1. A value that is a text is a category: ``{"town": "Rome"}``
        is the name ``town=Rome`` with the value 1.
    dtype : numpy dtype
        Type of the values.
    alternate_sign : bool
        Whether half of the names have the sign -1, so that names which share a column cancel on
        average instead of adding up. Coefficients then have the sign of the hash.

    Examples
    --------
    >>> from kalmia import FeatureHasher
    >>> rows = [{"town": "Rome", "age": 31}, {"town": "Lyon", "age": 25}]
    >>> X = FeatureHasher(alternate_sign=False).transform(rows)
    >>> X.shape, X.nnz
    ((2, 262144), 4)
    """

    def __init__(
        self,
        n_features: int = 2**18,
        *,
        input_type: InputType = "dict",
        dtype: DTypeLike = np.float64,
        alternate_sign: bool = True,
    ) -> None:
        self.n_features = n_features
        self.input_type = input_type
        self.dtype = dtype
        self.alternate_sign = alternate_sign

    def transform(self, X: Iterable[Any]) -> scipy.sparse.csr_matrix:
        """Hashes rows.

        Parameters
        ----------
        X : iterable
            Rows of the kind that `input_type` says. Values that are 0 are left out.

        Returns
        -------
        scipy.sparse.csr_matrix of shape (n, n_features)
        """
        self.fit()
        if self.input_type not in ("dict", "pair", "string"):
            raise InputError(f'input_type is {self.input_type!r}: give "dict", "pair" or "string"')
        return self._matrix(
            hash_features(X, self.input_type, self._bits(), bool(self.alternate_sign))
        )


class TextHasher(_Hasher):
    """Texts as rows of a sparse matrix: a column per hash of a word or a piece of a word.

    The result is that of scikit-learn's ``HashingVectorizer(norm=None)`` with the same number of
    columns: ``"words:2"`` is its ``ngram_range=(1, 2)``, and ``"characters:2-4"`` its
    ``analyzer="char_wb", ngram_range=(2, 4)``. Vowel signs of Indian scripts stay within their
    word here, and end it in scikit-learn.

    For a table with a column of text, give the name of the column to an estimator as `text`
    instead: its words are hashed together with the column's name.

    Parameters
    ----------
    n_features : int
        Number of columns, a power of two up to ``2**30``.
    analyzer : str
        ``"words"``, ``"words:2"`` (words and pairs of words), ``"characters:2-4"`` (pieces of 2 to
        4 characters within words). Texts are lower-cased.
    binary : bool
        Whether every value is 1, however often the row has the token.
    dtype : numpy dtype
        Type of the values.
    alternate_sign : bool
        Whether half of the tokens have the sign -1; see :class:`FeatureHasher`.

    Examples
    --------
    >>> from kalmia import TextHasher
    >>> X = TextHasher(analyzer="words:2").transform(["A good, good plot", "no plot"])
    >>> X.shape, X.nnz
    ((2, 262144), 7)
    """

    def __init__(
        self,
        n_features: int = 2**18,
        *,
        analyzer: str = "words",
        binary: bool = False,
        dtype: DTypeLike = np.float64,
        alternate_sign: bool = True,
    ) -> None:
        self.n_features = n_features
        self.analyzer = analyzer
        self.binary = binary
        self.dtype = dtype
        self.alternate_sign = alternate_sign

    def transform(self, X: Iterable[str]) -> scipy.sparse.csr_matrix:
        """Hashes the tokens of texts.

        Parameters
        ----------
        X : iterable of str
            A text per row.

        Returns
        -------
        scipy.sparse.csr_matrix of shape (n, n_features)
        """
        self.fit()
        check_flag("binary", self.binary)
        if isinstance(X, str):
            raise InputError("X is a single text: give a list of texts, such as [X]")
        matrix = self._matrix(
            hash_texts(X, self.analyzer, self._bits(), bool(self.alternate_sign))
        )
        if self.binary:
            matrix.data.fill(1)
        return matrix
