"""What a fit over partitions says about itself."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray


class ClusterReport(NamedTuple):
    """How a model came from its partitions; the attribute `cluster_` of the estimator.

    Examples
    --------
    >>> report = ClusterReport(800, 8, False, 1, {"rms": 0.1, "max": 0.2}, {"p_value": 0.9}, 0.5)
    >>> report.shards, report.passes
    (8, 1)
    """

    #: Rows learned.
    rows: int
    #: Partitions with rows.
    shards: int
    #: Whether the merged model is, to rounding, that of one pass over all rows.
    exact: bool
    #: Passes over the rows after the first one.
    passes: int
    #: How far the last pass moved the coefficients, in standard errors: ``"rms"`` over all of them,
    #: and ``"max"``. None without a pass.
    moved: dict[str, float] | None
    #: Whether the partitions agree on the coefficients: Cochran's ``"q"`` with its ``"degrees"``
    #: and ``"p_value"``. A small p-value says that the partitions differ by more than chance.
    heterogeneity: dict[str, Any]
    #: Mean loss of the predictions that each partition made before it learned a row.
    progressive_loss: float
    #: Standard errors that hold for any variance of the target, the intercept first if there is
    #: one; None unless `robust` was given.
    robust_std_err: NDArray[np.float64] | None = None
