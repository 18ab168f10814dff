"""What all estimators share: parameters, the conversion of tables, learning, and what was learned."""

from __future__ import annotations

from threading import RLock
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils import check_array
from sklearn.utils.validation import _check_sample_weight, check_is_fitted, column_or_1d, validate_data

from . import _data, _files, _plots
from ._kalmia import Learner, model
from ._summary import Summary
from .errors import InputError

#: The part of the docstring that describes the parameters of every estimator.
PARAMETERS = """Parameters
    ----------
    method : {"auto", "ekf", "truncated", "implicit", "moment", "ons", "asgd"}
        The algorithm. ``"auto"`` needs nothing else and takes features of any scale; the others are the paper's, whose
        features should be of the order of 1.
    prior_variance : float, optional
        Variance of each coefficient before the first row, for the filters (``"ekf"``, ``"truncated"``, ``"implicit"``,
        ``"moment"``); 1 by default.
    fit_intercept : bool
        Whether to learn a constant.
    drift : {"detect", "off", "adapt"}
        Whether the coefficients may move with time, for ``"auto"``: static until it is beyond doubt that they do and then
        followed (`drifts_` and `summary` tell), static, or followed from the start. The other methods are static.
    scale, beta : float
        The floor under the curvature, ``scale * t ** -beta``; ``"truncated"`` only.
    radius, exp_concavity, gradient_bound : float, optional
        The ball and the constants of ``"ons"``; the radius must be given.
    horizon : int, optional
        Number of rows to come, for ``"asgd"``; `fit` takes the rows that it is given.
    step : float, optional
        Step of ``"asgd"``; by default ``horizon ** -0.5``.
"""


class Learning:
    """A call that learns: others wait for its end, and where a first one is refused the estimator's attributes are put back.

    Written out, as a row a call would feel a generator's cost.
    """

    def __init__(self, estimator: Estimator, reset: bool):
        self._attributes, self._reset = vars(estimator), reset

    def __enter__(self) -> bool:
        """Whether this is a first call; later ones change no attribute before they succeed."""
        self._lock = self._attributes.setdefault("_lock", RLock())
        self._lock.acquire()
        first = self._reset or "learners_" not in self._attributes
        self._before = dict(self._attributes) if first else None
        return first

    def __exit__(self, kind: type[BaseException] | None, *_: Any) -> None:
        if kind is not None and self._before is not None:
            for name in self._attributes.keys() - self._before.keys():
                del self._attributes[name]
            self._attributes.update(self._before)
        self._lock.release()


