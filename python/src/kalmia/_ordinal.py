"""The classifier :class:`OrdinalRegression`, for levels that have an order."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NoReturn, Self, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import ClassifierMixin
from sklearn.metrics import accuracy_score
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted

from . import _plots
from ._base import Estimator
from ._calls import LearningCall
from ._data import Rows
from ._kalmia import ClassLearner
from ._labels import check_labels
from ._parameters import WeightName, check_names
from .errors import InputError


class OrdinalRegression(ClassifierMixin, Estimator):
    """Regression of ordered levels by proportional odds, learned in one pass.

    For ratings, grades and other levels that have an order. A level below the cutpoint ``c`` has
    the probability ``1 / (1 + exp(x @ coef_ - c))``, with one coefficient per feature and ascending
    `cutpoints_`, so a positive coefficient makes higher levels more likely. It has far fewer
    coefficients than :class:`LogisticRegression` of as many classes and learns faster, if each
    feature shifts all levels alike. Nothing is to be tuned, and features may have any scale. New
    levels are refused, because their place in the order would not be known. A drift is not looked
    for.

    Parameters
    ----------
    levels : array_like, optional
        All levels, the lowest first. By default the numbers in `y`, in ascending order, or the
        categories of a pandas series with ordered categories. Texts need it.
    shuffle : bool, optional
        Whether `fit` learns the rows in random order; it does by default.
    random_state : int, optional
        The seed of that order.
    weights : {"frequency", "precision"}
        What `sample_weight` means. ``"frequency"``, the default, counts a row so many times. With
        ``"precision"`` only the ratios of the weights matter: they are divided by their mean.

    Examples
    --------
    >>> import numpy as np
    >>> from kalmia import OrdinalRegression
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(2000, 2))
    >>> latent = X @ [1.0, -0.5] + rng.logistic(size=2000)
    >>> y = np.array(["low", "medium", "high"])[np.searchsorted([-1.0, 1.0], latent)]
    >>> model = OrdinalRegression(levels=["low", "medium", "high"]).fit(X, y)
    >>> bool(abs(model.coef_ - [1.0, -0.5]).max() < 0.2)
    True
    >>> bool(abs(model.cutpoints_ - [-1.0, 1.0]).max() < 0.2)
    True
    >>> model.predict([[3.0, 0.0]])
    array(['high'], dtype='<U6')
    """

    _family = "ordinal"
    # what the base reads of estimators with more parameters
    method = "auto"
    fit_intercept = True
    drift = None

    classes_: np.ndarray
    _codes: np.ndarray

    def __init__(
        self,
        levels: Sequence[Any] | NDArray[Any] | None = None,
        *,
        shuffle: bool | None = None,
        random_state: Any = None,
        weights: WeightName = "frequency",
    ) -> None:
        self._set_parameters(locals())

    def fit(self, X: Any, y: Any, sample_weight: ArrayLike | None = None) -> Self:
        """Learns the rows in one pass and in random order, after forgetting earlier rows.

        With ``shuffle=False`` it takes them in their own order, and rows that are sorted by level
        make a poor model.

        Parameters
        ----------
        X : matrix of shape (n, features)
            numpy, pandas, polars, any Arrow stream, or scipy.sparse, of which blocks are made
            dense.
        y : array_like of shape (n,)
            Levels: numbers, booleans or texts.
        sample_weight : array_like of shape (n,), optional
            The number of rows that each row stands for; see the parameter `weights`.

        Returns
        -------
        self
        """
        self._learn(X, y, sample_weight, None, reset=True)
        return self

    def partial_fit(
        self, X: Any, y: Any, classes: Any = None, sample_weight: ArrayLike | None = None
    ) -> Self:
        """Learns more rows, in their order.

        The result is that of one `fit` on all rows with ``shuffle=False``. If a row is refused,
        the model is unchanged.

        Parameters
        ----------
        X, y, sample_weight
            The arguments of `fit`.
        classes : array_like, optional
            All levels, the lowest first, if the parameter `levels` is not given. The first call
            needs one of the two if `y` does not have every level.

        Returns
        -------
        self
        """
        self._learn(X, y, sample_weight, classes, reset=False)
        return self

    def partial_fit_predict(
        self, X: Any, y: Any, classes: Any = None, sample_weight: ArrayLike | None = None
    ) -> NDArray[np.float64]:
        """Calls `partial_fit` and returns the probabilities predicted before each row was learned.

        Returns
        -------
        ndarray of shape (n, levels)
        """
        found = self._learn(X, y, sample_weight, classes, reset=False, means=True)
        return cast("NDArray[np.float64]", found)

    def _learn(
        self,
        X: Any,
        y: Any,
        sample_weight: Any,
        classes: Any,
        *,
        reset: bool,
        means: bool = False,
    ) -> np.ndarray | None:
        with LearningCall(self, reset) as first:
            check_names(weights=self.weights)
            categories = _ordered_categories(y)
            rows = self._rows_to_learn(X, y, None, first=first, whole=reset)
            if rows.numbers is not None:
                raise InputError(
                    "ordered levels take dense rows: use at most 2000 columns of a sparse matrix "
                    "or 5000 of a dense one, without text; LogisticRegression takes more"
                )
            y = self._column(y, rows.given, numbers=False, first=first)
            if first:
                known = _first_levels(y, self.levels, classes, categories)
            else:
                known = _same_levels(self.classes_, classes)
            target = cast("np.ndarray", rows.pick(_places(y, known)))
            weight = rows.pick(self._weights(sample_weight, y, reset=reset))
            shuffle = self._shuffle_seed(reset, rows)
            if first:
                features = rows.X.shape[1]
                learner = ClassLearner(
                    len(known), features, weights=self.weights, shuffle=shuffle, ordered=True
                )
                learners: list[Any] = [learner]
            else:
                learners = self._known_learners(rows)
            (found,) = self._learn_rows(
                learners,
                [target],
                rows,
                weight,
                means=means,
                first=first,
                order=self._order(shuffle, len(target)),
                whole=reset,
            )
            codes = np.arange(len(known))
            self._adopt(learners, rows, first, classes_=known, _codes=codes)
        return rows.spread(found) if means else None

    def _remember(self) -> None:
        super()._remember()
        self._made_with = {name: getattr(self, name) for name in ("levels", "weights")}

    # -- predictions ------------------------------------------------------------------------------

    def predict_proba(self, X: Any) -> NDArray[np.float64]:
        """Predicts the probability of each level, in the order of `classes_`.

        The uncertainty of coefficients and cutpoints is averaged over.

        Returns
        -------
        ndarray of shape (n, levels)
        """
        check_is_fitted(self, "learners_")
        rows = self._rows(X)
        return rows.spread(self._probabilities(rows))

    def predict_log_proba(self, X: Any) -> NDArray[np.float64]:
        """The logarithm of `predict_proba`.

        Returns
        -------
        ndarray of shape (n, levels)
        """
        return np.log(self.predict_proba(X))

    def predict(self, X: Any) -> NDArray[Any]:
        """Predicts the most probable level.

        Returns
        -------
        ndarray of shape (n,)
        """
        check_is_fitted(self, "learners_")
        rows = self._rows(X)
        return rows.spread(self.classes_[self._probabilities(rows).argmax(axis=1)])

    @staticmethod
    def _probabilities(rows: Rows) -> np.ndarray:
        found: np.ndarray = rows.learners[0].predict_many(rows.X, unseen=rows.unseen)
        return found

    def score(self, X: Any, y: Any, sample_weight: ArrayLike | None = None) -> float:
        """The share of the rows whose level is predicted.

        Parameters
        ----------
        X, y, sample_weight
            Rows, as in `fit`.

        Returns
        -------
        float
        """
        return float(accuracy_score(y, self.predict(X), sample_weight=sample_weight))

    # -- what was learned -------------------------------------------------------------------------

    @property
    def coef_(self) -> NDArray[np.float64]:
        """How much a unit of each feature raises the logarithm of the odds of a higher level."""
        return self._levels_learner.levels_estimate()[0]

    @property
    def cutpoints_(self) -> NDArray[np.float64]:
        """The cutpoints between neighboring levels, ascending, one less than there are levels."""
        return self._levels_learner.levels_estimate()[1]

    @property
    def covariance_(self) -> NDArray[np.float64]:
        """Covariance of the coefficients, then the cutpoints."""
        return self._levels_learner.levels_estimate()[2]

    @property
    def std_err_(self) -> NDArray[np.float64]:
        """Standard errors of the coefficients, then of the cutpoints."""
        return np.sqrt(np.diag(self.covariance_))

    @property
    def progressive_loss_(self) -> float:
        """Mean log-loss of the probabilities predicted before each row was learned."""
        return float(self._levels_learner.progressive["loss"])

    @property
    def _levels_learner(self) -> ClassLearner:
        check_is_fitted(self, "learners_")
        learners: list[Any] = self.learners_
        return cast("ClassLearner", learners[0])

    def plot_calibration(self, ax: Any = None) -> Any:
        """Draws the observed share of the likeliest level against its predicted probability.

        Probabilities are those predicted before each row was learned. On the diagonal the model is
        calibrated.

        Parameters
        ----------
        ax : matplotlib.axes.Axes, optional
            Axes to draw on; a new figure by default.

        Returns
        -------
        matplotlib.axes.Axes
        """
        check_is_fitted(self, "learners_")
        return _plots.calibration(self, ax)

    # -- what ordered levels do not have ----------------------------------------------------------

    def merge(self, other: Self) -> NoReturn:
        """Refuses: ordered levels cannot be merged; learn the rows of both by `partial_fit`."""
        raise InputError(
            "models of ordered levels cannot be merged: learn the rows of both by partial_fit"
        )

    def polish(self, X: Any = None, y: Any = None, **_: Any) -> NoReturn:
        """Refuses: ordered levels cannot be polished; one pass is close to the batch fit."""
        raise InputError("ordered levels cannot be polished: use the model as it is")

    def sample_coefficients(self, n: int = 1, random_state: Any = None) -> NoReturn:
        """Refuses: draw from a normal law with `coef_`, `cutpoints_` and `covariance_`."""
        raise InputError(
            "ordered levels draw no coefficients: use numpy's multivariate_normal with the mean "
            "(coef_, cutpoints_) and covariance_"
        )


def _ordered_categories(y: Any) -> Any:
    """The levels of a pandas series or array with ordered categories; None for other targets."""
    dtype = getattr(y, "dtype", None)
    return getattr(dtype, "categories", None) if getattr(dtype, "ordered", False) else None


def _first_levels(y: np.ndarray, given: Any, classes: Any, categories: Any) -> np.ndarray:
    """All levels in their order, on the first call."""
    if given is None:
        given = categories if classes is None else classes
    if given is not None:
        known = np.asarray(given).ravel()
        if len(known) < 2 or len(set(known.tolist())) != len(known):
            raise InputError(f"levels are {known.tolist()}: give two or more, each once")
        return known
    check_labels(y)
    check_classification_targets(y)
    if y.dtype.kind not in "biuf":
        found = sorted({str(one) for one in y.tolist()})[:5]
        raise InputError(
            f"y holds texts ({', '.join(found)}), whose order is not known: give all levels, the "
            "lowest first, as the parameter levels"
        )
    known = np.unique(y)
    if len(known) < 2:
        raise InputError(
            f"y holds only one class, {known.tolist()}: ordered levels need at least two; if "
            "others come later, give all of them as the parameter levels"
        )
    return known


def _same_levels(known: np.ndarray, classes: Any) -> np.ndarray:
    """The levels of the first call; refuses others."""
    if classes is not None and not np.array_equal(np.asarray(classes).ravel(), known):
        raise InputError(
            f"classes are {np.asarray(classes).tolist()}, but the first call had "
            f"{known.tolist()}: pass the same, or call fit to start again"
        )
    return known


def _places(y: np.ndarray, known: np.ndarray) -> np.ndarray:
    """The place of each level in their order.

    Examples
    --------
    >>> _places(np.array(["high", "low"]), np.array(["low", "medium", "high"]))
    array([2., 0.])
    """
    places = np.full(len(y), -1.0)
    for place, level in enumerate(known):
        places[y == level] = place
    if (places < 0).any():
        check_labels(y)
        row = int(np.argmax(places < 0))
        raise InputError(
            f"y holds the level {y[row : row + 1].tolist()[0]!r} in row {row}, which is not among "
            f"the levels {known.tolist()[:5]}: give all levels, the lowest first, and call fit "
            "again"
        )
    return places
