"""The examples of the client's docstrings and of the READMEs run against a real service."""

import doctest
import re
from pathlib import Path

import pytest

import kalmia

ROOT = Path(__file__).parents[2]
ADDRESS = "http://127.0.0.1:8642"


def test_examples_of_docstrings(service):
    """In the order of the class, because later ones use the model of the first."""
    members = [kalmia.Client, *vars(kalmia.Client).values()]
    texts = [one.__doc__ for one in members if callable(one) and ">>>" in (one.__doc__ or "")]
    assert len(texts) >= 8
    names = {"kalmia": kalmia}
    for text in texts:
        text = text.replace("  # doctest: +SKIP", "").replace(ADDRESS, service.url)
        example = doctest.DocTestParser().get_doctest(text, names, "client", None, None)
        assert doctest.DocTestRunner().run(example, clear_globs=False).failed == 0
        names = example.globs


@pytest.mark.parametrize("name", ["README.md", "python/README.md"])
def test_examples_of_readmes(service, name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    text = (ROOT / name).read_text(encoding="utf-8")
    found = [
        code for code in re.findall(r"```python\n(.*?)```", text, re.DOTALL) if "Client(" in code
    ]
    assert found or name == "README.md"
    for code in found:
        code = code.replace("Client()", f'Client("{service.url}")').replace(ADDRESS, service.url)
        assert service.url in code
        exec(compile(code, name, "exec"), {})
