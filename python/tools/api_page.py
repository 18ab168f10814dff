"""Prints docs/python.md, the list of all public members."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from typing import Any

import kalmia
from kalmia import bounds, client, cluster, recipes, river, stream

INTRODUCTION = """# The Python package

All public members with their first sentence. `help(kalmia.LogisticRegression.fit)` shows the rest:
parameters, results and examples. This page is generated: `python python/tools/api_page.py >
docs/python.md`. [python/README.md](../python/README.md) is the introduction.
"""

#: Modules, with the names that they export.
MODULES = (
    (kalmia, "kalmia"),
    (client, "kalmia.client"),
    (cluster, "kalmia.cluster"),
    (stream, "kalmia.stream"),
    (river, "kalmia.river"),
    (recipes, "kalmia.recipes"),
    (bounds, "kalmia.bounds"),
)


def sentence(thing: Any) -> str:
    """The first sentence of a docstring, on one line; plain data have none of their own."""
    text = "" if isinstance(thing, str | int | float) else inspect.getdoc(thing) or ""
    paragraph = " ".join(text.split("\n\n")[0].split())
    end = paragraph.find(". ")
    found = paragraph if end < 0 else paragraph[: end + 1]
    return found.replace("|", "\\|")


def signature(name: str, thing: Any) -> str:
    """The name with its parameters, without annotations."""
    if not callable(thing):
        return name
    try:
        given = inspect.signature(thing).parameters.values()
    except (TypeError, ValueError):
        return f"{name}(...)"
    shown = [str(one.replace(annotation=one.empty)) for one in given if one.name != "self"]
    # keyword-only parameters stand behind a star
    kinds = [one.kind for one in given if one.name != "self"]
    if inspect.Parameter.KEYWORD_ONLY in kinds and inspect.Parameter.VAR_POSITIONAL not in kinds:
        shown.insert(kinds.index(inspect.Parameter.KEYWORD_ONLY), "*")
    return f"{name}({', '.join(shown)})"


def members(cls: type) -> Iterator[tuple[str, Any]]:
    """The public members of a class that kalmia defines, in the order of their names."""
    for name in sorted(dir(cls)):
        if name.startswith("_"):
            continue
        owner = next((one for one in cls.__mro__ if name in vars(one)), cls)
        if owner.__module__.split(".")[0] == "kalmia" and not _is_internal(name):
            yield name, inspect.getattr_static(cls, name)


def _is_internal(name: str) -> bool:
    # scikit-learn makes one such method per method that takes metadata
    return name.startswith("set_") and name.endswith("_request")


def unwrapped(member: Any) -> Any:
    """The function behind a static or class method."""
    return getattr(member, "__func__", member)


def page() -> str:
    parts = [INTRODUCTION]
    for module, title in MODULES:
        parts.append(f"## {title}\n")
        classes, rest = [], []
        for name in sorted(module.__all__):
            thing = getattr(module, name)
            if module is not kalmia and getattr(kalmia, name, None) is thing:
                continue  # listed there
            (classes if inspect.isclass(thing) and not _is_error(thing) else rest).append(
                (name, thing)
            )
        if rest:
            lines = []
            for name, thing in rest:
                shown = name if inspect.isclass(thing) else signature(name, thing)
                said = sentence(thing) if callable(thing) or inspect.ismodule(thing) else ""
                lines.append(f"| `{shown}` | {said} |")
            parts.append("| name | what |\n|---|---|\n" + "\n".join(lines) + "\n")
        for name, cls in classes:
            base = cls.__mro__[1]
            kind = f" (a `{base.__name__}`)" if base is kalmia.Learner else ""
            parts.append(f"### {name}{kind}\n\n{sentence(cls)}\n")
            found = [
                (one, member)
                for one, member in members(cls)
                # what a learner of any class has is listed once
                if base is not kalmia.Learner or not hasattr(kalmia.Learner, one)
            ]
            lines = [
                f"| `{signature(one, unwrapped(member))}` | {sentence(member)} |"
                for one, member in found
                if sentence(member)
            ]
            if lines:
                parts.append("| member | what |\n|---|---|\n" + "\n".join(lines) + "\n")
    return "\n".join(parts)


def _is_error(thing: Any) -> bool:
    return inspect.isclass(thing) and issubclass(thing, Exception)


if __name__ == "__main__":
    print(page(), end="")
