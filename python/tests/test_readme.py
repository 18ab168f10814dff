"""The Python examples of the READMEs run as written, and name what is there."""

import re
from pathlib import Path

import numpy as np
import pytest

import kalmia
from kalmia.river import MANY_FEATURES

ROOT = Path(__file__).parents[2]
README = (ROOT / "python/README.md").read_text(encoding="utf-8")


def blocks(name):
    return re.findall(r"```python\n(.*?)```", (ROOT / name).read_text(encoding="utf-8"), re.DOTALL)


@pytest.mark.parametrize("name", ["README.md", "python/README.md"])
def test_examples_run(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    # those of the client need a service; test_client_examples.py runs them. Those of a cluster need
    # an engine; cluster/test_cluster_docs.py runs those of docs/cluster.md
    elsewhere = ("Client(", "kalmia.cluster")
    found = [code for code in blocks(name) if not any(word in code for word in elsewhere)]
    assert found
    for code in found:
        exec(compile(code, name, "exec"), {})


def test_what_it_names_exists():
    model = kalmia.LogisticRegression().fit([[0.0], [1.0], [2.0]], [0, 1, 1])
    for name in re.findall(r"`model\.(\w+)", README):
        assert hasattr(model, name), name
    for name in re.findall(r"`kalmia\.(\w+)", README):
        assert hasattr(kalmia, name), name
    assert f"warns once at {MANY_FEATURES} features" in README


def test_offsets_are_exposures():
    """The README's recipe for counts: the rates are those of counts over exposure."""
    rng = np.random.default_rng(4)
    X, exposure = rng.normal(size=(4000, 1)), rng.uniform(0.5, 5.0, 4000)
    counts = rng.poisson(exposure * np.exp(0.5 + 0.3 * X[:, 0]))
    model = kalmia.PoissonRegression().fit(X, counts, offset=np.log(exposure))
    assert abs(model.coef_[0] - 0.3) < 5.0 * model.std_err_[1]
    one, three = (model.predict([[1.0]], offset=np.log(e))[0] for e in (1.0, 3.0))
    assert three == pytest.approx(3.0 * one, rel=1e-9)
