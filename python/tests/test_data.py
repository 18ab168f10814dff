"""Every kind of table gives the same model, and a bad one is refused with a clear message."""

import ast
import inspect

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import scipy.sparse
from compare import assert_close, assert_same
from sklearn.datasets import load_breast_cancer

import kalmia
from kalmia import _data, _tables

X, Y = load_breast_cancer(return_X_y=True)
X, NAMES = X[:, :6], [str(name) for name in load_breast_cancer().feature_names[:6]]
TABLE = pa.table(dict(zip(NAMES, X.T, strict=True)))


class Stream:
    """An object with only the Arrow stream interface, in several batches."""

    def __init__(self, table, rows=50):
        self.reader = pa.RecordBatchReader.from_batches(
            table.schema, table.to_batches(max_chunksize=rows)
        )
        self.column_names = table.column_names

    def __arrow_c_stream__(self, requested_schema=None):
        return self.reader.__arrow_c_stream__(requested_schema)


def tables():
    wide = np.full((2 * len(X), 13), np.nan)
    wide[::-2, 1::2] = X
    frame = pd.DataFrame(X, columns=NAMES)
    return {
        "C": X.copy(order="C"),
        "F": X.copy(order="F"),
        "strided": wide[::-2, 1::2],
        "list": X.tolist(),
        "read-only": np.frombuffer(X.tobytes()).reshape(X.shape),
        "pandas": frame,
        "pandas Arrow": frame.astype("double[pyarrow]"),
        "polars": pl.DataFrame(X, schema=NAMES),
        "pyarrow": TABLE,
        "stream": Stream(TABLE),
        "csr": scipy.sparse.csr_matrix(X),
        "csc": scipy.sparse.csc_array(X),
        "coo": scipy.sparse.coo_array(X),
    }


@pytest.mark.parametrize("kind", tables())
def test_every_table_gives_the_same_estimator_and_learner(kind):
    reference = kalmia.LogisticRegression().fit(X.copy(), Y)
    model = kalmia.LogisticRegression().fit(tables()[kind], Y)
    assert_close(model.coef_, reference.coef_, rtol=1e-12)
    assert_close(model.predict_proba(tables()[kind]), reference.predict_proba(X), rtol=1e-12)
    if kind in ("pandas", "pandas Arrow", "polars", "pyarrow", "stream"):
        assert list(model.feature_names_in_) == NAMES
    low, same = kalmia.Auto(6), kalmia.Auto(6)
    means = low.learn_many(tables()[kind], Y)
    # a stream has batches of its own, which change the rounding
    assert_close(means, same.learn_many(X.copy(), Y), rtol=1e-9, atol=1e-13)
    assert_close(low.predict_many(tables()[kind]), same.predict_many(X), rtol=1e-12)


def test_what_the_compiled_module_imports_does_not_import_it():
    for module in (_tables, kalmia.errors):
        tree = ast.parse(inspect.getsource(module))
        found = {one.module for one in ast.walk(tree) if isinstance(one, ast.ImportFrom)}
        assert found <= {"__future__", "collections.abc", "typing", "errors"}, found


def test_blocks_of_converted_tables_are_small(monkeypatch):
    monkeypatch.setattr(_tables, "BLOCK_NUMBERS", 600)
    for kind in ("pandas", "csr", "list"):
        table = np.array(tables()[kind], dtype=np.float32) if kind == "list" else tables()[kind]
        parts = list(_tables.blocks(table))
        assert max(len(part) for part in parts) == 100 and sum(map(len, parts)) == len(X)
    sparse, dense = kalmia.Auto(6), kalmia.Auto(6)
    sparse.learn_many(scipy.sparse.csr_matrix(X), Y)
    dense.learn_many(X, Y)
    assert_close(sparse.theta, dense.theta, rtol=1e-12)


def test_a_bad_row_in_a_late_block_is_named_and_nothing_is_learned(monkeypatch):
    monkeypatch.setattr(_tables, "BLOCK_NUMBERS", 600)
    bad = X.copy()
    bad[421, 3] = np.nan
    learner = kalmia.Auto(6)
    with pytest.raises(kalmia.InputError, match="row 421, feature 3 is NaN"):
        learner.learn_many(pd.DataFrame(bad), Y)
    assert learner.count == 0


def test_float64_arrays_are_read_in_place():
    table = np.asfortranarray(X)
    assert next(_tables.blocks(table)) is table


@pytest.mark.parametrize("kind", ["int8", "uint16", "int64", "float32", "bool"])
def test_arrow_numbers_of_every_width(kind):
    values = (np.arange(60).reshape(20, 3) % 2).astype(kind)
    table = pa.table({name: pa.array(values[:, j]) for j, name in enumerate("abc")})
    found = _data.arrow_matrix(table)
    assert_same(found, values.astype(float))


def test_tables_that_are_no_numbers_are_refused():
    learner = kalmia.Filter(2, "gaussian")
    with pytest.raises(kalmia.InputError, match="column `b` has a missing value in row 1"):
        learner.learn_many(pa.table({"a": [1.0, 2.0], "b": [1, None]}), [0, 1])
    with pytest.raises(
        kalmia.InputError, match="column `b` is of type Utf8|column `b` is of type LargeUtf8"
    ):
        learner.learn_many(pa.table({"a": [1.0, 2.0], "b": ["x", "y"]}), [0, 1])
    with pytest.raises(kalmia.InputError, match="no number"):
        learner.learn_many(pd.DataFrame({"a": [1.0, 2.0], "b": ["x", "y"]}), [0, 1])
    times = pd.DataFrame({"a": [1.0, 2.0], "b": pd.to_datetime(["2024-01-01", "2024-01-02"])})
    spans = (times[["b", "b"]] - times["b"][0:1].item()).set_axis(["b", "c"], axis=1)
    for model, refused in [(learner, learner.learn_many), (None, kalmia.LinearRegression().fit)]:
        for table in (
            times,
            times[["b"]],
            times.assign(b=times["b"].dt.tz_localize("UTC")),
            spans,
            spans.to_numpy(),
        ):
            with pytest.raises(kalmia.InputError, match="is of type (datetime|timedelta)64"):
                refused(table, [0, 1])
        assert model is None or model.count == 0
    with pytest.raises(kalmia.InputError, match="y is of type datetime64"):
        kalmia.LinearRegression().fit([[0.0], [1.0]], times["b"])
    with pytest.raises(kalmia.InputError, match="must be a matrix"):
        learner.learn_many([1.0, 2.0], [0, 1])


def test_columns_must_stay_the_same():
    model = kalmia.LogisticRegression().fit(TABLE, Y)
    with pytest.raises(kalmia.InputError, match="the columns are"):
        model.predict(TABLE.rename_columns(list("abcdef")))
    with pytest.raises(ValueError, match="feature names"):
        model.predict(pd.DataFrame(X, columns=list("abcdef")))


def test_a_missing_number_is_named_by_the_callers_column():
    X, y = np.ones((5, 2)), [0, 1, 0, 1, 1]
    X[3, 1] = np.nan
    with pytest.raises(kalmia.InputError, match="row 3, feature 1 is NaN"):
        kalmia.LogisticRegression().fit(X, y)
    model = kalmia.LogisticRegression().fit(np.nan_to_num(X), y)
    for refused in (model.predict_proba, lambda X: model.partial_fit(X, y)):
        with pytest.raises(kalmia.InputError, match="row 3, feature 1 is NaN"):
            refused(X)
