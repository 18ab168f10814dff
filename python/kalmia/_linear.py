"""Estimators of one target: :class:`LinearRegression`, :class:`PoissonRegression` and :class:`GammaRegression`."""

from __future__ import annotations

import numpy as np
from sklearn.base import RegressorMixin
from sklearn.metrics import d2_tweedie_score
from sklearn.utils.validation import check_is_fitted

from ._base import PARAMETERS, Estimator, Learning
from .errors import InputError


class Regression(RegressorMixin, Estimator):
    """Base of the estimators of one number."""

    #: Power of the deviance of `score`; None for the coefficient of determination.
    _power: int | None = None

    def fit(self, X, y, sample_weight=None, offset=None):
        """Learns the rows in order, from nothing.

        Parameters
        ----------
        X : matrix of shape (n, features)
            numpy, pandas, polars, any Arrow stream, or scipy.sparse (densified block by block).
        y : array_like of shape (n,)
            Targets.
        sample_weight : array_like of shape (n,), optional
            Multiplies the loss of each row.
        offset : float or array_like of shape (n,), optional
            Added to each row's linear predictor.

        Returns
        -------
        self
        """
        self._learn(X, y, sample_weight, offset, reset=True)
        return self

    def partial_fit(self, X, y, sample_weight=None, offset=None):
        """Learns more rows; the parameters are those of `fit`.

        Returns
        -------
        self
        """
        self._learn(X, y, sample_weight, offset, reset=False)
        return self

    def partial_fit_predict(self, X, y, sample_weight=None, offset=None):
        """As `partial_fit`, and gives back what was predicted for each row before it was learned.

        Returns
        -------
        ndarray of shape (n,)
        """
        return self._learn(X, y, sample_weight, offset, reset=False, means=True)

    def _learn(
        self, X, y, sample_weight, offset, *, reset: bool, means: bool = False
    ) -> np.ndarray | None:
        with Learning(self, reset) as first:
            rows = self._rows(X, offset, reset=first)
            y = self._column(y, rows.given, numbers=True, first=first)
            weight = self._weights(sample_weight, y)
            learner = (
                self._new_learner(rows.given if reset else None) if first else self.learners_[0]
            )
            result = learner.learn_many(
                rows.X, rows.pick(y), rows.pick(weight), rows.offset, means=means
            )
            if first:
                self.learners_ = [learner]
        return rows.spread(result) if means else None

    def predict(self, X, return_std=False, offset=None):
        """The expectation of the target.

        Parameters
        ----------
        X : matrix of shape (n, features)
            As in `fit`.
        return_std : bool
            Whether to give the standard deviation of the target as well, noise included.
        offset : float or array_like of shape (n,), optional
            Added to each row's linear predictor.

        Returns
        -------
        mean : ndarray of shape (n,)
        std : ndarray of shape (n,)
            Only with `return_std`.
        """
        check_is_fitted(self, "learners_")
        rows = self._rows(X, offset)
        if not return_std:
            return rows.spread(self._learner.predict_many(rows.X, rows.offset))
        mean, std = self._learner.predict_std(rows.X, rows.offset)
        return rows.spread(mean), rows.spread(std)

    def predict_interval(self, X, level=0.95, offset=None, of_mean=False):
        """The interval in which the target lies with probability `level`.

        Parameters
        ----------
        X : matrix of shape (n, features)
            As in `fit`.
        level : float
            Probability of the interval.
        offset : float or array_like of shape (n,), optional
            Added to each row's linear predictor.
        of_mean : bool
            Whether to give the interval of the target's mean instead, without the noise.

        Returns
        -------
        ndarray of shape (n, 2)
        """
        check_is_fitted(self, "learners_")
        rows = self._rows(X, offset)
        return rows.spread(
            np.column_stack(self._learner.predict_interval(rows.X, level, rows.offset, of_mean))
        )

    def score(self, X, y, sample_weight=None):
        """The share of the deviance explained: the coefficient of determination for `LinearRegression`.

        Returns
        -------
        float
        """
        if self._power is None:
            return super().score(X, y, sample_weight)
        return d2_tweedie_score(y, self.predict(X), sample_weight=sample_weight, power=self._power)

    def _with_number(self, parameter: str) -> str:
        """The family with its parameter; a number of numpy's would not be written as a number is."""
        value = getattr(self, parameter)
        try:
            return f"{self._family}:{float(value)!r}"
        except (TypeError, ValueError):
            raise InputError(f"{parameter} is {value!r}: it must be a number") from None

    @property
    def coef_(self) -> np.ndarray:
        """Coefficients of the features."""
        return self._theta()[0, 1:]

    @property
    def intercept_(self) -> float:
        """The constant, 0 without one."""
        return float(self._theta()[0, 0])

    @property
    def dispersion_(self) -> float | None:
        """The dispersion in use (the noise variance, or Gamma's), learned by ``"auto"``."""
        return self._learner.dispersion

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.target_tags.positive_only = self._power is not None
        return tags


class LinearRegression(Regression):
    __doc__ = f"""Linear regression, learned in one pass.

    With ``method="auto"`` the noise is learned and intervals are Student's; with ``"ekf"`` it is the Kalman filter, that is ridge
    regression with penalty ``noise_variance / prior_variance`` (on the constant too).

    {PARAMETERS}
    noise_variance : float
        Variance of the noise, for every method but ``"auto"``, which learns it.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from kalmia import LinearRegression
    >>> X, y = load_diabetes(return_X_y=True, scaled=False)
    >>> model = LinearRegression().fit(X, y)
    >>> mean, std = model.predict(X[:2], return_std=True)
    >>> bool(abs(mean - y[:2]).max() < 3 * std.max())
    True
    """

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
        noise_variance=1.0,
    ):
        self._keep(locals())

    def _family_name(self) -> str:
        return self._with_number("noise_variance")


class PoissonRegression(Regression):
    __doc__ = f"""Poisson regression of counts with mean ``exp(linear predictor)``, learned in one pass.

    {PARAMETERS}
    Examples
    --------
    >>> from kalmia import PoissonRegression
    >>> model = PoissonRegression().fit([[0.0], [1.0], [2.0], [3.0]], [1, 2, 4, 9])
    >>> model.predict_interval([[2.5]]).shape
    (1, 2)
    """

    _family = "poisson"
    _power = 1


class GammaRegression(Regression):
    __doc__ = f"""Gamma regression of positive amounts with mean ``exp(linear predictor)``, learned in one pass.

    {PARAMETERS}
    dispersion : float
        Dispersion, for every method but ``"auto"``, which learns it.

    Examples
    --------
    >>> from kalmia import GammaRegression
    >>> model = GammaRegression().fit([[0.0], [1.0], [2.0], [3.0]], [1.1, 2.3, 4.9, 8.8])
    >>> bool(model.coef_[0] > 0.0)
    True
    """

    _family = "gamma"
    _power = 2

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
        dispersion=1.0,
    ):
        self._keep(locals())

    def _family_name(self) -> str:
        return self._with_number("dispersion")
