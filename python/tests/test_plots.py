"""The plots show the fitted values."""

import matplotlib
import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer, load_iris

matplotlib.use("Agg")

from compare import assert_close
from matplotlib import pyplot
from statsmodels.stats.proportion import proportion_confint

import kalmia
from kalmia import LinearRegression, LogisticRegression


@pytest.fixture(autouse=True)
def close():
    yield
    pyplot.close("all")


def test_coefficients():
    X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    model = LogisticRegression().fit(X, y)
    ax = model.plot_coefficients(level=0.5, units="raw")
    assert [text.get_text() for text in ax.get_yticklabels()] == list(X.columns)
    assert_close(ax.containers[0][0].get_xdata(), model.coef_[0])
    assert LinearRegression("asgd", step=1e-9).fit(X, y).plot_coefficients().lines


def marks(ax):
    """Values, and the lower and upper ends of their bars."""
    values, _, (bars,) = ax.containers[0]
    ends = np.array([segment[:, 0] for segment in bars.get_segments()])
    return values.get_xdata(), ends[:, 0], ends[:, 1]


def test_coefficients_in_units_that_compare():
    X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    model = LogisticRegression().fit(X, y)
    rows = np.array([row[1:] for row in model.summary().rows[1:]], dtype=float)
    ax = model.plot_coefficients()
    found = marks(ax)
    assert_close(found[0], rows[:, 2], rtol=1e-12)  # z
    assert_close(found[2] - found[1], 2.0 * 1.959963985, rtol=1e-6)
    assert "coefficient / standard error" in ax.get_xlabel()
    ax = model.plot_coefficients(X=X)
    found = marks(ax)
    deviation = X.to_numpy().std(axis=0)
    assert_close(found[0], model.coef_[0] * deviation, rtol=1e-12)
    assert_close(found[1], rows[:, 4] * deviation, rtol=1e-9)
    assert_close(found[2], rows[:, 5] * deviation, rtol=1e-9)
    # a change of units changes neither picture, and no feature hides on the zero line
    scaled = LogisticRegression().fit(X * 1000.0, y)
    assert_close(marks(scaled.plot_coefficients(X=X * 1000.0))[0], found[0], rtol=1e-5)
    assert np.ptp(found[0]) < 30.0 * np.median(abs(found[0]))


def test_coefficients_of_several_classes_have_the_deviation_of_their_feature():
    X, y = load_iris(return_X_y=True)
    model = LogisticRegression().fit(X, y)
    ax = model.plot_coefficients(X=X)
    # against the first class, which has no coefficients
    assert_close(marks(ax)[0], (model.coef_[1:] * X.std(axis=0)).ravel(), rtol=1e-12)
    apart = LogisticRegression("moment").fit(X, y)
    ax = apart.plot_coefficients(X=X)
    assert_close(marks(ax)[0], (apart.coef_ * X.std(axis=0)).ravel(), rtol=1e-12)


def test_units_that_cannot_be_are_refused():
    X, y = load_iris(return_X_y=True)
    model = LogisticRegression().fit(X, y)
    with pytest.raises(kalmia.InputError, match="units is 'cm': give"):
        model.plot_coefficients(units="cm")
    with pytest.raises(kalmia.InputError, match='units="sd" needs the features: give X'):
        model.plot_coefficients(units="sd")
    plain = LinearRegression("asgd", step=1e-9).fit(X, y)
    with pytest.raises(kalmia.InputError, match='units="z" needs standard errors'):
        plain.plot_coefficients(units="z")


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
    joint = LogisticRegression().fit(X[order], y[order])
    ax = joint.plot_calibration()
    assert len(ax.lines) == 2 and ax.get_legend() is None
    assert sum(rows for rows, _, _ in joint.progressive_["reliability_groups"]) == len(y)
    model = LogisticRegression("moment").fit(X[order], y[order])
    ax = model.plot_calibration()
    assert len(ax.lines) == 4 and ax.get_legend() is not None
    bins = model.progressive_["reliability"]
    assert sum(count for count, _, _ in bins) == len(y)
    for learner in model.learners_:
        report = learner.progressive
        assert sum(rows for rows, _, _ in report["reliability_groups"]) == len(y)


def test_calibration_shows_groups_of_equal_size_with_their_error():
    rng = np.random.default_rng(2)
    X = rng.normal(size=(2000, 2))
    y = rng.random(2000) < 1.0 / (1.0 + np.exp(-X @ [1.0, -1.0]))
    model = LogisticRegression().fit(X, y)
    ax = model.plot_calibration()
    groups = np.array(model.progressive_["reliability_groups"])
    assert len(groups) == 10 and groups[:, 0].sum() == 2000
    assert (abs(groups[:, 0] - 200.0) < 20.0).all()
    assert groups[:, 0] @ groups[:, 2] == pytest.approx(y.sum())
    assert_close(ax.collections[0].get_offsets(), groups[:, 1:])
    assert f"groups of {groups[:, 0].min():.0f} to {groups[:, 0].max():.0f} rows" in ax.get_xlabel()
    # Wilson's interval by statsmodels; the truth is calibrated, so nearly all hold the diagonal
    low, high = proportion_confint(
        groups[:, 0] * groups[:, 2], groups[:, 0], alpha=0.05, method="wilson"
    )
    bars = np.array([segment[:, 1] for segment in ax.collections[1].get_segments()])
    assert_close(bars, np.column_stack([low, high]), rtol=1e-4)
    assert ((low <= groups[:, 1]) & (groups[:, 1] <= high)).sum() >= 8


def test_the_constant_and_the_model_are_judged_on_the_same_rows():
    """In a regression neither pays for the first row, whose size nobody can know."""
    y = np.array([100.0, 101.0, 99.0, 102.0, 98.0])
    model = LinearRegression(shuffle=False).fit(np.zeros((5, 1)), y)
    ax = model.plot_progressive_loss()
    constant = ax.lines[1].get_ydata()[-1]
    before = np.array([y[:k].mean() for k in range(1, 5)])
    assert constant == pytest.approx(((y[1:] - before) ** 2 / 2.0).mean())
    assert ax.lines[0].get_ydata()[-1] < 100.0
    assert ax.get_legend().get_texts()[1].get_text() == "constant predictor"
