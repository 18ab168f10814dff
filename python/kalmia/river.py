"""Models in the manner of River: dictionaries in, one row at a time or in batches; needs the extra ``river``.

Features may appear at any time and be absent from any row: an absent feature is 0, and one that appears enters with its prior, without
a change to what was learned. A text is a category: ``{"city": "Lyon"}`` is the feature ``city=Lyon`` with the value 1.

Examples
--------
>>> from river import datasets, evaluate, metrics
>>> import kalmia.river
>>> evaluate.progressive_val_score(datasets.Phishing(), kalmia.river.Classifier(), metrics.Accuracy()).get() > 0.85
True
"""

from __future__ import annotations

import copy
import math
from collections.abc import Callable, Hashable, Iterable
from typing import Any

import numpy as np

try:
    from river import base
except ImportError as error:
    raise ImportError("kalmia.river needs River: pip install 'kalmia[river]'") from error

from ._kalmia import Learner, model
from .errors import InputError

__all__ = ["Classifier", "Regressor"]


def _number(name: Hashable, value: Any) -> float:
    """The value as a finite number, or a refusal that names it."""
    try:
        # numpy would give a point in time as a count of its units
        number = math.nan if isinstance(value, (np.datetime64, np.timedelta64)) else float(value)
    except (TypeError, ValueError):
        number = math.nan
    if not math.isfinite(number):
        raise InputError(
            f"{name!r} is {value!r}, of type {type(value).__name__}: it must be a finite number, a truth value or a text"
        )
    return number


def _named(x: dict[Hashable, Any]) -> list[tuple[str, float]]:
    """The features of a row, all of them checked."""
    return [
        (f"{key}={value}", 1.0) if isinstance(value, str) else (str(key), _number(key, value))
        for key, value in x.items()
    ]


def _parts(X: Any) -> dict[str, np.ndarray]:
    """The features of a table of pandas, value by value as `_named` has them."""
    import pandas as pd

    parts: dict[str, np.ndarray] = {}
    for key in X.columns:
        if pd.api.types.is_any_real_numeric_dtype(X[key].dtype) or X[key].dtype == bool:
            values = X[key].to_numpy(dtype=np.float64, na_value=np.nan)
            if not np.isfinite(values).all():
                _number(key, values[~np.isfinite(values)][0])
            parts[str(key)] = values
            continue
        codes, levels = pd.factorize(X[key])
        if (codes < 0).any():
            _number(key, None)
        for code, level in enumerate(levels.tolist()):
            ((name, value),) = _named({key: level})
            parts[name] = parts.get(name, 0.0) + value * (codes == code)
    return parts


class _Columns:
    """Which feature has which column; new ones take the next, those of one row in the order of their names."""

    def __init__(self, index: dict[str, int] | None = None) -> None:
        self.index: dict[str, int] = {} if index is None else index

    def lacks(self, names: Iterable[str]) -> bool:
        return any(name not in self.index for name in names)

    def add(self, names: Iterable[str]) -> int:
        """Gives columns to new names, and tells how many there were."""
        new = sorted(name for name in set(names) if name not in self.index)
        for name in new:
            self.index[name] = len(self.index)
        return len(new)

    def row(self, pairs: Iterable[tuple[str, float]]) -> np.ndarray:
        """The row's numbers; features without a column are left out."""
        row = np.zeros(len(self.index))
        for name, value in pairs:
            column = self.index.get(name)
            if column is not None:
                row[column] = value
        return row

    def table(self, parts: dict[str, np.ndarray], rows: int) -> np.ndarray:
        """As `row`, for many."""
        table = np.zeros((rows, len(self.index)), order="F")
        for name, values in parts.items():
            column = self.index.get(name)
            if column is not None:
                table[:, column] = values
        return table


