"""The closed forms of the paper's theorems, one function per statement.

Each function takes the theorem's quantities by name and returns a dictionary of values. A value
too large for a float is infinite; its logarithm is then under the key that starts with ``ln_``.
Functions are named after the labels in the paper. For the parameters of one, see its help, such
as ``help(kalmia.bounds.localized_bounded)``. Where the paper's proof differs from its text,
``variant="corrected"`` gives what is proved; the help names the errata. ``estimate`` finds the
constants that rows show, and ``sphere_minimum`` the optimistic exp-concavity constant.

Examples
--------
>>> import kalmia
>>> values = kalmia.bounds.uniform_design(m=10)
>>> sorted(values)
['D_X', 'Lmax', 'Lmin', 'bulk']
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ._kalmia import bound_evaluate, bound_list, design_estimate, sphere_minima
from .errors import InputError

Value = float | bool | str

if TYPE_CHECKING:

    def __getattr__(name: str) -> Callable[..., dict[str, Value]]: ...


def _default(parameter: dict[str, Any]) -> Any:
    default = parameter["default"]
    if default is None:
        return inspect.Parameter.empty
    try:
        number = float(default)
    except ValueError:
        return default
    return int(number) if parameter["kind"] == "integer" else number


def _docstring(entry: dict[str, Any]) -> str:
    lines = [
        entry["summary"],
        "",
        f"In the paper: {entry['label']}. Holds {entry['holds']}.",
        "",
        "Parameters",
        "----------",
    ]
    for parameter in entry["parameters"]:
        optional = "" if parameter["default"] is None else f", default {parameter['default']}"
        lines.append(f"{parameter['name']} : {parameter['kind']}{optional}")
        lines.append(f"    {parameter['description']} ({parameter['domain']})")
    lines += ["", "Returns", "-------", "dict"]
    if entry["errata"]:
        lines += ["", "Notes", "-----", "Errata of the paper:", ""]
    for name, effect, subject, decision in entry["errata"]:
        lines.append(f"- {name} ({effect}): {subject}. Here: {decision}.")
    return "\n".join(lines)


def _make(entry: dict[str, Any]) -> Callable[..., dict[str, Value]]:
    name = entry["name"]
    kind = inspect.Parameter.KEYWORD_ONLY
    parameters = [
        inspect.Parameter(p["name"], kind, default=_default(p)) for p in entry["parameters"]
    ]

    def bound(**parameters: Value) -> dict[str, Value]:
        return bound_evaluate(name, parameters)

    bound.__name__ = bound.__qualname__ = name
    bound.__doc__ = _docstring(entry)
    bound.__signature__ = inspect.Signature(parameters, return_annotation=dict)
    return bound


def estimate(X: Any, model: Any = None, *, fit_intercept: bool = True) -> dict[str, Value]:
    """Estimate the constants of the theorems that rows show, by the names of the parameters.

    ``D_X`` is the largest norm of a row, so the supremum can only be larger. ``Lmin`` is the
    smallest eigenvalue of the mean of ``x x'``; it is not positive, up to rounding, if the features
    are collinear. Pass the values on: ``kalmia.bounds.boundP(**chosen, delta=0.05, ...)``.

    Parameters
    ----------
    X : array, sparse matrix or table of numbers, one row per observation
    model : a fitted estimator of kalmia, optional
        Adds ``nstar``, the norm of its coefficients, ``dist1``, the same for a start at 0, and for
        a linear regression ``sigma``, its noise.
    fit_intercept : bool, default True
        Whether each row starts with a constant 1, as in the estimators. Taken from ``model`` if
        there is one.

    Returns
    -------
    dict with ``n``, ``d``, ``D_X``, ``Lmin`` and, with a model, ``nstar``, ``dist1``, ``sigma``

    Examples
    --------
    >>> import kalmia, numpy
    >>> found = kalmia.bounds.estimate(numpy.array([[0.0], [2.0]]))
    >>> found["n"], found["d"], round(found["D_X"], 6), round(found["Lmin"], 6)
    (2, 2, 2.236068, 0.381966)
    """
    if model is not None:
        fit_intercept = model.fit_intercept
    values = design_estimate(X, bool(fit_intercept))
    if values is None:
        raise InputError("X has no rows; give at least one")
    if model is not None:
        if np.ndim(model.coef_) == 2 and len(model.coef_) > 1:
            raise InputError(
                f"model has {len(model.coef_)} classes; the theorems are about two: fit one "
                "class against the others"
            )
        # without an intercept, intercept_ is 0
        norm = float(np.hypot(np.linalg.norm(model.coef_), np.linalg.norm(model.intercept_)))
        values.update(nstar=norm, dist1=norm)
        linear = getattr(model, "_family", None) == "gaussian"
        noise = model.dispersion_ if linear else None
        if noise is not None:
            values["sigma"] = float(noise) ** 0.5
    return values


def sphere_minimum(
    theta: Sequence[float],
    *,
    radius: float | None = None,
    points: int = 1000,
    draws: int = 10_000,
    repeats: int = 10,
    seed: int = 1,
) -> dict[str, Any]:
    """Minima of the exp-concavity constant of the logistic risk over random points of a sphere.

    The optimistic constants of the paper's experiments are one such minimum (erratum E26). It is
    random: other points give another one. Rows are ``(1, z)`` with ``z`` uniform on the unit cube,
    and labels follow the logistic model ``theta``.

    Parameters
    ----------
    theta : sequence of float
        The coefficients; the first one belongs to the constant feature.
    radius : float, optional
        Radius of the sphere; by default 1.1 times the norm of ``theta``.
    points, draws, repeats, seed : int
        Points per minimum, draws of the features, number of minima, start of the random numbers.

    Returns
    -------
    dict with ``radius``, ``ln_minima`` (logarithms in ascending order), ``ln_median`` and
    ``ln_proved``, the logarithm of the constant that is proved on the ball

    Examples
    --------
    >>> import kalmia
    >>> found = kalmia.bounds.sphere_minimum([-0.9, 0.3], points=20, draws=100, repeats=3)
    >>> len(found["ln_minima"]), found["ln_median"] > found["ln_proved"]
    (3, True)
    """
    coefficients = [float(value) for value in theta]
    return sphere_minima(coefficients, radius, points, draws, repeats, seed)


__all__ = ["estimate", "sphere_minimum"]
for _entry in bound_list():
    globals()[_entry["name"]] = _make(_entry)
    __all__.append(_entry["name"])
del _entry
