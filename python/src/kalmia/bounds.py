"""The closed forms of the paper's theorems, one function per theorem.

Each function takes the theorem's quantities by name and returns a dictionary of values. A value
too large for a float is infinite; its logarithm is then under the key that starts with ``ln_``.
Functions are named after the labels in the paper. For the parameters of one, see its help, such
as ``help(kalmia.bounds.localized_bounded)``.

Examples
--------
>>> import kalmia
>>> values = kalmia.bounds.uniform_design(m=10)
>>> sorted(values)
['D_X', 'Lmax', 'Lmin', 'bulk']
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from ._kalmia import bound_evaluate, bound_list

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
    return "\n".join([*lines, "", "Returns", "-------", "dict"])


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


__all__ = []
for _entry in bound_list():
    globals()[_entry["name"]] = _make(_entry)
    __all__.append(_entry["name"])
del _entry
