"""A model file that learns batches exactly once: positions, repeats, gaps, crashes and claims."""

import json
import os
import signal
import subprocess
import sys

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from service import flights

import kalmia
from kalmia.errors import InputError, ModelFileError, StateError
from kalmia.stream import StreamModel

#: Learns the batches of a file, one line of positions at a time, and can be killed anywhere.
CHILD = """
import sys
import pandas as pd
from kalmia.stream import StreamModel
with StreamModel(sys.argv[1], "late", family="bernoulli") as model:
    table = pd.read_csv(sys.argv[2])
    size = int(sys.argv[3])
    for place in range(model.position.get("file", -1) + 1, len(table) // size):
        model.learn(table[place * size : (place + 1) * size], place, source="file", after=place - 1)
        print(place, flush=True)
"""


def batches(rows=400, size=50):
    table = flights(rows)
    return [table[first : first + size] for first in range(0, rows, size)]


def test_a_batch_is_learned_once(tmp_path):
    parts = batches()
    with StreamModel(tmp_path / "m", "late") as model:
        for place, part in enumerate(parts):
            assert model.learn(part, place) == (len(part), 0, False)
            assert model.learn(part, place) == (0, 0, True)
            assert model.learn(parts[0], 0) == (0, 0, True)
        assert (model.position, model.rows) == ({"stream": 7}, 400)
    local = kalmia.LogisticRegression()
    for part in parts:
        local.partial_fit(part[["hour", "dist"]], part["late"], classes=[0, 1])
    found = kalmia.load(tmp_path / "m")
    assert found.coef_ == pytest.approx(local.coef_, rel=1e-12)
    assert found.std_err_ == pytest.approx(local.std_err_, rel=1e-12)
    assert found.progressive_loss_ == pytest.approx(local.progressive_loss_, rel=1e-12)


def test_several_classes_are_learned_once(tmp_path):
    rng = np.random.default_rng(3)
    code = rng.integers(0, 3, 300)
    table = pd.DataFrame({"x": code + rng.normal(0.0, 0.6, 300), "kind": np.array([*"abc"])[code]})
    parts = [table[first : first + 100] for first in (0, 100, 200)]
    for place, part in enumerate(parts):
        with StreamModel(tmp_path / "m", "kind", family="categorical") as model:
            assert model.learn(part, place) == (100, 0, False)
            assert model.learn(part, place) == (0, 0, True)
    local = kalmia.LogisticRegression()
    for part in parts:
        local.partial_fit(part[["x"]], part["kind"], classes=[*"abc"])
    found = kalmia.load(tmp_path / "m")
    assert found.classes_.tolist() == [*"abc"] and found.stream_position_ == {"stream": 2}
    assert found.coef_ == pytest.approx(local.coef_, rel=1e-9)
    assert found.progressive_loss_ == pytest.approx(local.progressive_loss_, rel=1e-9)


def test_a_model_that_is_opened_anew_for_each_batch_has_the_same_bytes(tmp_path):
    parts = batches()
    with StreamModel(tmp_path / "whole", "late") as whole:
        for place, part in enumerate(parts):
            whole.learn(part, place)
    for place, part in enumerate(parts):
        with StreamModel(tmp_path / "parts", "late") as model:
            assert model.position == ({"stream": place - 1} if place else {})
            model.learn(part, place)
    assert (tmp_path / "whole").read_bytes() == (tmp_path / "parts").read_bytes()


def test_each_source_has_its_own_position(tmp_path):
    first, second = batches(100, 50)
    with StreamModel(tmp_path / "m", "late") as model:
        model.learn(first, 10, source="a")
        assert model.learn(second, 3, source="b").rows == 50
        assert model.learn(second, 3, source="b").repeated
        assert model.position == {"a": 10, "b": 3}


