"""River models: rows are dictionaries, learned one by one or in batches. Needs ``river``.

Features may appear at any time and be absent from any row. An absent feature counts as 0, which
biases the model if its typical values are far from 0. A new feature starts from its prior and
changes nothing that was learned. A string is a category: ``{"city": "Lyon"}`` is the feature
``city=Lyon`` with the value 1. No scaler is needed. Batches are tables of pandas, polars or Arrow,
or matrices of numpy, whose columns are named 0, 1, 2, ...

The covariance is dense: memory and time per row grow with the square of the number of features. A
model warns once when it reaches 1000 features. For words and identifiers use ``method="wide"``: a
row then costs as much as it has features, and memory grows with the features seen.

Examples
--------
>>> from river import datasets, evaluate, metrics
>>> import kalmia.river
>>> model = kalmia.river.Classifier()
>>> evaluate.progressive_val_score(datasets.Phishing(), model, metrics.Accuracy()).get() > 0.85
True
>>> max(model.weights, key=lambda name: abs(model.weights[name] / model.standard_errors[name]))
'empty_server_form_handler'
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

try:
    from river import base
except ImportError as error:
    raise ImportError("kalmia.river needs the package river: pip install river pandas") from error

from ._data import class_probabilities
from ._kalmia import Learner, predict_mean
from ._river_features import (
    Columns,
    listed,
    row_count,
    table_features,
    target_number,
    target_numbers,
    weight_number,
    weight_numbers,
)
from ._river_labels import Labels
from ._river_model import (
    MANY_FEATURES,
    PARAMETERS,
    DriftName,
    MethodName,
    RiverModel,
    Row,
    plain_label,
)
from .errors import InputError

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["MANY_FEATURES", "Classifier", "Regressor"]

#: The name in pickles of version 0.1.
_Columns = Columns


class Classifier(Labels, base.MiniBatchClassifier):
    __doc__ = f"""Online logistic regression for two or more labels.

    Labels may appear at any time. ``"auto"`` and ``"wide"`` learn them jointly: the probabilities
    are those of a softmax, and the coefficients are log odds against the first label.

    With another method there is one learner per label, which learns that label against the rest;
    their probabilities are renormalized to sum to 1. A label that appears late has the learner
    that it would have if it had been known from the first row.

    Boolean labels, and two `classes`, need one learner of the second label with any method.

    Parameters
    ----------
    {PARAMETERS}
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
    >>> sorted(model.weights)
    ['a', 'b']
    """

    def __init__(
        self,
        method: MethodName = "auto",
        prior_variance: float | None = None,
        fit_intercept: bool = True,
        drift: DriftName | None = None,
        classes: tuple[Any, ...] | None = None,
    ):
        self.method = method
        self.prior_variance = prior_variance
        self.fit_intercept = fit_intercept
        self.drift = drift
        self.classes = classes
        self._start()
        self._learners = {}
        self._pair = None
        self._unseen = None
        self._joint = None
        self._labels = {}
        if classes is not None:
            if len(set(classes)) < 2:
                raise InputError(
                    f"classes are {classes!r}: give at least two different labels, or None"
                )
            self._open(classes)

    @property
    def _multiclass(self) -> bool:
        return True

    def _family_name(self) -> str:
        return "bernoulli"

    def learn_one(self, x: Row, y: Any, w: float = 1.0) -> None:
        """Learns one row. If it is refused, the model is unchanged.

        Parameters
        ----------
        x
            Values by name.
        y
            The label.
        w
            Weight: the row counts as that many rows.
        """
        weight = weight_number(w)
        is_new = self._is_new(y)
        if self._joins(y):
            self._commit(self._learned_jointly(x, y, weight))
            return
        if not is_new:
            self._learn_row(x, lambda: self._targets(y), weight)
            return
        staged = self._staged([], True)
        staged._prepare([y])
        staged._learn_row(x, lambda: staged._targets(y), weight)
        self._commit(staged)

    def learn_many(self, X: Any, y: Any, w: Any = 1.0) -> None:
        """Learns the rows of a table in order; the result is that of `learn_one` per row.

        Parameters
        ----------
        X
            A table of pandas, polars or Arrow, or a matrix of numpy.
        y
            The labels, one per row.
        w
            One weight for all rows, or one per row.
        """
        features = table_features(X)
        rows = row_count(X)
        labels = listed(y)
        if len(labels) != rows:
            raise InputError(f"X has {rows} rows, but y has {len(labels)}: give one per row")
        weight = weight_numbers(w, rows)
        # a list, because every label must be checked
        new = any([self._is_new(label) for label in dict.fromkeys(labels)])
        if labels and self._joins(labels[0]):
            self._commit(self._learned_table_jointly(features, labels, weight))
            return
        # of several learners, one may refuse rows that another has learned, so copies learn
        staged = self._staged(features, new or self._pair is None)
        staged._prepare(labels)
        table = staged._feature_table(features, rows)
        undo = staged is self
        for label, learner in staged._learners.items():
            event = np.fromiter((one == label for one in labels), dtype=np.float64, count=rows)
            learner.learn_many(table, event, weight, means=False, undo=undo)
        if staged._unseen is not None:
            staged._unseen.learn_many(table, np.zeros(rows), weight, means=False, undo=undo)
        self._commit(staged)

    def predict_proba_one(self, x: Row, **kwargs: Any) -> dict[Any, float]:
        """Predicts the probability of each label seen so far.

        Before the first row there is none, and the result is empty, unless `classes` is given.
        """
        if self._joint is not None:
            return self._joint_probabilities(self._joint, x)
        if not self._learners:
            return {}
        row = self._row(x)
        found = [predict_mean(learner, row) for learner in self._learners.values()]
        if self._pair is not None:
            return {self._pair[0]: 1.0 - found[0], self._pair[1]: found[0]}
        shares = class_probabilities([np.array([p]) for p in found], binary=False)[0]
        return dict(zip(self._learners, shares.tolist(), strict=True))

    def predict_proba_many(self, X: Any) -> pd.DataFrame:
        """Predicts the probabilities for the rows of a table, one column per label."""
        import pandas as pd

        index = getattr(X, "index", None) if hasattr(X, "iloc") else None
        if not self.learners_:
            return pd.DataFrame(index=range(row_count(X)) if index is None else index)
        table = self._table(X)
        if self._joint is not None:
            shares = self._joint.predict_many(self._padded(table))
            return pd.DataFrame(shares, columns=self.classes_, index=index)
        values = [learner.predict_many(table) for learner in self._learners.values()]
        found = class_probabilities(values, binary=self._pair is not None)
        return pd.DataFrame(found, columns=self.classes_, index=index)

    def predict_interval_one(self, x: Row, level: float = 0.95) -> dict[Any, tuple[float, float]]:
        """Predicts, for each label, the interval that holds its probability with this level.

        With one learner per label, of each label against the rest, before the renormalization of
        `predict_proba_one`.

        Parameters
        ----------
        x
            Values by name.
        level
            Probability of the interval, strictly between 0 and 1.
        """
        if self._joint is not None:
            return self._joint_intervals(self._joint, x, level)
        row = self._row(x)
        found = {
            label: learner.predict(row).mean_interval(level)
            for label, learner in self._learners.items()
        }
        if self._pair is None:
            return found
        low, high = found[self._pair[1]]
        return {self._pair[0]: (1.0 - high, 1.0 - low), self._pair[1]: (low, high)}

    def _parameters(self) -> dict[str, Any]:
        classes = None if self.classes is None else [plain_label(one) for one in self.classes]
        return {
            "method": self.method,
            "prior_variance": self.prior_variance,
            "fit_intercept": self.fit_intercept,
            "drift": self.drift,
            "classes": classes,
        }


class Regressor(RiverModel, base.MiniBatchRegressor):
    __doc__ = f"""Online regression for numbers, counts or positive amounts.

    Parameters
    ----------
    family
        ``"gaussian"`` for any number, ``"poisson"`` for counts and other numbers from 0 on,
        ``"negative-binomial"`` for counts that vary more, ``"gamma"`` for amounts above 0,
        ``"student"`` for numbers with outliers (``"student:3"`` has 3 degrees of freedom instead of
        4), ``"quantile:0.9"`` for the level that the target stays below with probability 0.9.
        ``"gaussian:0.5"`` fixes the noise variance of a filter; ``"auto"`` learns it.
    {PARAMETERS}

    Examples
    --------
    >>> import kalmia.river
    >>> model = kalmia.river.Regressor()
    >>> for t in range(20):
    ...     model.learn_one({{"t": t}}, 2.0 * t + 1.0)
    >>> round(model.predict_one({{"t": 30}}), 1), round(model.weights["t"], 3)
    (61.0, 2.0)
    """

    def __init__(
        self,
        family: str = "gaussian",
        method: MethodName = "auto",
        prior_variance: float | None = None,
        fit_intercept: bool = True,
        drift: DriftName | None = None,
    ):
        self.family = family
        self.method = method
        self.prior_variance = prior_variance
        self.fit_intercept = fit_intercept
        self.drift = drift
        self._start()
        self._learner = self._new_learner(0)

    def _family_name(self) -> str:
        if isinstance(self.family, str) and "," in self.family:
            raise InputError(
                f"family {self.family!r} has several levels, but a Regressor predicts one number: "
                "make one Regressor per level, or use kalmia.QuantileRegression(quantile=[...])"
            )
        return self.family

    def _replace_learners(self, change: Callable[[Any], Any]) -> None:
        self._learner = change(self._learner)

    def _all_learners(self) -> list[Learner]:
        return [self._learner]

    def learn_one(self, x: Row, y: float, w: float = 1.0) -> None:
        """Learns one row. If it is refused, the model is unchanged.

        Parameters
        ----------
        x
            Values by name.
        y
            The target.
        w
            Weight: the row counts as that many rows.
        """
        target = [target_number(y)]
        self._learn_row(x, lambda: target, weight_number(w))

    def learn_many(self, X: Any, y: Any, w: Any = 1.0) -> None:
        """Learns the rows of a table in order; the result is that of `learn_one` per row.

        Parameters
        ----------
        X
            A table of pandas, polars or Arrow, or a matrix of numpy.
        y
            The targets, one per row.
        w
            One weight for all rows, or one per row.
        """
        features = table_features(X)
        rows = row_count(X)
        targets = target_numbers(y, rows)
        weight = weight_numbers(w, rows)
        staged = self._staged(features, False)
        staged._learner.learn_many(
            staged._feature_table(features, rows),
            targets,
            weight,
            means=False,
            undo=staged is self,
        )
        self._commit(staged)

    def predict_one(self, x: Row) -> float:
        """Predicts the mean of the target; of the family ``"quantile"`` the quantile."""
        return predict_mean(self._learner, self._row(x))

    def predict_interval_one(self, x: Row, level: float = 0.95) -> tuple[float, float]:
        """Predicts the interval that holds the target with probability `level`.

        Of the family ``"quantile"`` it is the interval of the quantile, not of the target.
        """
        prediction = self._learner.predict(self._row(x))
        if self._learner.family == "quantile":
            return prediction.mean_interval(level)
        return prediction.interval(level)

    def predict_many(self, X: Any) -> pd.Series[float]:
        """Predicts the mean of the target, or the quantile, for the rows of a table."""
        import pandas as pd

        index = getattr(X, "index", None) if hasattr(X, "iloc") else None
        return pd.Series(self._learner.predict_many(self._table(X)), index=index)

    @property
    def learners_(self) -> list[Learner]:
        """The learner, in a list."""
        return [self._learner]

    @property
    def classes_(self) -> list[Any]:
        """Empty: there are no labels."""
        return []

    def _parameters(self) -> dict[str, Any]:
        return {
            "family": self.family,
            "method": self.method,
            "prior_variance": self.prior_variance,
            "fit_intercept": self.fit_intercept,
            "drift": self.drift,
        }

    def _stored(self) -> dict[str, Any]:
        return {}

    def _restore(self, learners: list[Learner], stored: dict[str, Any]) -> None:
        (self._learner,) = learners
