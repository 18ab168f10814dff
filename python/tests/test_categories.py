"""Text and category columns are coded by the command's encoder, in every kind of table."""

import copy
import pickle

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from compare import assert_close, assert_same
from sklearn.base import clone
from sklearn.model_selection import cross_val_score

import kalmia
from kalmia import InputError, LinearRegression, LogisticRegression

RNG = np.random.default_rng(5)
ROWS = 600
COLORS = np.array(["red", "green", "blue"])
TABLE = pd.DataFrame(
    {
        "color": RNG.choice(COLORS, ROWS),
        "size": RNG.normal(5.0, 2.0, ROWS),
        "shop": RNG.choice(["north", "south"], ROWS),
        "open": RNG.random(ROWS) < 0.5,
    }
)
Y = (
    TABLE["size"]
    + 2.0 * (TABLE["color"] == "red")
    - (TABLE["shop"] == "south")
    + 0.5 * TABLE["open"]
    + RNG.normal(size=ROWS)
).to_numpy()
LABELS = np.where(Y > np.median(Y), "dear", "cheap")


def coded(table, levels):
    """The columns that the encoder makes: numbers first, then levels as they appear."""
    columns = [table["size"], table["open"], *(table[c] == v for c, v in levels)]
    return np.column_stack(columns).astype(float)


def levels_of(table):
    """Column and value of each level but the first of its column, in order of appearance."""
    seen, found = {"color": set(), "shop": set()}, []
    for _, row in table.iterrows():
        for column in ("color", "shop"):
            if row[column] not in seen[column]:
                if seen[column]:
                    found.append((column, row[column]))
                seen[column].add(row[column])
    return found


LEVELS = levels_of(TABLE)
NAMES = ["size", "open", *(f"{column}={value}" for column, value in LEVELS)]


@pytest.mark.parametrize(
    "kind", ["str", "object", "string", "category", "polars", "polars category", "arrow", "reader"]
)
def test_texts_are_the_columns_that_the_encoder_makes(kind):
    texts = ["color", "shop"]
    as_type = {name: kind for name in texts}
    table = {
        "str": lambda: TABLE,
        "object": lambda: TABLE.astype({name: object for name in texts}),
        "string": lambda: TABLE.astype(as_type),
        "category": lambda: TABLE.astype(as_type),
        "polars": lambda: pl.from_pandas(TABLE),
        "polars category": lambda: pl.from_pandas(TABLE).with_columns(
            pl.col(texts).cast(pl.Categorical)
        ),
        "arrow": lambda: pa.Table.from_pandas(TABLE),
        "reader": lambda: pa.Table.from_pandas(TABLE).to_reader(max_chunksize=100),
    }[kind]
    plain = LinearRegression().fit(coded(TABLE, LEVELS), Y)
    model = LinearRegression().fit(table(), Y)
    assert list(model.coef_names_) == NAMES
    assert list(model.feature_names_in_) == list(TABLE.columns) and model.n_features_in_ == 4
    assert_same(model.coef_, plain.coef_)
    assert_same(model.predict(table()), plain.predict(coded(TABLE, LEVELS)))
    assert [row[0] for row in model.summary().rows] == ["(intercept)", *NAMES]
    labels = LogisticRegression().fit(table(), LABELS)
    assert_same(
        labels.predict_proba(table()),
        LogisticRegression().fit(coded(TABLE, LEVELS), LABELS).predict_proba(coded(TABLE, LEVELS)),
    )


def test_the_command_learns_the_same(run, tmp_path):
    path = tmp_path / "shop.csv"
    TABLE.assign(y=Y).to_csv(path, index=False)
    run("fit", path, "--target", "y", "-o", tmp_path / "command.kalmia")
    command = kalmia.load(tmp_path / "command.kalmia")
    model = LinearRegression(shuffle=False).fit(TABLE, Y)
    assert list(command.coef_names_) == NAMES
    assert_close(model.coef_, command.coef_, rtol=1e-8)
    model.save(tmp_path / "python.kalmia")
    run("predict", tmp_path / "python.kalmia", path, "-o", tmp_path / "p.csv")
    assert_close(pd.read_csv(tmp_path / "p.csv")["mean"], model.predict(TABLE), rtol=1e-8)


@pytest.mark.parametrize("classes", [0, 2, 3])
@pytest.mark.parametrize("method", ["auto", "ekf"])
def test_new_levels_in_partial_fit_are_those_of_one_fit(method, classes):
    late = TABLE.sort_values("color", kind="stable", ignore_index=True)
    y = Y if classes == 0 else np.digitize(Y, np.quantile(Y, [0.5] if classes == 2 else [0.3, 0.7]))
    kind = LinearRegression if classes == 0 else LogisticRegression
    known = {} if classes == 0 else {"classes": range(classes)}
    whole = kind(method, shuffle=False, drift="off" if method == "auto" else None).fit(late, y)
    parts = kind(method, drift="off" if method == "auto" else None)
    for first in range(0, ROWS, 150):
        rows = slice(first, first + 150)
        parts.partial_fit(late[rows], y[rows], **known)
    assert list(parts.coef_names_) == list(whole.coef_names_)
    assert len(parts.coef_names_) == 5
    assert_close(parts.coef_, whole.coef_, rtol=1e-6, atol=1e-8)
    assert_close(parts.std_err_, whole.std_err_, rtol=1e-6)


def test_a_refused_call_with_a_new_level_changes_nothing():
    model = LinearRegression().fit(TABLE, Y)
    before = pickle.dumps(model)
    new = TABLE[:5].assign(color="violet")
    with pytest.raises(InputError, match="row 3"):
        model.partial_fit(new, [1.0, 2.0, 3.0, 1e200, 5.0])
    assert pickle.dumps(model) == before
    model.partial_fit(new, Y[:5])
    assert model.coef_names_[-1] == "color=violet"


def test_an_unseen_level_has_the_variance_of_the_prior():
    model = LinearRegression("ekf", prior_variance=7.0, noise_variance=0.5).fit(TABLE, Y)
    base = TABLE["color"][0]
    rows = pd.concat([TABLE[:1].assign(color=base), TABLE[:1].assign(color="violet")])
    (known, unseen), (low, high) = model.predict(rows, return_std=True)
    assert known == unseen
    assert_close(high**2 - low**2, 7.0, rtol=1e-9)
    widths = np.diff(LinearRegression().fit(TABLE, Y).predict_interval(rows))[:, 0]
    assert widths[1] > widths[0]


def test_models_with_levels_are_stored(tmp_path):
    for model, y in [(LinearRegression(), Y), (LogisticRegression(), LABELS)]:
        model.fit(TABLE[:300], y[:300])
        model.save(tmp_path / "x.kalmia")
        copies = [
            pickle.loads(pickle.dumps(model)),
            copy.deepcopy(model),
            kalmia.load(tmp_path / "x.kalmia"),
        ]
        new = TABLE[300:].assign(color=np.where(TABLE["color"][300:] == "red", "pink", "red"))
        model.partial_fit(new, y[300:])
        for one in copies:
            one.partial_fit(new, y[300:])
            assert_same(one.coef_, model.coef_)
            assert_same(one.predict(new), model.predict(new))
            assert list(one.coef_names_) == list(model.coef_names_)
        fresh = clone(model)
        assert not hasattr(fresh, "schema_") and fresh.get_params() == model.get_params()
        assert cross_val_score(fresh, TABLE, y, cv=3).mean() > 0.7


def test_columns_must_stay_those_of_the_fit():
    model = LinearRegression().fit(TABLE, Y)
    for wrong in (TABLE[TABLE.columns[::-1]], TABLE.assign(more=1.0), TABLE.drop(columns="shop")):
        with pytest.raises(ValueError, match="feature names"):
            model.predict(wrong)
        with pytest.raises(InputError, match="select these columns in this order"):
            model.predict(pl.from_pandas(wrong))
    with pytest.raises(InputError, match="give a table of pandas or polars, or an Arrow stream"):
        model.predict(np.zeros((2, 4)))
    with pytest.raises(InputError, match="column `size`, row 1: `big` is not a number"):
        model.predict(TABLE[:2].assign(size=["1", "big"]))
    with pytest.raises(InputError, match="column `color` has a missing value in row 1: fill it"):
        model.predict(TABLE[:2].assign(color=["red", None]))
    # a model of numbers says which column has become text
    numbers = LinearRegression().fit(TABLE[["size"]], Y)
    with pytest.raises(InputError, match="column 'size' holds 'big' in row 0, which is no number"):
        numbers.predict(pd.DataFrame({"size": ["big"]}))


@pytest.mark.parametrize("kind", [object, str])
def test_texts_in_arrays_are_refused_with_their_place(kind):
    X = np.array([[1, "2"], [3, "u"]], dtype=kind)
    for table in (X, X.tolist()):
        with pytest.raises(InputError, match="X holds the text 'u' in row 1, column 1: arrays"):
            LinearRegression().fit(table, [0.0, 1.0])
    # texts that are numbers are numbers in an array
    LinearRegression().fit(np.array([["1", "2"], ["3", "4.5"]], dtype=kind), [0.0, 1.0])


def test_columns_of_mixed_values_are_named():
    mixed = pd.DataFrame({"a": [1.0, 2.0], "b": np.array([1, "u"], dtype=object)})
    with pytest.raises(InputError, match="column 'b' mixes numbers with texts, such as 'u' in row"):
        LinearRegression().fit(mixed, [0.0, 1.0])


def test_methods_of_fixed_size_refuse_a_new_level():
    model = LogisticRegression("ons").fit(TABLE, LABELS)
    with pytest.raises(InputError, match="the level 'color=violet' is new, and .*fixed number"):
        model.partial_fit(TABLE[:5].assign(color="violet"), LABELS[:5])


def test_a_column_with_a_level_per_row_is_reported():
    table = TABLE.assign(name=[f"row {i}" for i in range(ROWS)])[:80]
    with pytest.warns(UserWarning, match="column 'name' has 80 levels, one coefficient each"):
        LinearRegression("ekf").fit(table, Y[:80])


def interleaved(rows=400):
    """Two categories whose levels appear in turn."""
    place = np.arange(rows)
    return pd.DataFrame(
        {
            "size": RNG.normal(size=rows),
            "town": np.array(["Ulm", "Bonn", "Kiel"])[np.minimum(place // 2, place % 3)],
            "color": np.array(["red", "blue", "pink"])[np.minimum(place, place % 3)],
        }
    )


@pytest.mark.parametrize(
    "model",
    [
        LinearRegression(),
        LogisticRegression(),
        kalmia.OrdinalRegression(),
        kalmia.QuantileRegression(quantile=[0.2, 0.8]),
    ],
)
def test_a_summary_prints_the_levels_of_a_column_side_by_side(model):
    table = interleaved()
    y = RNG.integers(0, 4, len(table))
    model.fit(table, y)
    summary = model.summary()
    expected = ["size", "town=Bonn", "town=Kiel", "color=blue", "color=pink"]
    words = [word for line in str(summary).splitlines() for word in line.split()]
    printed = [word for word in words if word in expected]
    assert printed == expected * (len(printed) // 5) and printed
    assert all(name in summary._repr_html_() for name in expected)
    # what is computed keeps the order of the coefficients
    assert list(model.coef_names_) != expected and sorted(model.coef_names_) == sorted(expected)
    names = [name.split(": ")[-1] for name in summary.params]
    first = [name for name in names if name in expected][:5]
    assert first == list(model.coef_names_)
    assert list(summary.cov_params().columns) == list(summary.params)
    assert list(summary.conf_int(0.5)) == list(summary.params)


def test_new_levels_add_no_class_to_a_model_of_the_command(run, tmp_path):
    table = interleaved()
    table["fruit"] = RNG.choice(["pear", "apple", "fig"], len(table))
    table.to_csv(tmp_path / "t.csv", index=False)
    path = tmp_path / "m.kalmia"
    run("fit", tmp_path / "t.csv", "-t", "fruit", "-o", path)
    model = kalmia.load(path)
    more = table.head(50).assign(town="Jena")
    model.partial_fit(more.drop(columns="fruit"), more["fruit"])
    assert model.schema_.classes is None or "1" not in model.schema_.classes
    assert list(model.classes_) == ["apple", "fig", "pear"]
    model.save(path)
    assert list(kalmia.load(path).classes_) == ["apple", "fig", "pear"]
    run("update", path, tmp_path / "t.csv")
    assert "apple, fig, pear" in run("inspect", path)
    assert "town=Jena" in run("inspect", path)
