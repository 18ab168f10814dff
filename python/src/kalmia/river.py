"""River models: rows are dictionaries, learned one by one or in batches. Needs ``river``.

Features may appear at any time and be absent from any row. An absent feature counts as 0, which
biases the model if its typical values are far from 0. A new feature starts from its prior and
changes nothing that was learned. A string is a category: ``{"city": "Lyon"}`` is the feature
``city=Lyon`` with the value 1.

The covariance is dense: memory and time per row grow with the square of the number of features,
and every new feature copies it. Use a few hundred features, not a growing vocabulary.

Examples
--------
>>> from river import datasets, evaluate, metrics
>>> import kalmia.river
>>> model = kalmia.river.Classifier()
>>> evaluate.progressive_val_score(datasets.Phishing(), model, metrics.Accuracy()).get() > 0.85
True
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

try:
    from river import base
except ImportError as error:
    raise ImportError("kalmia.river needs the package river: pip install river pandas") from error

from ._data import class_probabilities
from ._kalmia import Learner, model
from ._parameters import check_names
from ._river_features import Columns, frame_features, row_features, target_number
from .errors import InputError

__all__ = ["Classifier", "Regressor"]

#: The name in pickles of version 0.1.
_Columns = Columns

#: The docstring section on the parameters that both models have.
_PARAMETERS = """method
        ``"auto"``, or one of the filters ``"ekf"``, ``"truncated"``, ``"implicit"`` and
        ``"moment"``. The other methods cannot add features.
    prior_variance
        Variance of each coefficient before the first row; 1 by default. Filters only.
    fit_intercept
        Whether to learn an intercept.
    drift
        What ``"auto"`` does when the coefficients change over time. ``"detect"``, the default,
        keeps them constant until a change is detected and tracks them from then on. ``"off"``
        keeps them constant. ``"adapt"`` tracks them without waiting for a detection."""


class _Model:
    """The base of both models: columns, new learners, and calls that change nothing if refused."""

    def _start(self) -> None:
        self._columns = Columns()
        # bad parameters are refused here and not at the first row
        check_names(method=self.method, drift=self.drift, family=getattr(self, "family", None))
        self._new_learner(0)

    def _new_learner(self, features: int) -> Learner:
        return model(
            self.method,
            "bernoulli" if isinstance(self, Classifier) else self.family,
            features,
            intercept=self.fit_intercept,
            prior_variance=self.prior_variance,
            drift=self.drift,
        )

    def _staged(self, names: Iterable[str], new: bool) -> Any:
        """The model with a column for every name.

        It is a copy if there is a new column or `new` is true, and `self` otherwise. `_commit`
        adopts it once the rows are learned.
        """
        if not new and not self._columns.lacks(names):
            return self
        staged = copy.copy(self)
        staged._columns = Columns(dict(self._columns.index))
        added = staged._columns.add(names)
        staged._replace_learners(lambda learner: self._widened(learner, added))
        return staged

    def _widened(self, learner: Learner, added: int) -> Learner:
        """A copy of the learner with more features."""
        if learner.dim == 0 and learner.count == 0:
            # `grow` copies the prior of the last feature, and there is none yet
            return self._new_learner(added)
        wide = learner.copy()
        wide.grow(added)
        return wide

    def _commit(self, staged: Any) -> None:
        if staged is not self:
            vars(self).update(vars(staged))

    def _row(self, x: dict) -> np.ndarray:
        return self._columns.row(row_features(x))

    def _table(self, X: Any) -> np.ndarray:
        return self._columns.table(frame_features(X), len(X))


class Classifier(_Model, base.MiniBatchClassifier):
    __doc__ = f"""Online logistic regression for two or more labels.

    Boolean labels, or two `classes`, need one learner. Otherwise there is one learner per label,
    which learns that label against the rest. A label may appear late: its learner is the same as
    if the label had been known from the first row.

    Parameters
    ----------
    {_PARAMETERS}
    classes
        All labels, if known; another label is then refused. Of two, the second is the event.

    Examples
    --------
    >>> import kalmia.river
    >>> model = kalmia.river.Classifier()
    >>> for x, y in [({{"a": 1.0}}, True), ({{"a": -1.0}}, False), ({{"a": 2.0, "b": 1.0}}, True)]:
    ...     model.learn_one(x, y)
    >>> model.predict_one({{"a": 1.5}})
    True
    """

    def __init__(
        self,
        method: str = "auto",
        prior_variance: float | None = None,
        fit_intercept: bool = True,
        drift: str | None = None,
        classes: tuple | None = None,
    ):
        self.method = method
        self.prior_variance = prior_variance
        self.fit_intercept = fit_intercept
        self.drift = drift
        self.classes = classes
        self._start()
        #: Learners by label; for two known labels, only that of the second.
        self._learners: dict[Any, Learner] = {}
        self._pair: tuple | None = None
        #: A learner that has seen only zeros; a label that appears later starts from a copy.
        self._unseen: Learner | None = None
        if classes is not None:
            if len(set(classes)) < 2:
                raise InputError(
                    f"classes are {classes!r}: give at least two different labels, or None"
                )
            self._open(classes)

    @property
    def _multiclass(self) -> bool:
        return True

    def _open(self, classes: Iterable[Any]) -> None:
        labels = list(dict.fromkeys(classes))
        fresh = len(self._columns.index)
        if len(labels) == 2:
            self._pair = tuple(labels)
            self._learners = {labels[1]: self._new_learner(fresh)}
        else:
            self._learners = {label: self._new_learner(fresh) for label in labels}

    def _prepare(self, labels: Iterable[Any]) -> None:
        """Creates the learners of new labels; refuses a label outside given classes."""
        for label in dict.fromkeys(labels):
            if self._pair is not None or self.classes is not None:
                known = list(self._pair or self._learners)
                if label not in known:
                    raise InputError(
                        f"label {label!r} is not among the classes {known}: give all labels as "
                        "`classes`, or leave `classes` out"
                    )
            elif not self._learners and isinstance(label, (bool, np.bool_)):
                self._open((False, True))
            elif label not in self._learners:
                if self._unseen is None:
                    self._unseen = self._new_learner(len(self._columns.index))
                self._learners[label] = self._unseen.copy()

    def _replace_learners(self, change: Callable[[Learner], Learner]) -> None:
        self._learners = {label: change(learner) for label, learner in self._learners.items()}
        self._unseen = None if self._unseen is None else change(self._unseen)

    def _is_new(self, label: Any) -> bool:
        if label is None or label != label:
            raise InputError(f"the label y is {label!r}: skip rows without a label")
        return label not in (self._pair or self._learners)

    def learn_one(self, x: dict, y: Any) -> None:
        """Learns one row. If it is refused, the model is unchanged."""
        pairs = row_features(x)
        staged = self._staged([name for name, _ in pairs], self._is_new(y))
        staged._prepare([y])
        row = staged._columns.row(pairs)
        for label, learner in staged._learners.items():
            learner.learn(row, float(label == y))
        if staged._unseen is not None:
            staged._unseen.learn(row, 0.0)
        self._commit(staged)

    def learn_many(self, X, y) -> None:
        """Learns the rows of a pandas table in order; the result is that of `learn_one` per row."""
        labels = y.tolist() if hasattr(y, "tolist") else list(y)
        features = frame_features(X)
        # of several learners, one may refuse rows that another has learned, so copies learn
        # a list, because every label must be checked
        new = any([self._is_new(label) for label in dict.fromkeys(labels)]) or self._pair is None
        staged = self._staged(features, new)
        staged._prepare(labels)
        table = staged._columns.table(features, len(X))
        undo = staged is self
        for label, learner in staged._learners.items():
            y = np.fromiter((one == label for one in labels), dtype=np.float64, count=len(labels))
            learner.learn_many(table, y, means=False, undo=undo)
        if staged._unseen is not None:
            staged._unseen.learn_many(table, np.zeros(len(labels)), means=False, undo=undo)
        self._commit(staged)

    def predict_proba_one(self, x: dict, **kwargs: Any) -> dict[Any, float]:
        """Predicts the probability of each label seen so far.

        Before the first row there is none, and the result is empty, unless `classes` is given.
        """
        if not self._learners:
            return {}
        labels = list(self._pair or self._learners)
        row = self._row(x)
        values = [np.array([learner.predict(row).mean]) for learner in self._learners.values()]
        found = class_probabilities(values, binary=self._pair is not None)[0]
        return dict(zip(labels, found.tolist(), strict=True))

    def predict_proba_many(self, X):
        """Predicts the probabilities for the rows of a pandas table, one column per label."""
        import pandas as pd

        if not self._learners:
            return pd.DataFrame(index=X.index)
        labels = list(self._pair or self._learners)
        table = self._table(X)
        values = [learner.predict_many(table) for learner in self._learners.values()]
        found = class_probabilities(values, binary=self._pair is not None)
        return pd.DataFrame(found, columns=labels, index=X.index)


class Regressor(_Model, base.MiniBatchRegressor):
    __doc__ = f"""Online regression for numbers, counts or positive amounts.

    Parameters
    ----------
    family
        ``"gaussian"`` for any number, ``"poisson"`` for counts and other numbers from 0 on,
        ``"gamma"`` for amounts above 0. ``"gaussian:0.5"`` fixes the noise variance of a filter;
        ``"auto"`` learns it.
    {_PARAMETERS}

    Examples
    --------
    >>> import kalmia.river
    >>> model = kalmia.river.Regressor()
    >>> for t in range(20):
    ...     model.learn_one({{"t": t}}, 2.0 * t + 1.0)
    >>> round(model.predict_one({{"t": 30}}), 1)
    61.0
    """

    def __init__(
        self,
        family: str = "gaussian",
        method: str = "auto",
        prior_variance: float | None = None,
        fit_intercept: bool = True,
        drift: str | None = None,
    ):
        self.family = family
        self.method = method
        self.prior_variance = prior_variance
        self.fit_intercept = fit_intercept
        self.drift = drift
        self._start()
        self._learner = self._new_learner(0)

    def _replace_learners(self, change: Callable[[Learner], Learner]) -> None:
        self._learner = change(self._learner)

    def learn_one(self, x: dict, y: float) -> None:
        """Learns one row. If it is refused, the model is unchanged."""
        pairs = row_features(x)
        staged = self._staged([name for name, _ in pairs], False)
        staged._learner.learn(staged._columns.row(pairs), target_number(y))
        self._commit(staged)

    def learn_many(self, X, y) -> None:
        """Learns the rows of a pandas table in order; the result is that of `learn_one` per row."""
        features = frame_features(X)
        staged = self._staged(features, False)
        staged._learner.learn_many(
            staged._columns.table(features, len(X)),
            np.asarray(y, dtype=np.float64),
            means=False,
            undo=staged is self,
        )
        self._commit(staged)

    def predict_one(self, x: dict) -> float:
        """Predicts the mean of the target."""
        return self._learner.predict(self._row(x)).mean

    def predict_interval_one(self, x: dict, level: float = 0.95) -> tuple[float, float]:
        """Predicts the interval that holds the target with probability `level`."""
        return self._learner.predict(self._row(x)).interval(level)

    def predict_many(self, X):
        """Predicts the mean of the target for the rows of a pandas table."""
        import pandas as pd

        return pd.Series(self._learner.predict_many(self._table(X)), index=X.index)
