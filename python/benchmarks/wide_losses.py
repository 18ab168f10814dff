"""Progressive losses on the sets of wide_sets.py: kalmia beside FTRL-proximal and Vowpal Wabbit.

    pip install vowpalwabbit
    python python/benchmarks/wide_losses.py FOLDER [--command target/release/kalmia]

Prints a Markdown table with one row for each set that FOLDER has. Every learner reads the same
rows in the same order, once, and predicts each row before it learns from it. The number is the
mean loss of these predictions: the log loss for labels, the deviance for `counts`, the squared
error for `gaussian`. Lower is better.

Not tuned: the columns "kalmia" and "VW default". kalmia gets the file and the kind of target.
In hindsight: "constant" is the best single prediction for all rows. Each "best of" column runs a
grid of settings and shows the lowest loss on the very rows that it is scored on. That favors the
grid: in use nobody knows the best setting beforehand.

FTRL-proximal is Vowpal Wabbit's --ftrl (beta 1): alpha 0.03, 0.1, 0.3, 1 with (l1, l2) of (0, 0),
(0, 1) and (1, 1). The wider grid adds alpha 3 and 10. "VW best" is over the learning rates -l 0.1,
0.25, 0.5 (its default), 1, 2 and 4.
"""

import math
import pathlib
import tempfile
from typing import NamedTuple

import command as kalmia
from vowpalwabbit import pyvw

#: The family of each set, in the order of the table.
FAMILIES = {
    "debian_science": "bernoulli",
    "debian_libs": "bernoulli",
    "italian": "bernoulli",
    "reuters_earn": "bernoulli",
    "unicode": "bernoulli",
    "spam": "bernoulli",
    "newsgroups": "bernoulli",
    "counts": "poisson",
    "gaussian": "gaussian",
}
VW_LOSSES = {"bernoulli": "logistic", "poisson": "poisson", "gaussian": "squared"}
PENALTIES = ((0, 0), (0, 1), (1, 1))
RATES = (0.1, 0.25, 0.5, 1, 2, 4)
#: With fewer bits Vowpal Wabbit's intercept shares its weight with feature 116060.
VW_BITS = 21


class Rows(NamedTuple):
    """A set as Vowpal Wabbit reads it, and what the table says of it."""

    path: pathlib.Path
    targets: list[float]
    non_zeros: int


def convert(libsvm: pathlib.Path, vw: pathlib.Path, family: str) -> Rows:
    """Writes the rows as Vowpal Wabbit's text, with labels -1 and 1."""
    targets = []
    non_zeros = 0
    with libsvm.open() as source, vw.open("w") as file:
        for line in source:
            label, entries = line.rstrip("\n").split(" ", 1)
            targets.append(float(label))
            non_zeros += entries.count(":")
            if family == "bernoulli":
                label = "1" if label == "1" else "-1"
            file.write(f"{label} | {entries}\n")
    return Rows(vw, targets, non_zeros)


def constant_loss(targets: list[float], family: str) -> float:
    """The mean loss of the mean target."""
    mean = sum(targets) / len(targets)
    if family == "bernoulli":
        return -mean * math.log(mean) - (1 - mean) * math.log(1 - mean)
    if family == "poisson":
        return sum(2 * y * math.log(y / mean) for y in targets if y > 0) / len(targets)
    return sum((y - mean) ** 2 for y in targets) / len(targets)


def kalmia_loss(command: str, libsvm: pathlib.Path, family: str, count: int) -> float:
    progressive = kalmia.fit(command, libsvm, count, "--family", family)["progressive"]
    if family == "bernoulli":
        return progressive["loss"]
    return progressive["deviance"] if family == "poisson" else progressive["rmse"] ** 2


def vw_loss(rows: Rows, family: str, options: str = "") -> float:
    """The progressive loss of one setting; infinity if it diverged."""
    loss = VW_LOSSES[family]
    learner = pyvw.Workspace(
        f"-d {rows.path} --loss_function {loss} -b {VW_BITS} --quiet --no_stdin {options}"
    )
    total, count = learner.get_sum_loss(), learner.get_weighted_examples()
    learner.finish()
    if count != len(rows.targets):
        raise SystemExit(f"Vowpal Wabbit learned {count:.0f} of {len(rows.targets)} rows")
    return total / count if math.isfinite(total) else math.inf


def ftrl_best(rows: Rows, family: str, alphas: tuple[float, ...]) -> float:
    return min(
        vw_loss(rows, family, f"--ftrl --ftrl_alpha {alpha} --ftrl_beta 1 --l1 {l1} --l2 {l2}")
        for alpha in alphas
        for l1, l2 in PENALTIES
    )


def measure(command: str, libsvm: pathlib.Path, family: str) -> str:
    """One line of the table."""
    with tempfile.TemporaryDirectory() as folder:
        rows = convert(libsvm, pathlib.Path(folder) / "rows.vw", family)
        count = len(rows.targets)
        ftrl = ftrl_best(rows, family, alphas=(0.03, 0.1, 0.3, 1))
        losses = (
            constant_loss(rows.targets, family),
            kalmia_loss(command, libsvm, family, count),
            ftrl,
            min(ftrl, ftrl_best(rows, family, alphas=(3, 10))),
            vw_loss(rows, family),
            min(vw_loss(rows, family, f"-l {rate}") for rate in RATES),
        )
    cells = " | ".join(f"{loss:.4f}" for loss in losses)
    return f"| {libsvm.stem} | {count:,} | {rows.non_zeros / count:.1f} | {cells} |"


def main() -> None:
    parser = kalmia.parser(__doc__.splitlines()[0])
    parser.add_argument("folder", type=pathlib.Path, help="where wide_sets.py wrote the sets")
    given = parser.parse_args()
    files = {name: given.folder / f"{name}.svm" for name in FAMILIES}
    present = {name: path for name, path in files.items() if path.exists()}
    if not present:
        parser.error(f"{given.folder} has none of the sets: run wide_sets.py {given.folder} first")
    print("| set | rows | non-zeros per row | constant | kalmia | FTRL best of 12 |"
          " FTRL best of 18 | VW default | VW best of 6 |")
    print("|---|--:|--:|--:|--:|--:|--:|--:|--:|")
    for name, path in present.items():
        print(measure(given.command, path, FAMILIES[name]), flush=True)


if __name__ == "__main__":
    main()
