"""The labels of a River classifier that one learner holds jointly."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from itertools import count
from typing import Any, TypeVar

import numpy as np

from ._classes import contrasts, is_joint
from ._kalmia import ClassLearner, WideRows, river_row, wide_row
from ._river_features import row_features
from ._river_model import RiverModel, Row, Vector

Self = TypeVar("Self", bound="JointLabels")


@dataclass(frozen=True)
class LabelCoefficients:
    """The coefficients of a label against the first, by the names that a learner has for them."""

    theta: Vector
    standard_errors: Vector
    #: The features that a wide learner has seen; None if every feature has a coefficient.
    features: Any = None


class JointLabels(RiverModel):
    """The base of a classifier whose labels are one learner's classes, coded as they appear."""

    #: The learner of all labels, from the first row on, or from the start if they are given.
    #: None if there is one learner per label, or one of a pair. The two have defaults here because
    #: models that were pickled by earlier versions lack them.
    _joint: ClassLearner | None = None
    #: The code of each label, in order. Copies share it, so it is replaced and never changed.
    _labels: Mapping[Any, int] = {}

    def _can_join(self) -> bool:
        """Whether the parameters allow one learner."""
        return self.method in ("auto", "wide")

    def _open_jointly(self, labels: list[Any]) -> None:
        """Starts the learner with labels that are known beforehand."""
        self._labels = {label: code for code, label in enumerate(labels)}
        self._joint = self._new_joint(len(labels), len(self._columns.index))

    def _joined(self, labels: Iterable[Any]) -> ClassLearner:
        """The learner, after each new label has a code. It adds the class at its first row."""
        new = [label for label in dict.fromkeys(labels) if label not in self._labels]
        self._labels = {**self._labels, **dict(zip(new, count(len(self._labels))))}
        if self._joint is None:
            self._joint = self._new_joint(1, len(self._columns.index))
        return self._joint

    def _new_joint(self, labels: int, features: int) -> ClassLearner:
        if self._wide:
            return ClassLearner(labels, 0, self.fit_intercept, drift=self.drift, numbers=0)
        # a learner has at least one coefficient: see `_padded`
        width = features if self.fit_intercept else max(features, 1)
        return ClassLearner(labels, width, self.fit_intercept, drift=self.drift)

    @property
    def _lacks_features(self) -> bool:
        """Whether the learner has only a feature that is always 0, in place of the first ones."""
        return not self._wide and not self.fit_intercept and not self._columns.index

    def _padded(self, x: Any) -> Vector:
        """A row or a table as the learner takes it."""
        return np.zeros((*x.shape[:-1], 1)) if self._lacks_features else x

    def _widened(self, learner: Any, added: int) -> Any:
        if self._wide or not isinstance(learner, ClassLearner):
            return super()._widened(learner, added)
        if not self._columns.index and learner.count == 0:
            return self._new_joint(learner.classes, added)
        wide = learner.copy()
        wide.grow(max(added - int(self._lacks_features), 0))
        return wide

    # -- learning and predicting ------------------------------------------------------------------

    def _learned_jointly(self: Self, x: Row, y: Any, w: float) -> Self:
        """The model with one more row, to commit: a copy if a feature or the label is new."""
        if self._wide:
            known = self._columns.index
            found = wide_row(known, x, True, self.fit_intercept) if type(x) is dict else None
            pairs = [] if found is not None else row_features(x)
            names = [name for name, _ in pairs]

            def made() -> WideRows:
                if found is not None:
                    return found
                return self._columns.wide_row(pairs, self.fit_intercept)

            return self._learned_wide(
                names, [y], made, lambda joint, row, codes: joint.learn(row, codes[0], w)
            )
        row = river_row(self._columns.index, x, True) if type(x) is dict else None
        code = self._labels.get(y)
        if row is not None and code is not None and self._joint is not None:
            self._joint.learn(self._padded(row), code, w)
            return self
        pairs = row_features(x)
        staged = self._staged([name for name, _ in pairs], code is None)
        joint = staged._joined([y])
        joint.learn(staged._padded(staged._columns.row(pairs)), staged._labels[y], w)
        return staged

    def _learned_table_jointly(
        self: Self, features: dict[str, Vector], labels: list[Any], weight: Vector | None
    ) -> Self:
        """The model with the rows of a table, to commit: a copy if a feature or a label is new."""
        if self._wide:

            def made() -> WideRows:
                return self._columns.wide_table(features, len(labels), self.fit_intercept)

            return self._learned_wide(
                features,
                labels,
                made,
                lambda joint, table, codes: joint.learn_many(table, codes, weight),
            )
        new = any(label not in self._labels for label in labels)
        staged = self._staged(features, new)
        joint = staged._joined(labels)
        codes = np.fromiter((staged._labels[label] for label in labels), float, len(labels))
        table = staged._padded(staged._columns.table(features, len(labels)))
        joint.learn_many(table, codes, weight, undo=staged is self)
        return staged

    def _learned_wide(
        self: Self,
        names: Iterable[str],
        labels: list[Any],
        made: Callable[[], WideRows],
        learn: Callable[[ClassLearner, WideRows, list[int]], None],
    ) -> Self:
        """The model with more sparse rows. Nothing is copied: a learner undoes what it refuses."""
        new = [label for label in dict.fromkeys(labels) if label not in self._labels]
        known = {**self._labels, **dict(zip(new, count(len(self._labels))))}
        joint = self._new_joint(1, 0) if self._joint is None else self._joint
        added = self._columns.add(names)
        try:
            learn(joint, made(), [known[label] for label in labels])
        except BaseException:
            self._columns.remove(added)
            raise
        self._joint = joint
        self._labels = known
        return self

    def _joint_probabilities(self, joint: ClassLearner, x: Row) -> dict[Any, float]:
        found = joint.predict(self._padded(self._row(x)))
        return dict(zip(self._labels, found.tolist(), strict=True))

    def _joint_intervals(
        self, joint: ClassLearner, x: Row, level: float
    ) -> dict[Any, tuple[float, float]]:
        row = self._padded(self._row(x))
        if len(self._labels) == 1:
            # nothing speaks against the only label
            return dict.fromkeys(self._labels, (1.0, 1.0))
        table = row if self._wide else row[np.newaxis]
        lower, upper = joint.predict_interval(table, level)
        ends = zip(lower[0].tolist(), upper[0].tolist(), strict=True)
        return dict(zip(self._labels, ends, strict=True))

    # -- what was learned -------------------------------------------------------------------------

    @property
    def _codes(self) -> range:
        """The codes of the labels, as :mod:`kalmia._classes` asks for them."""
        return range(len(self._labels))

    def _by_label(self, of: Callable[[Any], Any]) -> Any:
        if self._joint is None:
            return super()._by_label(of)
        coefficients, errors = contrasts(self._joint, self._codes)
        features = self._joint.features
        width = len(self._names())
        return {
            label: of(LabelCoefficients(coefficients[k, :width], errors[k, :width], features))
            for label, k in self._labels.items()
        }

    # -- files ------------------------------------------------------------------------------------

    def _restore_jointly(self, learners: list[Any], labels: list[Any]) -> bool:
        """Takes the learner of a file; false if that has one learner per label, or of a pair."""
        joint = is_joint(learners)
        self._joint = learners[0] if joint else None
        self._labels = {label: code for code, label in enumerate(labels)} if joint else {}
        return joint
