"""The estimators' parameters: their docstring, and names that are refused."""

from __future__ import annotations

import numbers
from typing import Any, Literal

import numpy as np

from .errors import InputError

MethodName = Literal["auto", "wide", "ekf", "truncated", "implicit", "moment", "ons", "asgd"]
DriftName = Literal["detect", "off", "adapt"]
OutlierName = Literal["keep", "downweight"]
ScaleName = Literal["paper", "bercu"]
WeightName = Literal["frequency", "precision"]

#: The docstring section on the parameters that every estimator has.
PARAMETERS = """Parameters
    ----------
    method : {"auto", "wide", "ekf", "truncated", "implicit", "moment", "ons", "asgd"}
        The algorithm. ``"auto"`` needs no other parameter and accepts features of any scale.
        ``"wide"`` is what it becomes for very many features: more than 2000 columns of a sparse
        matrix, 5000 of a dense one, columns of text, and levels that keep growing. A row then costs
        as much as it has features, and memory grows with the features seen. The
        others are the algorithms of the paper: scale the features to about 1 before using them.
        A parameter below that the method does not take is refused.
    prior_variance : float or array_like, optional
        Variance of each coefficient before the first row; 1 by default. Filters only (``"ekf"``,
        ``"truncated"``, ``"implicit"``, ``"moment"``); ``"auto"`` learns it. An array holds one
        variance per coefficient or their covariance matrix, the intercept first, and is for
        ``"ons"`` too. Levels that appear later get the variance of the last coefficient.
    prior_mean : array_like, optional
        The coefficients before the first row, the intercept first; 0 by default. For the filters
        and ``"ons"``.
    fit_intercept : bool
        Whether to learn an intercept.
    drift : {"detect", "off", "adapt"}, optional
        What ``"auto"`` does when the coefficients change over time; the other methods assume that
        they do not. ``"detect"``, the default, keeps them constant until a change is detected and
        tracks them from then on; `drifts_` and `summary` report it. ``"off"`` keeps them constant.
        ``"adapt"`` tracks them from row 129 on, without waiting for a detection. Tracking helps
        the next rows, not rows far ahead.
    outliers : {"keep", "downweight"}, optional
        What a target counts that is far from its prediction, with ``"auto"``, ``"wide"`` and the
        filters. ``"keep"``, the default, counts every row in full. With ``"downweight"`` a row
        counts less from 3 predictive standard deviations on, so that wrong targets do little harm.
        A filter does not learn its noise: give it the right one.
    scale, beta : float, optional
        The curvature is at least ``scale * t ** -beta`` at row ``t``; 1 and 0.49 by default. The
        scale ``"bercu"`` is the 1e-10 of Bercu, Godichon and Portier. ``"truncated"`` only.
    radius : float, optional
        Radius of the ball that holds the coefficients of ``"ons"``; 10 by default.
    exp_concavity : float, optional
        Exp-concavity constant of ``"ons"``; ``1 / (4 * radius)`` by default.
    gradient_bound : float, optional
        Upper bound ``G`` on the gradient's norm for ``"ons"``; ``sqrt(d)`` by default, where ``d``
        is the number of coefficients, intercept included. That is right for features within
        [-1, 1] and labels. ``gamma = min(1 / (4 * G * D), exp_concavity) / 2``, where ``D`` is the
        radius.
    lam : float, optional
        The first precision matrix of ``"ons"`` is ``lam`` times the identity;
        ``1 / (gamma * radius) ** 2`` by default.
    multiplier : float, optional
        The step of ``"ons"`` is ``multiplier / gamma``; 1 by default. Theorem 3 of the paper needs
        3.
    diameter : bool
        Whether ``D`` in the gamma of ``"ons"`` is the ball's diameter, as in Theorem 3.
    horizon : int, optional
        Total number of rows for ``"asgd"``. `fit` uses the number of rows that it is given. Set it
        before `partial_fit`, which cannot know how many rows will follow.
    step : float, optional
        Step size of ``"asgd"``; ``1 / (2 * d * sqrt(horizon))`` by default, where ``d`` is the
        number of coefficients, intercept included.
    oracle : float, optional
        Norm of the true coefficients for ``"asgd"``; none by default. The step is then
        ``oracle / sqrt(d * horizon)``.
    averaged : bool
        Whether the model is the mean of the coefficients with which each row was predicted. It
        then has no covariance: no standard errors, and intervals leave out that the coefficients
        are uncertain. The progressive loss is that of the iterates. ``"asgd"`` is averaged already
        and refuses it.
    certificate : bool
        Whether `certificate_` is kept, which bounds the regret of a filter on any rows.
    conformal : bool
        Whether conformal intervals are learned, which hold their share of new targets whatever the
        model: ``predict_interval(X, conformal=True)`` returns them, and ``progressive_`` has their
        coverage and width under ``"conformal"``. `LogisticRegression` refuses it, because labels
        have no intervals.
    shuffle : bool, optional
        Whether `fit` learns the rows in random order, so that the order in which they are given
        hardly matters. True by default, except with ``drift="adapt"``, which follows changes from
        row to row. Set it to False if the order is one of time and a drift is to be detected:
        shuffled rows show none. `partial_fit` never shuffles. A pyarrow.RecordBatchReader of
        numbers is learned as it comes, block by block, unless this is True.
    random_state : int, optional
        Seed of that order; None means 0, so that equal rows give equal models.
    weights : {"frequency", "precision"}
        What `sample_weight` means. ``"frequency"``: a weight of 2 counts as the row twice, so
        the scale of the weights decides how sure the model is. ``"precision"``: a weight of 2
        halves the variance of the row's target, relative to the other rows. Such weights are
        divided by their mean (in `partial_fit` by the mean so far), so a constant factor changes
        nothing, and standard errors are those of weighted least squares.
    text : str or list of str, optional
        Columns of a table that are cut into words. Each word is a feature that is 1 if the row has
        it, known by the hash of ``column=word``. Other columns of text are categories.
    analyzer : str
        How texts are cut: ``"words"``, ``"words:2"`` (words and pairs of words) or
        ``"characters:2-4"`` (pieces of 2 to 4 characters within words).
    hash_bits : int, optional
        Number of bits of the hash, 1 to 30. If it is given, levels of categories are hashed too, so
        memory is bounded by ``2 ** hash_bits`` features. Words are always hashed, by default with
        18 bits.
"""

