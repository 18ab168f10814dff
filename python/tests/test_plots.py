"""The plots show the fitted values."""

import matplotlib
import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer, load_iris

matplotlib.use("Agg")

from compare import assert_close
from matplotlib import pyplot

from kalmia import LinearRegression, LogisticRegression


@pytest.fixture(autouse=True)
def close():
    yield
    pyplot.close("all")


def test_coefficients():
    X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    model = LogisticRegression().fit(X, y)
    ax = model.plot_coefficients(level=0.5)
    assert [text.get_text() for text in ax.get_yticklabels()] == list(X.columns)
    assert_close(ax.containers[0][0].get_xdata(), model.coef_[0])
    assert LinearRegression("asgd", step=1e-9).fit(X, y).plot_coefficients().lines


def test_progressive_loss_ends_at_the_loss():
    X, y = load_breast_cancer(return_X_y=True)
    model = LogisticRegression().fit(X, y)
    ax = model.plot_progressive_loss()
    line = ax.lines[0]
    assert line.get_xdata()[0] == 1
    assert abs(line.get_ydata()[-1] - model.progressive_loss_) < 0.05
    assert model.plot_progressive_loss(ax=ax) is ax


def test_calibration_counts_every_row():
    X, y = load_iris(return_X_y=True)
    order = np.random.default_rng(0).permutation(len(y))
    model = LogisticRegression().fit(X[order], y[order])
    ax = model.plot_calibration()
    assert len(ax.lines) == 4 and ax.get_legend() is not None
    bins = model.progressive_["reliability"]
    assert sum(count for count, _, _ in bins) == len(y)
