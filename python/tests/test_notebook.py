"""The notebook runs from top to bottom, and shows what is stored with it."""

import importlib.util
import re
from pathlib import Path

import nbformat
import pytest

ROOT = Path(__file__).parents[2]
NOTEBOOKS = sorted((ROOT / "examples").glob("*.ipynb"))
#: All pictures of a notebook together.
PICTURE_BYTES = 200_000
NUMBER = re.compile(r"-?\d+\.?\d*(?:e-?\d+)?")


def executed(path):
    script = ROOT / "python/tools/execute_notebook.py"
    spec = importlib.util.spec_from_file_location("execute_notebook", script)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.execute(path)


def outputs(notebook):
    """Kind and text of every output, cell by cell; of pictures only that there is one."""
    for number, cell in enumerate(notebook.cells):
        for output in cell.get("outputs", []):
            if output.output_type == "stream":
                yield number, output.name, output.text
            for kind, text in sorted(output.get("data", {}).items()):
                yield number, kind, "" if kind.startswith("image/") else text


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
@pytest.mark.filterwarnings("ignore")
def test_its_stored_outputs_are_what_it_shows(path):
    stored, fresh = (list(outputs(one)) for one in (nbformat.read(path, 4), executed(path)))
    hint = f"run python python/tools/execute_notebook.py {path.relative_to(ROOT)}"
    assert [line[:2] for line in stored] == [line[:2] for line in fresh], hint
    for (number, _, old), (_, _, new) in zip(stored, fresh, strict=True):
        assert NUMBER.sub("#", old) == NUMBER.sub("#", new), f"cell {number}: {hint}"
        # processors differ in the last digits
        for a, b in zip(NUMBER.findall(old), NUMBER.findall(new), strict=True):
            assert float(a) == pytest.approx(float(b), rel=1e-3), f"cell {number}: {hint}"
    kinds = {kind for _, kind, _ in stored}
    assert {"text/html", "text/plain", "image/png", "stdout"} <= kinds


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_its_pictures_are_small(path):
    sizes = [
        len(output.data["image/png"])
        for cell in nbformat.read(path, 4).cells
        for output in cell.get("outputs", [])
        if "image/png" in output.get("data", {})
    ]
    assert sizes and sum(sizes) < PICTURE_BYTES


def test_there_is_one():
    assert NOTEBOOKS
