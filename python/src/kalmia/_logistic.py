"""The classifier :class:`LogisticRegression`, for two classes and for more."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal, Self, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import ClassifierMixin
from sklearn.metrics import accuracy_score
from sklearn.utils.validation import check_is_fitted

from . import _classes, _plots
from ._calls import LearningCall
from ._data import Rows, class_probabilities
from ._labels import check_class_weight, class_masks, class_weights, known_classes
from ._logistic_predictions import ClassPredictions
from ._parameters import (
    PARAMETERS,
    DriftName,
    MethodName,
    OutlierName,
    ScaleName,
    WeightName,
    draw_seed,
)


class LogisticRegression(ClassifierMixin, ClassPredictions):
    __doc__ = f"""Logistic regression, learned in one pass.

    More than two classes are learned jointly by ``"auto"`` and ``"wide"``: the probabilities are
    those of a softmax, and the coefficients are log odds against the first class. The other methods
    and rows with offsets have one learner per class, which learns that class against the rest;
    their probabilities are renormalized to sum to 1.

    {PARAMETERS}
    class_weight : dict or "balanced", optional
        Weights of the rows by their label, multiplied with `sample_weight`. ``"balanced"`` gives
        each class the same total weight, and all together the weight of the rows; `fit` counts
        the labels, `partial_fit` cannot and refuses it. A label that the dictionary lacks has the
        weight 1. Probabilities are then those of a world with these shares of the classes, not
        of the one that the rows come from: for rare labels they are too high. Standard errors are
        those of rows with these weights; the intercept's mean little. To find rare labels,
        leave it out and lower the threshold instead.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from kalmia import LogisticRegression
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> model = LogisticRegression().fit(X, y)
    >>> model.score(X, y) > 0.97
    True
    >>> model.predict_proba(X[:3]).shape
    (3, 2)
    """

    _family = "bernoulli"
    # for estimators that were pickled before they had this parameter
    class_weight = None

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
        class_weight: dict[Any, float] | Literal["balanced"] | None = None,
    ) -> None:
        self._set_parameters(locals())

    def fit(
        self,
        X: Any,
        y: Any,
        sample_weight: ArrayLike | None = None,
        offset: ArrayLike | None = None,
    ) -> Self:
        """Learns the rows in one pass and in random order, after forgetting earlier rows.

        With ``shuffle=False`` it takes them in their own order, and rows that are sorted by label
        make a poor model.

        Parameters
        ----------
        X : matrix of shape (n, features)
            numpy, pandas, polars, any Arrow stream, or scipy.sparse. A wide model learns sparse
            rows as they are, with repeated entries summed; the others make them dense block by
            block.
        y : array_like of shape (n,)
            Labels of at least two classes: numbers, booleans or strings, not a mixture.
        sample_weight : array_like of shape (n,), optional
            By default the number of rows that each row stands for: weights that sum to 1 count as
            a single row, and intervals become wide. See the parameter `weights`.
        offset : float or array_like of shape (n,), optional
            Added to the linear predictor of each row, in every learner.

        Returns
        -------
        self
        """
        self._learn(X, y, sample_weight, None, offset, reset=True)
        return self

    def partial_fit(
        self,
        X: Any,
        y: Any,
        classes: Any = None,
        sample_weight: ArrayLike | None = None,
        offset: ArrayLike | None = None,
    ) -> Self:
        """Learns more rows, in their order.

        The result is that of one `fit` on all rows with ``shuffle=False``. If a row is refused,
        the model is unchanged.

        Parameters
        ----------
        X, y, sample_weight, offset
            The arguments of `fit`.
        classes : array_like, optional
            All labels of the stream. The first call needs it if `y` does not contain every label;
            a label outside `classes` is refused later.

        Returns
        -------
        self
        """
        self._learn(X, y, sample_weight, classes, offset, reset=False)
        return self

    def partial_fit_predict(
        self,
        X: Any,
        y: Any,
        classes: Any = None,
        sample_weight: ArrayLike | None = None,
        offset: ArrayLike | None = None,
    ) -> NDArray[np.float64]:
        """Calls `partial_fit` and returns the probabilities predicted before each row was learned.

        Returns
        -------
        ndarray of shape (n, classes)
        """
        found = self._learn(X, y, sample_weight, classes, offset, reset=False, means=True)
        return cast("NDArray[np.float64]", found)

    def _learn(
        self,
        X: Any,
        y: Any,
        sample_weight: Any,
        classes: Any,
        offset: Any,
        *,
        reset: bool,
        means: bool = False,
    ) -> np.ndarray | None:
        with LearningCall(self, reset) as first:
            check_class_weight(self.class_weight, reset)
            rows = self._rows_to_learn(X, y, offset, first=first, whole=reset)
            y = self._column(y, rows.given, numbers=False, first=first)
            known = known_classes(y, classes, None if first else self.classes_)
            codes = _classes.new_codes(self, len(known), rows) if first else self._joint_codes
            if codes is not None:
                _classes.check_offset(rows)
            targets = [rows.pick(target) for target in self._targets(y, known, codes)]
            weight = self._weights(sample_weight, y, reset=reset)
            weight = rows.pick(class_weights(self.class_weight, y, known, weight))
            shuffle = self._shuffle_seed(reset, rows)
            if not first:
                learners = self._known_learners(rows)
            elif codes is not None:
                learners = [_classes.new_learner(self, rows, len(known), shuffle)]
            else:
                ahead = rows.given if reset else None
                count = len(targets)
                learners = [self._new_learner(rows, ahead, shuffle, count) for _ in targets]
            results = self._learn_rows(
                learners,
                targets,
                rows,
                weight,
                means=means,
                first=first,
                order=self._order(shuffle, len(targets[0])),
                whole=reset,
            )
            fitted = {"_codes": codes} if codes is not None else {}
            self._adopt(learners, rows, first, classes_=known, **fitted)
        if not means:
            return None
        if codes is not None:
            return rows.spread(results[0][:, codes])
        return rows.spread(class_probabilities(results, binary=len(results) == 1))

    @staticmethod
    def _targets(y: np.ndarray, known: np.ndarray, codes: np.ndarray | None) -> list[np.ndarray]:
        """The target of each learner: of one that holds all classes their `codes`, else 0 and 1.

        Two classes have one learner, of the second class.
        """
        masks = class_masks(y, known)
        if codes is not None:
            return [_classes.coded(y, known, codes)]
        return [mask.astype(np.float64) for mask in (masks[1:] if len(masks) == 2 else masks)]

    def _polish_targets(
        self, y: Any, rows: Rows, sample_weight: Any
    ) -> tuple[list[np.ndarray], np.ndarray | None]:
        """The targets of each learner, and the weights."""
        y = self._column(y, rows.given, numbers=False)
        targets = self._targets(y, self.classes_, self._joint_codes)
        weight = self._weights(sample_weight, y, reset=False)
        return targets, class_weights(self.class_weight, y, self.classes_, weight)

    def score(
        self,
        X: Any,
        y: Any,
        sample_weight: ArrayLike | None = None,
        offset: ArrayLike | None = None,
    ) -> float:
        """The share of the rows whose label is predicted.

        Parameters
        ----------
        X : matrix of shape (n, features)
            As in `fit`.
        y : array_like of shape (n,)
            Labels.
        sample_weight : array_like of shape (n,), optional
            Weights of the rows.
        offset : float or array_like of shape (n,), optional
            Added to the linear predictor of each row, in every learner. In cross-validation,
            request it with ``set_score_request(offset=True)``.

        Returns
        -------
        float
        """
        labels = self.predict(X, offset=offset)
        return float(accuracy_score(y, labels, sample_weight=sample_weight))

    def sample_coefficients(self, n: int = 1, random_state: Any = None) -> np.ndarray:
        """Draws coefficients from what is known of them; see the base class.

        More than two classes that are learned jointly have a row each, of which only the
        differences have a meaning.
        """
        check_is_fitted(self, "learners_")
        if not self._joint:
            return super().sample_coefficients(n, random_state)
        (learner,) = self.learners_
        return learner.sample_coefficients(n, draw_seed(random_state))[:, self._codes]

    def _coefficients(self) -> np.ndarray:
        return _classes.columns(self)[0] if self._joint else super()._coefficients()

    @property
    def covariance_(self) -> np.ndarray | None:
        """Covariance of the coefficients, the intercept first if there is one.

        One matrix, or one per class if there are more than two: that of its coefficients in
        `coef_`, 0 for the first class, which the others are compared with. None for wide models,
        which keep only a part of it.
        """
        check_is_fitted(self, "learners_")
        if not self._joint:
            return super().covariance_
        return None if self._wide else _classes.covariances(self)

    @property
    def std_err_(self) -> np.ndarray | None:
        """Standard errors of the coefficients, the intercept first if there is one.

        With more than two classes one row per class, 0 for the first class, which the others are
        compared with. A wide model takes features outside its core as independent, so the standard
        errors of correlated features are too small.
        """
        check_is_fitted(self, "learners_")
        if not self._joint:
            return super().std_err_
        return _classes.columns(self)[1]

    @property
    def coef_(self) -> np.ndarray:
        """Coefficients of the features, one row per learner.

        With more than two classes one row per class; if they are learned jointly, against the
        first class, whose row is 0.
        """
        return self._theta()[:, 1:]

    @property
    def intercept_(self) -> np.ndarray:
        """The intercept of each row of `coef_`, 0 if there is none."""
        return self._theta()[:, 0]

    @property
    def progressive_loss_(self) -> float:
        """Mean log-loss of the probabilities predicted before each row was learned.

        With one learner per class, the mean of their own log-losses.
        """
        check_is_fitted(self, "learners_")
        return float(np.mean([learner.progressive["loss"] for learner in self.learners_]))

    def plot_calibration(self, ax: Any = None) -> Any:
        """Draws the observed share of each class against the predicted probability.

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
