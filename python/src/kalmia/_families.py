"""Regressors of counts that vary much, and of numbers with outliers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.metrics import d2_absolute_error_score

from ._parameters import PARAMETERS, DriftName, MethodName, OutlierName, ScaleName, WeightName
from ._regression import Regression

#: What the methods that learn no scale assume.
FIXED_SCALE = """The methods other than ``"auto"`` and ``"wide"`` take the
    scale of the noise as 1: divide the targets by about their spread before using them."""


class NegativeBinomialRegression(Regression):
    __doc__ = f"""Negative binomial regression of counts, learned in one pass.

    For counts that vary more than Poisson counts: visits to a doctor, claims per customer, sales
    per day. The mean is ``mu = exp(linear predictor)`` and the variance ``mu + alpha * mu ** 2``;
    ``"auto"`` learns ``alpha``, which `dispersion_` holds. Targets must be whole numbers, 0 or
    more. For unequal exposures, give ``offset=log(exposure)``. `score` and the progressive loss use
    the Poisson deviance, so both families can be compared.

    {PARAMETERS}
    dispersion : float, optional
        The ``alpha`` of the variance, 1e-8 to 1e8; 1 by default. ``"auto"`` learns it and refuses a
        value.

    Examples
    --------
    >>> import numpy as np
    >>> from kalmia import NegativeBinomialRegression
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(2000, 1))
    >>> mean = np.exp(1.0 + 0.5 * X[:, 0])
    >>> model = NegativeBinomialRegression().fit(X, rng.poisson(mean * rng.gamma(2.0, 0.5, 2000)))
    >>> 0.4 < model.dispersion_ < 0.6  # 1 / 2
    True
    """

    _family = "negative-binomial"
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
        dispersion: float | None = None,
    ) -> None:
        self._set_parameters(locals())

    def _family_name(self) -> str:
        return self._family_with("dispersion")


class StudentRegression(Regression):
    __doc__ = f"""Linear regression with Student's noise, which outliers do not move, in one pass.

    Use it in place of :class:`LinearRegression` if some targets are wrong or the noise has heavy
    tails. A target that is far from its prediction moves nothing, however far. With clean normal
    noise it costs about 5 % in precision. Wrong features are another matter: a row with a huge
    feature still has leverage. `score` and the progressive loss use the absolute error.
    {FIXED_SCALE}

    {PARAMETERS}
    degrees_of_freedom : float
        Of the noise, 2.1 to 100; 4 by default. A smaller number ignores outliers earlier.

    Examples
    --------
    >>> import numpy as np
    >>> from kalmia import LinearRegression, StudentRegression
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(500, 1))
    >>> y = 2.0 * X[:, 0] + rng.normal(size=500)
    >>> y[::20] = 1000.0
    >>> bool(abs(StudentRegression().fit(X, y).coef_[0] - 2.0) < 0.2)
    True
    >>> bool(abs(LinearRegression().fit(X, y).coef_[0] - 2.0) < 0.2)
    False
    """

    _family = "student"

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
        degrees_of_freedom: float = 4.0,
    ) -> None:
        self._set_parameters(locals())

    def _family_name(self) -> str:
        return self._family_within("degrees_of_freedom", 2.1, 100.0)

    def _explained(self, y: Any, predicted: np.ndarray, weight: Any) -> float:
        return float(d2_absolute_error_score(y, predicted, sample_weight=weight))