def test_gaps_are_refused_if_told(tmp_path):
    first, second = batches(100, 50)
    with StreamModel(tmp_path / "m", "late") as model:
        model.learn(first, 4)
        before = (tmp_path / "m").read_bytes()
        with pytest.raises(InputError, match="has learned 'stream' up to 4, but .* after 6"):
            model.learn(second, 7, after=6)
        assert (tmp_path / "m").read_bytes() == before
        assert model.learn(second, 5, after=4).rows == 50
        assert model.learn(second, 9).rows == 50  # not told


def test_rows_of_any_kind_give_the_same_model(tmp_path):
    table = flights(60)
    records = table.to_dict("records")
    kinds = {
        "pandas": table,
        "index": table.set_axis(np.arange(60) * 2 + 7),
        "arrow": pa.Table.from_pandas(table),
        "batch": pa.RecordBatch.from_pandas(table),
        "reader": pa.Table.from_pandas(table).to_reader(),
        "records": records,
        "json": "\n".join(map(json.dumps, records)).encode(),
    }
    found = {}
    for name, rows in kinds.items():
        with StreamModel(tmp_path / name, "late", family="bernoulli") as model:
            assert model.learn(rows, 0).rows == 60
            assert model.learn(rows if name != "reader" else table, 1).rows == 60
        found[name] = kalmia.load(tmp_path / name)
    for name, model in found.items():
        assert list(model.feature_names_in_) == ["hour", "dist"], name
        assert (model.coef_ == found["pandas"].coef_).all(), name


def test_a_refused_batch_changes_nothing(tmp_path):
    first, second = batches(100, 50)
    bad = second.astype({"hour": float}).copy()
    bad.iloc[6, 0] = np.nan
    with StreamModel(tmp_path / "m", "late") as model:
        model.learn(first, 0)
        before = (tmp_path / "m").read_bytes()
        with pytest.raises(InputError, match="stream at 1, row 7, column `hour`: missing value"):
            model.learn(bad, 1)
        assert (tmp_path / "m").read_bytes() == before
        assert (model.position, model.rows) == ({"stream": 0}, 50)
        assert model.learn(second, 1).rows == 50
    with StreamModel(tmp_path / "skip", "late", missing="skip") as model:
        assert model.learn(bad, 0) == (49, 1, False)


def test_a_new_level_enters_by_name(tmp_path):
    one = pd.DataFrame({"color": ["red", "blue"] * 20, "y": [1.0, 2.0] * 20})
    two = pd.DataFrame({"color": ["green", "red"] * 20, "y": [5.0, 1.1] * 20})
    with StreamModel(tmp_path / "m", "y", family="gaussian") as model:
        model.learn(one, 0)
        model.learn(two, 1)
        assert list(model.estimator().coef_names_) == ["color=blue", "color=green"]


def test_an_empty_batch_moves_the_position(tmp_path):
    table = flights(50)
    with StreamModel(tmp_path / "m", "late") as model:
        assert model.learn(table[:0], 0) == (0, 0, False)
        assert not (tmp_path / "m").exists()
        assert model.learn([], 1, after=0) == (0, 0, False)
        model.learn(table, 2, after=1)
        model.learn(b"", 3, after=2)
        assert model.learn(table, 3).repeated
    with StreamModel(tmp_path / "m") as model:
        assert (model.position, model.rows) == ({"stream": 3}, 50)


def test_the_command_keeps_the_position(run, tmp_path):
    table = flights(100)
    with StreamModel(tmp_path / "m", "late") as model:
        model.learn(table, 41, source="topic/0")
    table.to_csv(tmp_path / "more.csv", index=False)
    run("update", tmp_path / "m", tmp_path / "more.csv", "-o", tmp_path / "m")
    assert "late" in run("inspect", tmp_path / "m")
    with StreamModel(tmp_path / "m") as model:
        assert (model.position, model.rows) == ({"topic/0": 41}, 200)


