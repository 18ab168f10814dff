"""The annotations serve users: mypy --strict accepts right code and refuses wrong parameters."""

import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("mypy")
USER = Path(__file__).with_name("typed_user.py")


def mypy(path, tmp_path):
    done = subprocess.run(
        [sys.executable, "-m", "mypy", "--strict", "--cache-dir", tmp_path / "cache", path],
        capture_output=True,
        text=True,
        cwd=tmp_path,
    )
    return done.stdout + done.stderr


def test_user_code_passes_strictly(tmp_path):
    assert "Success: no issues found in 1 source file" in mypy(USER, tmp_path)


def test_wrong_parameters_are_found(tmp_path):
    wrong = [
        "LogisticRegression(drift=True)",
        'LogisticRegression(drift="maybe")',
        'LinearRegression("sgd")',
        'LinearRegression(weights="analytic")',
        'LogisticRegression(class_weight="even")',
        "LinearRegression(noise=1.0)",
        'LinearRegression().predict_interval([[1.0]], level="high")',
        "Auto(2, drift=True)",
        "Client(retry=3)",
        'Client().create("m", family="gamma")',
        'Client().create("m", family="gamma", target="y", interact=True)',
        'Client().create("m", family="gamma", target="y", missing="drop")',
        'Client().predict("m", [], interval="x")',
        'cluster.fit_dask(1, "y", missing="drop")',
        'cluster.fit_spark(1, "y", family=1)',
        'cluster.fit_datafusion(1, "y", priors=1.0)',
        'stream.StreamModel("m", "y", drift=True)',
        'LinearRegression().polish([[1.0]], [1.0], prior="vague")',
    ]
    path = tmp_path / "wrong.py"
    path.write_text(
        "from kalmia import Auto, Client, LinearRegression, LogisticRegression, cluster, stream\n"
        + "\n".join(wrong)
        + "\n"
    )
    found = mypy(path, tmp_path)
    for line in range(2, len(wrong) + 2):
        assert f"wrong.py:{line}: error" in found, (wrong[line - 2], found)