class _Model:
    """What both models share: columns, the making of learners, and learning that a refusal undoes."""

    def _start(self) -> None:
        self._columns = _Columns()
        self._new_learner(0)  # refuses bad parameters at once

    def _new_learner(self, features: int) -> Learner:
        return model(
            self.method,
            "bernoulli" if isinstance(self, Classifier) else self.family,
            features,
            intercept=self.fit_intercept,
            prior_variance=self.prior_variance,
            drift=self.drift,
        )

    def _trial(self, names: Iterable[str], new: bool) -> Any:
        """The model with columns for all names; a copy where any is `new`, whose place `_keep` takes once the rows are learned."""
        if not new and not self._columns.lacks(names):
            return self
        trial = copy.copy(self)
        trial._columns = _Columns(dict(self._columns.index))
        added = trial._columns.add(names)
        trial._replace_learners(lambda learner: self._widened(learner, added))
        return trial

    def _widened(self, learner: Learner, added: int) -> Learner:
        """A copy with more features."""
        if learner.dim == 0 and learner.count == 0:
            # new features take the prior of the last one, and there is none
            return self._new_learner(added)
        wide = learner.copy()
        wide.grow(added)
        return wide

    def _keep(self, trial: Any) -> None:
        if trial is not self:
            vars(self).update(vars(trial))

    def _row(self, x: dict) -> np.ndarray:
        return self._columns.row(_named(x))

    def _table(self, X: Any) -> np.ndarray:
        return self._columns.table(_parts(X), len(X))


