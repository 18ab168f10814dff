"""Methods of a base class under the name of the public class that has them."""

from __future__ import annotations

from functools import update_wrapper
from types import FunctionType


def name_methods_after(cls: type, *bases: type) -> None:
    """Gives `cls` its own copy of each public method that it has from `bases`.

    Python's errors then name the class that was called, as in ``LinearRegression.fit() missing 1
    required positional argument``, and not a base that no user knows.
    """
    for base in bases:
        for name, method in vars(base).items():
            public = isinstance(method, FunctionType) and not name.startswith("_")
            # not if a class between the two has its own
            if public and getattr(cls, name) is method:
                setattr(cls, name, _copy(method, f"{cls.__name__}.{name}"))


def _copy(method: FunctionType, qualified_name: str) -> FunctionType:
    copy = FunctionType(
        method.__code__,
        method.__globals__,
        method.__name__,
        method.__defaults__,
        method.__closure__,
    )
    update_wrapper(copy, method)
    copy.__kwdefaults__ = method.__kwdefaults__
    copy.__qualname__ = qualified_name
    del copy.__wrapped__
    return copy
