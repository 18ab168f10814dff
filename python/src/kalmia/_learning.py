"""How estimators learn: weights, order, streams, new levels, and warnings about the rows."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from sklearn.utils.validation import _check_sample_weight

from ._data import Rows, check_numbers
from ._kalmia import Learner
from ._parameters import check_flag, seed
from .errors import InputError, StateError

#: A category with more levels is reported.
MANY_LEVELS = 1000


class Learning:
    """The part of an estimator that learns rows."""

    learners_: list[Learner]
    drift: Any
    shuffle: Any
    random_state: Any
    weights: Any

    def _rows(self, X: Any, offset: Any, *, reset: bool, learn: bool, streamed: int | None) -> Rows:
        raise NotImplementedError

    def _scored(self) -> list[Any]:
        raise NotImplementedError

    def _weights(self, sample_weight: Any, y: np.ndarray, *, reset: bool) -> np.ndarray | None:
        if sample_weight is None:
            return None
        weight = _check_sample_weight(sample_weight, y, dtype=np.float64)
        if reset and not weight.any():
            raise InputError("every sample_weight is 0, so nothing can be learned")
        return weight

    def _rows_to_learn(self, X: Any, y: Any, offset: Any, *, first: bool, whole: bool) -> Rows:
        """The rows of a call; a stream is learned as it comes, unless `fit` shuffles it."""
        streamed = None
        if hasattr(y, "__len__") and not (whole and self.shuffle is True):
            streamed = len(y)
        return self._rows(X, offset, reset=first, learn=True, streamed=streamed)

    def _known_learners(self, rows: Rows) -> list[Learner]:
        """The learners that learn the rows of a later call.

        One learner undoes a refused call itself. Of several, one may refuse rows that another has
        learned, so copies learn, which a refused call discards.
        """
        if len(self.learners_) == 1:
            return self._widened(self.learners_, rows, copied=False)
        return self._widened([one.copy() for one in self.learners_], rows, copied=True)

    @staticmethod
    def _learn_rows(
        learners: list[Learner],
        targets: list[np.ndarray],
        rows: Rows,
        weight: np.ndarray | None,
        *,
        means: bool,
        first: bool,
        order: np.ndarray | None,
        whole: bool,
    ) -> list[Any]:
        """Each learner learns its targets; returns their means if asked for."""
        if rows.blocks is None:
            # refused calls discard new learners and copies, which so need no copy to return to
            undo = not first and len(learners) == 1
            return [
                learner.learn_many(
                    rows.X,
                    target,
                    weight,
                    rows.offset,
                    means=means,
                    undo=undo,
                    order=order,
                    whole=whole,
                )
                for learner, target in zip(learners, targets, strict=True)
            ]
        total = len(targets[0])
        found: list[list[np.ndarray]] = [[] for _ in learners]
        last = 0
        for block in rows.blocks:
            start, last = last, last + len(block)
            if last > total:
                raise InputError(f"X has more rows than y, which has {total}: give one per row")
            check_numbers(block, rows.blocks.names, start)
            part = slice(start, last)
            for learner, target, results in zip(learners, targets, found, strict=True):
                result = learner.learn_many(
                    block,
                    target[part],
                    None if weight is None else weight[part],
                    None if rows.offset is None else rows.offset[part],
                    means=means,
                    undo=False,
                    first_row=start,
                )
                if result is not None:
                    results.append(result)
        if last < total:
            raise InputError(f"X has {last} rows, but y has {total}: give one target per row")
        return [np.concatenate(results) if results else np.empty(0) for results in found]

    def _shuffle_seed(self, reset: bool, rows: Rows) -> int | None:
        """The seed of the order in which `fit` learns its rows; None for their own order."""
        if rows.blocks is not None:
            return None
        given = self.shuffle if self.shuffle is None else check_flag("shuffle", self.shuffle)
        shuffles = self.drift != "adapt" if given is None else given
        return seed(self.random_state) if reset and shuffles else None

    @staticmethod
    def _order(shuffle: int | None, rows: int) -> np.ndarray | None:
        return None if shuffle is None else np.random.default_rng(shuffle).permutation(rows)

    def _warn(self) -> None:
        """Warns, once per fitted model, of rows that a single pass learns poorly."""
        learners = self.learners_
        if not self._warned_order and any(one.is_sorted for one in self._scored()):
            self._warned_order = True
            warnings.warn(
                "the rows seem sorted by the target: one pass learns them poorly, and the "
                "progressive loss says nothing about new rows. Shuffle them, or call fit with "
                "shuffle=True",
                UserWarning,
                stacklevel=5,
            )
        mean = learners[0].mean_weight
        if mean is None or self._warned_weight or self.weights == "precision":
            return
        if not 0.1 <= mean <= 10.0:
            self._warned_weight = True
            warnings.warn(
                f"the mean of sample_weight is {mean:.3g}: a weight counts as that many rows, so "
                "standard errors depend on the scale of the weights. If only their ratios have a "
                'meaning, set weights="precision"',
                UserWarning,
                stacklevel=5,
            )

    _warned_order = False
    _warned_weight = False

    @staticmethod
    def _widened(learners: list[Learner], rows: Rows, copied: bool) -> list[Learner]:
        """The learners with a coefficient for each feature of `rows`.

        If new levels brought features, they are copies, which a refused call discards; `copied`
        says that they are copies already.
        """
        if rows.blocks is not None and not copied:
            return [one.copy() for one in learners]
        if rows.schema is None or rows.schema.is_wide:
            return learners
        known = learners[0].dim - int(learners[0].intercept)
        added = rows.X.shape[1] - known
        if added == 0:
            return learners
        wide = learners if copied else [one.copy() for one in learners]
        for learner in wide:
            try:
                learner.grow(added)
            except StateError as error:
                name = rows.schema.features[known]
                raise InputError(f"the level {name!r} is new, and {error}") from error
        return wide

    def _warn_levels(self, rows: Rows) -> None:
        """Warns of a column with nearly one level per row, most often an identifier."""
        for name, levels in [] if rows.schema is None else rows.schema.levels:
            # sparse rows cost as much as they have features, however many levels there are
            many = levels > MANY_LEVELS and rows.numbers is None
            crowded = many or (rows.given >= 50 and 10 * levels >= 9 * rows.given)
            if crowded and name not in self._warned_levels:
                self._warned_levels = (*self._warned_levels, name)
                warnings.warn(
                    f"column {name!r} has {levels} levels, one coefficient each: leave it out if "
                    "it is an identifier",
                    UserWarning,
                    stacklevel=5,
                )

    _warned_levels: tuple[str, ...] = ()

    def _adopt(self, learners: list[Learner], rows: Rows, first: bool, **fitted: Any) -> None:
        """Takes over what a call has learned, all at once, and warns."""
        if rows.schema is not None:
            fitted["schema_"] = rows.schema
        vars(self).update(fitted, learners_=learners)
        if first:
            self._remember()
        self._warn_levels(rows)
        self._warn()
