"""What each learner of a model predicts of the same rows, before the results are combined."""

from __future__ import annotations

import numpy as np

from ._data import Rows


def means(rows: Rows) -> list[np.ndarray]:
    """The means, of shape (rows,): a probability if the target is a label."""
    return [
        learner.predict_many(rows.X, rows.offset, unseen=rows.unseen) for learner in rows.learners
    ]


def intervals(rows: Rows, level: float, of_mean: bool) -> list[np.ndarray]:
    """The intervals of the targets or of their means, of shape (rows, 2)."""
    return [
        np.column_stack(
            learner.predict_interval(rows.X, level, rows.offset, of_mean, unseen=rows.unseen)
        )
        for learner in rows.learners
    ]


def draws(rows: Rows, n: int, start: int, of_mean: bool) -> list[np.ndarray]:
    """Draws of the targets or of their means, of shape (n, rows); seeds are `start` and on."""
    return [
        learner.sample_predictions(
            rows.X, n, (start + k) % 2**63, rows.offset, of_mean, unseen=rows.unseen
        )
        for k, learner in enumerate(rows.learners)
    ]
