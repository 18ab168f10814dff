"""Plots of fitted models. Only these functions import matplotlib, and only when called."""

from __future__ import annotations

from typing import Any

import numpy as np


def _axes(ax: Any) -> Any:
    if ax is not None:
        return ax
    try:
        from matplotlib import pyplot
    except ImportError as error:
        raise ImportError("plots need the package matplotlib: pip install matplotlib") from error
    return pyplot.figure().add_subplot()


def coefficients(estimator: Any, ax: Any, level: float) -> Any:
    """Draws one mark with an interval per coefficient."""
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
    ax.set_xlabel(f"coefficient with {100.0 * level:g} % interval")
    return ax


def progressive_loss(estimator: Any, ax: Any) -> Any:
    """Draws the mean loss so far against the rows, one line per learner."""
    ax = _axes(ax)
    for k, learner in enumerate(estimator.learners_):
        trace = np.array(learner.progressive["trace"], dtype=float).reshape(-1, 3)
        label = str(estimator.classes_[k]) if len(estimator.learners_) > 1 else "model"
        ax.plot(trace[:, 0], trace[:, 1], label=label)
    if len(estimator.learners_) == 1:
        ax.plot(trace[:, 0], trace[:, 2], color="grey", linewidth=0.8, label="mean of earlier rows")
    ax.set_xscale("log")
    ax.set_xlabel("rows")
    ax.set_ylabel("mean loss, predicted before learning")
    ax.legend()
    return ax


def calibration(estimator: Any, ax: Any) -> Any:
    """Draws observed shares against predicted probabilities, one line per learner."""
    ax = _axes(ax)
    ax.plot([0.0, 1.0], [0.0, 1.0], color="grey", linewidth=0.8)
    for k, learner in enumerate(estimator.learners_):
        bins = np.array(
            [b for b in learner.progressive["reliability"] if b[0] > 0], dtype=float
        ).reshape(-1, 3)
        label = str(estimator.classes_[k]) if len(estimator.learners_) > 1 else None
        ax.plot(bins[:, 1], bins[:, 2], "o-", markersize=3, label=label)
    ax.set_xlabel("predicted probability")
    ax.set_ylabel("observed share")
    if len(estimator.learners_) > 1:
        ax.legend()
    return ax
