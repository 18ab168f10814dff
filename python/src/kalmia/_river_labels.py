"""The labels of a River classifier: a pair, one learner of all, or one learner each."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from ._kalmia import Learner
from ._river_joint import JointLabels
from ._river_model import plain_label
from .errors import InputError


class Labels(JointLabels):
    """The base of the classifier: which learners there are, and what a label is to them."""

    classes: tuple[Any, ...] | None
    #: Learners by label; for two known labels, only that of the second. Empty if one has all.
    _learners: dict[Any, Learner]
    _pair: tuple[Any, Any] | None
    #: A learner that has seen only zeros; a label that appears later starts from a copy.
    _unseen: Learner | None

    def _open(self, classes: Iterable[Any]) -> None:
        labels = list(dict.fromkeys(classes))
        fresh = len(self._columns.index)
        if len(labels) == 2:
            self._pair = (labels[0], labels[1])
            self._learners = {labels[1]: self._new_learner(fresh)}
        elif self._can_join():
            self._open_jointly(labels)
        else:
            self._learners = {label: self._new_learner(fresh) for label in labels}

    def _prepare(self, labels: Iterable[Any]) -> None:
        """Creates the learners of new labels."""
        for label in dict.fromkeys(labels):
            if not self._is_new(label):
                continue
            if not self._learners and isinstance(label, (bool, np.bool_)):
                self._open((False, True))
                continue
            if self._unseen is None:
                self._unseen = self._new_learner(len(self._columns.index))
            self._learners[label] = self._unseen.copy()

    def _replace_learners(self, change: Callable[[Any], Any]) -> None:
        self._learners = {label: change(learner) for label, learner in self._learners.items()}
        self._unseen = None if self._unseen is None else change(self._unseen)
        self._joint = None if self._joint is None else change(self._joint)

    def _all_learners(self) -> list[Any]:
        return [*self.learners_, *([] if self._unseen is None else [self._unseen])]

    def _is_new(self, label: Any) -> bool:
        """Whether a label is not known. Refuses none, and one outside given classes."""
        if label is None or label != label:
            raise InputError(f"the label y is {label!r}: skip rows without a label")
        known = self._pair or self._labels or self._learners
        if label in known:
            return False
        if self._pair is not None or self.classes is not None:
            raise InputError(
                f"label {label!r} is not among the classes {list(known)}: give all labels as "
                "`classes`, or leave `classes` out"
            )
        return True

    def _joins(self, label: Any) -> bool:
        """Whether one learner takes all labels, of which this is the first if there is none."""
        if self._joint is not None or self._learners:
            return self._joint is not None
        return self._can_join() and not isinstance(label, (bool, np.bool_))

    def _targets(self, y: Any) -> list[float]:
        """The target of each learner: whether its label is `y`. The last one sees only zeros."""
        found = [float(label == y) for label in self._learners]
        return found if self._unseen is None else [*found, 0.0]

    @property
    def learners_(self) -> list[Any]:
        """The learners: one, or one per label if they are not learned jointly."""
        return list(self._learners.values()) if self._joint is None else [self._joint]

    @property
    def classes_(self) -> list[Any]:
        """The labels in the order in which they appeared or were given.

        Of a pair, the event is the second.
        """
        return list(self._pair or self._labels or self._learners)

    def _stored(self) -> dict[str, Any]:
        return {
            "pair": None if self._pair is None else [plain_label(one) for one in self._pair],
            "labels": [plain_label(label) for label in self._labels or self._learners],
            "unseen": self._unseen is not None,
        }

    def _restore(self, learners: list[Any], stored: dict[str, Any]) -> None:
        if self.classes is not None:
            self.classes = tuple(self.classes)
        self._pair = None if stored["pair"] is None else tuple(stored["pair"])
        self._unseen = learners.pop() if stored["unseen"] else None
        if self._restore_jointly(learners, stored["labels"]):
            self._learners = {}
        else:
            self._learners = dict(zip(stored["labels"], learners, strict=True))