#: The parameters of methods. None stands for the method's default.
METHOD_PARAMETERS = (
    "prior_variance",
    "prior_mean",
    "drift",
    "outliers",
    "scale",
    "beta",
    "radius",
    "exp_concavity",
    "gradient_bound",
    "lam",
    "multiplier",
    "diameter",
    "horizon",
    "step",
    "oracle",
    "averaged",
    "certificate",
    "conformal",
)

#: Those of them that are true or false.
FLAGS = ("diameter", "averaged", "certificate", "conformal")


#: What a learner is made with. Changes after that need a call of `fit`.
MADE_WITH = (
    "method",
    "fit_intercept",
    "weights",
    "noise_variance",
    "dispersion",
    "quantile",
    "degrees_of_freedom",
    "class_weight",
    "text",
    "analyzer",
    "hash_bits",
    *METHOD_PARAMETERS,
)


def check_flag(name: str, value: Any) -> bool:
    """A parameter that must be true or false; a string such as "no" would count as true.

    Examples
    --------
    >>> check_flag("fit_intercept", "no")
    Traceback (most recent call last):
        ...
    kalmia.errors.InputError: fit_intercept is 'no': give True or False
    """
    if not isinstance(value, (bool, np.bool_)):
        raise InputError(f"{name} is {value!r}: give True or False")
    return bool(value)


def check_numbers(given: dict[str, Any]) -> None:
    """Refuses a parameter that takes a number and was given something else; None is a default.

    Examples
    --------
    >>> check_numbers({"prior_variance": "big"})
    Traceback (most recent call last):
        ...
    kalmia.errors.InputError: prior_variance is 'big': give a number
    """
    for name, value in given.items():
        # the compiled module checks what is inside
        if name == "scale" and isinstance(value, str):
            continue
        if name in ("prior_variance", "prior_mean") and np.ndim(value) > 0:
            continue
        number = isinstance(value, numbers.Real) and not isinstance(value, (bool, np.bool_))
        if value is not None and not number:
            raise InputError(f"{name} is {value!r}: give a number")


def same(one: Any, two: Any) -> bool:
    """Whether two values of a parameter are equal, arrays included.

    Examples
    --------
    >>> same([1.0, 2.0], np.array([1.0, 2.0])), same(None, [1.0]), same(1.0, 2.0)
    (True, False, False)
    """
    if one is two:
        return True
    if np.ndim(one) > 0 or np.ndim(two) > 0:
        return bool(np.array_equal(one, two))
    return bool(one == two)


def seed(random_state: Any) -> int:
    """The seed of a random order, from None, a number or one of numpy's generators.

    Examples
    --------
    >>> seed(None), seed(7)
    (0, 7)
    """
    if random_state is None:
        return 0
    if isinstance(random_state, np.random.RandomState):
        return int(random_state.randint(2**31))
    if isinstance(random_state, numbers.Integral) and random_state >= 0:
        return int(random_state)
    raise InputError(f"random_state is {random_state!r}: give a whole number, 0 or more")


def draw_seed(random_state: Any) -> int:
    """The seed of draws: a new one for None, and else that of `seed`."""
    if random_state is None:
        return int(np.random.default_rng().integers(2**63))
    return seed(random_state)


def check_names(**given: Any) -> None:
    """Refuses a parameter that takes a name and was given something else; None is a default.

    Examples
    --------
    >>> check_names(method="auto", drift=True)
    Traceback (most recent call last):
        ...
    kalmia.errors.InputError: drift is True: give one of "detect", "off" and "adapt"
    """
    choices = {
        "drift": 'one of "detect", "off" and "adapt"',
        "outliers": '"keep" or "downweight"',
        "method": 'the name of a method, such as "auto" or "ekf"',
        "family": 'the name of a family, such as "gaussian" or "poisson"',
        "weights": '"frequency" or "precision"',
    }
    for name, value in given.items():
        if value is not None and not isinstance(value, str):
            raise InputError(f"{name} is {value!r}: give {choices[name]}")
