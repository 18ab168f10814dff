"""What classifiers predict of a label: the label, probabilities, their intervals, and draws."""

from __future__ import annotations

from typing import Any, Literal, overload

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import logit
from sklearn.utils.validation import check_is_fitted

from . import _classes, _each_learner
from ._base import Estimator
from ._data import Rows, class_probabilities
from ._own_methods import name_methods_after
from ._parameters import draw_seed


class ClassPredictions(Estimator):
    """The part of a classifier that predicts."""

    classes_: np.ndarray
    _codes: np.ndarray

    def __init_subclass__(cls, **kwargs: Any) -> None:
        name_methods_after(cls, ClassPredictions)
        super().__init_subclass__(**kwargs)

    @property
    def _joint(self) -> bool:
        """Whether one learner holds more than two classes."""
        return _classes.is_joint(self.learners_)

    @property
    def _joint_codes(self) -> np.ndarray | None:
        """The code of each class in a learner that holds all of them; None if no learner does."""
        return self._codes if self._joint else None

    def _rows_to_predict(self, X: Any, offset: Any) -> Rows:
        """The rows of a fitted model, without offsets if all classes would share them."""
        check_is_fitted(self, "learners_")
        rows = self._rows(X, offset)
        return _classes.check_offset(rows) if self._joint else rows

    def predict_proba(self, X: Any, offset: ArrayLike | None = None) -> NDArray[np.float64]:
        """Predicts the probability of each class, in the order of `classes_`.

        The uncertainty of the coefficients is averaged over: where the model has seen little, the
        probabilities are closer to one half than the coefficients alone would give.

        Returns
        -------
        ndarray of shape (n, classes)
        """
        rows = self._rows_to_predict(X, offset)
        return rows.spread(self._probabilities(rows))

    def predict_log_proba(self, X: Any, offset: ArrayLike | None = None) -> NDArray[np.float64]:
        """The logarithm of `predict_proba`.

        Returns
        -------
        ndarray of shape (n, classes)
        """
        return np.log(self.predict_proba(X, offset))

    def _probabilities(self, rows: Rows) -> np.ndarray:
        """The probability of each class, in the order of `classes_`."""
        if self._joint:
            found: np.ndarray = rows.learners[0].predict_many(rows.X, unseen=rows.unseen)
            return found[:, self._codes]
        each = _each_learner.means(rows)
        return class_probabilities(each, binary=len(each) == 1)

    def decision_function(self, X: Any, offset: ArrayLike | None = None) -> NDArray[np.float64]:
        """Log-odds of the second class, or of each class against the rest if there are several.

        They are the log-odds of averaged probabilities, so uncertainty moves them towards 0.

        Returns
        -------
        ndarray of shape (n,) or (n, classes)
        """
        rows = self._rows_to_predict(X, offset)
        found = list(self._probabilities(rows).T) if self._joint else _each_learner.means(rows)
        least, most = np.finfo(float).tiny, 1.0 - np.finfo(float).epsneg
        odds = [logit(np.clip(probability, least, most)) for probability in found]
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
        rows = self._rows_to_predict(X, offset)
        best = self._most_probable(rows)
        labels = rows.spread(self.classes_[best])
        if not return_std:
            return labels
        variance = self._linear_variance(rows)
        # a single learner of two classes has one linear predictor, whichever is more probable
        column = best if variance.shape[1] > 1 else 0
        return labels, rows.spread(np.sqrt(variance[np.arange(len(best)), column]))

    def _most_probable(self, rows: Rows) -> np.ndarray:
        """The place in `classes_` of the most probable class of each row."""
        if len(self.classes_) > 2 or self._joint:
            return self._probabilities(rows).argmax(axis=1)
        found = rows.learners[0].predict_labels(rows.X, rows.offset, unseen=rows.unseen)
        return found.astype(int)

    def _linear_variance(self, rows: Rows) -> np.ndarray:
        """The variance of the linear predictor: one column per class, or one for two classes."""
        found = [one.predict_linear(rows.X, unseen=rows.unseen)[1] for one in rows.learners]
        return found[0][:, self._codes] if self._joint else np.column_stack(found)

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
        rows = self._rows_to_predict(X, offset)
        if self._joint:
            (learner,) = rows.learners
            both = learner.predict_interval(rows.X, level, unseen=rows.unseen)
            return rows.spread(np.stack(both, axis=2)[:, self._codes])
        ends = _each_learner.intervals(rows, level, of_mean=True)
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
        rows = self._rows_to_predict(X, offset)
        start = draw_seed(random_state)
        if self._joint:
            drawn = _classes.sampled_probabilities(self, rows, n, start)
            return self._labels_or(drawn, rows, start, of_mean)
        binary = len(rows.learners) == 1
        found = _each_learner.draws(rows, n, start, of_mean or not binary)
        if binary:
            values = found[0] if of_mean else self.classes_[found[0].astype(int)]
            return rows.spread(values.T).T
        drawn = np.stack([class_probabilities(list(one), binary=False) for one in zip(*found)])
        return self._labels_or(drawn, rows, start, of_mean)

    def _labels_or(self, drawn: np.ndarray, rows: Rows, start: int, of_mean: bool) -> np.ndarray:
        """Drawn probabilities, of shape (n, rows, classes), or a label drawn from each."""
        if of_mean:
            return rows.spread(drawn.swapaxes(0, 1)).swapaxes(0, 1)
        at = np.random.default_rng(start).random((*drawn.shape[:2], 1))
        chosen = (drawn.cumsum(axis=2) < at).sum(axis=2).clip(max=len(self.classes_) - 1)
        return rows.spread(self.classes_[chosen].T).T
