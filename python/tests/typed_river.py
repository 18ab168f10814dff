"""What users of the River models write; `test_river_types.py` checks it with mypy --strict."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd

import kalmia
from kalmia.river import MANY_FEATURES, Classifier, Regressor


def classify(path: Path) -> dict[str, float]:
    model = Classifier("auto", drift="adapt", classes=("no", "yes"))
    model.learn_one({"a": 1.0, "city": "Lyon"}, "yes")
    model.learn_one({"a": 1.0}, "no", w=2.0)
    model.learn_many(pd.DataFrame({"a": [1.0]}), ["yes"], w=[1.0])
    low, high = model.predict_interval_one({"a": 2.0}, level=0.9)["yes"]
    model.save(path)
    again: Classifier = Classifier.load(path)
    chances: dict[str, float] = again.predict_proba_one({"a": low + high})
    print(model.summary(), model.weights, model.intercept, model.standard_errors)
    return chances


def regress() -> float:
    model = kalmia.river.Regressor("poisson", "moment", prior_variance=2.0)
    model.learn_one({"a": 1}, 3)
    model.learn_many(np.zeros((2, 1)), np.array([1.0, 2.0]))
    ends: tuple[float, float] = model.predict_interval_one({"a": 1})
    followed: bool = model.drifts_
    rows: int = model.n_samples_seen_
    assert rows < MANY_FEATURES and not followed
    mean: float = model.predict_one({"a": 1})
    return mean + ends[0] + model.progressive_loss_


def refused() -> None:
    Regressor(drift="maybe")  # type: ignore[arg-type]
    Classifier(drift=True)  # type: ignore[arg-type]
    Classifier("sgd")  # type: ignore[arg-type]
    Regressor().learn_one([1.0], 1.0)  # type: ignore[arg-type]
