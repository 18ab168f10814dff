"""The base of the River models: growth, what was learned, and files."""

from __future__ import annotations

import copy
import os
import warnings
from collections.abc import Callable, Hashable, Iterable, Mapping
from types import SimpleNamespace
from typing import Any, Literal, TypeVar

import numpy as np
from numpy.typing import NDArray

from ._classes import is_joint
from ._files import _schema, load, write
from ._kalmia import (
    Auto,
    ClassLearner,
    Learner,
    Schema,
    WideRows,
    model,
    river_row,
    shrink,
    wide_row,
)
from ._parameters import check_names
from ._river_features import Columns, row_count, row_features, table_features
from ._summary import Summary
from .errors import InputError, ModelFileError

Vector = NDArray[np.float64]
Row = Mapping[Any, Any]
DriftName = Literal["detect", "off", "adapt"]
MethodName = Literal["auto", "wide", "ekf", "truncated", "implicit", "moment"]
Self = TypeVar("Self", bound="RiverModel")

#: Features from which a model warns, once, that memory and time grow with their square.
MANY_FEATURES = 1000

#: The name of the intercept beside those of features.
INTERCEPT = "(intercept)"

#: The docstring section on the parameters that both models have.
PARAMETERS = """method
        ``"auto"``; ``"wide"`` for words and other features without number, with which a row
        costs as much as it has features; or one of the filters ``"ekf"``, ``"truncated"``,
        ``"implicit"`` and ``"moment"``. The other methods cannot add features.
    prior_variance
        Variance of each coefficient before the first row; 1 by default. Filters only.
    fit_intercept
        Whether to learn an intercept.
    drift
        What ``"auto"`` and ``"wide"`` do when the coefficients change over time. ``"detect"``, the
        default, keeps them constant until a change is detected and tracks them from then on.
        ``"off"`` keeps them constant. ``"adapt"`` tracks them without waiting for a
        detection."""


