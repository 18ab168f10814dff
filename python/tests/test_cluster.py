"""A fit over partitions, without any engine: merged and polished it is the fit on all rows."""

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
import pytest
from partitions import FAMILIES, ListRows, cut, rows

import kalmia
from kalmia._declaration import declaration
from kalmia._kalmia import Fit, Shard, Template, merge_shards
from kalmia.cluster import ClusterReport, from_bytes
from kalmia.cluster._engine import FANOUT, SAMPLE_PARTITIONS, merge_tree, sample_rows
from kalmia.cluster._fit import Learn, fit
from kalmia.errors import InputError

CLASSES = {
    "gaussian": kalmia.LinearRegression,
    "bernoulli": kalmia.LogisticRegression,
    "poisson": kalmia.PoissonRegression,
    "gamma": kalmia.GammaRegression,
}


def fitted(tables, passes=None, sample=None, robust=False, prior="fitted", **declared):
    made = declaration("y", **declared)
    engine = ListRows(tables)
    return fit(engine, made, sample=sample, passes=passes, robust=robust, prior=prior)


def coefficients(model):
    """Coefficients by name, the intercept too."""
    named = dict(zip(model.coef_names_, np.ravel(model.coef_), strict=True))
    return {"intercept": float(np.ravel(model.intercept_)[0]), **named}


def assert_close(one, other, units):
    """Both models have the same coefficients, up to `units` standard errors."""
    a, b = coefficients(one), coefficients(other)
    assert sorted(a) == sorted(b)
    errors = dict(zip(a, np.ravel(one.std_err_), strict=True))
    for name, value in a.items():
        assert abs(value - b[name]) <= units * errors[name], name


def test_gaussian_parts_are_the_whole():
    table = rows(3000, "gaussian")
    whole = fitted([table], 0, sample=table[:500], method="ekf", family="gaussian")
    for parts in (2, 7, 40):
        model = fitted(cut(table, parts), 0, sample=table[:500], method="ekf", family="gaussian")
        assert model.n_samples_seen_ == 3000
        assert model.cluster_.exact and model.cluster_.shards == parts
        assert model.coef_ == pytest.approx(whole.coef_, rel=1e-9)
        assert model.covariance_ == pytest.approx(whole.covariance_, rel=1e-9)


@pytest.mark.parametrize("family", FAMILIES)
def test_any_split_gives_the_same_model(family):
    """One pass is the rule for engines; several leave nothing of the split."""
    table = rows(4000, family)
    sample = table[::10]
    ways = {parts: cut(table, parts) for parts in (1, 3, 25)}
    one = {n: fitted(way, sample=sample, family=family) for n, way in ways.items()}
    more = {n: fitted(way, 4, sample=sample, family=family) for n, way in ways.items()}
    for parts in (3, 25):
        assert_close(one[parts], one[1], 0.1)
        assert_close(more[parts], more[1], 1e-3)
        assert one[parts].cluster_.passes >= 1


@pytest.mark.parametrize("family", FAMILIES)
def test_flat_passes_are_the_batch_fit(family):
    import statsmodels.api as sm

    table = rows(3000, family, colors=("blue", "red"))
    model = fitted(cut(table, 6), 8, prior="flat", family=family)
    kinds = {
        "gaussian": sm.families.Gaussian(),
        "bernoulli": sm.families.Binomial(),
        "poisson": sm.families.Poisson(),
        "gamma": sm.families.Gamma(sm.families.links.Log()),
    }
    names = list(model.coef_names_)
    level = next(name for name in names if name.startswith("color="))
    X = np.column_stack([table["x"], table["z"], table["color"] == level.removeprefix("color=")])
    batch = sm.GLM(table["y"], sm.add_constant(X.astype(float)), family=kinds[family]).fit()
    found = coefficients(model)
    assert [found[name] for name in ("intercept", "x", "z", level)] == pytest.approx(
        batch.params.to_numpy(), abs=1e-3 * batch.bse.max()
    )


def test_the_order_of_partitions_changes_only_rounding():
    parts = cut(rows(3000), 20)
    sample = rows(500, seed=9)
    one, other = fitted(parts, sample=sample), fitted(parts[::-1], sample=sample)
    assert_close(one, other, 1e-9)


def test_batches_pass_through():
    """Of two hundred batches only a few are in memory at a time."""
    table = rows(500)
    start = Template(pa.Table.from_pandas(table), declaration("y"))
    color = pa.array(["red"] * 5000)
    peaks = []

    def batches():
        rng = np.random.default_rng(1)
        for _ in range(200):
            # computed, so that Arrow's own memory holds it
            x = pc.add(pa.array(rng.normal(size=5000)), 0.0)
            y = pc.cast(pc.greater(x, 0.3), pa.int64())
            peaks.append(pa.total_allocated_bytes())
            yield pa.record_batch({"x": x, "z": x, "color": color, "y": y})

    before = pa.total_allocated_bytes()
    part = Learn(start.to_bytes()).run("partition 0", batches())
    assert Fit(start, part).rows == 1_000_000
    one = peaks[0] - before
    assert one >= 80_000 and max(peaks) - before < 10 * one


