"""Measures progressive losses and rows per second."""

from __future__ import annotations

import time
import warnings
from collections.abc import Iterable

import numpy as np

from .peers import PEERS
from .sets import DataSet

#: Rows per batch when losses are compared.
LOSS_BATCH = 100
#: Rows per batch when speeds are compared.
SPEED_BATCH = 1000


def mean_loss(y: np.ndarray, predicted: np.ndarray, labels: bool) -> float:
    """Mean log-loss for labels, root mean square error for numbers.

    Infinite if any prediction is NaN or infinite.

    Examples
    --------
    >>> import numpy as np
    >>> mean_loss(np.array([1.0, 3.0]), np.array([1.0, 1.0]), labels=False) == 2.0**0.5
    True
    """
    if not np.isfinite(predicted).all():
        return np.inf
    if labels:
        p = np.clip(np.where(y > 0.5, predicted, 1.0 - predicted), 1e-15, 1.0)
        return float(-np.log(p).mean())
    with np.errstate(over="ignore"):
        return float(np.sqrt(np.mean((y - predicted) ** 2)))


def losses(data: DataSet, names: Iterable[str] = PEERS) -> dict[str, float]:
    """The mean loss of each peer, predicting each row (or batch) before learning it.

    Infinite for a peer that fails on the raw features.
    """
    found = {}
    for name in names:
        peer = PEERS[name](data.labels)
        parts = []
        try:
            with warnings.catch_warnings(), np.errstate(all="ignore"):
                warnings.simplefilter("ignore")
                for i in range(0, len(data.y), LOSS_BATCH):
                    parts.append(
                        peer.predict_then_learn(
                            data.X[i : i + LOSS_BATCH], data.y[i : i + LOSS_BATCH]
                        )
                    )
            found[name] = mean_loss(data.y, np.concatenate(parts), data.labels)
        except (ArithmeticError, ValueError, np.linalg.LinAlgError):
            found[name] = np.inf
    return found


def speeds(data: DataSet, seconds: float = 2.0, names: Iterable[str] = PEERS) -> dict[str, float]:
    """Rows learned per second by each peer, at most `seconds` each.

    Batches have 1000 rows (fewer on a small set); the first one is not timed.
    """
    found = {}
    step = min(SPEED_BATCH, max(1, len(data.y) // 4))
    for name in names:
        peer = PEERS[name](data.labels)
        batches = [
            (data.X[i : i + step], data.y[i : i + step]) for i in range(0, len(data.y), step)
        ]
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            peer.learn(*batches[0])
            start, rows = time.perf_counter(), 0
            for X, y in batches[1:]:
                peer.learn(X, y)
                rows += len(y)
                if time.perf_counter() - start > seconds:
                    break
            found[name] = rows / (time.perf_counter() - start)
    return found
