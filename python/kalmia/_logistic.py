"""The classifier, :class:`LogisticRegression`: two classes by one learner, more by one against the rest."""

from __future__ import annotations

import numpy as np
from scipy.special import logit
from sklearn.base import ClassifierMixin
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted

from . import _plots
from ._base import PARAMETERS, Estimator, Learning
from ._data import Rows
from .errors import InputError


class LogisticRegression(ClassifierMixin, Estimator):
    __doc__ = f"""Logistic regression, learned in one pass.

    More than two classes are learned one against the rest, and their probabilities scaled to sum to 1.

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

    def fit(self, X, y, sample_weight=None, offset=None):
        """Learns the rows in order, from nothing.

        Parameters
        ----------
        X : matrix of shape (n, features)
            numpy, pandas, polars, any Arrow stream, or scipy.sparse (densified block by block).
        y : array_like of shape (n,)
            Labels, of two classes or more.
        sample_weight : array_like of shape (n,), optional
            Multiplies the loss of each row.
        offset : float or array_like of shape (n,), optional
            Added to each row's linear predictor, of each class against the rest.

        Returns
        -------
        self
        """
        self._learn(X, y, sample_weight, None, offset, reset=True)
        return self

    def partial_fit(self, X, y, classes=None, sample_weight=None, offset=None):
        """Learns more rows.

        Parameters
        ----------
        X, y, sample_weight, offset
            As in `fit`.
        classes : array_like, optional
            All labels that will ever come; needed in the first call, unless its labels are all of them.

        Returns
        -------
        self
        """
        self._learn(X, y, sample_weight, classes, offset, reset=False)
        return self

    def partial_fit_predict(self, X, y, classes=None, sample_weight=None, offset=None):
        """As `partial_fit`, and gives back the probabilities predicted for each row before it was learned.

        Returns
        -------
        ndarray of shape (n, classes)
        """
        return self._learn(X, y, sample_weight, classes, offset, reset=False, means=True)

    def _learn(
        self, X, y, sample_weight, classes, offset, *, reset: bool, means: bool = False
    ) -> np.ndarray | None:
        with Learning(self, reset) as first:
            rows = self._rows(X, offset, reset=first)
            y = self._column(y, rows.given, numbers=False, first=first)
            if first and classes is None:
                check_classification_targets(y)
            known = self._known_classes(y, classes, first)
            targets = self._targets(y, known)
            weight = rows.pick(self._weights(sample_weight, y))
            count = len(targets)
            if first:
                learners = [self._new_learner(rows.given if reset else None) for _ in range(count)]
            else:
                # of several learners copies, so that a refused call leaves all as they were; one sees to that itself
                learners = self.learners_ if count == 1 else [one.copy() for one in self.learners_]
            results = [
                learner.learn_many(rows.X, rows.pick(target), weight, rows.offset, means=means)
                for learner, target in zip(learners, targets, strict=True)
            ]
            self.classes_, self.learners_ = known, learners
        return rows.spread(self._normalised(results)) if means else None

    @staticmethod
    def _targets(y: np.ndarray, known: np.ndarray) -> list[np.ndarray]:
        """Where each class is, as 0 and 1; of two classes the second alone."""
        found = [y == label for label in known]
        seen = found[0] | found[1] if len(found) == 2 else np.any(found, axis=0)
        if not seen.all():
            unknown = np.unique(y[~seen]).tolist()
            raise InputError(
                f"y holds {unknown[:3]}, which are not among the classes {known.tolist()[:5]}"
            )
        return [target.astype(np.float64) for target in (found[1:] if len(found) == 2 else found)]

    def _known_classes(self, y: np.ndarray, classes, first: bool) -> np.ndarray:
        if not first:
            same = (
                classes is None
                or np.array_equal(classes, self.classes_)
                or np.array_equal(np.unique(classes), self.classes_)
            )
            if not same:
                raise InputError(
                    f"classes are {list(np.unique(classes))}, but the first call had {list(self.classes_)}"
                )
            return self.classes_
        known = np.unique(y if classes is None else classes)
        if len(known) < 2:
            raise InputError(f"Classifier can't train when only one class is present: {known[0]!r}")
        return known

    @staticmethod
    def _normalised(columns: list[np.ndarray]) -> np.ndarray:
        """Probabilities of all classes from that of the second, or from those of each against the rest."""
        if len(columns) == 1:
            return np.column_stack([1.0 - columns[0], columns[0]])
        table = np.column_stack(columns)
        total = table.sum(axis=1, keepdims=True)
        return np.divide(
            table, total, out=np.full_like(table, 1.0 / len(columns)), where=total > 0.0
        )

    def predict_proba(self, X, offset=None):
        """Probabilities of the classes, in the order of `classes_`.

        They are moderated: where the model is unsure they are nearer to one half than the linear predictor alone would say.

        Returns
        -------
        ndarray of shape (n, classes)
        """
        rows, found = self._probabilities(X, offset)
        return rows.spread(self._normalised(found))

    def predict_log_proba(self, X, offset=None):
        """Logarithms of `predict_proba`.

        Returns
        -------
        ndarray of shape (n, classes)
        """
        return np.log(self.predict_proba(X, offset))

    def _probabilities(self, X, offset) -> tuple[Rows, list[np.ndarray]]:
        """The rows, and the probability that each learner gives to its class."""
        check_is_fitted(self, "learners_")
        rows = self._rows(X, offset)
        return rows, [learner.predict_many(rows.X, rows.offset) for learner in self.learners_]

    def decision_function(self, X, offset=None):
        """Log-odds of the second class of two, or of each class against the rest, with the uncertainty taken into account.

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
        """The likeliest class; NaN for a row that a model of the command leaves out for its missing values.

        Parameters
        ----------
        X : matrix of shape (n, features)
            As in `fit`.
        return_std : bool
            Whether to give the standard deviation of the linear predictor (of the class's learner) as well.
        offset : float or array_like of shape (n,), optional
            Added to each row's linear predictor, of each class against the rest.

        Returns
        -------
        label : ndarray of shape (n,)
        std : ndarray of shape (n,)
            Only with `return_std`.
        """
        rows, given = self._probabilities(X, offset)
        best = (
            (given[0] > 0.5).astype(int)
            if len(given) == 1
            else np.column_stack(given).argmax(axis=1)
        )
        labels = rows.spread(self.classes_[best])
        if not return_std:
            return labels
        variance = np.column_stack(
            [learner.predict_linear(rows.X)[1] for learner in self.learners_]
        )
        return labels, rows.spread(
            np.sqrt(variance[np.arange(len(best)), 0 if len(given) == 1 else best])
        )

    def predict_interval(self, X, level=0.95, offset=None):
        """The interval in which the probability of the second class, or of each class against the rest, lies.

        Parameters
        ----------
        X : matrix of shape (n, features)
            As in `fit`.
        level : float
            Probability of the interval.
        offset : float or array_like of shape (n,), optional
            Added to each row's linear predictor, of each class against the rest.

        Returns
        -------
        ndarray of shape (n, 2) or (n, classes, 2)
        """
        check_is_fitted(self, "learners_")
        rows = self._rows(X, offset)
        ends = [
            np.column_stack(learner.predict_interval(rows.X, level, rows.offset, of_mean=True))
            for learner in self.learners_
        ]
        return rows.spread(ends[0] if len(ends) == 1 else np.stack(ends, axis=1))

    @property
    def coef_(self) -> np.ndarray:
        """Coefficients of the features, a row a learner."""
        return self._theta()[:, 1:]

    @property
    def intercept_(self) -> np.ndarray:
        """The constants, 0 without one."""
        return self._theta()[:, 0]

    @property
    def progressive_loss_(self) -> float:
        """Mean log-loss of the probabilities predicted before each row was learned; one against the rest, the learners' mean."""
        check_is_fitted(self, "learners_")
        return float(np.mean([learner.progressive["loss"] for learner in self.learners_]))

    def plot_calibration(self, ax=None):
        """How often events came, against the probability predicted before each row was learned.

        Parameters
        ----------
        ax : matplotlib.axes.Axes, optional
            Where to draw.

        Returns
        -------
        matplotlib.axes.Axes
        """
        check_is_fitted(self, "learners_")
        return _plots.calibration(self, ax)