def test_a_repeated_task_gives_the_same_bytes():
    table = rows(500)
    start = Template(pa.Table.from_pandas(table), declaration("y"))
    work = Learn(start.to_bytes())
    for batch in (17, 100, 1000):  # nor do the batches matter in which an engine gives rows
        engine = ListRows([table], batch)
        found = {work.run("partition 0", engine.batches(engine.tables[0])) for _ in range(2)}
        assert found == {work.run("partition 0", iter(engine.tables[0].to_batches()))}


def test_the_tree_is_a_fold_with_the_same_result():
    parts = cut(rows(2000), 2 * FANOUT + 3)
    start = Template(pa.Table.from_pandas(rows(500, seed=9)), declaration("y"))
    engine = ListRows(parts)
    work = Learn(start.to_bytes())
    states = [work.run("part", engine.batches(table)) for table in engine.tables]
    tree, chain = merge_tree(states, merge_shards), merge_shards(states)
    one, other = (from_bytes(Fit(start, state).model()) for state in (tree, chain))
    assert one.n_samples_seen_ == other.n_samples_seen_ == 2000
    assert one.coef_ == pytest.approx(other.coef_, rel=1e-9)
    assert one.progressive_loss_ == pytest.approx(other.progressive_loss_, rel=1e-12)


def test_levels_enter_by_name():
    """Each partition sees other levels first, and the sample sees none of the last one."""
    one = rows(600, "gaussian", seed=1, colors=("red", "blue"))
    two = rows(600, "gaussian", seed=2, colors=("green", "red"))
    three = rows(600, "gaussian", seed=3, colors=("violet", "blue"))
    parts = [one, two, three]
    sample = pd.concat([one[:100], two[:100]])
    model = fitted(parts, 3, sample=sample, family="gaussian")
    whole = fitted([pd.concat(parts)], 3, sample=sample, family="gaussian")
    names = {name for name in model.coef_names_ if name.startswith("color=")}
    assert "color=violet" in names and len(names) == 3
    assert_close(model, whole, 1e-3)


def test_empty_partitions_are_fine():
    table = rows(1000)
    parts = [table[:0], *cut(table, 3), table[:0]]
    model = fitted(parts, sample=table[:300])
    assert model.n_samples_seen_ == 1000 and model.cluster_.shards == 3
    assert_close(model, fitted(cut(table, 3), sample=table[:300]), 1e-9)
    with pytest.raises(InputError, match="there are no rows: every partition is empty"):
        fitted([table[:0]])


def test_a_malformed_row_is_named():
    parts = cut(rows(400), 4)
    parts[2] = parts[2].copy()
    parts[2].iloc[16, 0] = np.nan
    sample = rows(200)
    expected = "partition 2, row 17, column `x`: missing value; .* missing="
    with pytest.raises(InputError, match=expected):
        fitted(parts, sample=sample)
    model = fitted(parts, sample=sample, missing="skip")
    assert model.n_samples_seen_ == 399
    parts[2] = parts[2].fillna(0.0).astype({"y": float})
    parts[2].iloc[4, 3] = 7.0
    with pytest.raises(InputError, match="partition 2, row 5"):
        fitted(parts, sample=sample, family="bernoulli")


def test_a_malformed_row_is_named_in_a_polish_too():
    from kalmia._kalmia import SumsPass

    table = rows(300)
    start = Template(pa.Table.from_pandas(table), declaration("y"))
    shard = Shard(start, "partition 0")
    shard.learn(pa.Table.from_pandas(table))
    request = Fit(start, shard.to_bytes()).request()
    bad = table.copy()
    bad.iloc[3, 1] = np.nan
    with pytest.raises(InputError, match="partition 5, row 4, column `z`: missing value"):
        SumsPass(request, "partition 5").add(pa.Table.from_pandas(bad))


def test_the_sample_sees_sorted_rows():
    """Sorted partitions, and rows that are sorted within them: both labels are in the sample."""
    table = rows(5000).sort_values("y", ignore_index=True)
    model, mixed = fitted(cut(table, 10)), fitted(cut(rows(5000), 10))
    assert model.n_samples_seen_ == 5000
    # the first level may be another one, so coefficients cannot be compared
    features = table[["x", "z", "color"]]
    gap = model.predict_proba(features) - mixed.predict_proba(features)
    assert abs(gap).max() < 0.01


