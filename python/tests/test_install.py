"""Install lines name no stranger's package, and the package is found from any folder.

`kalmia` on the public index belongs to another project, and `kalmia-glm` is not published yet.
"""

import re
import subprocess
import sys
import tomllib
from importlib import metadata
from pathlib import Path

import pytest

import kalmia

ROOT = Path(__file__).parents[2]
#: A call of an installer with what follows it, up to the end of its line or quotation.
INSTALL = re.compile(
    r"(?:pip[0-9.]*\s+(?:install|download)|uv\s+(?:add|tool\s+install)|poetry\s+add)\b([^\n`]*)"
)
#: The package, by a name that an index knows, with or without extras and versions.
FROM_INDEX = re.compile(r"(?<![\w./-])kalmia(?:[-_.]glm)?(?![\w./-])", re.IGNORECASE)


def from_an_index(text):
    """The install lines of a text that would fetch the package from an index."""
    # a string that is broken in two continues on the next line
    joined = re.sub(r"[\"']\s*\\?\n\s*f?[\"']", "", text)
    return [
        match.group(0)
        for match in INSTALL.finditer(joined)
        if FROM_INDEX.search(match.group(1).split("#")[0])
    ]


def tracked():
    """The repository's files; without git, all that look like text."""
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True)
    if listed.returncode == 0:
        names = [name for name in listed.stdout.decode().split("\0") if name]
        return [ROOT / name for name in names if (ROOT / name).is_file()]
    kinds = ("*.md", "*.py", "*.rs", "*.toml", "*.ipynb")
    found = [path for kind in kinds for path in ROOT.rglob(kind)]
    return [path for path in found if "target" not in path.relative_to(ROOT).parts]


def test_no_text_of_the_repository_installs_from_an_index():
    seen, wrong = 0, []
    for path in tracked():
        try:
            text = path.read_text(encoding="utf-8")
        except UnicodeDecodeError:
            continue
        if path == Path(__file__):
            continue
        seen += len(INSTALL.findall(text))
        wrong += [f"{path.relative_to(ROOT)}: {line}" for line in from_an_index(text)]
    assert wrong == []
    assert seen >= 5, "the install lines of the READMEs, the notebook and the messages"


@pytest.mark.parametrize(
    "line",
    [
        "pip install kalmia",
        "pip install 'kalmia[plot,river]'",
        'pip install -U "kalmia-glm>=0.1"',
        "python3 -m pip install numpy kalmia_glm",
        '"needs river: pip install "\n    "\'kalmia[river]\'"',
        "uv add kalmia==0.1.0",
    ],
)
def test_such_a_line_would_be_found(line):
    assert from_an_index(line)


@pytest.mark.parametrize(
    "line",
    [
        "pip install ./python",
        "pip install './python[plot,river]'  # the package kalmia",
        "pip install target/wheels/kalmia_glm-0.1.0-cp311-abi3-linux_x86_64.whl",
        "pip install river pandas",
        "`pip install ./python` installs kalmia",
    ],
)
def test_a_local_path_or_another_package_is_fine(line):
    assert from_an_index(line) == []


def test_the_distribution_has_its_own_name():
    assert metadata.version("kalmia-glm") == kalmia.__version__


def test_the_package_is_found_from_its_own_folder():
    code = "import kalmia, kalmia._kalmia; print(kalmia.__version__)"
    for folder in (ROOT, ROOT / "python", ROOT / "python/tests"):
        done = subprocess.run(
            [sys.executable, "-c", code], cwd=folder, capture_output=True, text=True, check=True
        )
        assert done.stdout.strip() == kalmia.__version__
    # a folder of this name beside the tests would hide the installed package
    assert not (ROOT / "python/kalmia").exists()


def test_the_readmes_name_the_versions_that_are_needed():
    rust = tomllib.loads((ROOT / "Cargo.toml").read_text())["workspace"]["package"]["rust-version"]
    project = tomllib.loads((ROOT / "python/pyproject.toml").read_text())["project"]
    python = project["requires-python"].removeprefix(">=")
    for name in ("README.md", "python/README.md", "CONTRIBUTING.md"):
        text = (ROOT / name).read_text()
        assert f"Rust {rust}" in text, name
        assert f"Python {python}" in re.sub(r"\s+", " ", text), name
