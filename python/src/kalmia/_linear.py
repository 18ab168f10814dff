"""Regressors: :class:`LinearRegression`, :class:`PoissonRegression`, :class:`GammaRegression`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from numpy.typing import ArrayLike

from ._parameters import PARAMETERS, DriftName, MethodName, OutlierName, ScaleName, WeightName
from ._regression import Regression


class LinearRegression(Regression):
    __doc__ = f"""Linear regression, learned in one pass.

    ``method="auto"`` learns the noise variance and uses Student's t for intervals. ``"ekf"`` is
    the Kalman filter: ridge regression with the penalty ``noise_variance / prior_variance``, on
    the intercept too.

    {PARAMETERS}
    noise_variance : float, optional
        Variance of the noise; 1 by default. ``"auto"`` learns it and refuses a value.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from kalmia import LinearRegression
    >>> X, y = load_diabetes(return_X_y=True, scaled=False)
    >>> model = LinearRegression().fit(X, y)
    >>> mean, std = model.predict(X[:2], return_std=True)
    >>> bool((abs(mean - y[:2]) < 3 * std).all())
    True
    """

    _family = "gaussian"

    def __init__(
        self,
        method: MethodName = "auto",
        *,
        prior_variance: float | ArrayLike | None = None,
        prior_mean: ArrayLike | None = None,
        fit_intercept: bool = True,
        drift: DriftName | None = None,
        outliers: OutlierName | None = None,
        scale: float | ScaleName | None = None,
        beta: float | None = None,
        radius: float | None = None,
        exp_concavity: float | None = None,
        gradient_bound: float | None = None,
        lam: float | None = None,
        multiplier: float | None = None,
        diameter: bool = False,
        horizon: int | None = None,
        step: float | None = None,
        oracle: float | None = None,
        averaged: bool = False,
        certificate: bool = False,
        conformal: bool = False,
        shuffle: bool | None = None,
        random_state: Any = None,
        weights: WeightName = "frequency",
        text: str | Sequence[str] | None = None,
        analyzer: str = "words",
        hash_bits: int | None = None,
        noise_variance: float | None = None,
    ) -> None:
        self._set_parameters(locals())

    def _family_name(self) -> str:
        return self._family_with("noise_variance")


class PoissonRegression(Regression):
    __doc__ = f"""Poisson regression of counts or rates, learned in one pass.

    The mean is ``exp(linear predictor)``. Targets must be 0 or more. For counts of unequal
    exposure there are two ways with equal results: the counts as `y` with
    ``offset=log(exposure)``, or the rates ``counts / exposure`` as `y` with
    ``sample_weight=exposure``. Intervals of `predict_interval` are those of a count, of exposure
    1 unless an offset says otherwise. `summary` says if the counts vary more than the model
    assumes.

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

    def __init__(
        self,
        method: MethodName = "auto",
        *,
        prior_variance: float | ArrayLike | None = None,
        prior_mean: ArrayLike | None = None,
        fit_intercept: bool = True,
        drift: DriftName | None = None,
        outliers: OutlierName | None = None,
        scale: float | ScaleName | None = None,
        beta: float | None = None,
        radius: float | None = None,
        exp_concavity: float | None = None,
        gradient_bound: float | None = None,
        lam: float | None = None,
        multiplier: float | None = None,
        diameter: bool = False,
        horizon: int | None = None,
        step: float | None = None,
        oracle: float | None = None,
        averaged: bool = False,
        certificate: bool = False,
        conformal: bool = False,
        shuffle: bool | None = None,
        random_state: Any = None,
        weights: WeightName = "frequency",
        text: str | Sequence[str] | None = None,
        analyzer: str = "words",
        hash_bits: int | None = None,
    ) -> None:
        self._set_parameters(locals())


class GammaRegression(Regression):
    __doc__ = f"""Gamma regression of positive amounts, learned in one pass.

    The mean is ``exp(linear predictor)``. Targets must be above 0.

    {PARAMETERS}
    dispersion : float, optional
        Squared coefficient of variation of the target; 1 by default. ``"auto"`` learns it and
        refuses a value.

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
        method: MethodName = "auto",
        *,
        prior_variance: float | ArrayLike | None = None,
        prior_mean: ArrayLike | None = None,
        fit_intercept: bool = True,
        drift: DriftName | None = None,
        outliers: OutlierName | None = None,
        scale: float | ScaleName | None = None,
        beta: float | None = None,
        radius: float | None = None,
        exp_concavity: float | None = None,
        gradient_bound: float | None = None,
        lam: float | None = None,
        multiplier: float | None = None,
        diameter: bool = False,
        horizon: int | None = None,
        step: float | None = None,
        oracle: float | None = None,
        averaged: bool = False,
        certificate: bool = False,
        conformal: bool = False,
        shuffle: bool | None = None,
        random_state: Any = None,
        weights: WeightName = "frequency",
        text: str | Sequence[str] | None = None,
        analyzer: str = "words",
        hash_bits: int | None = None,
        dispersion: float | None = None,
    ) -> None:
        self._set_parameters(locals())

    def _family_name(self) -> str:
        return self._family_with("dispersion")
