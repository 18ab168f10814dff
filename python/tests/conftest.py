"""The fixture that runs the command ``kalmia``, for tests of files and results that both share."""

import os
import subprocess

import pytest


@pytest.fixture(scope="session")
def run():
    """A function that runs the command in KALMIA_COMMAND and returns what it prints."""
    command = os.environ.get("KALMIA_COMMAND")
    if not command:
        pytest.skip(
            "KALMIA_COMMAND is not set; `cargo xtask python` builds the command and sets it"
        )

    def run(*arguments, fails=None):
        done = subprocess.run([command, *map(str, arguments)], capture_output=True, text=True)
        assert done.returncode == (fails or 0), (
            f"kalmia {' '.join(map(str, arguments))}\n{done.stderr}"
        )
        return done.stderr if fails else done.stdout

    return run
