"""Several quantiles of the command: their ONNX graph, and what `kalmia.load` says of them."""

import io
import json

import numpy as np
import onnxruntime
import pandas as pd
import pytest
from compare import assert_close, assert_same

import kalmia
from kalmia.errors import ModelFileError


@pytest.fixture(scope="module")
def fitted(run, tmp_path_factory):
    """A model of three levels with an offset, its graph, and rows far outside the data."""
    rng = np.random.default_rng(3)
    a, o = rng.uniform(size=2000), rng.normal(size=2000)
    y = 1.0 + 2.0 * a + o + (1.0 + 3.0 * a) * rng.exponential(size=2000)
    folder = tmp_path_factory.mktemp("quantiles")
    data, far, model, graph = (folder / n for n in ("t.csv", "far.csv", "m.kalmia", "m.onnx"))
    pd.DataFrame({"a": a, "o": o, "y": y}).to_csv(data, index=False)
    rows = pd.DataFrame({"a": [-1e4, -50.0, 0.3, 0.9, 1e4], "o": [0.5, 0.0, -1.0, 2.0, 0.0]})
    rows.to_csv(far, index=False)
    levels = ("--family", "quantile:0.1,0.5,0.9", "--offset", "o")
    run("fit", data, "--target", "y", *levels, "-o", model)
    run("export", model, "--format", "onnx", "-o", graph)
    return model, graph, rows, pd.read_csv(io.StringIO(run("predict", model, far)))


def test_the_graph_sorts_the_levels_as_the_command(fitted):
    _, graph, rows, predicted = fitted
    session = onnxruntime.InferenceSession(graph, providers=["CPUExecutionProvider"])
    texts = session.get_modelmeta().custom_metadata_map
    assert json.loads(texts["levels"]) == [0.1, 0.5, 0.9] and texts["link"] == "identity"
    inputs = {"x": rows[["a"]].to_numpy(), "offset": rows[["o"]].to_numpy()}
    linear, mean = session.run(["linear", "mean"], inputs)
    assert list(predicted.columns) == ["q0.1", "q0.5", "q0.9"]
    assert linear.shape == mean.shape == (5, 3)
    assert (np.diff(linear[0]) < 0.0).all()  # the lines have crossed
    assert_same(mean, np.sort(linear, axis=1))
    assert_close(mean, predicted.to_numpy(), rtol=1e-10, atol=1e-12)


def test_load_says_where_such_a_file_can_be_used(fitted):
    with pytest.raises(ModelFileError, match=r"several quantiles.*`kalmia predict`.*per level"):
        kalmia.load(fitted[0])
