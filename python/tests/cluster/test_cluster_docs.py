"""The examples of docs/cluster.md run as written, and its numbers are those of the code."""

import re
from pathlib import Path

import pytest

import kalmia
from kalmia.cluster import _engine

ROOT = Path(__file__).parents[3]
PAGE = (ROOT / "docs/cluster.md").read_text(encoding="utf-8")
BLOCKS = {
    section.splitlines()[0]: re.findall(r"```python\n(.*?)```", section, re.DOTALL)
    for section in PAGE.split("\n## ")[1:]
}


def run(section, folder, monkeypatch):
    """Runs the block of a section in a folder of its own, and returns its names."""
    (code,) = BLOCKS[section]
    monkeypatch.chdir(folder)
    # Spark keeps the folder in which it was started
    for name in ("arriving", "checkpoint"):
        code = code.replace(f'"{name}"', repr(str(folder / name)))
    names = {}
    exec(compile(code, f"docs/cluster.md, {section}", "exec"), names)
    return names


def test_every_block_is_run_here():
    found = {section for section, blocks in BLOCKS.items() if blocks}
    assert found == {
        "Spark",
        "Dask",
        "DataFusion",
        "Structured streaming",
        "Kafka, NATS, and other logs",
    }


def test_spark(spark, tmp_path, monkeypatch):
    names = run("Spark", tmp_path, monkeypatch)
    assert names["model"].n_samples_seen_ == 2000
    assert sorted(names["by_carrier"]) == ["A", "B", "C"]
    assert sum(one.n_samples_seen_ for one in names["by_carrier"].values()) == 2000
    assert kalmia.load(tmp_path / "late.kalmia").n_samples_seen_ == 2000


def test_structured_streaming(spark, tmp_path, monkeypatch):
    run("Structured streaming", tmp_path, monkeypatch)
    assert kalmia.load(tmp_path / "live.kalmia").n_samples_seen_ == 400


def test_dask(tmp_path, monkeypatch):
    pytest.importorskip("distributed", reason="dask is not installed")
    names = run("Dask", tmp_path, monkeypatch)
    assert (names["model"].n_samples_seen_, names["model"].cluster_.shards) == (1200, 4)


def test_datafusion(datafusion, tmp_path, monkeypatch):
    names = run("DataFusion", tmp_path, monkeypatch)
    assert names["model"].n_samples_seen_ == 900
    assert sorted(names["by_carrier"]) == ["A", "B", "C"]


def test_logs(tmp_path, monkeypatch):
    run("Kafka, NATS, and other logs", tmp_path, monkeypatch)
    assert kalmia.load(tmp_path / "log.kalmia").stream_position_ == {"topic/0": 999}


def test_numbers():
    assert f"merged {_engine.FANOUT} at a time" in PAGE
    assert f"Up to {_engine.SAMPLE_ROWS} rows of up to {_engine.SAMPLE_PARTITIONS} parti" in PAGE
    # the rule of `Polishing::is_close`
    rule = (ROOT / "crates/kalmia-model/src/polish/mod.rs").read_text()
    assert "const CLOSE: f64 = 0.3;" in rule and "larger than 0.3 standard errors" in PAGE
    assert "const MAX_CLOSE_PASSES: usize = 5;" in rule and "five at most" in PAGE
