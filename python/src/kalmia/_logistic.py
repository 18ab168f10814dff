"""The classifier :class:`LogisticRegression`, for two classes and for more."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal, Self, cast, overload

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import logit
from sklearn.base import ClassifierMixin
from sklearn.metrics import accuracy_score
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted

from . import _classes, _plots
from ._base import Estimator
from ._calls import LearningCall
from ._data import Rows, class_probabilities
from ._kalmia import ClassLearner
from ._labels import check_class_weight, check_labels, class_weights
from ._parameters import (
    PARAMETERS,
    DriftName,
    MethodName,
    OutlierName,
    ScaleName,
    WeightName,
    check_flag,
    draw_seed,
)
from .errors import InputError


class LogisticRegression(ClassifierMixin, Estimator):
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
            streamed = self._may_stream(y, reset)
            rows = self._rows(X, offset, reset=first, learn=True, streamed=streamed)
            y = self._column(y, rows.given, numbers=False, first=first)
            try:
                if first and classes is None:
                    check_classification_targets(y)
                known = self._known_classes(y, classes, first)
            except (TypeError, ValueError):
                check_labels(y)
                raise
            joint = (
                _classes.takes_joint(self, len(known), rows) if first else self._joint
            )
            targets = self._targets(y, known)
            if joint:
                _classes.check_offset(rows)
                codes = np.arange(len(known)) if first else self._codes
                targets = [_classes.coded(y, known, codes)]
            weight = rows.pick(
                class_weights(
                    self.class_weight, y, known, self._weights(sample_weight, y, reset=reset)
                )
            )
            count = len(targets)
            shuffle = self._shuffle_seed(reset, rows)
            if first:
                known_rows = rows.given if reset else None
                learners = (
                    [self._new_class_learner(rows, len(known), shuffle)]
                    if joint
                    else [
                        self._new_learner(rows, known_rows, shuffle, count)
                        for _ in range(count)
                    ]
                )
            else:
                # One learner undoes a refused call itself. Of several, one may refuse rows that
                # another has learned, so copies learn, which a refused call discards.
                learners = self.learners_ if count == 1 else [one.copy() for one in self.learners_]
                learners = self._widened(learners, rows, copied=count > 1)
            targets = [rows.pick(target) for target in targets]
            order = self._order(shuffle, len(targets[0]))
            results = self._learn_rows(
                learners,
                targets,
                rows,
                weight,
                means=means,
                undo=not first and count == 1,
                order=order,
                whole=reset,
            )
            fitted = {"_codes": codes} if joint and first else {}
            self._adopt(learners, rows, first, classes_=known, **fitted)
        if not means:
            return None
        if joint:
            return rows.spread(results[0][:, codes])
        return rows.spread(class_probabilities(results, binary=count == 1))

    @property
    def _joint(self) -> bool:
        """Whether one learner holds more than two classes."""
        return _classes.is_joint(self.learners_)

    def _new_class_learner(
        self, first: Rows, classes: int, shuffle: int | None
    ) -> ClassLearner:
        """A learner of several classes for such rows."""
        # refuses parameters that the method does not take
        self._new_learner(first._replace(X=np.empty((0, 1))), None, shuffle)
        return ClassLearner(
            classes,
            first.X.shape[1],
            check_flag("fit_intercept", self.fit_intercept),
            drift=self.drift,
            weights=self.weights,
            shuffle=shuffle,
            numbers=first.numbers,
        )

    def _polish_targets(
        self, y: Any, rows: Rows, sample_weight: Any
    ) -> tuple[list[np.ndarray], np.ndarray | None]:
        """The targets of each learner, codes of classes if one has all, and the weights."""
        y = self._column(y, rows.given, numbers=False)
        targets = self._targets(y, self.classes_)
        if self._joint:
            targets = [_classes.coded(y, self.classes_, self._codes)]
        weight = self._weights(sample_weight, y, reset=False)
        return targets, class_weights(self.class_weight, y, self.classes_, weight)

    @staticmethod
    def _targets(y: np.ndarray, known: np.ndarray) -> list[np.ndarray]:
        """One column of 0 and 1 per class; for two classes, that of the second only."""
        found = [y == label for label in known]
        binary = len(found) == 2
        seen = found[0] | found[1] if binary else np.any(found, axis=0)
        if not seen.all():
            check_labels(y)
            row = int(np.argmin(seen))
            raise InputError(
                f"y holds the label {y[row : row + 1].tolist()[0]!r} in row {row}, which is not "
                f"among the classes {known.tolist()[:5]}: pass every label as `classes` to the "
                "first partial_fit, or call fit again"
            )
        return [target.astype(np.float64) for target in (found[1:] if binary else found)]

    def _known_classes(self, y: np.ndarray, classes: Any, first: bool) -> np.ndarray:
        if first:
            known = np.unique(y if classes is None else classes)
            if len(known) < 2:
                raise InputError(
                    f"y holds only one class, {known.tolist()}: a classifier needs at least two; "
                    "if others come later, give all labels to partial_fit as `classes`"
                )
            return known
        if classes is None or np.array_equal(classes, self.classes_):
            return self.classes_
        given = np.unique(classes)
        if not np.array_equal(given, self.classes_):
            raise InputError(
                f"classes are {given.tolist()}, but the first call had {self.classes_.tolist()}: "
                "pass the same classes, or call fit to start again"
            )
        return self.classes_

    def predict_proba(self, X: Any, offset: ArrayLike | None = None) -> NDArray[np.float64]:
        """Predicts the probability of each class, in the order of `classes_`.

        The uncertainty of the coefficients is averaged over: where the model has seen little, the
        probabilities are closer to one half than the coefficients alone would give.

        Returns
        -------
        ndarray of shape (n, classes)
        """
        rows, found = self._probabilities(X, offset)
        return rows.spread(found)

    def predict_log_proba(self, X: Any, offset: ArrayLike | None = None) -> NDArray[np.float64]:
        """The logarithm of `predict_proba`.

        Returns
        -------
        ndarray of shape (n, classes)
        """
        return np.log(self.predict_proba(X, offset))

    def _probabilities(self, X: Any, offset: Any) -> tuple[Rows, np.ndarray]:
        """The rows, and the probability of each class."""
        check_is_fitted(self, "learners_")
        rows = self._rows(X, offset)
        if _classes.is_joint(rows.learners):
            _classes.check_offset(rows)
            found = rows.learners[0].predict_many(rows.X, unseen=rows.unseen)
            return rows, found[:, self._codes]
        each = self._each_probability(rows)
        return rows, class_probabilities(each, binary=len(each) == 1)

    @staticmethod
    def _each_probability(rows: Rows) -> list[np.ndarray]:
        """The probability that each learner assigns to its class."""
        return [
            learner.predict_many(rows.X, rows.offset, unseen=rows.unseen)
            for learner in rows.learners
        ]

    def _log_odds(self, X: Any, offset: Any) -> tuple[Rows, np.ndarray, np.ndarray]:
        """The rows, and the log odds of each class of a joint model with their variances."""
        rows = _classes.check_offset(self._rows(X, offset))
        mean, variance = rows.learners[0].predict_linear(rows.X, unseen=rows.unseen)
        return rows, mean[:, self._codes], variance[:, self._codes]

    def decision_function(self, X: Any, offset: ArrayLike | None = None) -> NDArray[np.float64]:
        """Log-odds of the second class, or of each class against the rest if there are several.

        They are the log-odds of averaged probabilities, so uncertainty moves them towards 0.

        Returns
        -------
        ndarray of shape (n,) or (n, classes)
        """
        check_is_fitted(self, "learners_")
        if self._joint:
            rows, shares = self._probabilities(X, offset)
            found = list(shares.T)
        else:
            rows = self._rows(X, offset)
            found = self._each_probability(rows)
        odds = [
            logit(np.clip(p, np.finfo(float).tiny, 1.0 - np.finfo(float).epsneg)) for p in found
        ]
        return rows.spread(odds[0] if len(odds) == 1 else np.column_stack(odds))

    @overload
    def predict(
        self, X: Any, return_std: Literal[False] = False, offset: ArrayLike | None = None
    ) -> NDArray[Any]: ...
    @overload
    def predict(
        self, X: Any, return_std: Literal[True], offset: ArrayLike | None = None
    ) -> tuple[NDArray[Any], NDArray[np.float64]]: ...
    def predict(self, X: Any, return_std: bool = False, offset: ArrayLike | None = None) -> Any:
        """Predicts the most probable class.

        A model that the command fitted with ``--missing skip`` predicts NaN for rows with missing
        values.

        Parameters
        ----------
        X : matrix of shape (n, features)
            As in `fit`.
        return_std : bool
            Whether to return the standard deviation of the linear predictor too: with more than
            two classes, of the log odds of the predicted class against the rest.
        offset : float or array_like of shape (n,), optional
            Added to the linear predictor of each row, in every learner.

        Returns
        -------
        label : ndarray of shape (n,)
        std : ndarray of shape (n,)
            Only with `return_std`.
        """
        check_is_fitted(self, "learners_")
        if self._joint and return_std:
            rows, shares = self._probabilities(X, offset)
            best = shares.argmax(axis=1)
            _, _, variance = self._log_odds(X, offset)
            deviation = np.sqrt(variance[np.arange(len(best)), best])
            return rows.spread(self.classes_[best]), rows.spread(deviation)
        if len(self.classes_) == 2 and not self._joint:
            rows = self._rows(X, offset)
            found = rows.learners[0].predict_labels(rows.X, rows.offset, unseen=rows.unseen)
            best = found.astype(int)
        else:
            rows, shares = self._probabilities(X, offset)
            best = shares.argmax(axis=1)
        labels = rows.spread(self.classes_[best])
        if not return_std:
            return labels
        variance = np.column_stack(
            [learner.predict_linear(rows.X, unseen=rows.unseen)[1] for learner in rows.learners]
        )
        return labels, rows.spread(
            np.sqrt(variance[np.arange(len(best)), 0 if len(self.learners_) == 1 else best])
        )

    def predict_interval(
        self, X: Any, level: float = 0.95, offset: ArrayLike | None = None
    ) -> NDArray[np.float64]:
        """Predicts an interval for the probability of the second class.

        With more than two classes, for that of each class against the rest. ``"ons"`` and
        ``"asgd"`` refuse the call: they have no standard errors of coefficients.

        Parameters
        ----------
        X : matrix of shape (n, features)
            As in `fit`.
        level : float
            Probability of the interval, strictly between 0 and 1.
        offset : float or array_like of shape (n,), optional
            Added to the linear predictor of each row, in every learner.

        Returns
        -------
        ndarray of shape (n, 2) or (n, classes, 2)
        """
        check_is_fitted(self, "learners_")
        rows = self._rows(X, offset)
        if self._joint:
            _classes.check_offset(rows)
            (learner,) = rows.learners
            both = learner.predict_interval(rows.X, level, unseen=rows.unseen)
            return rows.spread(np.stack(both, axis=2)[:, self._codes])
        ends = [
            np.column_stack(
                learner.predict_interval(
                    rows.X, level, rows.offset, of_mean=True, unseen=rows.unseen
                )
            )
            for learner in rows.learners
        ]
        return rows.spread(ends[0] if len(ends) == 1 else np.stack(ends, axis=1))

    def sample_predictions(
        self,
        X: Any,
        n: int = 1,
        random_state: Any = None,
        offset: ArrayLike | None = None,
        of_mean: bool = False,
    ) -> NDArray[Any]:
        """Draws labels of rows from what is known of them.

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
            Added to the linear predictor of each row, in every learner.
        of_mean : bool
            Whether to draw probabilities instead of labels. For Thompson sampling: the row with
            the largest probability in one draw is the one to try.

        Returns
        -------
        ndarray of shape (n, n_rows), or (n, n_rows, classes)
            Labels, or the probability of the second class; with more than two classes, the
            probabilities of each.
        """
        check_is_fitted(self, "learners_")
        rows = self._rows(X, offset)
        if self._joint:
            return _classes.sampled(self, _classes.check_offset(rows), n, random_state, of_mean)
        start = draw_seed(random_state)
        binary = len(rows.learners) == 1
        found = [
            learner.sample_predictions(
                rows.X,
                n,
                (start + k) % 2**63,
                rows.offset,
                of_mean or not binary,
                unseen=rows.unseen,
            )
            for k, learner in enumerate(rows.learners)
        ]
        if binary:
            values = found[0] if of_mean else self.classes_[found[0].astype(int)]
            return rows.spread(values.T).T
        shares = np.stack([class_probabilities(list(one), binary=False) for one in zip(*found)])
        if of_mean:
            return rows.spread(shares.swapaxes(0, 1)).swapaxes(0, 1)
        at = np.random.default_rng(start).random((*shares.shape[:2], 1))
        chosen = (shares.cumsum(axis=2) < at).sum(axis=2).clip(max=len(self.classes_) - 1)
        return rows.spread(self.classes_[chosen].T).T

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

    def _theta(self) -> np.ndarray:
        check_is_fitted(self, "learners_")
        if not self._joint:
            return super()._theta()
        theta, _ = _classes.columns(self)
        if not self.learners_[0].intercept:
            theta = np.hstack([np.zeros((len(theta), 1)), theta])
        return theta

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
