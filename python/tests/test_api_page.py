"""docs/python.md lists every public member, as the docstrings describe it."""

import importlib.util
import inspect
import re
from pathlib import Path

import pytest

import kalmia
from kalmia import cluster, river, stream

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs/python.md").read_text(encoding="utf-8")
SCRIPT = ROOT / "python/tools/api_page.py"


def section(name):
    """The part of the page on one class."""
    return re.split(r"^##+ ", PAGE.split(f"### {name}", 1)[1], maxsplit=1, flags=re.MULTILINE)[0]


def test_the_page_is_that_of_the_docstrings():
    spec = importlib.util.spec_from_file_location("api_page", SCRIPT)
    script = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(script)
    assert script.page() == PAGE, "run python python/tools/api_page.py > docs/python.md"


CLASSES = [
    kalmia.LogisticRegression,
    kalmia.LinearRegression,
    kalmia.PoissonRegression,
    kalmia.GammaRegression,
    kalmia.NegativeBinomialRegression,
    kalmia.QuantileRegression,
    kalmia.StudentRegression,
    kalmia.OrdinalRegression,
    kalmia.Learner,
    kalmia.Prediction,
    kalmia.Client,
    stream.StreamModel,
    river.Classifier,
    river.Regressor,
]


@pytest.mark.parametrize("cls", CLASSES, ids=lambda cls: cls.__name__)
def test_every_public_member_is_on_it(cls):
    text = section(cls.__name__)
    for name in dir(cls):
        owner = next((one for one in cls.__mro__ if name in vars(one)), cls)
        if name.startswith("_") or owner.__module__.split(".")[0] != "kalmia":
            continue
        if re.fullmatch("set_.*_request", name):
            continue
        if isinstance(inspect.getattr_static(cls, name), str):
            continue  # the default of a parameter, which the class describes
        member = inspect.getattr_static(cls, name)
        if not (callable(member) or hasattr(member, "__get__")):
            continue  # a default of an attribute
        assert re.search(rf"^\| `{name}[`(]", text, re.MULTILINE), name


def test_every_exported_name_is_on_it():
    for name in (
        *kalmia.__all__,
        *kalmia.client.__all__,
        *river.__all__,
        *cluster.__all__,
        *stream.__all__,
        *kalmia.bounds.__all__,
    ):
        assert re.search(rf"^(### {name}\b|\| `{name}[`(])", PAGE, re.MULTILINE), name
