"""Dask: partitions in processes of a cluster, of which one is killed."""

import os
import signal

import numpy as np
import pytest
from partitions import ListRows, cut, rows

from kalmia._declaration import declaration
from kalmia.cluster import fit_dask
from kalmia.cluster._fit import fit
from kalmia.errors import InputError

dd = pytest.importorskip(
    "dask.dataframe", reason="dask is not installed; `cargo xtask cluster` installs it"
)


def frame(parts):
    """A DataFrame whose partitions are the tables."""
    import dask

    return dd.from_delayed([dask.delayed(part) for part in parts], meta=parts[0].iloc[:0])


def plain(parts, sample):
    return fit(
        ListRows(parts), declaration("y"), sample=sample, passes=None, robust=False, prior="fitted"
    )


def same(model, expected):
    assert (model.coef_ == expected.coef_).all()
    assert (model.std_err_ == expected.std_err_).all()
    assert model.n_samples_seen_ == expected.n_samples_seen_
    assert model.progressive_loss_ == expected.progressive_loss_


def test_partitions_give_the_model_of_any_engine(dask_client):
    parts, sample = cut(rows(2000), 20), rows(400, seed=3)
    same(fit_dask(frame(parts), "y", sample=sample), plain(parts, sample))


def test_it_takes_its_own_sample(dask_client):
    model = fit_dask(frame(cut(rows(3000).sort_values("y"), 6)), "y")
    assert model.n_samples_seen_ == 3000 and model.cluster_.shards == 6


def test_a_killed_worker_changes_nothing(dask_client, tmp_path):
    """The worker that learns partition 3 kills itself in the middle, the first time."""
    parts, sample = cut(rows(2000), 8), rows(400, seed=3)
    killed = tmp_path / "killed"

    def disturb(table, partition_info=None):
        if partition_info and partition_info["number"] == 3 and not killed.exists():
            killed.write_text(str(os.getpid()))
            os.kill(os.getpid(), signal.SIGKILL)
        return table

    meta = parts[0].iloc[:0]
    disturbed = frame(parts).map_partitions(disturb, meta=meta)
    model = fit_dask(disturbed, "y", sample=sample)
    assert killed.exists()
    same(model, plain(parts, sample))


def test_a_malformed_row_is_named(dask_client):
    parts = cut(rows(400), 4)
    parts[2] = parts[2].copy()
    parts[2].iloc[16, 0] = np.nan
    with pytest.raises(InputError, match="partition 2, row 17, column `x`: missing value"):
        fit_dask(frame(parts), "y", sample=rows(100))


def test_the_index_is_no_feature():
    table = rows(600).set_index(np.arange(600) * 3)
    model = fit_dask(frame(cut(table, 3)), "y")
    assert [name.partition("=")[0] for name in model.coef_names_] == ["x", "z", "color", "color"]
