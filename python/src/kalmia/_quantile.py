"""The regressor :class:`QuantileRegression`, for one level and for several."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.metrics import d2_pinball_score
from sklearn.utils.validation import check_is_fitted

from . import _quantiles
from ._data import Rows
from ._families import FIXED_SCALE
from ._kalmia import Learner
from ._parameters import PARAMETERS, DriftName, MethodName, OutlierName, ScaleName, WeightName
from ._regression import Regression


class QuantileRegression(Regression):
    __doc__ = f"""Quantile regression, learned in one pass.

    Predicts the level that the target stays below with a given probability: a stock that suffices
    in nine weeks of ten, a delivery time to promise, the median of prices. No law of the target is
    assumed, and outliers hardly matter. `score` and the progressive loss use the pinball loss, and
    ``progressive_["share_below"]`` is the share of targets that stayed below.

    `predict_interval` is the interval of the quantile, not of targets. For an interval of targets,
    learn two levels, such as ``quantile=[0.05, 0.95]``. Far quantiles need many rows: about
    ``10 / min(quantile, 1 - quantile)`` per feature. `polish` refuses, because the loss has no
    curvature. {FIXED_SCALE}

    With several levels, `predict` has a column per level in ascending order, and the predictions of
    a row never cross: they are sorted, which never raises the sum of their pinball losses. `coef_`,
    `intercept_`, `std_err_`, `covariance_` and `dispersion_` have a row per level, those of a model
    of that level alone, before sorting. Each level costs as much as such a model. Several levels
    are for ``method="auto"`` and dense rows, and cannot be merged.

    {PARAMETERS}
    quantile : float or list of float
        The probability of targets below the prediction, from 1e-6 to ``1 - 1e-6``; 0.5, the median,
        by default. Or 2 to 20 of them, in any order; `quantiles_` has them in that of the columns.

    Examples
    --------
    >>> import numpy as np
    >>> from kalmia import QuantileRegression
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(5000, 1))
    >>> y = X[:, 0] + rng.exponential(size=5000)
    >>> model = QuantileRegression(quantile=0.9).fit(X, y)
    >>> bool(0.88 < (y < model.predict(X)).mean() < 0.92)
    True
    >>> low, high = QuantileRegression(quantile=[0.05, 0.95]).fit(X, y).predict(X).T
    >>> bool(0.88 < ((low < y) & (y < high)).mean() < 0.92)
    True
    """

    _family = "quantile"
    _one_level = True

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
        quantile: float | Sequence[float] = 0.5,
    ) -> None:
        self._set_parameters(locals())

    def _family_name(self) -> str:
        return self._family_within("quantile", _quantiles.LEAST, _quantiles.MOST)

    def _new_learners(self, first: Rows, rows: int | None, shuffle: int | None) -> list[Learner]:
        levels = _quantiles.levels_of(self.quantile)
        if levels is None:
            return super()._new_learners(first, rows, shuffle)
        _quantiles.check_several(self, first)
        return [
            self._new_learner(first, rows, shuffle, len(levels), level=level) for level in levels
        ]

    def _judged(
        self, predicted: Any, y: Any, weight: Any, *, first: bool, **how: Any
    ) -> dict[str, Any]:
        if np.ndim(predicted) != 2:
            return {"_scores": None} if "_scores" in vars(self) else {}
        scores = _quantiles.new_scores(self) if first else self._scores.copy()
        scores.count(y, predicted, weight, **how)
        return {"_scores": scores}

    def _scored(self) -> list[Any]:
        return [self._scores] if len(self.learners_) > 1 else self.learners_

    def _explained(self, y: Any, predicted: np.ndarray, weight: Any) -> float:
        shares = [
            d2_pinball_score(y, one, sample_weight=weight, alpha=level)
            for one, level in zip(np.atleast_2d(predicted.T), self.quantiles_.tolist(), strict=True)
        ]
        return float(np.mean(shares))

    @property
    def quantiles_(self) -> np.ndarray:
        """The levels in ascending order, as in the columns of `predict`; one if `quantile` is."""
        check_is_fitted(self, "learners_")
        return _quantiles.levels(self.learners_)

    @property
    def progressive_(self) -> dict[str, Any]:
        """Metrics of the predictions made before each row was learned; see the base class.

        Of several levels, ``"loss"`` and ``"constant_loss"`` are means over the levels, and
        ``"levels"`` has a dictionary per level with its own and its ``"share_below"``.
        """
        check_is_fitted(self, "learners_")
        return self._scored()[0].progressive

    @property
    def coef_(self) -> np.ndarray:
        """Coefficients of the features; of several levels one row per level."""
        theta = self._theta()
        return theta[0, 1:] if len(theta) == 1 else theta[:, 1:]

    @property
    def intercept_(self) -> Any:
        """The intercept, 0 if there is none; of several levels one per level."""
        theta = self._theta()
        return float(theta[0, 0]) if len(theta) == 1 else theta[:, 0]

    @property
    def dispersion_(self) -> Any:
        """The mean pinball loss that the learner uses as scale; one per level if there are more."""
        return self._per_learner("dispersion")
