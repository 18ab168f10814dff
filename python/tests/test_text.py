"""Tables with text: one model of numbers, categories and words, which is that of the command."""

import json

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp
from compare import assert_close, assert_same
from sklearn.datasets import dump_svmlight_file

import kalmia
from kalmia import LinearRegression, LogisticRegression
from kalmia.errors import InputError

WORDS = "good bad fine plot actor long short dull bright music scene story".split()


def table(n=400, seed=5):
    rng = np.random.default_rng(seed)
    texts = [" ".join(rng.choice(WORDS, rng.integers(1, 8))) for _ in range(n)]
    frame = pd.DataFrame(
        {
            "age": rng.integers(18, 90, n).astype(float),
            "town": rng.choice(["Rome", "Lyon", "Oslo"], n),
            "review": texts,
        }
    )
    score = frame["age"] / 40.0 + (frame["town"] == "Lyon")
    score += [3.0 * ("good" in text.split()) - 3.0 * ("bad" in text.split()) for text in texts]
    return frame, np.where(score + rng.normal(size=n) > 1.8, "yes", "no")


SETTINGS = [
    ({}, []),
    ({"analyzer": "words:2"}, ["--analyzer", "words:2"]),
    ({"analyzer": "characters:2-4"}, ["--analyzer", "characters:2-4"]),
    ({"hash_bits": 10}, ["--hash", "10"]),
    ({"method": "wide", "drift": "off"}, ["--method", "wide", "--drift", "off"]),
]


@pytest.mark.parametrize(("how", "options"), SETTINGS)
def test_a_table_with_text_is_the_model_of_the_command(run, tmp_path, how, options):
    frame, y = table()
    data, path = tmp_path / "data.csv", tmp_path / "model.kalmia"
    frame.assign(liked=y).to_csv(data, index=False)
    run("fit", data, "-t", "liked", "--text", "review", "-o", path, "-q", *options)
    model = LogisticRegression(text=["review"], shuffle=False, **how).fit(frame, y)
    theirs = kalmia.load(path)
    assert model.learners_[0].method == theirs.learners_[0].method == "wide"
    assert_same(model.coef_, theirs.coef_)
    assert list(model.coef_names_) == list(theirs.coef_names_)
    assert model.progressive_loss_ == pytest.approx(theirs.progressive_loss_, rel=1e-12)
    new, _ = table(50, seed=6)
    assert_close(model.predict_proba(new), theirs.predict_proba(new), rtol=1e-12)
    assert theirs.get_params()["text"] == ["review"]
    # and the other way round: the command predicts by the file of Python
    mine, rows = tmp_path / "mine.kalmia", tmp_path / "new.csv"
    model.save(mine)
    new.to_csv(rows, index=False)
    printed = run("predict", mine, rows, "-q")
    lines = pd.read_csv(pd.io.common.StringIO(printed))
    column = next(name for name in lines.columns if lines[name].dtype == float)
    assert_close(lines[column], model.predict_proba(new)[:, 1], rtol=1e-9)


def test_numbers_categories_and_words_are_one_model(tmp_path):
    frame, y = table()
    model = LogisticRegression(text="review").fit(frame, y)
    names = list(model.coef_names_)
    assert "age" in names and sum(name.startswith("town=") for name in names) == 2
    words = {name.removeprefix("review=") for name in names if name.startswith("review=")}
    assert words == set(WORDS)
    assert model.coef_.shape == (1, len(names)) and model.n_features_seen_ == len(names)
    assert model.n_features_in_ == 3 and len(model.std_err_) == len(names) + 1
    assert model.score(frame, y) > 0.8
    for other in (pl.from_pandas(frame), pl.from_pandas(frame).to_arrow()):
        assert_same(LogisticRegression(text="review").fit(other, y).coef_, model.coef_)
        assert_same(model.predict(other), model.predict(frame))
    path = tmp_path / "model.kalmia"
    model.save(path)
    again = kalmia.load(path)
    assert_close(again.predict_proba(frame), model.predict_proba(frame), rtol=1e-12)
    assert again.get_params() == model.get_params()
    again.partial_fit(frame.assign(town="Bergen", review="unheard words"), y)
    assert "town=Bergen" in list(again.coef_names_)
    model.to_json(tmp_path / "model.json")
    stored = json.loads((tmp_path / "model.json").read_text())
    assert [one["name"] for one in stored["coefficients"]] == ["(intercept)", *names]
    with pytest.raises(InputError, match="a wide model has no ONNX graph"):
        model.to_onnx(tmp_path / "model.onnx")


