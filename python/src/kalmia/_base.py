"""The base of the estimators: parameters, conversion of tables, learning and fitted attributes."""

from __future__ import annotations

import warnings
from threading import RLock
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils import check_array
from sklearn.utils.validation import (
    _check_sample_weight,
    check_is_fitted,
    column_or_1d,
    validate_data,
)

from . import _data, _files, _plots, _tables
from ._export import Exports
from ._kalmia import Learner, model
from ._parameters import MADE_WITH, METHOD_PARAMETERS, check_flag, check_names, seed
from ._summary import Summary
from .errors import InputError


class LearningCall:
    """A call that learns: other calls wait until it ends, and a refused first call is undone.

    A class and not a generator, because a generator's cost would show in calls of one row.
    """

    def __init__(self, estimator: Estimator, reset: bool):
        self._attributes = vars(estimator)
        self._reset = reset

    def __enter__(self) -> bool:
        """Whether this is a first call. Later calls change no attribute before they succeed."""
        self._lock = self._attributes.setdefault("_lock", RLock())
        self._lock.acquire()
        first = self._reset or "learners_" not in self._attributes
        if not first:
            self._check_unchanged()
        self._before = dict(self._attributes) if first else None
        return first

    def _check_unchanged(self) -> None:
        """Refuses parameters that were changed after the learner was made."""
        for name, value in self._attributes.get("_made_with", {}).items():
            now = self._attributes[name]
            if now is not value and now != value:
                self._lock.release()
                raise InputError(
                    f"{name} was {value!r} when the model was fitted and is now {now!r}: call fit "
                    "to start again, or set it back"
                )

    def __exit__(self, kind: type[BaseException] | None, *_: Any) -> None:
        if kind is not None and self._before is not None:
            for name in self._attributes.keys() - self._before.keys():
                del self._attributes[name]
            self._attributes.update(self._before)
        self._lock.release()


