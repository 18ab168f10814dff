"""The command ``kalmia``, for the tests of what it shares with the package."""

import os
import subprocess

import pytest


@pytest.fixture(scope="session")
def run():
    """Runs the command that the environment names with these arguments; gives what it prints."""
    command = os.environ.get("KALMIA_COMMAND")
    if not command:
        pytest.skip(
            "KALMIA_COMMAND does not name the command; `cargo xtask python` builds it and does"
        )

    def run(*arguments, fails=None):
        done = subprocess.run([command, *map(str, arguments)], capture_output=True, text=True)
        assert done.returncode == (fails or 0), (
            f"kalmia {' '.join(map(str, arguments))}\n{done.stderr}"
        )
        return done.stderr if fails else done.stdout

    return run