class RiverModel:
    """The base of both models: columns, new learners, and calls that change nothing if refused."""

    method: MethodName
    prior_variance: float | None
    fit_intercept: bool
    drift: DriftName | None
    _columns: Columns
    _warned = False

    def _start(self) -> None:
        self._columns = Columns()
        # bad parameters are refused here and not at the first row
        check_names(method=self.method, drift=self.drift, family=getattr(self, "family", None))
        self._new_learner(0)

    def _family_name(self) -> str:
        raise NotImplementedError

    def _all_learners(self) -> list[Learner]:
        """Every learner that learns rows."""
        raise NotImplementedError

    def _replace_learners(self, change: Callable[[Any], Any]) -> None:
        raise NotImplementedError

    def _new_learner(self, features: int) -> Learner:
        return model(
            self.method,
            self._family_name(),
            features,
            intercept=self.fit_intercept,
            prior_variance=self.prior_variance,
            drift=self.drift,
            numbers=0 if self._wide else None,
        )

    @property
    def _wide(self) -> bool:
        """Whether rows are sparse."""
        return self.method == "wide"

    # -- growth -----------------------------------------------------------------------------------

    def _learn_row(self, x: Row, targets: Callable[[], list[float]], w: float) -> None:
        """Learns one row; `targets` has that of each learner. A refused row changes nothing.

        New features are appended in place and removed again if the row is refused: a copy of the
        covariances would take longer than learning the row.
        """
        if self._wide:
            self._learn_wide_row(x, targets, w)
            return
        row = river_row(self._columns.index, x, True) if type(x) is dict else None
        if row is not None:
            for learner, y in zip(self._all_learners(), targets(), strict=True):
                learner.learn(row, y, w)
            return
        pairs = row_features(x)
        names = [name for name, _ in pairs]
        if not self._columns.index:
            # the first features replace learners that have none
            staged = self._staged(names, True)
            row = staged._columns.row(pairs)
            for learner, y in zip(staged._all_learners(), targets(), strict=True):
                learner.learn(row, y, w)
            self._commit(staged)
            return
        added = self._columns.add(names)
        grown: list[Learner] = []
        learned = False
        try:
            for learner in self._all_learners():
                learner.grow(added)
                grown.append(learner)
            row = self._columns.row(pairs)
            for learner, y in zip(self._all_learners(), targets(), strict=True):
                learner.learn(row, y, w)
                learned = True
        except BaseException:
            if not learned:
                for learner in grown:
                    shrink(learner, added)
                self._columns.remove(added)
            raise
        if added:
            self._warn_of_many()

    def _learn_wide_row(self, x: Row, targets: Callable[[], list[float]], w: float) -> None:
        """Learns one row by learners that take new features by themselves."""
        known = self._columns.index
        row = wide_row(known, x, True, self.fit_intercept) if type(x) is dict else None
        added = 0
        if row is None:
            pairs = row_features(x)
            added = self._columns.add(name for name, _ in pairs)
            row = self._columns.wide_row(pairs, self.fit_intercept)
        learned = False
        try:
            for learner, y in zip(self._all_learners(), targets(), strict=True):
                learner.learn(row, y, w)
                learned = True
        except BaseException:
            if not learned:
                self._columns.remove(added)
            raise

    def _staged(self: Self, names: Iterable[str], new: bool) -> Self:
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
        if self._wide:
            return learner.copy()
        if not self._columns.index and learner.count == 0:
            # `grow` copies the prior of the last feature, and there is none yet
            return self._new_learner(added)
        wide = learner.copy()
        wide.grow(added)
        return wide

    def _commit(self, staged: RiverModel) -> None:
        if staged is not self:
            vars(self).update(vars(staged))
            self._warn_of_many()

    def _warn_of_many(self) -> None:
        """Warns once of a vocabulary that keeps growing: covariances are dense."""
        features = len(self._columns.index)
        if self._wide or self._warned or features < MANY_FEATURES:
            return
        self._warned = True
        learners = self._all_learners()
        matrices = sum(map(_matrices, learners))
        least = "at least " if is_joint(learners) else ""
        megabytes = matrices * 8.0 * features**2 / 1e6
        warnings.warn(
            f"this model has {features} features and keeps {least}{matrices} covariance matrices, "
            f"at least {megabytes:.0f} MB: memory and time per row grow with the square of the "
            'number of features. If the features are words or identifiers, use method="wide", with '
            "which a row costs as much as it has features; otherwise select features",
            UserWarning,
            stacklevel=4,
        )

    # -- rows -------------------------------------------------------------------------------------

    def _row(self, x: Row) -> Vector | WideRows:
        if self._wide:
            known = self._columns.index
            found = wide_row(known, x, False, self.fit_intercept) if type(x) is dict else None
            if found is not None:
                return found
            return self._columns.wide_row(row_features(x), self.fit_intercept)
        row = river_row(self._columns.index, x, False) if type(x) is dict else None
        return self._columns.row(row_features(x)) if row is None else row

    def _table(self, X: Any) -> Vector | WideRows:
        return self._feature_table(table_features(X), row_count(X))

    def _feature_table(self, features: dict[str, Vector], rows: int) -> Vector | WideRows:
        if self._wide:
            return self._columns.wide_table(features, rows, self.fit_intercept)
        return self._columns.table(features, rows)

    # -- what was learned -------------------------------------------------------------------------

    @property
    def learners_(self) -> list[Any]:
        """The learners: one, or one per label if they are not learned jointly."""
        raise NotImplementedError

    @property
    def classes_(self) -> list[Any]:
        """The labels in their order; empty for numbers."""
        raise NotImplementedError

    def _feature_names(self) -> list[str]:
        return list(self._columns.index)

    def _names(self) -> list[str]:
        return ([INTERCEPT] if self.fit_intercept else []) + self._feature_names()

    def _by_name(self, learner: Learner, values: Vector, skip: int = 0) -> dict[str, float]:
        """A learner's value per coefficient, without the first ones.

        A wide learner has none of features that were always 0.
        """
        names = self._names()
        places = learner.features
        if places is not None:
            names = [names[place] for place in places.tolist()]
        return dict(zip(names[skip:], values[skip:].tolist(), strict=True))

    def _main_coefficients(self, learner: Learner, level: float) -> list[Any]:
        return learner.main_coefficients(self._schema(), level)

    def _main_class_coefficients(
        self, learner: ClassLearner, codes: list[int], level: float
    ) -> list[list[Any]]:
        """The strongest coefficients of each label against the first."""
        return learner.main_coefficients(self._schema(), codes, level)

    def _by_label(self, of: Callable[[Any], Any]) -> Any:
        """A value of the coefficients; of those of each label, by label, if there are several."""
        return self._by_learner(of)

    def _by_learner(self, of: Callable[[Any], Any]) -> Any:
        """A value of the only learner, or of each learner by its label."""
        learners = self.learners_
        if len(learners) == 1:
            return of(learners[0])
        return {label: of(one) for label, one in zip(self.classes_, learners, strict=True)}

    @property
    def weights(self) -> dict[Any, Any]:
        """The coefficient of each feature; with several labels, such a dictionary per label.

        If they are learned jointly, log odds against the first label, whose coefficients are 0.
        """
        skip = int(self.fit_intercept)
        return dict(self._by_label(lambda one: self._by_name(one, one.theta, skip)))

    @property
    def intercept(self) -> Any:
        """The intercept, 0 if there is none; with several labels, a dictionary by label."""
        return self._by_label(lambda one: float(one.theta[0]) if self.fit_intercept else 0.0)

    @property
    def standard_errors(self) -> dict[Any, Any]:
        """The standard error of each coefficient, that of the intercept as ``"(intercept)"``.

        With several labels, such a dictionary per label.
        """

        def errors(one: Learner) -> dict[str, float]:
            found = one.standard_errors
            assert found is not None, "River's methods all have a covariance"
            return self._by_name(one, found)

        return dict(self._by_label(errors))

    @property
    def progressive_(self) -> dict[Any, Any]:
        """Metrics of the predictions made before each row was learned.

        Losses, coverage of 95 % intervals, the last half of the rows, and for labels accuracy and
        calibration. With one learner per label, a dictionary per label, of that label against the
        rest.
        """
        return dict(self._by_learner(lambda one: one.progressive))

    def _scored(self) -> list[Any]:
        """What keeps the progressive scores, as of an estimator."""
        return self.learners_

    @property
    def progressive_loss_(self) -> float:
        """Mean loss of the predictions made before each row was learned: half the deviance.

        For labels that is the log-loss; with one learner per label, the mean of their own. If
        labels are learned jointly, a new one counts as known in the prediction of its first row,
        and not before. NaN before the first row.
        """
        losses = [one.progressive["loss"] for one in self.learners_ if one.progressive]
        return float(np.mean(losses)) if losses else float("nan")

    @property
    def drifts_(self) -> bool:
        """Whether a drift is tracked, for any label: coefficients then describe the last rows."""
        return any(learner.drift == "followed" for learner in self.learners_)

    @property
    def n_samples_seen_(self) -> int:
        """Number of rows learned."""
        return max((learner.count for learner in self.learners_), default=0)

    def summary(self, level: float = 0.95) -> Summary:
        """The table of coefficients with standard errors, intervals and notes on loss and drift.

        Parameters
        ----------
        level
            Probability of the intervals, strictly between 0 and 1.
        """
        if not self.learners_:
            raise InputError("the model has learned no row yet: call learn_one or learn_many first")
        return Summary.of(self, level)

    # -- files ------------------------------------------------------------------------------------

    def _stored(self) -> dict[str, Any]:
        """What the file keeps beside learners and columns."""
        raise NotImplementedError

    def _restore(self, learners: list[Learner], stored: dict[str, Any]) -> None:
        raise NotImplementedError

    def _parameters(self) -> dict[str, Any]:
        """The constructor's parameters."""
        raise NotImplementedError

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes the model to a file, from which `load` and `kalmia.load` continue exactly.

        If there is one learner, the command ``kalmia`` reads the file too: labels that are learned
        jointly are its classes.

        Parameters
        ----------
        path
            The file. An existing one is replaced in one step: if writing fails, it is unchanged.
        """
        learners = self._all_learners()
        if not learners:
            raise InputError("the model has learned no row yet, so there is nothing to save")
        river = {
            "class": type(self).__name__,
            "parameters": self._parameters(),
            "columns": self._feature_names(),
            **self._stored(),
        }
        write(path, learners, self._schema(), {"river": river})

    def _schema(self) -> Schema:
        """The columns as an estimator of the same learners would have them."""
        fitted = SimpleNamespace(learners_=self.learners_, _feature_names=self._feature_names)
        if is_joint(self.learners_):
            return _schema(fitted).with_classes([str(label) for label in self.classes_])
        if self.classes_:
            fitted.classes_ = np.array(self.classes_)
        return _schema(fitted)

    @classmethod
    def load(cls: type[Self], path: str | os.PathLike[str]) -> Self:
        """Reads a model that `save` wrote.

        Parameters
        ----------
        path
            The file.
        """
        found = load(path)
        if not isinstance(found, RiverModel):
            raise ModelFileError(f"model file {path}: it holds no River model: use kalmia.load")
        if not isinstance(found, cls):
            raise ModelFileError(
                f"model file {path}: it holds a {type(found).__name__} and no {cls.__name__}: call "
                f"kalmia.river.{type(found).__name__}.load"
            )
        return found


def _matrices(learner: Any) -> int:
    """How many covariance matrices a learner keeps, at least."""
    if isinstance(learner, ClassLearner):
        return learner.classes
    return len(learner.weights) if isinstance(learner, Auto) else 1


def read(learners: list[Any], stored: Any, path: Any, names: list[str] | None) -> Any:
    """The River model of a file's content; `names` are those of several classes."""
    from . import river
    from ._classes import all_labels

    kinds: dict[str, Any] = {"Classifier": river.Classifier, "Regressor": river.Regressor}
    if stored.get("class") not in kinds:
        raise ModelFileError(f"model file {path}: unknown River model {stored.get('class')!r}")
    found = kinds[stored["class"]](**stored["parameters"])
    found._columns = Columns({name: column for column, name in enumerate(stored["columns"])})
    if names is not None:
        stored = stored | {"labels": all_labels(stored["labels"], names)}
    found._restore(learners, stored)
    return found


def plain_label(label: Hashable) -> Any:
    """A label as a file can hold it."""
    if isinstance(label, np.generic):
        label = label.item()
    if not isinstance(label, (bool, int, float, str)):
        raise InputError(
            f"label {label!r} is of type {type(label).__name__}: a file holds labels that are "
            "strings, numbers or booleans. Use pickle for others"
        )
    return label
