"""Several classes from sparse rows, text and many keys are learned jointly."""

import json
import pickle

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from compare import assert_close, assert_same
from sklearn.metrics import log_loss

import kalmia
from kalmia import InputError, LogisticRegression, StateError
from kalmia._kalmia import ClassLearner
from kalmia.river import Classifier

WIDTH = 3000
NAMES = np.array(["ant", "bee", "cat", "dog"])


def sparse_rows(n=1500, seed=1, classes=4):
    """Rows of ones, most of them in few columns, and classes of a true softmax."""
    rng = np.random.default_rng(seed)
    columns = np.minimum((WIDTH * rng.random((n, 8)) ** 4).astype(int), WIDTH - 1)
    starts = np.arange(0, 8 * n + 1, 8)
    X = sp.csr_matrix((np.ones(8 * n), columns.ravel(), starts), shape=(n, WIDTH))
    X.sum_duplicates()
    linear = X @ np.random.default_rng(0).normal(size=(WIDTH, classes))
    return X, np.argmax(linear + rng.gumbel(size=linear.shape), axis=1)


def texts(n=900, seed=2):
    rng = np.random.default_rng(seed)
    y = rng.integers(3, size=n)
    words = [f"w{int(2000 * rng.random() ** 3)} topic{k} w{rng.integers(50)}" for k in y]
    return pd.DataFrame({"body": words, "hour": rng.integers(24, size=n).astype(float)}), NAMES[y]


def test_one_learner_has_all_classes_and_beats_one_per_class():
    X, y = sparse_rows(3000)
    joint = LogisticRegression(shuffle=False).fit(X, NAMES[y])
    (learner,) = joint.learners_
    assert isinstance(learner, ClassLearner) and learner.method == "wide"
    each = [LogisticRegression(shuffle=False).fit(X, y == k) for k in range(4)]
    X_test, y_test = sparse_rows(2000, seed=5)
    shares = joint.predict_proba(X_test)
    assert_close(shares.sum(axis=1), 1.0, rtol=1e-12)
    apart = np.column_stack([one.predict_proba(X_test)[:, 1] for one in each])
    apart /= apart.sum(axis=1, keepdims=True)
    assert log_loss(y_test, shares) < log_loss(y_test, apart)
    assert log_loss(y_test, shares) < 0.9 * np.log(4)
    assert (joint.predict(X_test) == NAMES[shares.argmax(axis=1)]).all()


def test_batches_are_the_whole_and_means_come_before_learning():
    X, y = sparse_rows()
    whole = LogisticRegression(shuffle=False).fit(X, y)
    parts = LogisticRegression(shuffle=False)
    found = []
    for part in np.split(np.arange(len(y)), [1, 100, 700]):
        known = {} if found else {"classes": range(4)}
        if found:
            before = parts.predict_proba(X[part[:1]])
        means = parts.partial_fit_predict(X[part], y[part], **known)
        if found:
            assert_close(means[0], before[0], rtol=1e-9)
        found.append(means)
    assert_same(parts.coef_, whole.coef_)
    assert_close(log_loss(y, np.vstack(found)), whole.progressive_loss_, rtol=1e-9)


def test_coefficients_are_log_odds_by_column():
    X, y = sparse_rows()
    model = LogisticRegression().fit(X, NAMES[y])
    assert model.coef_.shape == (4, WIDTH) and model.std_err_.shape == (4, WIDTH + 1)
    assert (model.coef_[0] == 0).all() and model.covariance_ is None
    unseen = np.flatnonzero(np.asarray(X.sum(axis=0))[0] == 0)
    assert (model.coef_[:, unseen] == 0).all() and np.isnan(model.std_err_[:, unseen + 1]).all()
    table = model.summary()
    assert any(name.startswith("bee: x") for name in table.params)
    for name, value in list(table.params.items())[3:6]:
        label, column = name.split(": x")
        assert_close(value, model.coef_[list(NAMES).index(label), int(column)], rtol=1e-12)
    low, high = np.moveaxis(model.predict_interval(X[:5]), 2, 0)
    assert (low < high).all() and low.shape == (5, 4)
    _, std = model.predict(X[:5], return_std=True)
    assert (std > 0).all()


