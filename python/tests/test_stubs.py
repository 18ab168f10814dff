"""The stubs agree with the compiled module in names, parameters and defaults."""

import ast
import inspect
from pathlib import Path

import pytest

import kalmia
from kalmia import _kalmia

STUB = ast.parse((Path(kalmia.__file__).parent / "_kalmia.pyi").read_text())
CLASSES = {node.name: node for node in STUB.body if isinstance(node, ast.ClassDef)}
FUNCTIONS = {node.name: node for node in STUB.body if isinstance(node, ast.FunctionDef)}
#: Members that every class has.
COMMON = set(dir(object)) | {"__module__"}


def parameters(node):
    """Names, kinds and defaults of a stub's parameters, without `self` and `cls`."""
    given = node.args
    positional = [a.arg for a in given.args if a.arg not in ("self", "cls")]
    defaults = [None] * (len(positional) - len(given.defaults)) + [
        ast.literal_eval(d) for d in given.defaults
    ]
    found = [(name, "positional", d) for name, d in zip(positional, defaults, strict=True)]
    for arg, default in zip(given.kwonlyargs, given.kw_defaults, strict=True):
        found.append((arg.arg, "keyword", None if default is None else ast.literal_eval(default)))
    return found + ([(given.kwarg.arg, "rest", None)] if given.kwarg else [])


def actual(function):
    kinds = {
        "POSITIONAL_OR_KEYWORD": "positional",
        "KEYWORD_ONLY": "keyword",
        "VAR_KEYWORD": "rest",
    }
    signature = inspect.signature(function)
    listed = [p for p in signature.parameters.values() if p.name not in ("self", "cls")]
    # slots take positional arguments only, which counts as positional here
    return [
        (p.name, kinds.get(p.kind.name, "positional"), None if p.default is p.empty else p.default)
        for p in listed
    ]


def test_the_module_and_the_stub_have_the_same_names():
    public = {name for name in dir(_kalmia) if not name.startswith("_")}
    assert public == set(CLASSES) | set(FUNCTIONS)


@pytest.mark.parametrize("name", sorted(FUNCTIONS))
def test_functions_agree(name):
    assert actual(getattr(_kalmia, name)) == parameters(FUNCTIONS[name])


@pytest.mark.parametrize("name", sorted(CLASSES))
def test_classes_agree(name):
    cls, node = getattr(_kalmia, name), CLASSES[name]
    members = {item.name: item for item in node.body if isinstance(item, ast.FunctionDef)}
    assert [base.id for base in node.bases] == [
        base.__name__ for base in cls.__bases__ if base is not object
    ]
    own = {member for member in vars(cls) if member not in COMMON and member != "__doc__"}
    assert own == set(members) - {"__new__"}
    for member, item in members.items():
        if member == "__new__":
            assert actual(cls) == parameters(item)
        elif any(isinstance(d, ast.Name) and d.id == "property" for d in item.decorator_list):
            assert inspect.isgetsetdescriptor(vars(cls)[member])
        elif not member.startswith("__"):
            assert actual(vars(cls)[member]) == parameters(item)


def test_the_package_is_typed():
    assert (Path(kalmia.__file__).parent / "py.typed").exists()
