"""The fixtures that run the command ``kalmia``, for tests of what it shares with the package."""

import os
import subprocess

import pytest
from service import Service


def pytest_addoption(parser):
    parser.addoption(
        "--no-skips", action="store_true", help="a skipped test fails: all that it needs is there"
    )


def _unskipped(config, report):
    """The report, as a failure if it is a skip and none is allowed."""
    if report.skipped and config.getoption("--no-skips"):
        report.outcome = "failed"
        report.longrepr = f"skipped, which --no-skips does not allow: {report.longrepr[2]}"


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item):
    outcome = yield
    _unskipped(item.config, outcome.get_result())


@pytest.hookimpl(hookwrapper=True)
def pytest_make_collect_report(collector):
    outcome = yield
    _unskipped(collector.config, outcome.get_result())


@pytest.fixture(scope="session")
def command():
    """The path of the command, which KALMIA_COMMAND names."""
    found = os.environ.get("KALMIA_COMMAND")
    if not found:
        pytest.skip(
            "KALMIA_COMMAND is not set; `cargo xtask python` builds the command and sets it"
        )
    return found


@pytest.fixture(scope="session")
def run(command):
    """A function that runs the command and returns what it prints."""

    def run(*arguments, fails=None):
        done = subprocess.run([command, *map(str, arguments)], capture_output=True, text=True)
        assert done.returncode == (fails or 0), (
            f"kalmia {' '.join(map(str, arguments))}\n{done.stderr}"
        )
        return done.stderr if fails else done.stdout

    return run


@pytest.fixture(scope="session")
def service(command, tmp_path_factory):
    """A service for all tests, each of which has models of its own."""
    running = Service(command, tmp_path_factory.mktemp("service"))
    yield running
    assert running.stop() == 0
