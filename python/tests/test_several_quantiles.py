"""Several quantiles: in Python, in files of both programs, and as ONNX graphs."""

import io
import json
import pickle

import numpy as np
import onnxruntime
import pandas as pd
import pyarrow as pa
import pytest
from compare import assert_close, assert_same
from sklearn.base import clone
from sklearn.metrics import d2_pinball_score, mean_pinball_loss

import kalmia
from kalmia import InputError, QuantileRegression


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


def test_a_file_of_the_command_predicts_and_goes_on_in_python(fitted, run, tmp_path):
    path, _, rows, predicted = fitted
    model = kalmia.load(path)
    assert model.quantile == [0.1, 0.5, 0.9]
    assert_same(model.predict(rows), predicted.to_numpy())
    again = tmp_path / "again.kalmia"
    model.save(again)
    rows.to_csv(tmp_path / "far.csv", index=False)
    text = run("predict", again, tmp_path / "far.csv")
    assert_same(pd.read_csv(io.StringIO(text)).to_numpy(), predicted.to_numpy())
    model.partial_fit(rows, [0.0, 1.0, 2.0, 3.0, 4.0])
    assert model.n_samples_seen_ == 2005


LEVELS = [0.9, 0.1, 0.5]


def data(size=1500, seed=5):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(size, 3))
    spread = 1.0 + 0.8 * (X[:, 0] > 0.0)
    return X, 1.0 + X @ [1.0, -0.5, 0.2] + spread * rng.gumbel(size=size)


def test_each_level_is_that_of_a_model_of_its_own():
    X, y = data()
    weight = np.random.default_rng(6).uniform(0.5, 2.0, len(y))
    several = QuantileRegression(quantile=LEVELS).fit(X, y, weight)
    alone = [QuantileRegression(quantile=level).fit(X, y, weight) for level in sorted(LEVELS)]
    assert_same(several.quantiles_, [0.1, 0.5, 0.9])
    assert_same(several.coef_, [one.coef_ for one in alone])
    assert_same(several.intercept_, [one.intercept_ for one in alone])
    assert_same(several.std_err_, [one.std_err_ for one in alone])
    assert_same(several.covariance_, [one.covariance_ for one in alone])
    assert_same(several.dispersion_, [one.dispersion_ for one in alone])
    each = np.column_stack([one.predict(X) for one in alone])
    assert_same(several.predict(X), np.sort(each, axis=1))
    ends = several.predict_interval(X, 0.9)
    assert ends.shape == (len(y), 3, 2) and (np.diff(ends, axis=1) >= 0.0).all()
    each = np.stack([one.predict_interval(X, 0.9) for one in alone], axis=1)
    assert_same(ends, np.sort(each, axis=1))
    pairs = zip(several.predict(X).T, sorted(LEVELS))
    expected = np.mean([d2_pinball_score(y, q, alpha=level) for q, level in pairs])
    assert several.score(X, y) == pytest.approx(expected, rel=1e-12)
    assert several.sample_coefficients(5, 1).shape == (5, 3, 4)
    draws = several.sample_predictions(X[:7], 5, 1, of_mean=True)
    assert draws.shape == (5, 7, 3) and (np.diff(draws, axis=2) >= 0.0).all()


def test_predictions_are_judged_together_before_each_row():
    X, y = data()
    model = QuantileRegression(quantile=LEVELS)
    parts = [model.partial_fit_predict(X[i : i + 400], y[i : i + 400]) for i in range(0, 1500, 400)]
    ahead = np.concatenate(parts)
    assert ahead.shape == (1500, 3) and (np.diff(ahead, axis=1) >= 0.0).all()
    found = model.progressive_
    losses = [mean_pinball_loss(y[1:], q[1:], alpha=a) for q, a in zip(ahead.T, [0.1, 0.5, 0.9])]
    assert [level["loss"] for level in found["levels"]] == pytest.approx(losses, rel=1e-9)
    assert model.progressive_loss_ == pytest.approx(np.mean(losses), rel=1e-9)
    below = [(y <= q)[1:].mean() for q in ahead.T]
    assert [level["share_below"] for level in found["levels"]] == pytest.approx(below, rel=1e-12)
    whole = QuantileRegression(quantile=LEVELS, shuffle=False).fit(X, y)
    assert_close(whole.coef_, model.coef_, rtol=1e-9)
    assert whole.progressive_loss_ == pytest.approx(found["loss"], rel=1e-9)
    text = str(model.summary())
    assert "0.1: (intercept)" in text and "0.9: x2" in text and "level 0.5: progressive" in text
    assert model.summary().params["0.5: x1"] == model.coef_[1, 1]
    assert set(model.summary().conf_int(0.5)) == set(model.summary().params)


