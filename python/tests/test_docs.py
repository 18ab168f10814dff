"""Every example in a docstring runs, and every public function has a docstring."""

import doctest
import importlib
import inspect
import pkgutil

import pytest

import kalmia
from kalmia import _kalmia, cluster

MODULES = sorted(
    m.name
    for package in (kalmia, cluster)
    for m in pkgutil.iter_modules(package.__path__, f"{package.__name__}.")
    if m.name != "kalmia._kalmia" and not m.ispkg
)


@pytest.mark.parametrize("name", MODULES)
def test_examples_of_modules(name):
    module = importlib.import_module(name)
    assert module.__doc__
    result = doctest.testmod(module)
    assert result.failed == 0


def compiled_docs():
    for name, thing in vars(_kalmia).items():
        if name.startswith("_"):
            continue
        yield name, thing
        if inspect.isclass(thing):
            yield from (
                (f"{name}.{key}", member)
                for key, member in vars(thing).items()
                if not key.startswith("_")
            )


@pytest.mark.parametrize(
    ("name", "thing"), list(compiled_docs()), ids=lambda v: v if isinstance(v, str) else ""
)
def test_examples_of_the_compiled_module(name, thing):
    assert thing.__doc__, f"{name} has no docstring"
    example = doctest.DocTestParser().get_doctest(thing.__doc__, {}, name, None, None)
    assert doctest.DocTestRunner().run(example).failed == 0


def test_every_public_class_shows_an_example():
    shown = [
        getattr(kalmia, name) for name in kalmia.__all__ if inspect.isclass(getattr(kalmia, name))
    ]
    without = [
        c.__name__
        for c in shown
        if not issubclass(c, Exception) and c is not kalmia.Learner and ">>>" not in c.__doc__
    ]
    assert without == []
