"""Runs the command `kalmia` for the benchmarks, and writes the tables that it reads."""

import argparse
import json
import pathlib
import subprocess
from collections.abc import Iterable, Sequence

import numpy as np


def run(command: str, *arguments: object) -> dict:
    """The JSON object that a subcommand prints with --json."""
    line = [command, *map(str, arguments), "--json", "--quiet"]
    done = subprocess.run(line, check=True, stdout=subprocess.PIPE, text=True)
    return json.loads(done.stdout)


def fit(command: str, path: pathlib.Path, count: int, *options: object) -> dict:
    """The summary of one pass over a file of `count` rows."""
    summary = run(command, "fit", path, *options)
    if summary["rows"] != count:
        raise SystemExit(f"kalmia learned {summary['rows']} of {count} rows of {path}")
    return summary


def predict(command: str, model: pathlib.Path, path: pathlib.Path) -> dict[str, np.ndarray]:
    """The columns that `kalmia predict` writes for the rows of a file, all of them numbers."""
    line = [command, "predict", str(model), str(path), "--interval", "none", "--quiet"]
    done = subprocess.run(line, check=True, stdout=subprocess.PIPE, text=True)
    names, *rows = (row.split(",") for row in done.stdout.splitlines())
    return dict(zip(names, np.array(rows, dtype=float).T, strict=True))


def write_table(path: pathlib.Path, x: Sequence[Sequence[float]], y: Iterable[object]) -> None:
    """A CSV file with the features x1, x2, ... and the target y, numbers to the last bit."""
    head = ",".join(f"x{j + 1}" for j in range(len(x[0])))
    with path.open("w") as file:
        file.write(f"{head},y\n")
        for row, target in zip(x, y, strict=True):
            file.write(f"{','.join(repr(float(value)) for value in row)},{target}\n")


def table_line(*cells: object) -> str:
    """A line of a Markdown table; numbers with four decimals."""
    texts = (f"{cell:.4f}" if isinstance(cell, float) else str(cell) for cell in cells)
    return f"| {' | '.join(texts)} |"


def parser(about: str) -> argparse.ArgumentParser:
    """Arguments that all of these programs take."""
    arguments = argparse.ArgumentParser(description=about)
    arguments.add_argument("--command", default="target/release/kalmia")
    return arguments
