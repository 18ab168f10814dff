"""Rows as the client sends them: nothing is rounded, missing values are null, parts are bounded."""

import datetime
import decimal
import io
import json

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from kalmia import _client_rows
from kalmia._client_rows import ARROW, JSON, bodies, json_bodies, label_records
from kalmia.errors import InputError

NAN = float("nan")
COLUMNS = {"x": [0.1, NAN, 1e-300], "n": [1, 2, 3], "who": ["a", None, "b"]}
ROWS = [
    {"x": 0.1, "n": 1, "who": "a"},
    {"x": None, "n": 2, "who": None},
    {"x": 1e-300, "n": 3, "who": "b"},
]


def read(body):
    """The rows of a body, read independently of the client."""
    if body.content_type == JSON:
        return json.loads(body.data)
    assert body.content_type == ARROW
    found = pa.ipc.open_stream(io.BytesIO(body.data)).read_all().to_pylist()
    # NaN counts as missing in Arrow streams too
    return [{k: None if v != v else v for k, v in row.items()} for row in found]


TABLES = {
    "list": lambda: [dict(row, x=NAN if row["x"] is None else row["x"]) for row in ROWS],
    "generator": lambda: (row for row in ROWS),
    "pandas": lambda: pd.DataFrame(COLUMNS, index=[5, 5, 7]),
    "categories": lambda: pd.DataFrame(COLUMNS).astype({"who": "category"}),
    "nullable": lambda: pd.DataFrame(COLUMNS).convert_dtypes(),
    "polars": lambda: pl.DataFrame(COLUMNS),
    "polars categories": lambda: pl.DataFrame(COLUMNS, schema_overrides={"who": pl.Categorical}),
    "table": lambda: pa.table(COLUMNS),
    "chunks": lambda: pa.concat_tables([pa.table(COLUMNS).slice(0, 1), pa.table(COLUMNS)[1:]]),
    "batch": lambda: pa.RecordBatch.from_pydict(COLUMNS),
    "reader": lambda: pa.table(COLUMNS).to_reader(),
}


@pytest.mark.parametrize("kind", TABLES)
def test_every_kind_of_rows_is_the_same(kind):
    (body,) = bodies(TABLES[kind]())
    assert read(body) == ROWS and body.rows == 3
    assert body.content_type == (JSON if kind in ("list", "generator") else ARROW)


@pytest.mark.parametrize("kind", ["pandas", "categories", "nullable", "polars"])
def test_tables_without_pyarrow(kind, monkeypatch):
    table = TABLES[kind]()
    monkeypatch.setattr(_client_rows, "_pyarrow", lambda: None)
    (body,) = bodies(table)
    assert body.content_type == JSON and read(body) == ROWS
    with pytest.raises(InputError, match="rows is a Table, which needs pyarrow"):
        list(bodies(pa.table(COLUMNS)))


def test_one_row():
    frame = pd.DataFrame(COLUMNS)
    for row in (ROWS[0], frame.iloc[0]):
        (body,) = bodies(row)
        assert read(body) == ROWS[:1]


def test_scalars_of_numpy_and_others():
    row = {
        "f": np.float64(0.1),
        "g": np.float32(0.1),
        "i": np.int64(2**62),
        "b": np.bool_(True),
        "s": np.str_("a"),
        "d": decimal.Decimal("0.5"),
        "nan": np.float32("nan"),
        "na": pd.NA,
        "nat": pd.NaT,
        "zero": np.array(3.0),
    }
    (body,) = bodies(row)
    expected = {"f": 0.1, "g": float(np.float32(0.1)), "i": 2**62, "b": True, "s": "a", "d": 0.5}
    assert read(body) == [expected | {"nan": None, "na": None, "nat": None, "zero": 3.0}]


def test_floats_are_exact():
    values = np.random.default_rng(3).normal(size=1000) * 10.0 ** np.arange(-300, 300, 0.6)
    (body,) = bodies([{"x": x} for x in values])
    assert [row["x"] for row in read(body)] == values.tolist()


def test_parts_are_bounded_and_always_the_same(monkeypatch):
    monkeypatch.setattr(_client_rows, "MAX_REQUEST_ROWS", 100)
    frame = pd.DataFrame({"n": range(250), "text": ["word " * 20] * 250})
    chunks = pa.concat_tables([pa.Table.from_pandas(frame[:7]), pa.Table.from_pandas(frame[7:])])
    for rows in (frame, frame.to_dict("records"), pl.from_pandas(frame), chunks):
        parts = list(bodies(rows))
        assert [part.rows for part in parts] == [100, 100, 50]
        assert [row["n"] for part in parts for row in read(part)] == list(range(250))
        assert list(bodies(rows)) == parts
    monkeypatch.setattr(_client_rows, "MAX_REQUEST_BYTES", 4000)
    for rows in (frame, frame.to_dict("records"), pl.from_pandas(frame)):
        parts = list(bodies(rows))
        assert max(len(part.data) for part in parts) <= 4002
        assert [row["n"] for part in parts for row in read(part)] == list(range(250))
    # a single row is never cut
    assert [part.rows for part in bodies([{"text": "w" * 9000}] * 2)] == [1, 1]


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ([{"a": 1}, {"a": float("inf")}], "row 2, column 'a': the value is infinite"),
        ([{"a": datetime.date(2026, 1, 1)}], "row 1, column 'a': .* it is a date; give a number"),
        ([{"a": np.datetime64("2026-01-01")}], "row 1, column 'a': .* it is a datetime64"),
        ([{"a": np.ones(2)}], "row 1, column 'a': .* it is a ndarray"),
        ([{"a": 1}, [1]], "row 2 is a list: give a dictionary"),
        (np.ones((2, 2)), "rows is a ndarray, which has no column names"),
        ("rows.csv", "rows is a str, which has no column names"),
        (3, "rows is a int"),
        (pl.LazyFrame({"a": [1]}), r"pass rows.collect\(\)"),
        (pd.DataFrame({"a": [1, "b"]}), "rows has a column that Arrow cannot hold"),
        (pl.Series([1.0]), "rows has a column that Arrow cannot hold"),
    ],
)
def test_what_is_refused(rows, message):
    with pytest.raises(InputError, match=message):
        list(bodies(rows))


def test_labels():
    expected = [{"id": "a", "y": 1}, {"id": "b", "y": 0}]
    frame = pd.DataFrame(expected)
    for labels in ([("a", 1), ("b", 0)], expected, frame, pl.from_pandas(frame), pa.table(frame)):
        (body,) = json_bodies(label_records(labels))
        assert read(body) == expected
    (body,) = json_bodies(label_records({"id": "a", "y": np.int64(1)}))
    assert read(body) == expected[:1]
    with pytest.raises(InputError, match="label 2 is a str: give a pair of id and y"):
        list(label_records([("a", 1), "b"]))
