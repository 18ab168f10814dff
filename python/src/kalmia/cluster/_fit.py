"""The fit over partitions, the same for every engine: learn, merge, polish."""

from __future__ import annotations

import tempfile
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, Protocol

import numpy as np

from .._classes import is_joint
from .._files import load
from .._kalmia import Fit, Shard, SumsPass, Template, merge_shards, merge_sums
from .._stream_rows import as_rows
from ..errors import InputError
from ._engine import stream
from ._report import ClusterReport

PriorName = Literal["fitted", "flat"]

#: The docstring section on the passes.
PASSES = """passes : int, optional
        Passes over all rows after the first one, at most. Each moves the merged coefficients
        towards those of a fit on all rows at once, until nothing moves. By default one, and more
        only while the last one moved them by more than 0.3 standard errors. 0 leaves the merged
        coefficients as they are. A quantile cannot be polished and takes none.
    robust : bool
        Whether the passes also give `cluster_.robust_std_err`, standard errors that hold for any
        variance of the target (White's sandwich).
    prior : {"fitted", "flat"}
        What a pass takes as known before the rows: what the model was fitted with, or nothing. Flat
        gives the maximum likelihood, which does not exist for labels that a feature separates.
    sample : table, optional
        Rows that decide the kinds of the columns, the levels known from the start, the coding of
        the target and the family. By default a few rows of up to 64 partitions."""


@dataclass(frozen=True)
class Learn:
    """Learns a partition: a function of its rows alone, so a repeated task changes nothing."""

    template: bytes

    def run(self, name: str, batches: Iterable[Any]) -> bytes:
        """The bytes of a partition. Batches pass through; no more than one is in memory."""
        shard = Shard(Template.from_bytes(self.template), name)
        rows = stream(batches)
        if rows is not None:
            shard.learn(rows)
        return shard.to_bytes()

    def merge(self, parts: list[bytes]) -> bytes:
        """One part for several."""
        return merge_shards(parts)


@dataclass(frozen=True)
class Sum:
    """Sums over a partition at fixed coefficients, for a polish pass."""

    request: bytes

    def run(self, name: str, batches: Iterable[Any]) -> bytes:
        """The bytes of a partition, as in :class:`Learn`."""
        sums = SumsPass(self.request, name)
        rows = stream(batches)
        if rows is not None:
            sums.add(rows)
        return sums.to_bytes()

    def merge(self, parts: list[bytes]) -> bytes:
        """One part for several."""
        return merge_sums(parts)


class Engine(Protocol):
    """Rows in partitions, and the means to work on them."""

    def sample(self) -> Any:
        """A few rows of many partitions, as an Arrow table; None if there are none."""

    def reduce(self, work: Learn | Sum) -> bytes:
        """Runs the work on every partition and merges the results in a tree."""


def template(engine: Engine, declared: dict[str, Any], sample: Any) -> Template:
    """What all partitions start from, from a sample of the rows."""
    rows = engine.sample() if sample is None else sample
    if rows is None:
        raise InputError("there are no rows: every partition is empty")
    return Template(as_rows(rows)[0], declared)


def fit(
    engine: Engine,
    declared: dict[str, Any],
    *,
    sample: Any,
    passes: int | None,
    robust: bool,
    prior: str,
) -> Any:
    """Learns all partitions, merges them and polishes the result: an estimator."""
    if passes is not None and (isinstance(passes, bool) or passes != int(passes) or passes < 0):
        raise InputError(f"passes is {passes!r}: give a whole number, 0 or more, or None")
    start = template(engine, declared, sample)
    driver = Fit(start, engine.reduce(Learn(start.to_bytes())), robust=robust, prior=prior)
    while not _is_enough(driver, passes):
        if driver.step(engine.reduce(Sum(driver.request()))):
            break
    estimator = from_bytes(driver.model())
    errors = driver.robust_standard_errors
    if is_joint(estimator.learners_):
        errors = driver.robust_class_errors([int(code) for code in estimator._codes])
    estimator.cluster_ = ClusterReport(
        rows=driver.rows,
        shards=driver.shards,
        exact=driver.exact,
        passes=driver.passes,
        moved=driver.moved,
        heterogeneity=driver.heterogeneity,
        progressive_loss=estimator.progressive_loss_,
        robust_std_err=None if errors is None else np.array(errors),
    )
    return estimator


def _is_enough(driver: Fit, passes: int | None) -> bool:
    return driver.is_close if passes is None else driver.passes >= passes


def from_bytes(model: bytes) -> Any:
    """The estimator of a model file in memory, such as a model per key.

    Parameters
    ----------
    model : bytes
        The content of a model file.

    Returns
    -------
    estimator
        As `kalmia.load` returns it.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> import kalmia
    >>> from kalmia.cluster import from_bytes
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder) / "line.kalmia"
    ...     kalmia.LinearRegression().fit([[0.0], [1.0], [2.0]], [1.0, 3.0, 5.0]).save(path)
    ...     from_bytes(path.read_bytes()).n_samples_seen_
    3
    """
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.kalmia"
        path.write_bytes(model)
        return load(path)