@pytest.mark.parametrize("kind", ["sparse", "text"])
def test_files_pickles_and_more_rows(kind, tmp_path):
    X, y = sparse_rows() if kind == "sparse" else texts()
    model = LogisticRegression(text=None if kind == "sparse" else ["body"]).fit(X, y)
    model.save(tmp_path / "m.kalmia")
    for again in (kalmia.load(tmp_path / "m.kalmia"), pickle.loads(pickle.dumps(model))):
        assert_same(again.predict_proba(X), model.predict_proba(X))
        assert_same(again.coef_, model.coef_)
        again.partial_fit(X[:50], y[:50])
        assert again.n_samples_seen_ == model.n_samples_seen_ + 50
    assert isinstance(model.learners_[0], ClassLearner)
    assert model.score(X, y) > 0.5


def test_the_command_and_python_have_the_same_model(run, tmp_path):
    table, y = texts()
    table.assign(topic=y).to_csv(tmp_path / "t.csv", index=False)
    run("fit", tmp_path / "t.csv", "-t", "topic", "--text", "body", "-o", tmp_path / "c.kalmia")
    loaded = kalmia.load(tmp_path / "c.kalmia")
    own = LogisticRegression(text=["body"], shuffle=False)
    own.fit(table, y)
    # numbers of single precision, in another build
    assert_close(loaded.predict_proba(table), own.predict_proba(table), rtol=0.01, atol=1e-5)
    own.save(tmp_path / "p.kalmia")
    table.assign(y=y).to_csv(tmp_path / "y.csv", index=False)
    found = json.loads(run("evaluate", tmp_path / "p.kalmia", tmp_path / "y.csv", "--json"))
    assert_close(found["accuracy"], own.score(table, y), rtol=1e-12)


def test_a_refused_call_changes_nothing():
    X, y = sparse_rows(600)
    model = LogisticRegression().fit(X, y)
    before = pickle.dumps(model.learners_)
    bad = X[:5].copy()
    bad.data[3] = np.nan
    with pytest.raises(InputError, match="missing value"):
        model.partial_fit(bad, y[:5])
    with pytest.raises(InputError, match="is not among the classes"):
        model.partial_fit(X[:1], [9])
    with pytest.raises(InputError, match="takes no offset"):
        model.partial_fit(X[:5], y[:5], offset=np.ones(5))
    with pytest.raises(StateError, match="draws no coefficients"):
        model.sample_coefficients(2)
    assert pickle.dumps(model.learners_) == before


def test_river_learns_labels_of_many_keys_jointly(tmp_path):
    rng = np.random.default_rng(3)
    rows = []
    for k in range(1200):
        label = ["a", "b", "c", "d"][rng.integers(4 if k > 400 else 3)]
        key = f"is {label}" if rng.random() < 0.8 else "is any"
        rows.append(({key: 1.0, f"w{int(3000 * rng.random() ** 3)}": 1.0}, label))
    model = Classifier(method="wide")
    loss = 0.0
    for x, label in rows:
        loss -= np.log(model.predict_proba_one(x).get(label, 0.25)) / len(rows)
        model.learn_one(x, label)
    assert loss < 0.8 * np.log(4)
    (learner,) = model.learners_
    assert isinstance(learner, ClassLearner) and learner.method == "wide"
    assert set(model.classes_) == {"a", "b", "c", "d"} and model.n_samples_seen_ == 1200
    first = model.classes_[0]
    assert set(model.weights[first].values()) == {0.0}
    assert all(model.weights[k][f"is {k}"] > 0.5 for k in model.classes_ if k != first)
    ends = model.predict_interval_one({"is a": 1.0})
    assert all(0 <= low < high <= 1 for low, high in ends.values())
    model.save(tmp_path / "r.kalmia")
    for again in (Classifier.load(tmp_path / "r.kalmia"), pickle.loads(pickle.dumps(model))):
        assert again.predict_proba_one(rows[0][0]) == model.predict_proba_one(rows[0][0])
        again.learn_one({"new key": 1.0}, "e")
        assert "e" in again.classes_
    before = pickle.dumps(model)
    with pytest.raises(InputError):
        model.learn_one({"other": float("nan")}, "f")
    assert pickle.dumps(model) == before
    # a table is learned as its rows are
    by_row, by_table = Classifier(method="wide"), Classifier(method="wide")
    table = pd.DataFrame({"a": [1.0, 0.0, 2.0, 1.0], "b": [0.0, 1.0, 1.0, 3.0]})
    for x, label in zip(table.to_dict("records"), "xyzx"):
        by_row.learn_one(x, label)
    by_table.learn_many(table, pd.Series(list("xyzx")))
    assert_close(by_table.predict_proba_many(table), by_row.predict_proba_many(table), rtol=1e-12)
