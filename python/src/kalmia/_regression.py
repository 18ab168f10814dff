"""The base of the regressors, which predict one number per row."""

from __future__ import annotations

import math
from typing import Any, Self, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import RegressorMixin
from sklearn.metrics import d2_tweedie_score, r2_score

from ._calls import LearningCall
from ._data import Rows
from ._kalmia import Learner
from ._own_methods import name_methods_after
from ._parameters import check_numbers
from ._regression_predictions import Predictions
from .errors import InputError


class Regression(RegressorMixin, Predictions):
    """Base of the regressors, which predict one number per row."""

    #: Power of the Tweedie deviance in `score`; None for the coefficient of determination.
    _power: int | None = None

    def __init_subclass__(cls, **kwargs: Any) -> None:
        name_methods_after(cls, Predictions, Regression)
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
            rows = self._rows_to_learn(X, y, offset, first=first, whole=reset)
            y = self._column(y, rows.given, numbers=True, first=first)
            weight = rows.pick(self._weights(sample_weight, y, reset=reset))
            y = rows.pick(y)
            shuffle = self._shuffle_seed(reset, rows)
            if first:
                learners = self._new_learners(rows, rows.given if reset else None, shuffle)
            else:
                learners = self._known_learners(rows)
            order = self._order(shuffle, len(y))
            results = self._learn_rows(
                learners,
                [y] * len(learners),
                rows,
                weight,
                means=means or len(learners) > 1,
                first=first,
                order=order,
                whole=reset,
            )
            result = self._ordered(results)
            fitted = self._judged(result, y, weight, first=first, order=order, whole=reset)
            self._adopt(learners, rows, first, **fitted)
        return rows.spread(result) if means else None

    def _new_learners(self, first: Rows, rows: int | None, shuffle: int | None) -> list[Learner]:
        """The learners of a first call; one, unless several levels are learned."""
        return [self._new_learner(first, rows, shuffle)]

    def _judged(
        self, predicted: Any, y: Any, weight: Any, *, first: bool, **how: Any
    ) -> dict[str, Any]:
        """Attributes of scores that the learners do not keep themselves."""
        return {}

    def _polish_targets(
        self, y: Any, rows: Rows, sample_weight: Any
    ) -> tuple[list[np.ndarray], np.ndarray | None]:
        """The targets of each learner, and the weights."""
        y = self._column(y, rows.given, numbers=True)
        return [y], self._weights(sample_weight, y, reset=False)

    def score(
        self,
        X: Any,
        y: Any,
        sample_weight: ArrayLike | None = None,
        offset: ArrayLike | None = None,
    ) -> float:
        """The share of the loss that is explained, which is R2 for `LinearRegression`.

        The loss is the deviance, and for both families of counts that of Poisson. For
        `QuantileRegression` it is the pinball loss, with the mean of the shares of several levels,
        and for `StudentRegression` the absolute error.

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
        return self._explained(y, self.predict(X, offset=offset), sample_weight)

    def _explained(self, y: Any, predicted: np.ndarray, weight: Any) -> float:
        """The share of the deviance, or of the family's own loss, that predictions explain."""
        if self._power is None:
            return float(r2_score(y, predicted, sample_weight=weight))
        return float(d2_tweedie_score(y, predicted, sample_weight=weight, power=self._power))

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
