"""What a fit on many workers ships and merges: bytes and seconds by the number of coefficients.

    python python/benchmarks/cluster.py            11, 100 and 1000 coefficients
    python python/benchmarks/cluster.py --quick    11 and 30

The first table is measured. The second follows from it: the levels of the tree over S partitions,
the bytes that all tasks ship, what the driver receives, and the seconds that merges take one after
the other along the longest path of the tree. The last line is measured: all merges of a tree.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from kalmia._declaration import declaration
from kalmia._kalmia import Fit, Shard, SumsPass, Template, merge_shards, merge_sums
from kalmia.cluster._engine import FANOUT, merge_tree

PARTITIONS = (100, 10_000, 100_000)


class Measured(NamedTuple):
    """Bytes and seconds at a number of coefficients."""

    dim: int
    template: int
    part: int
    request: int
    sums: int
    learn: float
    add: float
    #: One of the parts, for the tree.
    data: bytes
    merge_parts: float
    merge_sums: float


def rows(count: int, dim: int, seed: int) -> pa.Table:
    """Labels and `dim - 1` features; the intercept is the last coefficient."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(count, dim - 1))
    u = X @ rng.normal(size=dim - 1) / np.sqrt(dim)
    y = (rng.random(count) < 1.0 / (1.0 + np.exp(-u))).astype(np.int64)
    columns = {f"x{j}": X[:, j] for j in range(dim - 1)}
    return pa.table({**columns, "y": y})


def seconds(call: Callable[[], Any], repeats: int = 3) -> float:
    """The shortest of several runs."""
    found = []
    for _ in range(repeats):
        start = time.perf_counter()
        call()
        found.append(time.perf_counter() - start)
    return min(found)


def measure(dim: int) -> Measured:
    count = max(2000, 4 * dim)
    table = rows(count, dim, 1)
    declared = declaration("y", family="bernoulli")
    template = Template(rows(max(500, 2 * dim), dim, 2), declared)

    def learn() -> Shard:
        shard = Shard(template, "partition")
        shard.learn(table)
        return shard

    part = learn().to_bytes()
    request = Fit(template, part).request()

    def add() -> SumsPass:
        sums = SumsPass(request, "partition")
        sums.add(table)
        return sums

    sums = add().to_bytes()
    repeats = 3 if dim < 500 else 1
    return Measured(
        dim,
        len(template.to_bytes()),
        len(part),
        len(request),
        len(sums),
        seconds(learn, repeats) / count,
        seconds(add, repeats) / count,
        part,
        seconds(lambda: merge_shards([part] * FANOUT), repeats),
        seconds(lambda: merge_sums([sums] * FANOUT), repeats),
    )


def size(count: float) -> str:
    """Bytes as people read them."""
    for unit in ("B", "kB", "MB", "GB", "TB"):
        if count < 1000.0:
            return f"{count:.3g} {unit}"
        count /= 1000.0
    return f"{count:.3g} PB"


def levels(partitions: int) -> list[int]:
    """How many parts there are after each level of the tree, down to what the driver merges."""
    found = [partitions]
    while found[-1] > FANOUT:
        found.append(-(-found[-1] // FANOUT))
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="smaller sizes")
    given = parser.parse_args()
    measured = [measure(dim) for dim in ((11, 30) if given.quick else (11, 100, 1000))]
    print(
        "| d | template | part | request | sums | learn per row | sum per row "
        f"| merge {FANOUT} parts | merge {FANOUT} sums |"
    )
    print("|---|---|---|---|---|---|---|---|---|")
    for one in measured:
        print(
            f"| {one.dim} | {size(one.template)} | {size(one.part)} | {size(one.request)} "
            f"| {size(one.sums)} | {one.learn * 1e6:.3g} us | {one.add * 1e6:.3g} us "
            f"| {one.merge_parts * 1e3:.3g} ms | {one.merge_sums * 1e3:.3g} ms |"
        )
    print("\n| S | d | levels | shipped by tasks | to the driver | merges on the longest path |")
    print("|---|---|---|---|---|---|")
    for partitions in PARTITIONS:
        tree = levels(partitions)
        for one in measured:
            shipped = sum(tree) * one.part
            path = len(tree) * one.merge_parts
            print(
                f"| {partitions} | {one.dim} | {len(tree)} | {size(shipped)} "
                f"| {size(tree[-1] * one.part)} | {path:.3g} s |"
            )
    count = 100 if given.quick else 10_000
    spent = seconds(lambda: merge_tree([measured[0].data] * count, merge_shards), 1)
    print(
        f"\nthe tree over {count} parts of {measured[0].dim} coefficients, on one core: "
        f"{spent:.3g} s"
    )


if __name__ == "__main__":
    main()
