"""Copies, pickles and files of River's classifier with labels that are learned jointly."""

import copy
import json
import pickle
from pathlib import Path

import pandas as pd
import pytest
from compare import assert_close, assert_same
from labelled import learned, same_probabilities, softmax_stream, table
from sklearn.datasets import load_iris

import kalmia
from kalmia.river import Classifier

DATA = Path(__file__).parent / "data"


def test_copies_and_pickles_go_on_by_themselves():
    rows = list(softmax_stream(300))
    model = learned(Classifier(), rows[:200])
    before = pickle.dumps(model)
    others = [copy.deepcopy(model), pickle.loads(before)]
    more = [*rows[200:], ({"c": 1.0}, "new")]
    for other in others:
        learned(other, more)
    assert pickle.dumps(model) == before
    learned(model, more)
    for other in others:
        assert pickle.dumps(other) == pickle.dumps(model)
    assert model.clone().classes_ == []


@pytest.mark.parametrize("kinds", [("x", "y", "z"), (2, 10, 9), (1.5, 3.0), ("only",)], ids=str)
def test_the_command_reads_and_updates_a_file(kinds, run, tmp_path):
    file, data = tmp_path / "m.kalmia", tmp_path / "t.csv"
    rows = list(softmax_stream(60, labels=kinds))
    model = learned(Classifier(), rows)
    model.save(file)
    frame, _ = table(rows)
    frame.to_csv(data, index=False)
    run("predict", file, data, "--output", tmp_path / "p.csv")
    found = pd.read_csv(tmp_path / "p.csv")
    assert {f"p_{label}" for label in kinds} == set(found) - {"predicted"}
    for label, column in model.predict_proba_many(frame).items():
        assert_close(found[f"p_{label}"], column, rtol=1e-9)
    # the command learns a label that the model did not know
    new = "new" if isinstance(kinds[0], str) else 77
    labels = [kinds[0], new, kinds[0]]
    frame[:3].assign(y=labels).to_csv(data, index=False)
    run("update", file, data)
    again = Classifier.load(file)
    learned(model, zip([x for x, _ in rows[:3]], labels, strict=True))
    assert again.classes_ == model.classes_ and new in again.classes_
    same_probabilities(again, model, {"a": 1.0, "b": -5.0})


def test_a_file_keeps_labels_of_several_types(tmp_path):
    path = tmp_path / "m.kalmia"
    model = learned(Classifier(), softmax_stream(50, labels=("t", 3, True)))
    model.save(path)
    again = kalmia.load(path)
    assert [(type(one), one) for one in again.classes_] == [
        (type(one), one) for one in model.classes_
    ]
    same = learned(Classifier(), softmax_stream(50, labels=(1, "1")))
    with pytest.raises(kalmia.InputError, match="the classes cannot be stored"):
        same.save(path)
    assert kalmia.load(path).classes_ == model.classes_


def unpickled(path):
    """The model of a file as a pickle of the same version has it, without the joint learner."""
    model = kalmia.load(path)
    del model._joint, model._labels
    return pickle.loads(pickle.dumps(model))


def test_files_of_one_learner_per_label_go_on_as_they_did(tmp_path):
    """The file is of the version before labels were learned jointly."""
    expected = json.loads((DATA / "river-one-per-label.json").read_text())
    for load in (Classifier.load, kalmia.load, unpickled):
        model = load(DATA / "river-one-per-label.kalmia")
        assert model.classes_ == ["z", "y", "x"] and len(model.learners_) == 3
        for x, y in expected["more"]:
            model.learn_one(x, y)
        found = model.predict_proba_one(expected["probe"])
        assert list(found) == list(expected["probabilities"])
        for label, chance in expected["probabilities"].items():
            assert found[label] == pytest.approx(chance, rel=1e-9)
        model.save(tmp_path / "again.kalmia")
        assert Classifier.load(tmp_path / "again.kalmia").weights == model.weights


def test_estimators_and_river_models_refuse_each_others_files(tmp_path):
    path = tmp_path / "m.kalmia"
    X, y = load_iris(return_X_y=True)
    kalmia.LogisticRegression().fit(X, y).save(path)
    with pytest.raises(kalmia.ModelFileError, match="holds no River model: use kalmia.load"):
        Classifier.load(path)
    model = learned(Classifier(), softmax_stream(30))
    model.save(path)
    with pytest.raises(kalmia.ModelFileError, match="holds a Classifier and no Regressor"):
        kalmia.river.Regressor.load(path)
    assert_same(
        list(Classifier.load(path).predict_proba_one({"a": 1.0}).values()),
        list(model.predict_proba_one({"a": 1.0}).values()),
    )
