"""Rows with several labels for the tests of River's classifier."""

import numpy as np
import pandas as pd
from compare import assert_close


def softmax_stream(rows=400, labels=("x", "y", "z"), seed=3):
    """Rows whose labels follow a softmax of two features."""
    rng = np.random.default_rng(seed)
    theta = rng.normal(size=(len(labels), 3))
    for _ in range(rows):
        a, b = rng.normal(size=2)
        linear = theta @ [1.0, a, b] + rng.gumbel(size=len(labels))
        yield {"a": float(a), "b": float(10.0 * b)}, labels[int(np.argmax(linear))]


def learned(model, rows):
    for x, y in rows:
        model.learn_one(x, y)
    return model


def table(rows):
    names = dict.fromkeys(name for x, _ in rows for name in x)
    return pd.DataFrame([dict.fromkeys(names, 0.0) | x for x, _ in rows]), [y for _, y in rows]


def same_probabilities(one, other, x, rtol=1e-9):
    a, b = one.predict_proba_one(x), other.predict_proba_one(x)
    assert list(a) == list(b)
    assert_close(list(a.values()), list(b.values()), rtol=rtol)
