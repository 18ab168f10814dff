"""The base of the regressors, which predict one number per row."""

from __future__ import annotations

import math
from functools import update_wrapper
from types import FunctionType
from typing import Any, Literal, Self, cast, overload

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import RegressorMixin
from sklearn.metrics import d2_pinball_score, d2_tweedie_score, r2_score
from sklearn.utils.validation import check_is_fitted

from ._base import Estimator
from ._calls import LearningCall
from ._data import Rows
from ._parameters import check_numbers, draw_seed
from .errors import InputError


def own_method(cls: type, method: FunctionType) -> FunctionType:
    """A copy of a method that is named after another class."""
    own = FunctionType(
        method.__code__,
        method.__globals__,
        method.__name__,
        method.__defaults__,
        method.__closure__,
    )
    update_wrapper(own, method)
    own.__kwdefaults__ = method.__kwdefaults__
    own.__qualname__ = f"{cls.__name__}.{method.__name__}"
    del own.__wrapped__
    return own


class Regression(RegressorMixin, Estimator):
    """Base of the regressors, which predict one number per row."""

    #: Power of the Tweedie deviance in `score`; None for the coefficient of determination.
    _power: int | None = None

    #: Whether only one level of the target is learned, and no law of it.
    _one_level = False

    def __init_subclass__(cls, **kwargs: Any) -> None:
        # errors of Python name the class that was called, not this one
        for name, method in vars(Regression).items():
            own = name in vars(cls) or name.startswith("_")
            if isinstance(method, FunctionType) and not own:
                setattr(cls, name, own_method(cls, method))
        super().__init_subclass__(**kwargs)

    def fit(
        self,
        X: Any,
        y: Any,
        sample_weight: ArrayLike | None = None,
        offset: ArrayLike | None = None,
    ) -> Self:
        """Learns the rows in one pass and in random order, after forgetting earlier rows.

        With ``shuffle=False`` it takes them in their own order, and rows that are sorted by
        target make a poor model.

        Parameters
        ----------
        X : matrix of shape (n, features)
            numpy, pandas, polars, any Arrow stream, or scipy.sparse. A wide model learns sparse
            rows as they are, with repeated entries summed; the others make them dense block by
            block.
        y : array_like of shape (n,)
            Targets.
        sample_weight : array_like of shape (n,), optional
            By default the number of rows that each row stands for: weights that sum to 1 count as
            a single row, and intervals become wide. See the parameter `weights`.
        offset : float or array_like of shape (n,), optional
            Added to the linear predictor of each row, such as the log of an exposure.

        Returns
        -------
        self
        """
        self._learn(X, y, sample_weight, offset, reset=True)
        return self

    def partial_fit(
        self,
        X: Any,
        y: Any,
        sample_weight: ArrayLike | None = None,
        offset: ArrayLike | None = None,
    ) -> Self:
        """Learns more rows; the arguments are those of `fit`.

        Rows are learned in their order. The result is that of one `fit` on all rows with
        ``shuffle=False``. If a row is refused, the model is unchanged.

        Returns
        -------
        self
        """
        self._learn(X, y, sample_weight, offset, reset=False)
        return self

    def partial_fit_predict(
        self,
        X: Any,
        y: Any,
        sample_weight: ArrayLike | None = None,
        offset: ArrayLike | None = None,
    ) -> NDArray[np.float64]:
        """Calls `partial_fit` and returns the prediction made for each row before it was learned.

        In the first 128 rows of ``"auto"`` it may differ from `predict`, because the scale of the
        features is still being learned and includes the row's own features (never its target).

        Returns
        -------
        ndarray of shape (n,)

        Examples
        --------
        >>> from kalmia import LinearRegression
        >>> model = LinearRegression()
        >>> model.partial_fit_predict([[0.0], [1.0]], [1.0, 3.0]).shape
        (2,)
        """
        found = self._learn(X, y, sample_weight, offset, reset=False, means=True)
        return cast("NDArray[np.float64]", found)

    def _learn(
        self,
        X: Any,
        y: Any,
        sample_weight: Any,
        offset: Any,
        *,
        reset: bool,
        means: bool = False,
    ) -> np.ndarray | None:
        with LearningCall(self, reset) as first:
            streamed = self._may_stream(y, reset)
            rows = self._rows(X, offset, reset=first, learn=True, streamed=streamed)
            y = self._column(y, rows.given, numbers=True, first=first)
            weight = self._weights(sample_weight, y, reset=reset)
            shuffle = self._shuffle_seed(reset, rows)
            if first:
                known = rows.given if reset else None
                learner = self._new_learner(rows, known, shuffle)
            else:
                (learner,) = self._widened(self.learners_, rows, copied=False)
            # a refused first call discards the learner, so it needs no copy to return to
            y = rows.pick(y)
            (result,) = self._learn_rows(
                [learner],
                [y],
                rows,
                rows.pick(weight),
                means=means,
                undo=not first,
                order=self._order(shuffle, len(y)),
                whole=reset,
            )
            self._adopt([learner], rows, first)
        return rows.spread(result) if means else None

    def _polish_targets(
        self, y: Any, rows: Rows, sample_weight: Any
    ) -> tuple[list[np.ndarray], np.ndarray | None]:
        """The targets of each learner, and the weights."""
        y = self._column(y, rows.given, numbers=True)
        return [y], self._weights(sample_weight, y, reset=False)

    @overload
    def predict(
        self, X: Any, return_std: Literal[False] = False, offset: ArrayLike | None = None
    ) -> NDArray[np.float64]: ...
    @overload
    def predict(
        self, X: Any, return_std: Literal[True], offset: ArrayLike | None = None
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]: ...
    def predict(self, X: Any, return_std: bool = False, offset: ArrayLike | None = None) -> Any:
        """Predicts the mean of the target; for `QuantileRegression` the quantile.

        Parameters
        ----------
        X : matrix of shape (n, features)
            As in `fit`.
        return_std : bool
            Whether to return the standard deviation of the target too, noise included.
            `QuantileRegression` refuses it.
        offset : float or array_like of shape (n,), optional
            Added to the linear predictor of each row.

        Returns
        -------
        mean : ndarray of shape (n,)
        std : ndarray of shape (n,)
            Only with `return_std`.
        """
        check_is_fitted(self, "learners_")
        if return_std:
            self._check_law("return_std")
        rows = self._rows(X, offset)
        (learner,) = rows.learners
        if not return_std:
            return rows.spread(learner.predict_many(rows.X, rows.offset, unseen=rows.unseen))
        mean, std = learner.predict_std(rows.X, rows.offset, unseen=rows.unseen)
        return rows.spread(mean), rows.spread(std)

    def predict_interval(
        self,
        X: Any,
        level: float = 0.95,
        offset: ArrayLike | None = None,
        of_mean: bool = False,
        conformal: bool = False,
    ) -> NDArray[np.float64]:
        """Predicts the interval that holds the target with probability `level`.

        For `QuantileRegression` it is always the interval of the quantile.

        Parameters
        ----------
        X : matrix of shape (n, features)
            As in `fit`.
        level : float
            Probability of the interval, strictly between 0 and 1.
        offset : float or array_like of shape (n,), optional
            Added to the linear predictor of each row.
        of_mean : bool
            Whether to return the interval of the target's mean instead, without the noise.
            ``"ons"`` and ``"asgd"`` refuse it: they have no standard errors of coefficients.
        conformal : bool
            Whether to return the conformal interval of the target, which holds whatever the model;
            for estimators made with ``conformal=True``, and levels of at most 0.99.

        Returns
        -------
        ndarray of shape (n, 2)
            Lower and upper ends.
        """
        check_is_fitted(self, "learners_")
        if conformal and of_mean:
            raise InputError(
                "of_mean and conformal are both True: conformal intervals are those of targets, "
                "not of their means; give one of the two"
            )
        rows = self._rows(X, offset)
        if conformal:
            ends = rows.learners[0].predict_conformal(
                rows.X, level, rows.offset, unseen=rows.unseen
            )
            return rows.spread(np.column_stack(ends))
        ends = rows.learners[0].predict_interval(
            rows.X, level, rows.offset, of_mean or self._one_level, unseen=rows.unseen
        )
        return rows.spread(np.column_stack(ends))

    def predict_quantiles(
        self, X: Any, q: ArrayLike, offset: ArrayLike | None = None
    ) -> NDArray[np.float64]:
        """Predicts quantiles of the target, noise and uncertainty included.

        `QuantileRegression` refuses: fit one model per quantile.

        Parameters
        ----------
        X : matrix of shape (n, features)
            As in `fit`.
        q : float or array_like of shape (k,)
            Probabilities, strictly between 0 and 1.
        offset : float or array_like of shape (n,), optional
            Added to the linear predictor of each row.

        Returns
        -------
        ndarray of shape (n,) or (n, k)
            One column per probability; without columns if `q` is a number.

        Examples
        --------
        >>> from kalmia import LinearRegression
        >>> model = LinearRegression().fit([[0.0], [1.0], [2.0]], [1.0, 3.0, 5.2])
        >>> low, median = model.predict_quantiles([[1.5]], [0.1, 0.5])[0]
        >>> bool(low < median)
        True
        """
        check_is_fitted(self, "learners_")
        self._check_law("predict_quantiles")
        rows = self._rows(X, offset)
        found = rows.learners[0].predict_quantiles(
            rows.X, np.atleast_1d(q), rows.offset, unseen=rows.unseen
        )
        return rows.spread(found[:, 0] if np.ndim(q) == 0 else found)

    def predict_cdf(
        self, X: Any, y: ArrayLike, offset: ArrayLike | None = None
    ) -> NDArray[np.float64]:
        """Predicts the probability that the target is at most `y`.

        `QuantileRegression` refuses, because it learns one probability only.

        Parameters
        ----------
        X : matrix of shape (n, features)
            As in `fit`.
        y : float or array_like of shape (n,)
            One number, or one per row.
        offset : float or array_like of shape (n,), optional
            Added to the linear predictor of each row.

        Returns
        -------
        ndarray of shape (n,)
        """
        check_is_fitted(self, "learners_")
        self._check_law("predict_cdf")
        rows = self._rows(X, offset)
        given = self._column(np.full(rows.given, y) if np.ndim(y) == 0 else y, rows.given)
        return rows.spread(
            rows.learners[0].predict_cdf(rows.X, rows.pick(given), rows.offset, unseen=rows.unseen)
        )

    def sample_predictions(
        self,
        X: Any,
        n: int = 1,
        random_state: Any = None,
        offset: ArrayLike | None = None,
        of_mean: bool = False,
    ) -> NDArray[Any]:
        """Draws targets of rows from what is known of them.

        Each draw has its own coefficients, which its rows share.

        Parameters
        ----------
        X : matrix of shape (n_rows, features)
            As in `fit`.
        n : int
            Number of draws.
        random_state : int, optional
            Seed; a new one each time by default.
        offset : float or array_like of shape (n_rows,), optional
            Added to the linear predictor of each row.
        of_mean : bool
            Whether to draw the means of the targets instead, without the noise. For Thompson
            sampling: the row with the largest mean in one draw is the one to try.
            `QuantileRegression` draws its quantile so, and refuses to draw targets.

        Returns
        -------
        ndarray of shape (n, n_rows)
        """
        check_is_fitted(self, "learners_")
        if not of_mean:
            self._check_law("sample_predictions without of_mean=True")
        rows = self._rows(X, offset)
        found = rows.learners[0].sample_predictions(
            rows.X, n, draw_seed(random_state), rows.offset, of_mean, unseen=rows.unseen
        )
        return rows.spread(found.T).T

    def score(
        self,
        X: Any,
        y: Any,
        sample_weight: ArrayLike | None = None,
        offset: ArrayLike | None = None,
    ) -> float:
        """The share of the deviance explained, which is R2 for `LinearRegression`.

        It is that of the Poisson deviance for both families of counts, of the pinball loss for
        `QuantileRegression`, and of the absolute error for `StudentRegression`.

        Parameters
        ----------
        X : matrix of shape (n, features)
            As in `fit`.
        y : array_like of shape (n,)
            Targets.
        sample_weight : array_like of shape (n,), optional
            Weights of the rows.
        offset : float or array_like of shape (n,), optional
            Added to the linear predictor of each row. In cross-validation, request it with
            ``set_score_request(offset=True)``.

        Returns
        -------
        float
        """
        mean = self.predict(X, offset=offset)
        level = self._score_level()
        if level is not None:
            return float(d2_pinball_score(y, mean, sample_weight=sample_weight, alpha=level))
        if self._power is None:
            return float(r2_score(y, mean, sample_weight=sample_weight))
        return float(d2_tweedie_score(y, mean, sample_weight=sample_weight, power=self._power))

    def _family_with(self, parameter: str) -> str:
        """The family's name with the value of its parameter, such as ``gaussian:0.5``."""
        value = getattr(self, parameter)
        if value is None:
            return self._family
        if self.method in ("auto", "wide"):
            raise InputError(
                f"method {self.method!r} takes no {parameter}, because it learns it: leave it out, "
                'or use another method, such as "ekf"'
            )
        try:
            number = float(value)
        except (TypeError, ValueError):
            number = math.nan
        if not 0.0 < number < math.inf:
            raise InputError(f"{parameter} is {value!r}: it must be a finite number above 0")
        return f"{self._family}:{number!r}"

    def _family_within(self, parameter: str, least: float, most: float) -> str:
        """The family's name with the value of a parameter that is not learned."""
        value = getattr(self, parameter)
        check_numbers({parameter: value})
        if value is None or not least <= value <= most:
            raise InputError(f"{parameter} is {value!r}: it must lie between {least} and {most}")
        return f"{self._family}:{float(value)!r}"

    def _score_level(self) -> float | None:
        """The level of the pinball loss in `score`; None for a deviance."""
        return None

    def _check_law(self, what: str) -> None:
        """Refuses what needs a law of the target, if only one level of it is learned."""
        if self._one_level:
            raise InputError(
                f"{what}: {type(self).__name__} learns one quantile and no law of the target. Use "
                "predict_interval for the interval of the quantile, and one model per quantile for "
                "the target"
            )

    @property
    def coef_(self) -> np.ndarray:
        """Coefficients of the features."""
        return self._theta()[0, 1:]

    @property
    def intercept_(self) -> float:
        """The intercept, 0 if there is none."""
        return float(self._theta()[0, 0])

    @property
    def dispersion_(self) -> float | None:
        """The dispersion: the noise variance, that of the Gamma family, or that of counts.

        ``"auto"`` learns it; the other methods use the constructor's value, and None for Poisson
        counts, whose variance they take to be that of the family. For the negative binomial family
        it is ``alpha``, for `StudentRegression` the scale of the noise (a length, not a variance),
        and for `QuantileRegression` the mean pinball loss.
        """
        return self._learner.dispersion

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.positive_only = self._power is not None
        return tags
