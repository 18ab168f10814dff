"""Spark, Dask, DataFusion and the command give the same model for the same partitions."""

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from partitions import cut, rows

import kalmia
from kalmia.cluster import fit_dask, fit_datafusion, fit_spark


@pytest.mark.parametrize("family", ["bernoulli", "gaussian"])
def test_engines_agree(spark, dask_client, datafusion, family, tmp_path):
    """Byte for byte: the parts, the tree over them and the passes are the same everywhere."""
    import dask
    import dask.dataframe as dd

    parts = cut(rows(1200, family), 4)
    tables = [pa.Table.from_pandas(part, preserve_index=False) for part in parts]
    how = {"family": family, "sample": rows(300, family, seed=3)}

    def give(batches):
        for batch in batches:
            for number in batch.column(0).to_pylist():
                yield tables[number].to_batches()[0]

    schema = spark.createDataFrame(parts[0].iloc[:1]).schema
    by_spark = fit_spark(spark.range(0, 4, 1, 4).mapInArrow(give, schema), "y", **how)
    delayed = [dask.delayed(part) for part in parts]
    by_dask = fit_dask(dd.from_delayed(delayed, meta=parts[0].iloc[:0]), "y", **how)
    context = datafusion.SessionContext(datafusion.SessionConfig().with_target_partitions(4))
    context.register_record_batches("t", [table.to_batches() for table in tables])
    by_datafusion = fit_datafusion(context.table("t"), "y", **how)
    files = []
    for name, model in (("spark", by_spark), ("dask", by_dask), ("datafusion", by_datafusion)):
        model.save(tmp_path / name)
        files.append((tmp_path / name).read_bytes())
    assert files[0] == files[1] == files[2]


def test_the_command_agrees(datafusion, run, tmp_path):
    """Both polished to the end, from the same rows in files."""
    parts = cut(rows(3000, "poisson"), 3)
    names = []
    for number, part in enumerate(parts):
        names.append(tmp_path / f"{number}.parquet")
        pq.write_table(pa.Table.from_pandas(part, preserve_index=False), names[-1])
    run("fit", *names, "--target", "y", "--family", "poisson", "-o", tmp_path / "m")
    run("polish", tmp_path / "m", *names, "--prior", "flat", "-o", tmp_path / "polished")
    command = kalmia.load(tmp_path / "polished")
    context = datafusion.SessionContext(datafusion.SessionConfig().with_target_partitions(3))
    context.register_parquet("t", str(tmp_path))
    model = fit_datafusion(context.table("t"), "y", family="poisson", passes=8, prior="flat")
    features = parts[0][["x", "z", "color"]]
    found, expected = model.predict(features), command.predict(features)
    assert found == pytest.approx(expected, rel=1e-4)
    assert np.isfinite(found).all()
