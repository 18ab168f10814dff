"""Rows per second of `partial_fit` and of the Rust library, on the same million rows.

Run ``python python/benchmarks/partial_fit.py``. It needs cargo and the installed package.
"""

import os
import subprocess
import tempfile
import time
from pathlib import Path

import numpy as np

from kalmia import LogisticRegression

ROOT = Path(__file__).parents[2]
ROWS, FEATURES, ROUNDS = 1_000_000, 10, 3


def library(path: str) -> float:
    command = [
        "cargo",
        "run",
        "--quiet",
        "--release",
        "--package",
        "kalmia-python",
        "--example",
        "library",
        "--",
    ]
    return float(subprocess.check_output([*command, path, str(FEATURES + 1)], cwd=ROOT, text=True))


def python(X: np.ndarray, y: np.ndarray) -> float:
    start = time.perf_counter()
    LogisticRegression().partial_fit(X, y, classes=[0, 1])
    return len(y) / (time.perf_counter() - start)


def main() -> None:
    rng = np.random.default_rng(1)
    X = rng.uniform(-0.5, 0.5, (ROWS, FEATURES))
    y = (rng.random(ROWS) < 1.0 / (1.0 + np.exp(-X @ np.linspace(-2.0, 2.0, FEATURES)))).astype(
        np.int64
    )
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "rows")
        with open(path, "wb") as file:
            np.hstack([np.ones((ROWS, 1)), X]).tofile(file)
            y.astype(np.float64).tofile(file)
        library(path)
        pairs = [(library(path), python(X, y)) for _ in range(ROUNDS)]
    own, ours = max(pair[0] for pair in pairs), max(pair[1] for pair in pairs)
    print(f"library {own:,.0f} rows/s, partial_fit {ours:,.0f} rows/s: {100.0 * ours / own:.0f} %")
    fortran = python(np.asfortranarray(X), y)
    print(f"partial_fit on a Fortran-ordered array {fortran:,.0f} rows/s")


if __name__ == "__main__":
    main()
