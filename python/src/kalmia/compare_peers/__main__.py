"""``python -m kalmia.compare_peers``: prints the table, and draws the plot into a file."""

from __future__ import annotations

import argparse
import sys

from .peers import PEERS
from .report import not_best, picture, table
from .run import losses, speeds
from .sets import SETS
from .wide import ROWS, WIDE_PEERS, character_names, is_missing, wide_losses


def main(arguments: list[str] | None = None) -> int:
    """Runs the command."""
    parser = argparse.ArgumentParser(
        "python -m kalmia.compare_peers",
        description="Compare kalmia with other online learners, all at their defaults.",
    )
    parser.add_argument(
        "--sets", nargs="+", choices=SETS, default=list(SETS), help="data sets; all by default"
    )
    parser.add_argument(
        "--peers", nargs="+", choices=PEERS, default=list(PEERS), help="peers; all by default"
    )
    parser.add_argument("--picture", metavar="SVG", help="file for the plot; none by default")
    parser.add_argument(
        "--wide",
        nargs="?",
        type=int,
        const=ROWS,
        metavar="ROWS",
        help="compare on wide rows instead, in which peers have the best setting of a grid",
    )
    given = parser.parse_args(arguments)
    if given.wide is not None:
        return compare_wide(given.wide)
    names = list(dict.fromkeys(["kalmia", *given.peers]))
    results = []
    for key in given.sets:
        data = SETS[key]()
        print(f"{data.name}: {len(data.y)} rows ...", file=sys.stderr)
        results.append((data, losses(data, names)))
    timed = next((data for data, _ in results if data.name == "late flights"), results[-1][0])
    still = speeds(timed.shuffled(), names=names)
    rates = {"rows shuffled": still, "rows in order": speeds(timed, names=names)}
    print(table(results, rates))
    for line in not_best(results):
        print(f"more than 1 % behind the best on {line}")
    if given.picture:
        picture(results, still, given.picture)
    return 0


def compare_wide(rows: int) -> int:
    """Prints the table of the wide set."""
    data = character_names(rows)
    print(f"{data.name}: {len(data.y)} rows ...", file=sys.stderr)
    results = [(data, wide_losses(data))]
    print(table(results, {}))
    for line in not_best(results):
        print(f"more than 1 % behind the best on {line}")
    for name in filter(is_missing, WIDE_PEERS):
        print(f"{name.split(',')[0]} is not installed and was left out: pip install vowpalwabbit")
    return 0


if __name__ == "__main__":
    sys.exit(main())
