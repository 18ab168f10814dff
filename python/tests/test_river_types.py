"""Code of River users passes mypy --strict, and wrong arguments do not."""

import subprocess
import sys
from pathlib import Path

import pytest


def test_users_of_river_pass_mypy_strict(tmp_path):
    pytest.importorskip("mypy")
    done = subprocess.run(
        [sys.executable, "-m", "mypy", "--strict", "--cache-dir", str(tmp_path), "typed_river.py"],
        cwd=Path(__file__).parent,
        capture_output=True,
        text=True,
    )
    # `type: ignore` that is not needed is an error too, so the wrong calls are refused
    lines = [line for line in done.stdout.splitlines() if line.startswith("typed_river.py")]
    assert lines == [], done.stdout
    assert "typed_river.py" not in done.stderr
    assert "1 source file" in done.stdout, done.stdout + done.stderr
