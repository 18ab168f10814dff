"""Pictures of fitted models; matplotlib is imported only here, and only when a picture is drawn."""

from __future__ import annotations

from typing import Any

import numpy as np


def _axes(ax: Any) -> Any:
    if ax is not None:
        return ax
    try:
        from matplotlib import pyplot
    except ImportError as error:
        raise ImportError("pictures need matplotlib: pip install 'kalmia[plot]'") from error
    return pyplot.figure().add_subplot()


def coefficients(estimator: Any, ax: Any, level: float) -> Any:
    """Coefficients with intervals, one mark a coefficient."""
    ax = _axes(ax)
    rows = [row for row in estimator.summary(level).rows if not str(row[0]).endswith("(intercept)")]
    position = np.arange(len(rows))[::-1]
    values = np.array([row[1] for row in rows], dtype=float)
    if rows and rows[0][2] is not None:
        reach = values - np.array([row[5] for row in rows], dtype=float)
        ax.errorbar(values, position, xerr=reach, fmt="o", markersize=3, capsize=2)
    else:
        ax.plot(values, position, "o", markersize=3)
    ax.axvline(0.0, color="grey", linewidth=0.8)
    ax.set_yticks(position, [row[0] for row in rows])
    ax.set_xlabel(f"coefficient, interval of {level:g}")
    return ax


def progressive_loss(estimator: Any, ax: Any) -> Any:
    """The mean loss so far against the rows, a line a learner."""
    ax = _axes(ax)
    for k, learner in enumerate(estimator.learners_):
        trace = np.array(learner.progressive["trace"], dtype=float).reshape(-1, 3)
        label = str(estimator.classes_[k]) if len(estimator.learners_) > 1 else "model"
        ax.plot(trace[:, 0], trace[:, 1], label=label)
    if len(estimator.learners_) == 1:
        ax.plot(
            trace[:, 0], trace[:, 2], color="grey", linewidth=0.8, label="mean of the rows before"
        )
    ax.set_xscale("log")
    ax.set_xlabel("rows")
    ax.set_ylabel("mean loss of predictions made before each row")
    ax.legend()
    return ax


def calibration(estimator: Any, ax: Any) -> Any:
    """Shares of events against predicted probabilities, a line a learner."""
    ax = _axes(ax)
    ax.plot([0.0, 1.0], [0.0, 1.0], color="grey", linewidth=0.8)
    for k, learner in enumerate(estimator.learners_):
        bins = np.array(
            [b for b in learner.progressive["reliability"] if b[0] > 0], dtype=float
        ).reshape(-1, 3)
        label = str(estimator.classes_[k]) if len(estimator.learners_) > 1 else None
        ax.plot(bins[:, 1], bins[:, 2], "o-", markersize=3, label=label)
    ax.set_xlabel("predicted probability")
    ax.set_ylabel("share of events")
    if len(estimator.learners_) > 1:
        ax.legend()
    return ax