class Classifier(_Model, base.MiniBatchClassifier):
    """Online logistic regression of labels, two or more, one against the rest.

    With boolean labels, or two `classes`, a single learner does. Otherwise each label that comes gets its own, as if it had been
    there from the first row.

    Parameters
    ----------
    method
        ``"auto"``, or one of the filters ``"ekf"``, ``"truncated"``, ``"implicit"`` and ``"moment"``, which can grow as well.
    prior_variance
        Variance of each coefficient before the first row, for the filters; 1 by default.
    fit_intercept
        Whether to learn a constant.
    drift
        Whether the coefficients may move with time, for ``"auto"``: ``"detect"`` is static until it is beyond doubt that they
        do and then follows them, ``"off"`` is static, ``"adapt"`` follows from the start.
    classes
        All labels, where they are known; the last of two is the one whose probability is learned.

    Examples
    --------
    >>> import kalmia.river
    >>> model = kalmia.river.Classifier()
    >>> for x, y in [({"a": 1.0}, True), ({"a": -1.0}, False), ({"a": 2.0, "b": 1.0}, True)]:
    ...     model.learn_one(x, y)
    >>> model.predict_one({"a": 1.5})
    True
    """

    def __init__(
        self,
        method: str = "auto",
        prior_variance: float | None = None,
        fit_intercept: bool = True,
        drift: str = "detect",
        classes: tuple | None = None,
    ):
        self.method = method
        self.prior_variance = prior_variance
        self.fit_intercept = fit_intercept
        self.drift = drift
        self.classes = classes
        self._start()
        #: Learners by label; with two known labels, that of the second only.
        self._learners: dict[Any, Learner] = {}
        self._pair: tuple | None = None
        #: Learns that no label is the one that has not come yet.
        self._unseen: Learner | None = None
        if classes is not None:
            if len(set(classes)) < 2:
                raise InputError("classes must be two labels or more")
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
        """Makes sure that every label has a learner, and refuses one outside those that were given."""
        for label in dict.fromkeys(labels):
            if self._pair is not None or self.classes is not None:
                if label not in (self._pair or self._learners):
                    raise InputError(
                        f"label {label!r} is not among the classes {list(self._pair or self._learners)}"
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
            raise InputError(f"label {label!r} is missing")
        return label not in (self._pair or self._learners)

    def learn_one(self, x: dict, y: Any) -> None:
        """Learns a row; a call that is refused changes nothing."""
        pairs = _named(x)
        trial = self._trial([name for name, _ in pairs], self._is_new(y))
        trial._prepare([y])
        row = trial._columns.row(pairs)
        for label, learner in trial._learners.items():
            learner.learn(row, float(label == y))
        if trial._unseen is not None:
            trial._unseen.learn(row, 0.0)
        self._keep(trial)

    def learn_many(self, X, y) -> None:
        """Learns the rows of a pandas table in order, with the same result as one after the other."""
        labels = y.tolist() if hasattr(y, "tolist") else list(y)
        parts = _parts(X)
        # of several learners copies: one of them may refuse what another has learned
        new = any([self._is_new(label) for label in dict.fromkeys(labels)]) or self._pair is None
        trial = self._trial(parts, new)
        trial._prepare(labels)
        table = trial._columns.table(parts, len(X))
        for label, learner in trial._learners.items():
            y = np.fromiter((one == label for one in labels), dtype=np.float64, count=len(labels))
            learner.learn_many(table, y, means=False)
        if trial._unseen is not None:
            trial._unseen.learn_many(table, np.zeros(len(labels)), means=False)
        self._keep(trial)

    def _table_of(self, columns: list[Any], values: list[np.ndarray]) -> np.ndarray:
        if self._pair is not None:
            return np.column_stack([1.0 - values[0], values[0]])
        table = np.column_stack(values)
        total = table.sum(axis=1, keepdims=True)
        return np.divide(
            table, total, out=np.full_like(table, 1.0 / len(columns)), where=total > 0.0
        )

    def predict_proba_one(self, x: dict, **kwargs: Any) -> dict[Any, float]:
        """Probabilities of the labels that have come; before the first row, none unless `classes` is given."""
        if not self._learners:
            return {}
        labels = list(self._pair or self._learners)
        row = self._row(x)
        values = [np.array([learner.predict(row).mean]) for learner in self._learners.values()]
        return dict(zip(labels, self._table_of(labels, values)[0].tolist(), strict=True))

    def predict_proba_many(self, X):
        """Probabilities of the labels, a column each, for the rows of a pandas table."""
        import pandas as pd

        if not self._learners:
            return pd.DataFrame(index=X.index)
        labels = list(self._pair or self._learners)
        table = self._table(X)
        values = [learner.predict_many(table) for learner in self._learners.values()]
        return pd.DataFrame(self._table_of(labels, values), columns=labels, index=X.index)


class Regressor(_Model, base.MiniBatchRegressor):
    """Online regression of numbers, counts or positive amounts.

    Parameters
    ----------
    family
        ``"gaussian"``, ``"poisson"`` or ``"gamma"``.
    method
        ``"auto"``, or one of the filters ``"ekf"``, ``"truncated"``, ``"implicit"`` and ``"moment"``, which can grow as well.
    prior_variance
        Variance of each coefficient before the first row, for the filters; 1 by default.
    fit_intercept
        Whether to learn a constant.
    drift
        Whether the coefficients may move with time, for ``"auto"``: ``"detect"`` is static until it is beyond doubt that they
        do and then follows them, ``"off"`` is static, ``"adapt"`` follows from the start.

    Examples
    --------
    >>> import kalmia.river
    >>> model = kalmia.river.Regressor()
    >>> for t in range(20):
    ...     model.learn_one({"t": t}, 2.0 * t + 1.0)
    >>> round(model.predict_one({"t": 30}), 1)
    61.0
    """

    def __init__(
        self,
        family: str = "gaussian",
        method: str = "auto",
        prior_variance: float | None = None,
        fit_intercept: bool = True,
        drift: str = "detect",
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
        """Learns a row; a call that is refused changes nothing."""
        pairs = _named(x)
        trial = self._trial([name for name, _ in pairs], False)
        trial._learner.learn(trial._columns.row(pairs), _number("y", y))
        self._keep(trial)

    def learn_many(self, X, y) -> None:
        """Learns the rows of a pandas table in order, with the same result as one after the other."""
        parts = _parts(X)
        trial = self._trial(parts, False)
        trial._learner.learn_many(
            trial._columns.table(parts, len(X)), np.asarray(y, dtype=np.float64), means=False
        )
        self._keep(trial)

    def predict_one(self, x: dict) -> float:
        """The expectation of the target."""
        return self._learner.predict(self._row(x)).mean

    def predict_interval_one(self, x: dict, level: float = 0.95) -> tuple[float, float]:
        """The interval in which the target lies with probability `level`."""
        return self._learner.predict(self._row(x)).interval(level)

    def predict_many(self, X):
        """The expectations of the targets of the rows of a pandas table."""
        import pandas as pd

        return pd.Series(self._learner.predict_many(self._table(X)), index=X.index)