def test_the_command_learns_the_same_and_reads_the_file(run, tmp_path):
    X, y = data()
    table = pd.DataFrame(X, columns=["a", "b", "c"])
    table.assign(y=y).to_csv(tmp_path / "t.csv", index=False)
    levels = ("--family", "quantile:0.1,0.5,0.9")
    run("fit", tmp_path / "t.csv", "--target", "y", *levels, "-o", tmp_path / "c.kalmia")
    model = QuantileRegression(quantile=[0.1, 0.5, 0.9], shuffle=False).fit(table, y)
    command = kalmia.load(tmp_path / "c.kalmia")
    assert_close(command.coef_, model.coef_, rtol=1e-7)
    assert_close(command.std_err_, model.std_err_, rtol=1e-6)
    assert command.progressive_loss_ == pytest.approx(model.progressive_loss_, rel=1e-9)
    model.save(tmp_path / "p.kalmia")
    again = kalmia.load(tmp_path / "p.kalmia")
    assert again.get_params() == model.get_params()
    files = [tmp_path / name for name in ("c.kalmia", "p.kalmia")]
    texts = [io.StringIO(run("predict", file, tmp_path / "t.csv")) for file in files]
    one, two = (pd.read_csv(text).to_numpy() for text in texts)
    assert_close(one, two, rtol=1e-7)
    run("update", tmp_path / "p.kalmia", tmp_path / "t.csv", "-o", tmp_path / "u.kalmia")
    updated = kalmia.load(tmp_path / "u.kalmia")
    assert_close(updated.coef_, again.partial_fit(table, y).coef_, rtol=1e-10)


def test_graphs_pickles_and_clones(tmp_path):
    X, y = data(600)
    model = QuantileRegression(quantile=LEVELS).fit(X, y)
    model.to_onnx(tmp_path / "m.onnx", offset=True)
    session = onnxruntime.InferenceSession(
        tmp_path / "m.onnx", providers=["CPUExecutionProvider"]
    )
    (mean,) = session.run(["mean"], {"x": X, "offset": np.full((600, 1), 2.0)})
    assert_close(mean, model.predict(X, offset=2.0), rtol=1e-10, atol=1e-12)
    model.to_json(tmp_path / "m.json")
    written = json.loads((tmp_path / "m.json").read_text())
    assert [level["level"] for level in written["levels"]] == [0.1, 0.5, 0.9]
    again = pickle.loads(pickle.dumps(model))
    assert pickle.dumps(again) == pickle.dumps(model)
    assert_same(again.partial_fit(X, y).coef_, model.partial_fit(X, y).coef_)
    assert again.progressive_ == model.progressive_
    assert clone(model).quantile == LEVELS
    assert_same(clone(model).fit(X, y).coef_, QuantileRegression(quantile=LEVELS).fit(X, y).coef_)
    scalar = model.set_params(quantile=0.5).fit(X, y)
    assert scalar.predict(X).shape == (600,) and scalar.coef_.shape == (3,)
    assert "levels" not in scalar.progressive_


def test_a_refused_call_changes_nothing():
    X, y = data(300)
    model = QuantileRegression(quantile=LEVELS).fit(X, y)
    before, scores = model.coef_.copy(), model.progressive_
    with pytest.raises(InputError, match="row 299"):
        model.partial_fit(X, [*y[:-1], 1e200])
    assert_same(model.coef_, before)
    assert model.progressive_ == scores and model.n_samples_seen_ == 300
    for call in (
        lambda: model.polish(X, y),
        lambda: model.merge(model),
        lambda: model.predict(X, return_std=True),
        lambda: model.predict_quantiles(X, 0.5),
    ):
        with pytest.raises(InputError):
            call()
    assert_same(model.coef_, before)


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"quantile": [0.5]}, "quantile has 1 levels: give a number, or a list of 2 to 20"),
        ({"quantile": [0.1, 0.1]}, "quantile has the level 0.1 twice"),
        ({"quantile": [0.1, 1.0]}, "quantile has the level 1.0: levels are numbers between"),
        ({"quantile": [0.1, "high"]}, "quantile has the level 'high'"),
        ({"quantile": [0.1, 0.9], "method": "ekf"}, "learned by method 'auto', not by 'ekf'"),
        ({"quantile": [0.1, 0.9], "conformal": True}, "conformal is for one prediction per row"),
        ({"quantile": [0.1, 0.9], "averaged": True}, "not by 'auto', averaged"),
    ],
)
def test_wrong_levels_are_named(parameters, message):
    model = QuantileRegression(**parameters)
    with pytest.raises(InputError, match=message):
        model.fit([[0.0], [1.0]], [0.0, 1.0])
    assert not hasattr(model, "learners_")


def test_texts_become_levels_and_rows_may_come_as_a_stream():
    X, y = data(400)
    table = pd.DataFrame(X, columns=["a", "b", "c"]).assign(d=np.where(X[:, 0] > 0.0, "u", "v"))
    model = QuantileRegression(quantile=LEVELS).fit(table, y)
    assert model.predict(table).shape == (400, 3) and model.coef_.shape == (3, 4)
    new = table.iloc[:5].assign(d="w")
    model.partial_fit(new, y[:5])
    assert model.coef_.shape == (3, 5) and model.n_samples_seen_ == 405
    batches = pa.Table.from_pandas(table[["a", "b", "c"]]).to_reader(100)
    stream = QuantileRegression(quantile=LEVELS).fit(batches, y)
    rows = QuantileRegression(quantile=LEVELS, shuffle=False).fit(table[["a", "b", "c"]], y)
    assert_close(stream.coef_, rows.coef_, rtol=1e-9)
    assert stream.progressive_loss_ == pytest.approx(rows.progressive_loss_, rel=1e-9)
