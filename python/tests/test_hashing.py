"""The hashers give the matrices of scikit-learn, entry by entry."""

import numpy as np
import pytest
from compare import assert_same
from sklearn.base import clone
from sklearn.feature_extraction import FeatureHasher as TheirHasher
from sklearn.feature_extraction.text import HashingVectorizer
from sklearn.pipeline import make_pipeline

from kalmia import FeatureHasher, LogisticRegression, TextHasher
from kalmia.errors import InputError

DICTS = [
    {"town": "Rome", "age": 31, "größe": 1.75, "zero": 0},
    {"town": "Lyon", "age": -2.5, b"raw": 3, "日本語": "x"},
    {},
    {f"w{k}": k for k in range(200)},
]
TEXTS = [
    "A good, GOOD plot; the plot is good",
    "",
    "Größe und Maß: 12 km/h, it's_fine",
    "日本語 テキスト και ΟΔΟΣ",
    "x y z",
    "one two three four five six one two",
]


def assert_equal(found, expected):
    assert found.shape == expected.shape and found.dtype == expected.dtype
    for part in ("indptr", "indices", "data"):
        assert_same(getattr(found, part), getattr(expected, part))


@pytest.mark.parametrize("signs", [True, False])
@pytest.mark.parametrize("bits", [1, 6, 18, 30])
@pytest.mark.parametrize("kind", ["dict", "pair", "string"])
def test_features_are_those_of_scikit_learn(kind, bits, signs):
    rows = {
        "dict": DICTS,
        "pair": [list(row.items()) for row in DICTS],
        "string": [[str(name) for name in row] for row in DICTS],
    }[kind]
    how = {"n_features": 2**bits, "input_type": kind, "alternate_sign": signs}
    for dtype in (np.float64, np.float32):
        found = FeatureHasher(**how, dtype=dtype).transform(rows)
        assert_equal(found, TheirHasher(**how, dtype=dtype).transform(rows))
    assert_equal(FeatureHasher(**how).fit_transform(iter(rows)), TheirHasher(**how).transform(rows))


@pytest.mark.parametrize("signs", [True, False])
@pytest.mark.parametrize("binary", [True, False])
@pytest.mark.parametrize(
    ("analyzer", "theirs"),
    [
        ("words", {"analyzer": "word", "ngram_range": (1, 1)}),
        ("words:3", {"analyzer": "word", "ngram_range": (1, 3)}),
        ("characters:1-1", {"analyzer": "char_wb", "ngram_range": (1, 1)}),
        ("characters:2-4", {"analyzer": "char_wb", "ngram_range": (2, 4)}),
    ],
)
def test_texts_are_those_of_scikit_learn(analyzer, theirs, binary, signs):
    how = {"n_features": 2**10, "alternate_sign": signs, "binary": binary}
    found = TextHasher(analyzer=analyzer, **how).transform(TEXTS)
    assert_equal(found, HashingVectorizer(norm=None, **theirs, **how).transform(TEXTS))


def test_hashers_are_estimators():
    hasher = FeatureHasher(2**12, input_type="string")
    assert clone(hasher).get_params() == hasher.get_params()
    rows = [["a", "b"], ["c"], ["a", "c"], ["d"]] * 10
    model = make_pipeline(hasher, LogisticRegression()).fit(rows, [1, 0, 1, 0] * 10)
    assert model.predict([["a"]]) == [1]


@pytest.mark.parametrize("n", [0, 1, 3, 1000, 2**31, 2.0, True, "18"])
def test_other_numbers_of_columns_are_refused(n):
    message = r"n_features is .*: give a power of two from 2 to 2\*\*30"
    with pytest.raises(InputError, match=message):
        FeatureHasher(n).transform([{"a": 1}])


@pytest.mark.parametrize(
    ("kind", "rows", "message"),
    [
        ("dict", [{"a": 1}, ["a"]], "row 1 is a list: with input_type=\"dict\" give a dictionary"),
        ("dict", [{3: 1.0}], "row 0 has the feature name 3, which is no text"),
        ("dict", [{"a": None}], 'row 0, feature "a" has the value None: give a number, or a text'),
        ("pair", [["a"]], "row 0 is a list: with input_type=\"pair\" give pairs"),
        ("string", ["abc"], "row 0 is a str: .* use kalmia.TextHasher"),
        ("string", [], "there is no row to hash"),
        ("words", [[]], 'input_type is \'words\': give "dict", "pair" or "string"'),
    ],
)
def test_bad_rows_are_named(kind, rows, message):
    with pytest.raises(InputError, match=message):
        FeatureHasher(input_type=kind).transform(rows)


def test_bad_texts_and_analyzers_are_named():
    with pytest.raises(InputError, match="row 1 is None, which is no text: fill it"):
        TextHasher().transform(["a b", None])
    with pytest.raises(InputError, match="X is a single text"):
        TextHasher().transform("a b")
    with pytest.raises(InputError, match="words:x"):
        TextHasher(analyzer="words:x").transform(["a b"])
