"""Plots of fitted models. Only these functions import matplotlib, and only when called."""

from __future__ import annotations

from typing import Any

import numpy as np

from ._wide import is_wide
from .errors import InputError

#: Learners from which the calibration is drawn without error bars, which would hide each other.
MANY_LINES = 4


def _axes(ax: Any, height: float | None = None) -> Any:
    if ax is not None:
        return ax
    try:
        from matplotlib import pyplot
    except ImportError as error:
        raise ImportError("plots need the package matplotlib: pip install matplotlib") from error
    size = None if height is None else (6.4, max(4.8, height))
    return pyplot.figure(figsize=size, layout="constrained").add_subplot()


def coefficients(estimator: Any, ax: Any, level: float, units: str | None, X: Any) -> Any:
    """Draws one mark with an interval per coefficient; see `Estimator.plot_coefficients`."""
    every = estimator.summary(level).rows
    rows = [row for row in every if not str(row[0]).endswith("(intercept)")]
    if hasattr(estimator, "cutpoints_"):
        rows = rows[: len(estimator.coef_)]
    has_errors = bool(rows) and rows[0][2] is not None
    units = _units(units, X, has_errors)
    factor = np.ones(len(rows))
    if units == "sd":
        factor = np.resize(_deviations(estimator, X), len(rows))
    elif units == "z":
        factor = 1.0 / np.array([row[2] for row in rows], dtype=float)
    ax = _axes(ax, 0.2 * len(rows))
    position = np.arange(len(rows))[::-1]
    values = factor * np.array([row[1] for row in rows], dtype=float)
    if has_errors:
        reach = values - factor * np.array([row[5] for row in rows], dtype=float)
        ax.errorbar(values, position, xerr=reach, fmt="o", markersize=3, capsize=2)
    else:
        ax.plot(values, position, "o", markersize=3)
    ax.axvline(0.0, color="grey", linewidth=0.8)
    ax.set_yticks(position, [row[0] for row in rows])
    label = {
        "z": "coefficient / standard error",
        "sd": "coefficient x sd of feature",
        "raw": "coefficient",
    }[units]
    ax.set_xlabel(f"{label} ({100.0 * level:g} % interval)" if has_errors else label)
    return ax


def _units(units: str | None, X: Any, has_errors: bool) -> str:
    if units is None:
        units = "sd" if X is not None else "z" if has_errors else "raw"
    if units not in ("z", "sd", "raw"):
        raise InputError(f'units is {units!r}: give "z", "sd" or "raw"')
    if units == "sd" and X is None:
        raise InputError('units="sd" needs the features: give X, such as the table of the fit')
    if units == "z" and not has_errors:
        raise InputError('units="z" needs standard errors, which this method lacks: give "raw"')
    return units


def _deviations(estimator: Any, X: Any) -> np.ndarray:
    """The standard deviation of each feature, in the order of the coefficients."""
    if is_wide(estimator.learners_[0]):
        raise InputError(
            "a wide model draws its strongest coefficients only, which need not be those of the "
            'largest deviation: leave X out, and give units="z" or "raw"'
        )
    table = estimator._rows(X).X
    if hasattr(table, "toarray"):
        table = table.toarray()
    return np.asarray(np.std(np.asarray(table, dtype=float), axis=0))


def progressive_loss(estimator: Any, ax: Any) -> Any:
    """Draws the mean loss so far against the rows, one line per learner."""
    ax = _axes(ax)
    scored = estimator._scored()
    for k, one in enumerate(scored):
        trace = np.array(one.progressive["trace"], dtype=float).reshape(-1, 3)
        label = str(estimator.classes_[k]) if len(scored) > 1 else "model"
        ax.plot(trace[:, 0], trace[:, 1], label=label)
    if len(scored) == 1:
        # the mean of the rows before, judged on the same rows as the model
        ax.plot(trace[:, 0], trace[:, 2], color="grey", linewidth=0.8, label="constant predictor")
    ax.set_xscale("log")
    ax.set_xlabel("rows")
    ax.set_ylabel("mean loss, predicted before learning")
    ax.legend(loc="upper right")
    return ax


def wilson(share: np.ndarray, count: np.ndarray, z: float = 1.96) -> tuple[np.ndarray, np.ndarray]:
    """Wilson's 95 % interval of a share that was observed in `count` rows.

    Examples
    --------
    >>> low, high = wilson(np.array([0.5]), np.array([100.0]))
    >>> round(float(low[0]), 3), round(float(high[0]), 3)
    (0.404, 0.596)
    """
    spread = z * z / count
    middle = (share + spread / 2.0) / (1.0 + spread)
    reach = z * np.sqrt(share * (1.0 - share) / count + spread / (4.0 * count)) / (1.0 + spread)
    return middle - reach, middle + reach


def calibration(estimator: Any, ax: Any) -> Any:
    """Draws observed shares against predicted probabilities, one line per learner.

    The rows are in groups of about equal size; the area of a mark shows its number of rows.
    """
    ax = _axes(ax)
    ax.plot([0.0, 1.0], [0.0, 1.0], color="grey", linewidth=0.8)
    learners = estimator.learners_
    sizes = []
    for k, learner in enumerate(learners):
        groups = np.array(learner.progressive["reliability_groups"], dtype=float).reshape(-1, 3)
        rows, predicted, observed = groups.T
        sizes += rows.tolist()
        label = str(estimator.classes_[k]) if len(learners) > 1 else None
        (line,) = ax.plot(predicted, observed, "-", linewidth=0.8, label=label)
        area = 200.0 * rows / max(rows.sum(), 1.0)
        ax.scatter(predicted, observed, s=area, color=line.get_color(), zorder=3)
        if len(learners) < MANY_LINES:
            ax.vlines(predicted, *wilson(observed, rows), color=line.get_color(), linewidth=0.8)
    ax.set_xlabel(f"predicted probability ({_group_text(sizes)})")
    ax.set_ylabel("observed share" + (" (95 % interval)" if len(learners) < MANY_LINES else ""))
    if len(learners) > 1:
        ax.legend()
    return ax


def _group_text(sizes: list[float]) -> str:
    """The number of rows per group, such as "groups of 56 to 58 rows"."""
    if not sizes:
        return "no rows"
    low, high = round(min(sizes)), round(max(sizes))
    return f"groups of {low} rows" if low == high else f"groups of {low} to {high} rows"
