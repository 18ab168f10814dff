"""The classifier :class:`LogisticRegression`: one learner for two classes, else one per class."""

from __future__ import annotations

import numpy as np
from scipy.special import logit
from sklearn.base import ClassifierMixin
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted

from . import _plots
from ._base import Estimator, LearningCall
from ._data import Rows, class_probabilities
from ._parameters import PARAMETERS
from .errors import InputError


def _check_labels(y: np.ndarray) -> None:
    """Names missing and mixed labels, for which numpy and scikit-learn have obscure messages."""
    if y.dtype != object:
        return
    for row, label in enumerate(y):
        # pandas' NA has no truth value, so it is recognized by its type
        if label is None or type(label).__name__ in ("NAType", "NaTType") or label != label:
            raise InputError(f"y has no label in row {row}: drop the rows without a label")
    kinds = sorted({type(label).__name__ for label in y})
    if "str" in kinds and len(kinds) > 1:
        raise InputError(f"y mixes labels of types {', '.join(kinds)}: convert all to str")


class LogisticRegression(ClassifierMixin, Estimator):
    __doc__ = f"""Logistic regression, learned in one pass.

    With more than two classes, one learner per class learns that class against the rest, and the
    probabilities are renormalized to sum to 1.

    {PARAMETERS}
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

    def __init__(
        self,
        method="auto",
        *,
        prior_variance=None,
        fit_intercept=True,
        drift=None,
        scale=None,
        beta=None,
        radius=None,
        exp_concavity=None,
        gradient_bound=None,
        horizon=None,
        step=None,
        shuffle=None,
        random_state=None,
        weights="frequency",
    ):
        self._set_parameters(locals())

    def fit(self, X, y, sample_weight=None, offset=None):
        """Learns the rows in one pass and in random order, after forgetting earlier rows.

        With ``shuffle=False`` it takes them in their own order, and rows that are sorted by label
        make a poor model.

        Parameters
        ----------
        X : matrix of shape (n, features)
            numpy, pandas, polars, any Arrow stream, or scipy.sparse (made dense block by block).
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

    def partial_fit(self, X, y, classes=None, sample_weight=None, offset=None):
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

    def partial_fit_predict(self, X, y, classes=None, sample_weight=None, offset=None):
        """Calls `partial_fit` and returns the probabilities predicted before each row was learned.

        Returns
        -------
        ndarray of shape (n, classes)
        """
        return self._learn(X, y, sample_weight, classes, offset, reset=False, means=True)

    def _learn(
        self, X, y, sample_weight, classes, offset, *, reset: bool, means: bool = False
    ) -> np.ndarray | None:
        with LearningCall(self, reset) as first:
            rows = self._rows(X, offset, reset=first)
            y = self._column(y, rows.given, numbers=False, first=first)
            try:
                if first and classes is None:
                    check_classification_targets(y)
                known = self._known_classes(y, classes, first)
            except (TypeError, ValueError):
                _check_labels(y)
                raise
            targets = self._targets(y, known)
            weight = rows.pick(self._weights(sample_weight, y, reset=reset))
            count = len(targets)
            shuffle = self._shuffle_seed(reset)
            if first:
                known_rows = rows.given if reset else None
                learners = [self._new_learner(known_rows, shuffle) for _ in range(count)]
            else:
                # One learner undoes a refused call itself. Of several, one may refuse rows that
                # another has learned, so copies learn, which a refused call discards.
                learners = self.learners_ if count == 1 else [one.copy() for one in self.learners_]
            targets = [rows.pick(target) for target in targets]
            order = self._order(shuffle, len(targets[0]))
            results = [
                learner.learn_many(
                    rows.X,
                    target,
                    weight,
                    rows.offset,
                    means=means,
                    undo=not first and count == 1,
                    order=order,
                    whole=reset,
                )
                for learner, target in zip(learners, targets, strict=True)
            ]
            self.classes_, self.learners_ = known, learners
            if first:
                self._remember()
            self._warn()
        return rows.spread(class_probabilities(results, binary=count == 1)) if means else None

    @staticmethod
    def _targets(y: np.ndarray, known: np.ndarray) -> list[np.ndarray]:
        """One column of 0 and 1 per class; for two classes, that of the second only."""
        found = [y == label for label in known]
        binary = len(found) == 2
        seen = found[0] | found[1] if binary else np.any(found, axis=0)
        if not seen.all():
            row = int(np.argmin(seen))
            raise InputError(
                f"y holds the label {y[row : row + 1].tolist()[0]!r} in row {row}, which is not "
                f"among the classes {known.tolist()[:5]}: pass every label as `classes` to the "
                "first partial_fit, or call fit again"
            )
        return [target.astype(np.float64) for target in (found[1:] if binary else found)]

    def _known_classes(self, y: np.ndarray, classes, first: bool) -> np.ndarray:
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

    def predict_proba(self, X, offset=None):
        """Predicts the probability of each class, in the order of `classes_`.

        The uncertainty of the coefficients is averaged over: where the model has seen little, the
        probabilities are closer to one half than the coefficients alone would give.

        Returns
        -------
        ndarray of shape (n, classes)
        """
        rows, found = self._probabilities(X, offset)
        return rows.spread(class_probabilities(found, binary=len(found) == 1))

    def predict_log_proba(self, X, offset=None):
        """The logarithm of `predict_proba`.

        Returns
        -------
        ndarray of shape (n, classes)
        """
        return np.log(self.predict_proba(X, offset))

    def _probabilities(self, X, offset) -> tuple[Rows, list[np.ndarray]]:
        """The rows, and the probability that each learner assigns to its class."""
        check_is_fitted(self, "learners_")
        rows = self._rows(X, offset)
        return rows, [
            learner.predict_many(rows.X, rows.offset, unseen=rows.unseen)
            for learner in self.learners_
        ]

    def decision_function(self, X, offset=None):
        """Log-odds of the second class, or of each class against the rest if there are several.

        They are the log-odds of averaged probabilities, so uncertainty moves them towards 0.

        Returns
        -------
        ndarray of shape (n,) or (n, classes)
        """
        rows, found = self._probabilities(X, offset)
        odds = [
            logit(np.clip(p, np.finfo(float).tiny, 1.0 - np.finfo(float).epsneg)) for p in found
        ]
        return rows.spread(odds[0] if len(odds) == 1 else np.column_stack(odds))

    def predict(self, X, return_std=False, offset=None):
        """Predicts the most probable class.

        A model that the command fitted with ``--missing skip`` predicts NaN for rows with missing
        values.

        Parameters
        ----------
        X : matrix of shape (n, features)
            As in `fit`.
        return_std : bool
            Whether to return the standard deviation of the linear predictor too, that of the
            predicted class's learner.
        offset : float or array_like of shape (n,), optional
            Added to the linear predictor of each row, in every learner.

        Returns
        -------
        label : ndarray of shape (n,)
        std : ndarray of shape (n,)
            Only with `return_std`.
        """
        check_is_fitted(self, "learners_")
        if len(self.learners_) == 1:
            rows = self._rows(X, offset)
            found = self._learner.predict_labels(rows.X, rows.offset, unseen=rows.unseen)
            best = found.astype(int)
        else:
            rows, given = self._probabilities(X, offset)
            best = np.column_stack(given).argmax(axis=1)
        labels = rows.spread(self.classes_[best])
        if not return_std:
            return labels
        variance = np.column_stack(
            [learner.predict_linear(rows.X, unseen=rows.unseen)[1] for learner in self.learners_]
        )
        return labels, rows.spread(
            np.sqrt(variance[np.arange(len(best)), 0 if len(self.learners_) == 1 else best])
        )

    def predict_interval(self, X, level=0.95, offset=None):
        """Predicts an interval for the probability of the second class.

        With more than two classes, for that of each class against the rest, before the
        renormalization of `predict_proba`. ``"ons"`` and ``"asgd"`` refuse the call: they have no
        standard errors of coefficients.

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
        ends = [
            np.column_stack(
                learner.predict_interval(
                    rows.X, level, rows.offset, of_mean=True, unseen=rows.unseen
                )
            )
            for learner in self.learners_
        ]
        return rows.spread(ends[0] if len(ends) == 1 else np.stack(ends, axis=1))

    @property
    def coef_(self) -> np.ndarray:
        """Coefficients of the features, one row per learner."""
        return self._theta()[:, 1:]

    @property
    def intercept_(self) -> np.ndarray:
        """The intercept of each learner, 0 if there is none."""
        return self._theta()[:, 0]

    @property
    def progressive_loss_(self) -> float:
        """Mean log-loss of the probabilities predicted before each row was learned.

        With more than two classes, the mean over the learners of their own log-losses.
        """
        check_is_fitted(self, "learners_")
        return float(np.mean([learner.progressive["loss"] for learner in self.learners_]))

    def plot_calibration(self, ax=None):
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
