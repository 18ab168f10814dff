"""What regressors predict of a target: its mean, intervals, quantiles, probabilities and draws."""

from __future__ import annotations

from typing import Any, Literal, overload

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.validation import check_is_fitted

from . import _each_learner
from ._base import Estimator
from ._parameters import draw_seed
from .errors import InputError


class Predictions(Estimator):
    """The part of a regressor that predicts."""

    #: Whether only levels of the target are learned, and no law of it.
    _one_level = False

    @overload
    def predict(
        self, X: Any, return_std: Literal[False] = False, offset: ArrayLike | None = None
    ) -> NDArray[np.float64]: ...
    @overload
    def predict(
        self, X: Any, return_std: Literal[True], offset: ArrayLike | None = None
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]: ...
    def predict(self, X: Any, return_std: bool = False, offset: ArrayLike | None = None) -> Any:
        """Predicts the mean of the target; for `QuantileRegression` the quantile or quantiles.

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
            For several quantiles of shape (n, levels), in ascending order.
        std : ndarray of shape (n,)
            Only with `return_std`.
        """
        check_is_fitted(self, "learners_")
        if return_std:
            self._check_law("return_std")
        rows = self._rows(X, offset)
        if not return_std:
            return rows.spread(self._ordered(_each_learner.means(rows)))
        (learner,) = rows.learners
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
            Lower and upper ends; for several quantiles of shape (n, levels, 2).
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
        found = _each_learner.intervals(rows, level, of_mean or self._one_level)
        # of several levels both ends are sorted, as predictions are
        return rows.spread(found[0] if len(found) == 1 else np.sort(np.stack(found, 1), axis=1))

    def predict_quantiles(
        self, X: Any, q: ArrayLike, offset: ArrayLike | None = None
    ) -> NDArray[np.float64]:
        """Predicts quantiles of the target, noise and uncertainty included.

        `QuantileRegression` refuses: give it the levels as `quantile`.

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
            For several quantiles of shape (n, n_rows, levels), in ascending order.
        """
        check_is_fitted(self, "learners_")
        if not of_mean:
            self._check_law("sample_predictions without of_mean=True")
        rows = self._rows(X, offset)
        found = _each_learner.draws(rows, n, draw_seed(random_state), of_mean)
        if len(found) == 1:
            return rows.spread(found[0].T).T
        levels = np.sort(np.stack(found, axis=2), axis=2)
        return rows.spread(levels.swapaxes(0, 1)).swapaxes(0, 1)

    @staticmethod
    def _ordered(results: list[Any]) -> Any:
        """One prediction per row, or those of several levels in ascending order."""
        return results[0] if len(results) == 1 else np.sort(np.column_stack(results), axis=1)

    def _check_law(self, what: str) -> None:
        """Refuses what needs a law of the target, if only levels of it are learned."""
        if self._one_level:
            learned = "one quantile" if len(self.learners_) == 1 else "some quantiles"
            raise InputError(
                f"{what}: {type(self).__name__} learns {learned} and no law of the target. Use "
                "predict_interval for the interval of the quantile, and several quantiles, such "
                "as quantile=[0.05, 0.95], for the target"
            )
