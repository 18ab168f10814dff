"""Models that become ordinary regressions once their rows are split.

A survival time becomes one row per interval that it reaches, whose event count is Poisson with the
logarithm of the time at risk as offset: :func:`split_survival`. A level on an ordered scale becomes
one row per step that it could have taken, whose label says whether it went on:
:func:`split_ordinal`. In both cases the likelihood of the split rows is that of the model, so
coefficients and standard errors of any Poisson or logistic regression are those of the model.
The functions need numpy only.

Examples
--------
>>> import numpy as np
>>> from kalmia.recipes import split_survival
>>> rows = split_survival([2.5, 1.0], [1, 0], [[10.0], [20.0]], cuts=[1.0, 2.0])
>>> rows.X[:, 0], rows.y, rows.interval
(array([10., 10., 10., 20.]), array([0., 0., 1., 0.]), array([0, 1, 2, 0]))
>>> np.exp(rows.offset).round(9)  # time at risk
array([1. , 1. , 0.5, 1. ])
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .errors import InputError

__all__ = [
    "OrdinalRows",
    "SurvivalRows",
    "ordinal_probabilities",
    "split_ordinal",
    "split_survival",
    "survival_curve",
]

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class SurvivalRows:
    """The rows that :func:`split_survival` returns.

    Attributes
    ----------
    X : array of shape (rows, features)
        The features of the subject, repeated.
    y : array of shape (rows,)
        1 in the row in which the event happened, else 0.
    offset : array of shape (rows,)
        Logarithm of the time at risk in the interval.
    interval : array of int of shape (rows,)
        The interval, from 0.
    subject : array of int of shape (rows,)
        The row of the input.
    intervals : int
        Number of intervals, one more than there are cuts.
    """

    X: Floats
    y: Floats
    offset: Floats
    interval: NDArray[np.int64]
    subject: NDArray[np.int64]
    intervals: int

    @property
    def design(self) -> Floats:
        """The features behind an indicator of each interval but the first.

        The intercept of a regression is then the log hazard of the first interval, and the
        coefficients of the indicators are what the later ones differ by.
        """
        return np.hstack([_indicators(self.interval, self.intervals), self.X])


@dataclass(frozen=True)
class OrdinalRows:
    """The rows that :func:`split_ordinal` returns.

    Attributes
    ----------
    X : array of shape (rows, features)
        The features of the observation, repeated.
    y : array of shape (rows,)
        1 if the observation went beyond the level of this row, else 0.
    step : array of int of shape (rows,)
        The level that was reached, from 0.
    observation : array of int of shape (rows,)
        The row of the input.
    levels : array
        The levels, in order.
    """

    X: Floats
    y: Floats
    step: NDArray[np.int64]
    observation: NDArray[np.int64]
    levels: NDArray[Any]

    @property
    def design(self) -> Floats:
        """The features behind an indicator of each step but the first."""
        return np.hstack([_indicators(self.step, len(self.levels) - 1), self.X])


def split_survival(
    time: ArrayLike, event: ArrayLike, X: ArrayLike, cuts: ArrayLike
) -> SurvivalRows:
    """Splits survival times at `cuts`, for the piecewise exponential model.

    The hazard is constant between cuts and proportional to ``exp(X @ coefficients)``. A subject
    has a row for each interval that it enters. Learn the rows by
    ``PoissonRegression("moment", prior_variance=10.0)``, with `offset`. The default method would
    learn a dispersion, which an event in a short interval makes too large.

    With finer cuts the coefficients approach those of Cox's model. Five to ten cuts at quantiles of
    the event times are enough for most data; an interval without events has no hazard that rows
    could show.

    Parameters
    ----------
    time : array of shape (subjects,)
        Time of the event or of the end of observation, above 0.
    event : array of shape (subjects,)
        1 or True if the event happened at `time`, 0 or False if it was not seen until then.
    X : array of shape (subjects, features)
        Features that do not change over time.
    cuts : array
        Ends of all intervals but the last, ascending and above 0.

    Returns
    -------
    SurvivalRows

    Raises
    ------
    InputError
        For a time that is not above 0, an event that is not 0 or 1, cuts that do not ascend, or
        lengths that differ.
    """
    times = _column("time", time)
    events = _column("event", event)
    features = _features(X, len(times))
    ends = _cuts(cuts)
    if len(events) != len(times):
        raise InputError(f"event has {len(events)} values, but time has {len(times)}")
    _refuse("time", times, times > 0, "must be above 0")
    _refuse("event", events, (events == 0) | (events == 1), "must be 0 or 1")
    # an event at a cut belongs to the interval that ends there
    last = np.searchsorted(ends, times, side="left")
    subject = np.repeat(np.arange(len(times)), last + 1)
    interval = _running(last + 1)
    starts = np.concatenate([[0.0], ends])[interval]
    stops = np.minimum(np.concatenate([ends, [np.inf]])[interval], times[subject])
    final = interval == last[subject]
    return SurvivalRows(
        X=features[subject],
        y=np.where(final, events[subject], 0.0),
        offset=np.log(stops - starts),
        interval=interval,
        subject=subject,
        intervals=len(ends) + 1,
    )


def survival_curve(
    intercept: float, coef: ArrayLike, X: ArrayLike, cuts: ArrayLike, times: ArrayLike
) -> Floats:
    """The probability of survival until `times`, from the coefficients of split rows.

    Parameters
    ----------
    intercept, coef
        Of a Poisson regression of :attr:`SurvivalRows.design`.
    X : array of shape (subjects, features)
        The features of the subjects.
    cuts : array
        The cuts of :func:`split_survival`.
    times : array of shape (times,)
        Times of 0 or more.

    Returns
    -------
    array of shape (subjects, times)
        It is exp(-H) with the cumulative hazard H.

    Raises
    ------
    InputError
        For a negative time, or coefficients whose number does not fit.
    """
    ends = _cuts(cuts)
    when = _column("times", times)
    _refuse("times", when, when >= 0, "must be 0 or more")
    weights = _column("coef", coef)
    features = _features(X, None)
    if len(weights) != len(ends) + features.shape[1]:
        raise InputError(
            f"coef has {len(weights)} values, but {len(ends)} cuts and {features.shape[1]} "
            f"features need {len(ends) + features.shape[1]}"
        )
    log_hazard = intercept + np.concatenate([[0.0], weights[: len(ends)]])
    starts = np.concatenate([[0.0], ends])
    lengths = np.diff(np.concatenate([starts, [np.inf]]))
    at_risk = np.clip(when[:, None] - starts, 0.0, lengths)
    cumulative = at_risk @ np.exp(log_hazard)
    relative = np.exp(features @ weights[len(ends) :])
    return np.asarray(np.exp(-np.outer(relative, cumulative)))


def split_ordinal(level: ArrayLike, X: ArrayLike, levels: ArrayLike | None = None) -> OrdinalRows:
    """Splits levels on an ordered scale into steps, for the sequential logit model.

    An observation has a row for each level that it reached, except the highest one, with the label
    1 if it went beyond it. Learn the rows by
    ``LogisticRegression().fit(rows.design, rows.y)`` and predict by
    :func:`ordinal_probabilities`. Rows of one observation count as independent, and in this model
    they are: a step is taken or not given that it was reached.

    Parameters
    ----------
    level : array of shape (observations,)
        The level of each observation.
    X : array of shape (observations, features)
        The features.
    levels : array, optional
        All levels, the lowest first; by default the sorted levels of the rows.

    Returns
    -------
    OrdinalRows

    Raises
    ------
    InputError
        For fewer than two levels, or a level that `levels` does not have.
    """
    given = np.asarray(level).ravel()
    features = _features(X, len(given))
    order = np.unique(given) if levels is None else np.asarray(levels).ravel()
    if len(order) < 2 or len(set(order.tolist())) != len(order):
        raise InputError(f"levels are {order.tolist()}: give two or more, each once")
    places = {one: i for i, one in enumerate(order.tolist())}
    unknown = next((one for one in given.tolist() if one not in places), None)
    if unknown is not None:
        raise InputError(f"level {unknown!r} is not among the levels {order.tolist()}")
    place = np.array([places[one] for one in given.tolist()], dtype=np.int64)
    rows = np.minimum(place + 1, len(order) - 1)
    observation = np.repeat(np.arange(len(given)), rows)
    step = _running(rows)
    return OrdinalRows(
        X=features[observation],
        y=(place[observation] > step).astype(np.float64),
        step=step,
        observation=observation,
        levels=order,
    )


def ordinal_probabilities(went_on: ArrayLike) -> Floats:
    """The probabilities of the levels from those of going on.

    Parameters
    ----------
    went_on : array of shape (observations, levels - 1)
        For each step, the probability of the label 1. To predict it, give a fitted regression the
        design of the step: the indicators of the steps but the first, then the features.

    Returns
    -------
    array of shape (observations, levels)
        Rows add up to 1.

    Examples
    --------
    >>> from kalmia.recipes import ordinal_probabilities
    >>> ordinal_probabilities([[0.5, 0.5]])
    array([[0.5 , 0.25, 0.25]])
    """
    chances = np.atleast_2d(np.asarray(went_on, dtype=np.float64))
    _refuse("went_on", chances.ravel(), ((chances >= 0) & (chances <= 1)).ravel(), "must be 0 to 1")
    reached = np.cumprod(np.hstack([np.ones((len(chances), 1)), chances]), axis=1)
    return np.asarray(reached * np.hstack([1 - chances, np.ones((len(chances), 1))]))


def _indicators(group: NDArray[np.int64], groups: int) -> Floats:
    """One column per group but the first."""
    return (group[:, None] == np.arange(1, groups)).astype(np.float64)


def _running(counts: NDArray[np.int64]) -> NDArray[np.int64]:
    """0 to ``count - 1`` for each count, one after the other."""
    ends = np.cumsum(counts)
    return np.arange(ends[-1] if len(ends) else 0) - np.repeat(ends - counts, counts)


def _column(name: str, values: ArrayLike) -> Floats:
    """Finite numbers."""
    column = np.asarray(values, dtype=np.float64).ravel()
    _refuse(name, column, np.isfinite(column), "must be finite")
    return column


def _features(X: ArrayLike, rows: int | None) -> Floats:
    """A table of numbers with this many rows."""
    table = np.asarray(X, dtype=np.float64)
    if table.ndim != 2 or (rows is not None and len(table) != rows):
        wanted = "two axes" if rows is None else f"two axes and {rows} rows"
        raise InputError(f"X has the shape {table.shape}: it must have {wanted}")
    return table


def _cuts(cuts: ArrayLike) -> Floats:
    """Ascending times above 0."""
    ends = _column("cuts", cuts)
    ascending = np.concatenate([ends[:1] > 0, ends[1:] > ends[:-1]])
    _refuse("cuts", ends, ascending, "must be above 0 and above the one before")
    return ends


def _refuse(name: str, values: Floats, legal: NDArray[np.bool_], rule: str) -> None:
    """An error that names the first value that is not legal."""
    if not legal.all():
        at = int(np.argmin(legal))
        raise InputError(f"{name}: value {at} is {values[at]}, but it {rule}")
