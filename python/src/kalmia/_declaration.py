"""What a caller declares about a model that learns tables by the names of their columns."""

from __future__ import annotations

import numbers
from collections.abc import Iterable
from typing import Any, Literal, TypedDict, Unpack

from ._parameters import (
    METHOD_PARAMETERS,
    DriftName,
    MethodName,
    ScaleName,
    WeightName,
    check_names,
)
from .errors import InputError

FamilyName = Literal[
    "gaussian",
    "bernoulli",
    "binomial",
    "categorical",
    "poisson",
    "gamma",
    "negative-binomial",
    "quantile",
    "student",
]
MissingName = Literal["error", "skip", "mean"]

#: The library's names of the parameters that Python names otherwise.
RENAMED = {"prior_variance": "prior", "lam": "lambda"}

#: Parameters of estimators that need all coefficients by name, or one process.
NOT_TAKEN = ("prior_mean", "certificate", "conformal")

#: What is not given, without the parameters of methods.
DEFAULTS: dict[str, Any] = {
    "family": None,
    "method": "auto",
    "features": None,
    "exclude": (),
    "categorical": (),
    "weight": None,
    "weights": "frequency",
    "offset": None,
    "positive": None,
    "missing": "error",
    "intercept": True,
}

#: The docstring section on the columns and the method.
COLUMNS = """target : str
        The column to predict.
    family : str, optional
        The family of the target, as the command names it: ``"gaussian"``, ``"bernoulli"``,
        ``"binomial"``, ``"poisson"``, ``"gamma"``, ``"negative-binomial"``, ``"student"`` or
        ``"quantile"``, with a parameter after a colon (``"quantile:0.9"``). Fits over partitions
        also take ``"categorical"``: several classes, also if they are written as numbers. By
        default the first rows decide.
    method : str
        The algorithm, as for the estimators; further keywords are its parameters, such as
        ``drift="off"`` or ``prior_variance=1.0``.
    features : list of str, optional
        The feature columns, in order; by default every column without another role.
    exclude, categorical : list of str
        Columns to leave out, and columns of numbers that are categories.
    weight, offset : str, optional
        The columns of row weights, and of what is added to the linear predictor.
    weights : {"frequency", "precision"}
        What weights mean, as for the estimators.
    positive : str, optional
        The label that counts as 1, if labels are texts; by default the larger of the two.
    missing : {"error", "skip", "mean"}
        What a missing value does: it is refused, its row is left out, or it is replaced by the mean
        of the rows before and a feature ``name:missing`` is 1.
    intercept : bool
        Whether there is a constant feature."""


class Declared(TypedDict, total=False):
    """The keywords of functions that take columns by name, besides `target`."""

    family: FamilyName | str | None
    method: MethodName
    features: Iterable[str] | None
    exclude: Iterable[str]
    categorical: Iterable[str]
    weight: str | None
    weights: WeightName
    offset: str | None
    positive: str | None
    missing: MissingName
    intercept: bool
    drift: DriftName | None
    prior_variance: float | None
    scale: float | ScaleName | None
    beta: float | None
    radius: float | None
    exp_concavity: float | None
    gradient_bound: float | None
    lam: float | None
    multiplier: float | None
    diameter: bool
    horizon: int | None
    step: float | None
    oracle: float | None
    averaged: bool


def declaration(target: str, **given: Unpack[Declared]) -> dict[str, Any]:
    """The declaration as the compiled module takes it.

    Examples
    --------
    >>> made = declaration("y", exclude=["id"], prior_variance=2.0, method="ekf")
    >>> made["exclude"], made["parameters"]
    (['id'], {'prior': 2.0})
    """
    if not isinstance(target, str) or not target:
        raise InputError(f"target is {target!r}: give the name of the column to predict")
    rest: dict[str, Any] = {**DEFAULTS, **given}
    check_names(method=rest["method"], weights=rest["weights"], family=rest["family"])
    if rest["missing"] not in ("error", "skip", "mean"):
        raise InputError(f'missing is {rest["missing"]!r}: give "error", "skip" or "mean"')
    if not isinstance(rest["intercept"], bool):
        raise InputError(f"intercept is {rest['intercept']!r}: give True or False")
    parameters = {name: value for name, value in rest.items() if name not in DEFAULTS}
    known = [name for name in METHOD_PARAMETERS if name not in NOT_TAKEN]
    for name, value in parameters.items():
        if name not in known:
            raise InputError(
                f"{name!r} is no keyword here: there are target, {', '.join(DEFAULTS)} and the "
                f"parameters of methods {', '.join(known)}"
            )
        if value is not None and not isinstance(value, numbers.Number | str):
            raise InputError(f"{name} is {value!r}: give a number, a name or None")
    return {
        "target": target,
        "family": rest["family"] or "auto",
        "method": rest["method"],
        "parameters": {
            RENAMED.get(name, name): value
            for name, value in sorted(parameters.items())
            if value is not None
        },
        "features": None if rest["features"] is None else _columns("features", rest["features"]),
        "exclude": _columns("exclude", rest["exclude"]),
        "categorical": _columns("categorical", rest["categorical"]),
        "weight": rest["weight"],
        "weights": rest["weights"],
        "offset": rest["offset"],
        "positive": None if rest["positive"] is None else str(rest["positive"]),
        "intercept": rest["intercept"],
        "missing": rest["missing"],
    }


def _columns(name: str, given: Iterable[str]) -> list[str]:
    found = [given] if isinstance(given, str) else list(given)
    wrong = [one for one in found if not isinstance(one, str)]
    if wrong:
        raise InputError(f"{name} holds {wrong[0]!r}: give the names of columns")
    return found