class Estimator(BaseEstimator):
    """Base of the estimators; a single learner unless a subclass keeps one a class."""

    _family = "gaussian"

    def __init__(
        self,
        method="auto",
        *,
        prior_variance=None,
        fit_intercept=True,
        drift="detect",
        scale=1.0,
        beta=0.49,
        radius=None,
        exp_concavity=None,
        gradient_bound=None,
        horizon=None,
        step=None,
    ):
        self._keep(locals())

    def _keep(self, given: dict[str, Any]) -> None:
        """Keeps a constructor's parameters as they were given; scikit-learn wants each class to name its own."""
        for name in self._get_param_names():
            setattr(self, name, given[name])

    # -- tables ---------------------------------------------------------------------------------------------------------

    def _rows(self, X: Any, offset: Any = None, *, reset: bool = False) -> _data.Rows:
        """The rows of `X` as numbers with their offsets, its columns checked against earlier ones."""
        if reset:
            self.__dict__.pop("schema_", None)
        schema = getattr(self, "schema_", None)
        if schema is not None and not schema.is_numeric:
            return _files.encode(schema, X, offset)
        names = None
        if _data.is_arrow(X):
            names = _data.names(X)
            X = _data.matrix(X)
        if schema is not None and schema.offset is not None:
            X, names, found = self._without(X, names, schema.offset)
            offset = found if offset is None else offset
            if offset is None:
                raise InputError(_files.no_offset(schema.offset))
        X = self._table(X, names, reset)
        rows = X.shape[0]
        return _data.Rows(X, _data.offsets(offset, rows), rows)

    @staticmethod
    def _without(X: Any, names: list[str] | None, name: str) -> tuple[Any, list[str] | None, Any]:
        """The table without a column, and that column where it is there."""
        if names is not None and name in names:
            j = names.index(name)
            return np.delete(X, j, axis=1), names[:j] + names[j + 1 :], X[:, j]
        if hasattr(X, "iloc") and name in getattr(X, "columns", ()):
            return X.drop(columns=name), names, X[name].to_numpy(dtype=np.float64)
        return X, names, None

    def _table(self, X: Any, names: list[str] | None, reset: bool) -> Any:
        """`X` as an array of float64 or a sparse matrix in rows; `names` are those of an Arrow stream."""
        if _data.is_sparse(X):
            _data.check_sparse(X)
        if not reset and self._is_plain(X):
            return X
        if names is None:
            _data.check_times(X)
            # the learner looks at every number of such an array itself
            finite = not self._is_array(X)
            return validate_data(self, X, accept_sparse="csr", dtype=np.float64, reset=reset, ensure_all_finite=finite)
        X = validate_data(self, X, dtype=np.float64, reset=reset, skip_check_array=False, ensure_min_samples=1) if reset else X
        if reset:
            self.feature_names_in_ = np.array(names, dtype=object)
        elif list(getattr(self, "feature_names_in_", names)) != names:
            raise InputError(f"the columns are {names}, but the model was fitted with {list(self.feature_names_in_)}")
        elif X.shape[1] != self.n_features_in_:
            raise InputError(f"X has {X.shape[1]} features, but {type(self).__name__} expects {self.n_features_in_}")
        return X

    def _is_plain(self, X: Any) -> bool:
        """Whether `X` needs no conversion and no look at its columns' names; the learner checks the numbers themselves."""
        fits = self._is_array(X) and X.ndim == 2 and X.shape[1] == self.n_features_in_
        return fits and len(X) > 0 and not hasattr(self, "feature_names_in_")

    @staticmethod
    def _is_array(values: Any) -> bool:
        """Whether these are numbers as the learner takes them."""
        return type(values) is np.ndarray and values.dtype == np.float64

    @classmethod
    def _column(cls, y: Any, rows: int, *, numbers: bool, first: bool) -> np.ndarray:
        """`y` as one column with a number, or a label, for each row; after the first call the learner checks plain numbers itself."""
        if cls._is_array(y) and y.ndim == 1 and not first and len(y) == rows:
            return y
        if y is None:
            raise ValueError("requires y to be passed, but the target y is None")
        y = y.to_numpy() if hasattr(y, "to_numpy") else y
        if numbers:
            _data.check_times(y, "y")
            y = check_array(y, ensure_2d=False, dtype=np.float64, input_name="y")
        y = column_or_1d(y, warn=True)
        if len(y) != rows:
            raise ValueError(f"X has {rows} rows, but y has {len(y)}")
        return y

    def _weights(self, sample_weight: Any, y: np.ndarray) -> np.ndarray | None:
        return None if sample_weight is None else _check_sample_weight(sample_weight, y, dtype=np.float64)

    # -- learning -------------------------------------------------------------------------------------------------------

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in super().__getstate__().items() if name != "_lock"}

    def _new_learner(self, rows: int | None = None) -> Learner:
        horizon = self.horizon if self.horizon is not None else rows
        return model(
            self.method,
            self._family_name(),
            self.n_features_in_,
            intercept=bool(self.fit_intercept),
            prior_variance=self.prior_variance,
            scale=self.scale,
            beta=self.beta,
            radius=self.radius,
            exp_concavity=self.exp_concavity,
            gradient_bound=self.gradient_bound,
            horizon=horizon if self.method == "asgd" else None,
            step=self.step,
            drift=self.drift,
        )

    def _family_name(self) -> str:
        return self._family

    # -- what was learned -----------------------------------------------------------------------------------------------

    @property
    def _learner(self) -> Learner:
        check_is_fitted(self, "learners_")
        return self.learners_[0]

    def _theta(self) -> np.ndarray:
        """Coefficients, a row for each learner, the constant's first (0 without one)."""
        check_is_fitted(self, "learners_")
        theta = np.array([learner.theta for learner in self.learners_])
        if not self.learners_[0].intercept:
            theta = np.hstack([np.zeros((len(theta), 1)), theta])
        return theta

    @property
    def covariance_(self) -> np.ndarray | None:
        """Covariance of the coefficients, the constant first where there is one; a stack for several classes."""
        check_is_fitted(self, "learners_")
        found = [learner.covariance for learner in self.learners_]
        if found[0] is None:
            return None
        return found[0] if len(found) == 1 else np.array(found)

    @property
    def std_err_(self) -> np.ndarray | None:
        """Standard errors of the coefficients, in the order of `covariance_`."""
        check_is_fitted(self, "learners_")
        found = [learner.standard_errors for learner in self.learners_]
        if found[0] is None:
            return None
        return found[0] if len(found) == 1 else np.array(found)

    @property
    def drifts_(self) -> bool:
        """Whether the coefficients, of any class, follow a drift: they then are those of the last rows, not of all."""
        check_is_fitted(self, "learners_")
        return any(learner.drift == "followed" for learner in self.learners_)

    @property
    def n_samples_seen_(self) -> int:
        """Rows learned."""
        return self._learner.count

    @property
    def n_iter_(self) -> int:
        """Passes over the rows, which is always 1."""
        check_is_fitted(self, "learners_")
        return 1

    @property
    def progressive_(self) -> dict[str, Any]:
        """How good the predictions made before each row was learned were: losses, and for labels also the calibration."""
        return self._learner.progressive

    @property
    def progressive_loss_(self) -> float:
        """Mean loss of the predictions made before each row was learned, half the deviance (log-loss for labels)."""
        return self.progressive_["loss"]

    def _feature_names(self) -> list[str]:
        schema = getattr(self, "schema_", None)
        if schema is not None and not schema.is_numeric:
            return schema.features
        names = getattr(self, "feature_names_in_", None)
        return [f"x{j}" for j in range(self.n_features_in_)] if names is None else [str(name) for name in names]

    def summary(self, level: float = 0.95) -> Summary:
        """The table of coefficients; printed as text, shown as a table in a notebook.

        Parameters
        ----------
        level : float
            Probability of the coefficients' intervals.

        Returns
        -------
        Summary
        """
        check_is_fitted(self, "learners_")
        return Summary.of(self, level)

    # -- files and pictures ---------------------------------------------------------------------------------------------

    def save(self, path) -> None:
        """Writes the model to a file, which `kalmia.load` and the command ``kalmia`` read.

        Parameters
        ----------
        path : path-like
            Where to; a file that is there is replaced at once or not at all.
        """
        check_is_fitted(self, "learners_")
        _files.save(self, path)

    def plot_coefficients(self, ax=None, level: float = 0.95):
        """Coefficients with their intervals, the constant left out.

        Parameters
        ----------
        ax : matplotlib.axes.Axes, optional
            Where to draw.
        level : float
            Probability of the intervals.

        Returns
        -------
        matplotlib.axes.Axes
        """
        check_is_fitted(self, "learners_")
        return _plots.coefficients(self, ax, level)

    def plot_progressive_loss(self, ax=None):
        """The mean loss of the predictions so far, against the rows learned.

        Parameters
        ----------
        ax : matplotlib.axes.Axes, optional
            Where to draw.

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
