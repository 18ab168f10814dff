"""Several quantiles of one target: what :class:`QuantileRegression` asks of a learner per level."""

from __future__ import annotations

import numbers
from typing import Any

import numpy as np

from ._data import Rows
from ._kalmia import QuantileScores
from ._parameters import check_names
from .errors import InputError

#: The range of a level.
LEAST, MOST = 1e-6, 1.0 - 1e-6
#: Most levels; each costs as much as a model of its own.
MAX_LEVELS = 20


def levels_of(quantile: Any) -> list[float] | None:
    """The levels of a list in ascending order; None for anything that is no list.

    Examples
    --------
    >>> levels_of([0.9, 0.1]), levels_of(0.5)
    ([0.1, 0.9], None)
    """
    if not isinstance(quantile, (list, tuple, np.ndarray)):
        return None
    given = list(quantile)
    for level in given:
        number = isinstance(level, numbers.Real) and not isinstance(level, (bool, np.bool_))
        if not number or not LEAST <= level <= MOST:
            raise InputError(
                f"quantile has the level {level!r}: levels are numbers between {LEAST} and {MOST}"
            )
    levels = sorted(float(level) for level in given)
    if not 2 <= len(levels) <= MAX_LEVELS:
        raise InputError(
            f"quantile has {len(levels)} levels: give a number, or a list of 2 to {MAX_LEVELS} "
            "levels"
        )
    twice = [one for one, two in zip(levels, levels[1:]) if one == two]
    if twice:
        raise InputError(f"quantile has the level {twice[0]!r} twice: give each level once")
    return levels


def check_several(estimator: Any, rows: Rows) -> None:
    """Refuses what several levels do not take."""
    check_names(method=estimator.method)
    if estimator.method != "auto" or estimator.averaged is not False:
        averaged = ", averaged" if estimator.averaged else ""
        raise InputError(
            f"several quantiles are learned by method 'auto', not by {estimator.method!r}"
            f"{averaged}: leave it out, or fit one model per level"
        )
    if estimator.conformal is not False:
        raise InputError(
            "conformal is for one prediction per row, but quantile has several levels: leave it "
            "out, or fit one model per level"
        )
    if rows.numbers is not None:
        raise InputError(
            "several quantiles are learned from dense rows, not from text, hashed features or "
            "very wide tables: leave such columns out, or fit one model per level"
        )


def new_scores(estimator: Any) -> QuantileScores:
    """Scores that have seen no row."""
    return QuantileScores(levels_of(estimator.quantile), estimator.weights)


def levels(learners: list[Any]) -> np.ndarray:
    """The level of each learner."""
    return np.array([learner.family_parameters["quantile"] for learner in learners])
