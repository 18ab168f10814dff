"""Parameter-free online learning of generalized linear models by Kalman recursion.

Start with the scikit-learn estimators :class:`LogisticRegression`, :class:`LinearRegression`,
:class:`PoissonRegression`, :class:`NegativeBinomialRegression`, :class:`GammaRegression`,
:class:`QuantileRegression`, :class:`StudentRegression` and :class:`OrdinalRegression`.
``kalmia.river`` has models for River. The learners below them are :class:`Auto`, :class:`Filter`,
:class:`OnlineNewtonStep`, :class:`AveragedSGD` and :class:`Averaged`; ``kalmia.bounds`` has the
theorems of the paper.
:class:`Client` talks to the service that ``kalmia serve`` runs. ``kalmia.cluster`` fits rows that
Spark, Dask or DataFusion hold, and ``kalmia.stream`` learns streams that are read again after a
crash.
"""

from __future__ import annotations

import importlib
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from . import bounds
from ._families import NegativeBinomialRegression, StudentRegression
from ._files import load
from ._hashing import FeatureHasher, TextHasher
from ._kalmia import (
    Auto,
    Averaged,
    AveragedSGD,
    Family,
    Filter,
    Learner,
    OnlineNewtonStep,
    Prediction,
    __version__,
    merge,
    restore,
)
from ._linear import GammaRegression, LinearRegression, PoissonRegression
from ._logistic import LogisticRegression
from ._ordinal import OrdinalRegression
from ._quantile import QuantileRegression
from .client import Client
from .errors import (
    DivergenceError,
    InputError,
    KalmiaError,
    ModelFileError,
    ServiceError,
    ServiceUnavailable,
    StateError,
)

__all__ = [
    "Auto",
    "Averaged",
    "AveragedSGD",
    "Client",
    "DivergenceError",
    "Family",
    "FeatureHasher",
    "Filter",
    "GammaRegression",
    "InputError",
    "KalmiaError",
    "Learner",
    "LinearRegression",
    "LogisticRegression",
    "ModelFileError",
    "NegativeBinomialRegression",
    "OnlineNewtonStep",
    "OrdinalRegression",
    "PoissonRegression",
    "Prediction",
    "QuantileRegression",
    "ServiceError",
    "ServiceUnavailable",
    "StateError",
    "StudentRegression",
    "TextHasher",
    "__version__",
    "bounds",
    "load",
    "merge",
    "restore",
]

if TYPE_CHECKING:
    from . import cluster as cluster
    from . import river as river
    from . import stream as stream

#: Modules that are imported when they are first used.
LAZY = ("cluster", "river", "stream")


def __getattr__(name: str) -> Any:
    """`kalmia.river` and others without an import; only those who use it need River."""
    if name in LAZY:
        return importlib.import_module(f".{name}", __name__)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    absent = [] if find_spec("river") else ["river"]
    return sorted({*globals(), *LAZY} - set(absent))
