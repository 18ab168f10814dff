"""Rows per second on sparse rows: the command `kalmia fit` beside Vowpal Wabbit, in one run.

    pip install numpy vowpalwabbit
    python python/benchmarks/wide.py [--command target/release/kalmia] [--entries 10000000]

Both read the same rows from a text file, each in the format of its own, and learn a logistic
regression in one pass. Vowpal Wabbit is the library of its Python package, which runs the file
through its own parser and learner as its command does. Each time is the best of three.

Rows are drawn from a power law, as words are: most features are rare. Labels follow a logistic
model.
"""

import argparse
import os
import pathlib
import subprocess
import sys
import tempfile
import time

import numpy as np

WIDTHS = (10_000, 1_000_000, 10_000_000)
NON_ZEROS = (10, 100)
ROUNDS = 3


def rows(width: int, non_zeros: int, count: int, seed: int = 0):
    """Indices from 1, ascending in each row without repeats, and labels."""
    rng = np.random.default_rng(seed)
    effects = rng.normal(size=width + 1) * (rng.random(width + 1) < 0.3)
    for _ in range(count):
        # a few fewer than `non_zeros`: repeats are left out
        row = np.unique((width * rng.random(non_zeros) ** 3).astype(np.int64) + 1)
        linear = effects[row].sum() / np.sqrt(0.3 * len(row))
        yield row, int(rng.random() < 1 / (1 + np.exp(-2 * linear)))


def write(folder: pathlib.Path, width: int, non_zeros: int, count: int):
    """The rows as libsvm and in the format of Vowpal Wabbit."""
    libsvm = folder / "rows.libsvm"
    vw = folder / "rows.vw"
    with libsvm.open("w") as one, vw.open("w") as two:
        for row, label in rows(width, non_zeros, count):
            entries = " ".join(f"{index}:1" for index in row)
            one.write(f"{label} {entries}\n")
            two.write(f"{2 * label - 1} | {entries}\n")
    return libsvm, vw


def best(run) -> tuple[float, float]:
    """The shortest time of several, and the processor time of that run."""
    times = []
    for _ in range(ROUNDS):
        before = os.times()
        start = time.perf_counter()
        run()
        wall = time.perf_counter() - start
        after = os.times()
        used = sum(after[:4]) - sum(before[:4])
        times.append((wall, used))
    return min(times)


def peak_memory(command: list[str]) -> int:
    """The largest resident size of a command, in megabytes."""
    script = (
        "import resource, subprocess, sys; subprocess.run(sys.argv[1:], check=True,"
        " stdout=subprocess.DEVNULL);"
        "print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss // 1024)"
    )
    done = subprocess.run(
        [sys.executable, "-c", script, *command], check=True, capture_output=True, text=True
    )
    return int(done.stdout.split()[-1])


def measure(command: str, width: int, non_zeros: int, count: int) -> str:
    """One line of the table."""
    from vowpalwabbit import pyvw

    bits = max(18, (width - 1).bit_length())
    with tempfile.TemporaryDirectory() as name:
        libsvm, vw = write(pathlib.Path(name), width, non_zeros, count)
        fit = [command, "fit", str(libsvm), "--quiet", "--method", "wide"]
        own, own_cpu = best(lambda: subprocess.run(fit, check=True, stdout=subprocess.DEVNULL))
        options = f"--quiet --loss_function logistic -b {bits} --no_stdin -d {vw}"
        peer, peer_cpu = best(lambda: pyvw.Workspace(options).finish())
        memory = peak_memory(fit)
    return (
        f"| {width:,} | {non_zeros} | {count:,} | {count / own:,.0f} | {count / peer:,.0f} |"
        f" {peer / own:.2f} | {peer_cpu / own_cpu:.2f} | {memory} MB |"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--command", default="target/release/kalmia")
    parser.add_argument("--entries", type=int, default=10_000_000, help="entries of each file")
    parser.add_argument("--widths", type=int, nargs="*", default=WIDTHS)
    given = parser.parse_args()
    print("| features | non-zeros | rows | kalmia, rows/s | Vowpal Wabbit, rows/s | speed ratio |"
          " processor time ratio | kalmia's memory |")
    print("|--:|--:|--:|--:|--:|--:|--:|--:|")
    for width in given.widths:
        for non_zeros in NON_ZEROS:
            print(measure(given.command, width, non_zeros, given.entries // non_zeros), flush=True)


if __name__ == "__main__":
    main()