def test_python_keeps_the_position_too(tmp_path):
    table = flights(100)
    with StreamModel(tmp_path / "m", "late") as model:
        model.learn(table, 41)
    found = kalmia.load(tmp_path / "m")
    assert found.stream_position_ == {"stream": 41}
    found.partial_fit(table[["hour", "dist"]], table["late"])
    found.save(tmp_path / "m")
    with StreamModel(tmp_path / "m", "late") as model:
        assert (model.position, model.rows) == ({"stream": 41}, 200)
    found.fit(table[["hour", "dist"]], table["late"])
    assert not hasattr(found, "stream_position_")


def test_what_it_was_made_with_stays(tmp_path):
    with StreamModel(tmp_path / "m", "late", method="ekf", prior_variance=2.0) as model:
        model.learn(flights(50), 0)
    with StreamModel(tmp_path / "m", "late", method="ekf", prior_variance=2.0) as model:
        assert model.rows == 50
    with pytest.raises(InputError, match=r"made with parameters=\{'prior': 2.0\}, not with"):
        StreamModel(tmp_path / "m", "late", method="ekf")
    with pytest.raises(InputError, match="made with target='late'"):
        StreamModel(tmp_path / "m", "hour", method="ekf", prior_variance=2.0)
    with StreamModel(tmp_path / "m") as model:  # the claim was given up
        assert model.rows == 50


def test_one_process_has_the_file(tmp_path):
    path = tmp_path / "m"
    with StreamModel(path, "late") as model:
        model.learn(flights(50), 0)
        other = "import sys\nfrom kalmia.stream import StreamModel\nStreamModel(sys.argv[1])"
        done = subprocess.run([sys.executable, "-c", other, path], capture_output=True, text=True)
        assert done.returncode == 1
        assert "ModelFileError" in done.stderr and "process" in done.stderr, done.stderr
        model.learn(flights(50), 1)
    done = subprocess.run([sys.executable, "-c", other, path], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_a_file_that_another_program_made_meanwhile_is_not_overwritten(tmp_path):
    with StreamModel(tmp_path / "m", "late") as model:
        (tmp_path / "m").write_bytes(b"theirs")
        with pytest.raises(ModelFileError):
            model.learn(flights(50), 0)
        assert (tmp_path / "m").read_bytes() == b"theirs"


def test_messages(tmp_path):
    with pytest.raises(InputError, match="method is given without target"):
        StreamModel(tmp_path / "m", method="ekf")
    with StreamModel(tmp_path / "m") as model:
        with pytest.raises(InputError, match="does not exist, so it has to be declared"):
            model.learn(flights(50), 0)
        with pytest.raises(StateError, match="does not exist yet"):
            model.estimator()
    with pytest.raises(StateError, match="was closed"):
        model.learn(flights(50), 0)
    with StreamModel(tmp_path / "m", "late") as model, pytest.raises(InputError, match="position"):
        model.learn(flights(50), "1")
    with pytest.raises(InputError, match="'priors' is no keyword here"):
        StreamModel(tmp_path / "m", "late", priors=1.0)
    with pytest.raises(InputError, match="missing is 'drop'"):
        StreamModel(tmp_path / "m", "late", missing="drop")


def test_a_process_killed_at_any_point_loses_and_doubles_nothing(tmp_path):
    """Depends on time: the process is killed wherever it is, eight times while it learns."""
    table, size = flights(4000), 20
    table.to_csv(tmp_path / "rows.csv", index=False)
    arguments = [sys.executable, "-c", CHILD, tmp_path / "m", tmp_path / "rows.csv", str(size)]
    for kill in range(8):
        with subprocess.Popen(arguments, stdout=subprocess.PIPE, text=True) as child:
            for _ in range(3 + kill):
                assert child.stdout.readline(), "it ended before it could be killed"
            os.kill(child.pid, signal.SIGKILL)
    done = subprocess.run(arguments, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    with StreamModel(tmp_path / "whole", "late", family="bernoulli") as whole:
        for place in range(len(table) // size):
            rows = pd.read_csv(tmp_path / "rows.csv")[place * size : (place + 1) * size]
            whole.learn(rows, place, source="file")
        assert whole.rows == len(table)
    assert (tmp_path / "m").read_bytes() == (tmp_path / "whole").read_bytes()