def test_refused_tables_change_nothing():
    frame, y = table()
    model = LogisticRegression(text=["review"]).fit(frame, y)
    before = model.coef_
    bad = frame.copy()
    bad.loc[7, "review"] = None
    with pytest.raises(InputError, match="column `review` has a missing value in row 7"):
        model.partial_fit(bad, y)
    with pytest.raises(ValueError, match="feature names"):
        model.partial_fit(frame.rename(columns={"age": "years"}), y)
    assert_same(model.coef_, before)


def test_illegal_settings_say_what_to_do():
    frame, y = table()
    fit = lambda X=frame, **how: LogisticRegression(**how).fit(X, y)
    with pytest.raises(InputError, match="text names the column 'body', which the table lacks"):
        fit(text=["body"])
    with pytest.raises(InputError, match="the column 'age', which holds no texts"):
        fit(text=["age"])
    with pytest.raises(InputError, match="text is for tables, but X is a ndarray: give a table"):
        fit(np.eye(400), text=["review"])
    with pytest.raises(InputError, match="hash_bits is for tables, but X is a csr_matrix"):
        fit(sp.csr_matrix(np.eye(400)), hash_bits=10)
    with pytest.raises(InputError, match="method 'ekf' takes no text and no hashed features"):
        fit(method="ekf", text=["review"])
    with pytest.raises(InputError, match="hash_bits is 31: give a whole number from 1 to 30"):
        fit(text=["review"], hash_bits=31)
    with pytest.raises(InputError, match="sentences"):
        fit(text=["review"], analyzer="sentences")
    model = fit(text=["review"])
    model.analyzer = "words:2"
    with pytest.raises(InputError, match="analyzer was 'words' when the model was fitted"):
        model.partial_fit(frame, y)


def test_a_libsvm_model_of_the_command_takes_sparse_matrices(run, tmp_path):
    rng = np.random.default_rng(0)
    X = sp.random(500, 40_000, 0.001, format="csr", random_state=1)
    # numbers that the file holds exactly: it has 16 significant digits
    X.data = np.ceil(8.0 * X.data) / 8.0
    y = np.round(8.0 * (rng.normal(size=500) + np.asarray(X.sum(axis=1)).ravel())) / 8.0
    data, path = tmp_path / "data.libsvm", tmp_path / "model.kalmia"
    dump_svmlight_file(X, y, str(data), zero_based=True)
    run("fit", data, "--family", "gaussian", "-o", path, "-q")
    theirs = kalmia.load(path)
    model = LinearRegression(shuffle=False).fit(X, y)
    assert theirs.learners_[0].method == model.learners_[0].method == "wide"
    width = len(theirs.coef_)
    assert_same(model.coef_[:width], theirs.coef_)
    assert_close(theirs.predict(X), model.predict(X), rtol=1e-12)
    padded = sp.hstack([X[:, :100], X[:, :100] * 0])
    assert_close(theirs.predict(X[:, :100]), theirs.predict(padded))
    assert list(theirs.summary().params)[1].isdecimal()
    theirs.partial_fit(X, y)
    mine = tmp_path / "mine.kalmia"
    model.save(mine)
    printed = run("predict", mine, data, "-q")
    lines = pd.read_csv(pd.io.common.StringIO(printed))
    column = next(name for name in lines.columns if "mean" in name or "predict" in name)
    assert_close(lines[column], model.predict(X), rtol=1e-9, atol=1e-12)
