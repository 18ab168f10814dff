"""One model from rows that are spread over many machines, by the engines that hold them.

Each partition is learned where it is, and a few kilobytes per partition are merged in a tree. A
pass of exact sums then moves the merged coefficients to those of a fit on all rows.

:func:`fit_spark`, :func:`fit_dask` and :func:`fit_datafusion` return the estimator that
`kalmia.load` returns. :func:`fit_spark_by` and the SQL aggregate of :func:`register_datafusion`
make one model per key, and :func:`predict_spark` predicts. Engines are imported when they are used,
and an ImportError says what to install.
"""

from __future__ import annotations

from ._dask import fit_dask
from ._datafusion import fit_datafusion, register_datafusion
from ._fit import from_bytes
from ._report import ClusterReport
from ._spark import fit_spark
from ._spark_keys import fit_spark_by, predict_spark

__all__ = [
    "ClusterReport",
    "fit_dask",
    "fit_datafusion",
    "fit_spark",
    "fit_spark_by",
    "from_bytes",
    "predict_spark",
    "register_datafusion",
]
