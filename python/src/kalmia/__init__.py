"""Parameter-free online learning of generalized linear models by Kalman recursion.

Start with the scikit-learn estimators :class:`LogisticRegression`, :class:`LinearRegression`,
:class:`PoissonRegression` and :class:`GammaRegression`. ``kalmia.river`` has models for River. The
learners below them are :class:`Auto`, :class:`Filter`, :class:`OnlineNewtonStep`,
:class:`AveragedSGD` and :class:`Averaged`; ``kalmia.bounds`` has the theorems of the paper.
"""

from . import bounds
from ._files import load
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
from .errors import DivergenceError, InputError, KalmiaError, ModelFileError, StateError

__all__ = [
    "Auto",
    "Averaged",
    "AveragedSGD",
    "DivergenceError",
    "Family",
    "Filter",
    "GammaRegression",
    "InputError",
    "KalmiaError",
    "Learner",
    "LinearRegression",
    "LogisticRegression",
    "ModelFileError",
    "OnlineNewtonStep",
    "PoissonRegression",
    "Prediction",
    "StateError",
    "__version__",
    "bounds",
    "load",
    "merge",
    "restore",
]