def test_the_sample_is_bounded():
    tables = [table.to_batches(max_chunksize=100) for table in ListRows(cut(rows(900), 3)).tables]
    found = [sample_rows(iter(batches), 7) for batches in tables]
    assert [table.num_rows for table in found] == [7, 7, 7]
    assert sample_rows(iter([]), 7) is None
    assert SAMPLE_PARTITIONS > 1


def test_weights_and_offsets():
    table = rows(2000, "poisson")
    table["w"] = np.random.default_rng(3).integers(1, 4, 2000).astype(float)
    table["o"] = 0.1 * table["z"]
    repeated = table.loc[table.index.repeat(table["w"].astype(int))]
    how = {"family": "poisson", "offset": "o", "passes": 4, "sample": table[:400]}
    weighted = fitted(cut(table, 5), weight="w", **how)
    plain = fitted(cut(repeated, 5), exclude=["w"], **how)
    assert_close(weighted, plain, 0.05)
    assert weighted.coef_names_.tolist() == plain.coef_names_.tolist()
    assert "o" not in weighted.coef_names_ and "w" not in weighted.coef_names_


def test_the_report():
    table = rows(3000)
    model = fitted(cut(table, 8), robust=True)
    report = model.cluster_
    assert isinstance(report, ClusterReport)
    assert (report.rows, report.shards, report.passes, report.exact) == (3000, 8, 1, False)
    assert 0.0 <= report.moved["rms"] <= report.moved["max"]
    assert report.heterogeneity["p_value"] > 0.001
    assert report.robust_std_err == pytest.approx(np.ravel(model.std_err_), rel=0.2)
    assert report.progressive_loss == model.progressive_loss_ > 0.0
    merged = fitted(cut(table, 8), 0).cluster_
    assert (merged.passes, merged.moved, merged.robust_std_err) == (0, None, None)


def test_partitions_that_differ_are_found():
    one, two = rows(1500, "gaussian", seed=1), rows(1500, "gaussian", seed=2)
    two["y"] = two["y"] + 0.5 * two["x"]
    report = fitted([one, two], family="gaussian").cluster_
    assert report.heterogeneity["p_value"] < 1e-6


def test_it_is_a_model_like_any_other(run, tmp_path):
    table = rows(1000)
    model = fitted(cut(table, 4))
    assert isinstance(model, kalmia.LogisticRegression)
    model.save(tmp_path / "m")
    again = kalmia.load(tmp_path / "m")
    features = table[["x", "z", "color"]]
    assert (again.predict_proba(features) == model.predict_proba(features)).all()
    table.to_csv(tmp_path / "rows.csv", index=False)
    assert "color" in run("inspect", tmp_path / "m")
    printed = run("predict", tmp_path / "m", tmp_path / "rows.csv")
    assert len(printed.splitlines()) == 1001
    model.partial_fit(features, table["y"])
    assert model.n_samples_seen_ == 2000


def test_what_cannot_be_merged_is_refused():
    parts = cut(rows(300), 2)
    with pytest.raises(InputError, match="asgd|horizon"):
        fitted(parts, method="asgd")
    with pytest.raises(InputError, match="ons|merged"):
        fitted(parts, method="ons")
    with pytest.raises(InputError, match="adapt"):
        fitted(parts, drift="adapt")
    with pytest.raises(InputError, match="passes is -1"):
        fitted(parts, -1)
    with pytest.raises(InputError, match="no column `q`"):
        fit(ListRows(parts), declaration("q"), sample=None, passes=0, robust=False, prior="fitted")
    with pytest.raises(InputError, match="prior"):
        fitted(parts, prior="vague")


def test_a_shard_that_failed_is_not_used():
    table = rows(100)
    start = Template(pa.Table.from_pandas(table), declaration("y"))
    shard = Shard(start, "partition 0")
    bad = table.copy()
    bad.iloc[50, 0] = np.inf
    with pytest.raises(InputError, match="partition 0, row 51"):
        shard.learn(pa.Table.from_pandas(bad))
    with pytest.raises(InputError, match="the shard failed"):
        shard.to_bytes()
    with pytest.raises(InputError, match="nothing to merge"):
        merge_shards([])


def test_engines_that_are_missing_say_what_to_install(monkeypatch):
    import sys

    from kalmia import cluster

    for name, call in (
        ("pyspark", cluster.fit_spark),
        ("dask", cluster.fit_dask),
        ("datafusion", cluster.fit_datafusion),
    ):
        monkeypatch.setitem(sys.modules, name, None)
        with pytest.raises(ImportError, match=f"needs the package {name}: pip install .*{name}"):
            call(object(), "y")
