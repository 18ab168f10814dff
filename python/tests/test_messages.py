"""Messages say what is wrong, where, and what to do."""

import datetime

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.dataset
import pytest
from compare import assert_same

import kalmia
from kalmia import Auto, Filter, InputError, LinearRegression, LogisticRegression

TWO = [[0.0, 1.0], [1.0, 0.0]]


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: Auto(2, drift=True), 'drift is True: give one of "off", "adapt" and "detect"'),
        (lambda: Filter(2, "gaussian", 3), 'rule is 3: give one of "ekf", "truncated", "implicit"'),
        (lambda: Auto(2, 3), 'family is 3: give the name of a family, such as "gaussian", or a'),
        (lambda: Filter(2, 3), "family is 3: give the name of a family"),
        (
            lambda: Filter(2, covariance=-3),
            "covariance is -3: a variance must be a finite number above 0",
        ),
        (
            lambda: LogisticRegression("ekf", prior_variance="big").fit(TWO, [0, 1]),
            "prior_variance is 'big': give a number",
        ),
        (
            lambda: LogisticRegression("asgd", horizon=True).fit(TWO, [0, 1]),
            "horizon is True: give a number",
        ),
        (
            lambda: LinearRegression().fit(TWO, [0.0, 1e200]),
            "row 1: target 1e200 is not legal for the gaussian family",
        ),
        (
            lambda: LinearRegression().fit(TWO, ["1.5", "b"]),
            "y holds the text 'b' in row 1: a regression needs numbers; labels are for Logistic",
        ),
        (
            lambda: LinearRegression().fit([[1.0]], pl.LazyFrame({"a": [1.0]})),
            r"y is a LazyFrame, whose rows are not read yet: pass y.collect\(\)",
        ),
        (
            lambda: LinearRegression().fit(pa.dataset.dataset(pa.table({"a": [1.0]})), [1.0]),
            r"X is a InMemoryDataset, whose rows are not read yet: pass X.to_table\(\)",
        ),
        (
            lambda: LogisticRegression().fit(TWO, np.array([datetime.date(2024, 1, 1)] * 2)),
            "y holds labels of type date: convert them to texts, or to numpy's datetime64",
        ),
        (
            lambda: LogisticRegression().fit(TWO, ["a", "b"]).partial_fit(TWO, ["a", None]),
            "y has no label in row 1: drop the rows without a label",
        ),
        (
            lambda: LinearRegression().fit(pd.DataFrame({"a": [1.0, np.nan]}), [1.0, 2.0]),
            "X has a missing value \\(NaN\\) in row 1, column 'a': fill it, or drop the row",
        ),
        (
            lambda: LinearRegression().fit(
                pl.DataFrame({"a": [1.0], "b": [datetime.date(2024, 1, 1)]}), [1.0]
            ),
            "column `b` is of type Date32: .* dates have to be turned into numbers first",
        ),
    ],
)
def test_what_is_wrong_is_named(call, message):
    with pytest.raises(InputError, match=message):
        call()


def test_missing_arguments_are_those_of_the_class_that_was_called():
    for kind in (
        LinearRegression,
        LogisticRegression,
        kalmia.PoissonRegression,
        kalmia.GammaRegression,
    ):
        with pytest.raises(TypeError, match=rf"{kind.__name__}\.fit\(\) missing 1 required"):
            kind().fit(TWO)
        with pytest.raises(TypeError, match=rf"{kind.__name__}\.predict\(\) missing 1 required"):
            kind().predict()


def test_a_subclass_inherits_the_methods_of_the_class_between():
    class Rounded(LinearRegression):
        def predict(self, X, return_std=False, offset=None):
            return np.round(super().predict(X, offset=offset))

    class Renamed(Rounded):
        pass

    model = Renamed().fit(TWO, [0.3, 1.4])
    assert_same(model.predict(TWO), np.round(model.predict(TWO)))
    assert Renamed.predict is Rounded.predict


@pytest.mark.parametrize("unit", ["D", "us"])
def test_labels_that_are_dates_are_stored(tmp_path, unit):
    dates = np.array(["2024-01-01", "2024-01-02"], dtype=f"M8[{unit}]")
    model = LogisticRegression().fit(TWO, dates)
    model.save(tmp_path / "dates.kalmia")
    again = kalmia.load(tmp_path / "dates.kalmia")
    assert again.classes_.dtype == dates.dtype
    assert_same(again.classes_, model.classes_)
    assert_same(again.predict(TWO), model.predict(TWO))


@pytest.mark.parametrize("estimator", [LinearRegression, LogisticRegression])
@pytest.mark.parametrize("value", [1e200, np.nan, np.inf])
def test_numbers_that_are_refused_are_named_by_their_column(estimator, value):
    table = pd.DataFrame({"age": [1.0, 2.0, 3.0, 4.0], "dose": [0.0, 1.0, 0.0, 1.0]})
    y = [0, 1, 0, 1]
    bad = table.copy()
    bad.loc[2, "dose"] = value
    model = estimator().fit(table, y)
    arrow = pa.table({name: bad[name].to_numpy() for name in bad})
    tables = [bad, bad.to_numpy(), pl.from_pandas(bad, nan_to_null=False), arrow]
    with pytest.warns(UserWarning, match="feature names"):
        for one in tables:
            with pytest.raises(InputError, match="row 2, column 'dose'"):
                model.partial_fit(one, y)
            with pytest.raises(InputError, match="row 2, column 'dose'"):
                model.predict(one)
    with pytest.raises(InputError, match="row 2, column 'dose'"):
        estimator(shuffle=False).fit(arrow.to_reader(max_chunksize=1), y)
    # without names, by its place
    with pytest.raises(InputError, match="row 2, feature 1 is"):
        estimator().fit(bad.to_numpy(), y)


def test_numbers_beside_categories_are_named_by_their_column():
    table = pd.DataFrame({"town": ["Ulm", "Bonn", "Ulm", "Kiel"], "dose": [0.0, 1.0, 1e200, 1.0]})
    for text in (None, "town"):
        with pytest.raises(InputError, match="column `dose`, row 2: `1e200` is out of range"):
            LinearRegression(text=text).fit(table, [0.0, 1.0, 0.0, 1.0])


def test_a_column_name_that_occurs_twice_is_named():
    table = pd.DataFrame([[0.0, 1.0, 2.0], [1.0, 0.0, 2.0]], columns=["a", "b", "b"])
    for one in (table, table.assign(a=["x", "y"])):
        with pytest.raises(InputError, match="the column 'b' twice: rename one, or leave it out"):
            LinearRegression().fit(one, [0.0, 1.0])
