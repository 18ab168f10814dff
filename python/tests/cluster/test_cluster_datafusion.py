"""DataFusion: the fit over partitions, and the aggregate of SQL, also with GROUP BY."""

import numpy as np
import pyarrow as pa
import pytest
from partitions import ListRows, cut, rows

from kalmia._declaration import declaration
from kalmia.cluster import fit_datafusion, from_bytes, register_datafusion
from kalmia.cluster._fit import fit
from kalmia.errors import InputError


def context(datafusion, tables, cores=2):
    """A session with the table `t`, whose partitions are the tables."""
    made = datafusion.SessionContext(datafusion.SessionConfig().with_target_partitions(cores))
    arrow = [pa.Table.from_pandas(table, preserve_index=False) for table in tables]
    made.register_record_batches("t", [table.to_batches(max_chunksize=97) for table in arrow])
    return made


def test_partitions_give_the_model_of_any_engine(datafusion):
    parts = cut(rows(2000), 5)
    frame = context(datafusion, parts).table("t")
    model = fit_datafusion(frame, "y", sample=rows(400, seed=3))
    expected = fit(
        ListRows(parts),
        declaration("y"),
        sample=rows(400, seed=3),
        passes=None,
        robust=False,
        prior="fitted",
    )
    assert model.cluster_.shards == 5
    assert (model.coef_ == expected.coef_).all()
    assert (model.std_err_ == expected.std_err_).all()


def test_sql_makes_the_rows(datafusion):
    made = context(datafusion, cut(rows(1000), 3))
    frame = made.sql("SELECT x, z * 2 AS double, y FROM t WHERE color <> 'red'")
    model = fit_datafusion(frame, "y", family="bernoulli")
    assert model.coef_names_.tolist() == ["x", "double"]
    assert model.n_samples_seen_ == (rows(1000)["color"] != "red").sum()


def test_a_malformed_row_is_named(datafusion):
    parts = cut(rows(400), 4)
    parts[3] = parts[3].copy()
    parts[3].iloc[4, 1] = np.nan
    frame = context(datafusion, parts).table("t")
    with pytest.raises(InputError, match="partition 3, row 5, column `z`: missing value"):
        fit_datafusion(frame, "y", sample=rows(100))


def test_the_aggregate(datafusion):
    table = rows(3000, "gaussian")
    made = context(datafusion, cut(table, 4))
    columns = register_datafusion(made, "t", "y", family="gaussian", method="ekf")
    assert columns == ["x", "z", "color", "y"]
    query = f"SELECT kalmia_fit({', '.join(columns)}) AS model FROM t"
    (batch,) = made.sql(query).collect()
    model = from_bytes(batch.column(0)[0].as_py())
    assert model.n_samples_seen_ == 3000
    sample = made.table("t")
    exact = fit_datafusion(sample, "y", family="gaussian", method="ekf", passes=0)
    assert model.coef_ == pytest.approx(exact.coef_, rel=1e-9)


def test_the_aggregate_by_groups(datafusion):
    table = rows(2000, "gaussian")
    table["key"] = np.arange(2000) % 3
    made = context(datafusion, cut(table, 4))
    how = {"family": "gaussian", "method": "ekf", "exclude": ["key"]}
    columns = register_datafusion(made, "t", "y", name="fit_line", **how)
    query = f"SELECT key, fit_line({', '.join(columns)}) AS model FROM t GROUP BY key"
    found = made.sql(query).to_arrow_table().to_pylist()
    assert sorted(row["key"] for row in found) == [0, 1, 2]
    for row in found:
        model = from_bytes(row["model"])
        own = table[table["key"] == row["key"]]
        alone = fit(
            ListRows([own]),
            declaration("y", **how),
            sample=table,
            passes=0,
            robust=False,
            prior="fitted",
        )
        assert model.n_samples_seen_ == len(own)
        named = dict(zip(alone.coef_names_, alone.coef_, strict=True))
        assert dict(zip(model.coef_names_, model.coef_, strict=True)) == pytest.approx(
            named, rel=1e-9
        )


def test_the_aggregate_of_no_rows_is_null(datafusion):
    made = context(datafusion, cut(rows(300), 2))
    columns = register_datafusion(made, "t", "y")
    query = f"SELECT kalmia_fit({', '.join(columns)}) AS model FROM t WHERE x > 1000"
    (batch,) = made.sql(query).collect()
    assert batch.column(0).to_pylist() == [None]


def test_a_malformed_row_in_sql_is_named(datafusion):
    table = rows(300)
    bad = table.copy()
    bad.iloc[7, 0] = np.nan
    made = context(datafusion, [bad], cores=1)
    columns = register_datafusion(made, "t", "y", sample=table)
    query = f"SELECT kalmia_fit({', '.join(columns)}) FROM t"
    with pytest.raises(Exception, match="kalmia_fit, row 8, column `x`: missing value"):
        made.sql(query).collect()