class Estimator(Exports, BaseEstimator):
    """Base of the estimators: one learner, or one per class where a subclass needs it.

    scikit-learn reads the parameters from the constructor's signature, so each public class
    spells out its own. A test compares their names and defaults.
    """

    _family = "gaussian"

    # for estimators that were pickled before they had these parameters
    shuffle = None
    random_state = None
    weights = "frequency"

    def _set_parameters(self, given: dict[str, Any]) -> None:
        """Stores a constructor's parameters unchanged, which scikit-learn's `clone` requires."""
        for name in self._get_param_names():
            setattr(self, name, given[name])

    # -- tables -----------------------------------------------------------------------------------

    def _rows(self, X: Any, offset: Any = None, *, reset: bool = False) -> _data.Rows:
        """The rows of `X` as numbers, with offsets; columns must match those of earlier calls."""
        if reset:
            self.__dict__.pop("schema_", None)
        schema = getattr(self, "schema_", None)
        if schema is not None and not schema.is_numeric:
            return _files.encode(schema, X, offset)
        _tables.check_lazy(X)
        names = None
        if _tables.is_arrow(X):
            names = _data.names(X)
            X = _data.arrow_matrix(X)
        if schema is not None and schema.offset is not None:
            X, names, found = self._split_column(X, names, schema.offset)
            offset = found if offset is None else offset
            if offset is None:
                raise InputError(_files.no_offset(schema.offset))
        X = self._table(X, names, reset)
        rows = X.shape[0]
        return _data.Rows(X, _data.offsets(offset, rows), rows)

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
        if _tables.is_sparse(X):
            _tables.check_sparse(X)
        if not reset and self._is_plain(X):
            return X
        if names is None:
            _tables.check_columns(X)
            return validate_data(
                self,
                X,
                accept_sparse="csr",
                dtype=np.float64,
                reset=reset,
                # the learner itself checks every number of a float64 array
                ensure_all_finite=not self._is_float64(X),
            )
        if reset:
            X = validate_data(self, X, dtype=np.float64, reset=True, ensure_min_samples=1)
            self.feature_names_in_ = np.array(names, dtype=object)
            return X
        expected = list(getattr(self, "feature_names_in_", names))
        if expected != names:
            raise InputError(
                f"the columns are {names}, but the model was fitted with {expected}: "
                "select these columns in this order"
            )
        if X.shape[1] != self.n_features_in_:
            raise InputError(
                f"X has {X.shape[1]} features, but {type(self).__name__} "
                f"expects {self.n_features_in_}"
            )
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
    def _column(cls, y: Any, rows: int, *, numbers: bool, first: bool) -> np.ndarray:
        """`y` as one column: a number or a label per row.

        After the first call a float64 array is passed on; the learner checks its numbers.
        """
        if cls._is_float64(y) and y.ndim == 1 and not first and len(y) == rows:
            return y
        if y is None:
            raise ValueError("requires y to be passed, but the target y is None")
        y = y.to_numpy() if hasattr(y, "to_numpy") else y
        if numbers:
            _tables.check_columns(y, "y")
            y = check_array(y, ensure_2d=False, dtype=np.float64, input_name="y")
        y = column_or_1d(y, warn=True)
        if len(y) != rows:
            raise ValueError(f"X has {rows} rows, but y has {len(y)}: give one target per row")
        return y

    def _weights(self, sample_weight: Any, y: np.ndarray, *, reset: bool) -> np.ndarray | None:
        if sample_weight is None:
            return None
        weight = _check_sample_weight(sample_weight, y, dtype=np.float64)
        if reset and not weight.any():
            raise InputError("every sample_weight is 0, so nothing can be learned")
        return weight

    def _shuffle_seed(self, reset: bool) -> int | None:
        """The seed of the order in which `fit` learns its rows; None for their own order."""
        given = self.shuffle if self.shuffle is None else check_flag("shuffle", self.shuffle)
        shuffles = self.drift != "adapt" if given is None else given
        return seed(self.random_state) if reset and shuffles else None

    @staticmethod
    def _order(shuffle: int | None, rows: int) -> np.ndarray | None:
        return None if shuffle is None else np.random.default_rng(shuffle).permutation(rows)

    def _warn(self) -> None:
        """Warns, once per fitted model, of rows that a single pass learns poorly."""
        learners = self.learners_
        if not self._warned_order and any(learner.is_sorted for learner in learners):
            self._warned_order = True
            warnings.warn(
                "the rows seem sorted by the target: one pass learns them poorly, and the "
                "progressive loss says nothing about new rows. Shuffle them, or call fit with "
                "shuffle=True",
                UserWarning,
                stacklevel=4,
            )
        mean = learners[0].mean_weight
        if mean is None or self._warned_weight or self.weights == "precision":
            return
        if not 0.1 <= mean <= 10.0:
            self._warned_weight = True
            warnings.warn(
                f"the mean of sample_weight is {mean:.3g}: a weight counts as that many rows, so "
                "standard errors depend on the scale of the weights. If only their ratios have a "
                'meaning, set weights="precision"',
                UserWarning,
                stacklevel=4,
            )

    _warned_order = False
    _warned_weight = False

    # -- learning ---------------------------------------------------------------------------------

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in super().__getstate__().items() if name != "_lock"}

    def _new_learner(self, rows: int | None, shuffle: int | None) -> Learner:
        """A learner of the estimator's method.

        `rows` is the number of rows to come, if known, and `shuffle` the seed of their order.
        """
        check_names(method=self.method, drift=self.drift, weights=self.weights)
        return model(
            self.method,
            self._family_name(),
            self.n_features_in_,
            intercept=check_flag("fit_intercept", self.fit_intercept),
            rows=rows,
            weights=self.weights,
            shuffle=shuffle,
            **{name: getattr(self, name) for name in METHOD_PARAMETERS},
        )

    def _family_name(self) -> str:
        return self._family

    def _remember(self) -> None:
        """Keeps what the learners were made with, and lets warnings show again."""
        self._made_with = {name: getattr(self, name) for name in MADE_WITH if hasattr(self, name)}
        self._warned_order = self._warned_weight = False

    # -- what was learned -------------------------------------------------------------------------

    @property
    def _learner(self) -> Learner:
        check_is_fitted(self, "learners_")
        return self.learners_[0]

    def _theta(self) -> np.ndarray:
        """Coefficients, one row per learner, the intercept first (0 if there is none)."""
        check_is_fitted(self, "learners_")
        theta = np.array([learner.theta for learner in self.learners_])
        if not self.learners_[0].intercept:
            theta = np.hstack([np.zeros((len(theta), 1)), theta])
        return theta

    def _per_learner(self, attribute: str) -> np.ndarray | None:
        """An attribute of the learners: of the only one, or stacked; None if they lack it."""
        check_is_fitted(self, "learners_")
        found = [getattr(learner, attribute) for learner in self.learners_]
        if found[0] is None:
            return None
        return found[0] if len(found) == 1 else np.array(found)

    @property
    def covariance_(self) -> np.ndarray | None:
        """Covariance of the coefficients, the intercept first if there is one.

        One matrix, or one per class if there are more than two. None for ``"asgd"``.
        """
        return self._per_learner("covariance")

    @property
    def std_err_(self) -> np.ndarray | None:
        """Standard errors of the coefficients, in the order of `covariance_`."""
        return self._per_learner("standard_errors")

    @property
    def drifts_(self) -> bool:
        """Whether a drift is tracked, in any class.

        If so, the coefficients describe the most recent rows and not all of them.
        """
        check_is_fitted(self, "learners_")
        return any(learner.drift == "followed" for learner in self.learners_)

    @property
    def n_samples_seen_(self) -> int:
        """Number of rows learned."""
        return self._learner.count

    @property
    def n_iter_(self) -> int:
        """Number of passes over the rows, always 1."""
        check_is_fitted(self, "learners_")
        return 1

    @property
    def progressive_(self) -> dict[str, Any]:
        """Metrics of the predictions made before each row was learned.

        Losses, the share of targets in their 95 % interval (``"coverage"``), the same for the
        last half of the rows with Pearson's dispersion (``"last_half"``), and for labels also the
        calibration. They need no held-out rows, because no prediction has seen its own row. After
        a `fit` that shuffled the rows, they estimate how well new rows are predicted.

        ``"constant_loss"`` is that of the mean of the rows before. The first row, whose size
        nobody can know, is left out of both, except for labels.
        """
        return self._learner.progressive

    @property
    def progressive_loss_(self) -> float:
        """Mean loss of the predictions made before each row was learned.

        The loss is half the deviance, which is the log-loss for labels.
        """
        return self.progressive_["loss"]

    def _feature_names(self) -> list[str]:
        schema = getattr(self, "schema_", None)
        if schema is not None and not schema.is_numeric:
            return schema.features
        names = getattr(self, "feature_names_in_", None)
        if names is None:
            return [f"x{j}" for j in range(self.n_features_in_)]
        return [str(name) for name in names]

    def summary(self, level: float = 0.95) -> Summary:
        """The table of coefficients with standard errors and intervals.

        It prints as text and shows as a table in a notebook.

        Parameters
        ----------
        level : float
            Probability of the intervals, strictly between 0 and 1.

        Returns
        -------
        Summary
        """
        check_is_fitted(self, "learners_")
        return Summary.of(self, level)

    # -- files and pictures -----------------------------------------------------------------------

    def save(self, path) -> None:
        """Writes the model to a file that `kalmia.load` and the command ``kalmia`` can read.

        Parameters
        ----------
        path : path-like
            The file. An existing one is replaced in one step: if writing fails, it is unchanged.
        """
        check_is_fitted(self, "learners_")
        _files.save(self, path)

    def plot_coefficients(self, ax=None, level: float = 0.95, *, units=None, X=None):
        """Draws the coefficients with their intervals, without the intercept.

        Parameters
        ----------
        ax : matplotlib.axes.Axes, optional
            Axes to draw on; a new figure by default.
        level : float
            Probability of the intervals.
        units : {"z", "sd", "raw"}, optional
            ``"z"``: coefficient over standard error, which shows how sure its sign is.
            ``"sd"``: coefficient times the standard deviation of the feature, which shows how much
            the feature matters; needs `X`. ``"raw"``: target per unit of feature, which compares
            only features of one scale. The default is ``"sd"`` if `X` is given, else ``"z"``
            (``"raw"`` for methods without standard errors).
        X : matrix of shape (n, features), optional
            Rows that show the standard deviation of each feature, such as those of `fit`.

        Returns
        -------
        matplotlib.axes.Axes
        """
        check_is_fitted(self, "learners_")
        return _plots.coefficients(self, ax, level, units, X)

    def plot_progressive_loss(self, ax=None):
        """Draws the mean loss of the predictions so far against the rows learned.

        Parameters
        ----------
        ax : matplotlib.axes.Axes, optional
            Axes to draw on; a new figure by default.

        Returns
        -------
        matplotlib.axes.Axes
        """
        check_is_fitted(self, "learners_")
        return _plots.progressive_loss(self, ax)

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags
