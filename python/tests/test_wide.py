"""Wide models: sparse rows reach the learner as they are, and estimators work as usual."""

import pickle
import subprocess
import sys
import textwrap

import numpy as np
import pytest
import scipy.sparse as sp
from compare import assert_close, assert_same
from sklearn.base import clone
from sklearn.metrics import log_loss
from test_memory import LIMIT

import kalmia
from kalmia import (
    GammaRegression,
    LinearRegression,
    LogisticRegression,
    PoissonRegression,
    StateError,
)
from kalmia._kalmia import WideRows, model
from kalmia._wide import sparse_rows
from kalmia.errors import InputError

WIDTH = 3000


def rows(n=600, width=WIDTH, entries=8, seed=1):
    """Rows of ones, most of them in few columns, and a linear predictor."""
    rng = np.random.default_rng(seed)
    columns = np.minimum((width * rng.random((n, entries)) ** 4).astype(int), width - 1)
    X = sp.csr_matrix(
        (np.ones(n * entries), columns.ravel(), np.arange(0, n * entries + 1, entries)),
        shape=(n, width),
    )
    X.sum_duplicates()
    weights = rng.normal(size=width) * (rng.random(width) < 0.5)
    return X, X @ weights / 2.0, rng


def labels(**how):
    X, linear, rng = rows(**how)
    return X, (linear + rng.logistic(size=len(linear)) > 0).astype(int)


def targets(kind):
    X, linear, rng = rows()
    if kind is LogisticRegression:
        return X, (linear > 0).astype(int)
    if kind is PoissonRegression:
        return X, rng.poisson(np.exp(np.clip(linear, -2, 2)))
    if kind is GammaRegression:
        return X, rng.gamma(3.0, np.exp(np.clip(linear, -2, 2)) / 3.0)
    return X, linear + 0.1 * rng.normal(size=len(linear))


ESTIMATORS = [LogisticRegression, LinearRegression, PoissonRegression, GammaRegression]


def content(model):
    """Everything that a model knows, whatever the order of its attributes."""
    return {name: pickle.dumps(value) for name, value in model.__getstate__().items()}


def method_of(model):
    return model.learners_[0].method


def test_auto_is_wide_above_the_stated_numbers_of_columns():
    y = np.tile([0, 1], 10)
    for width, dense, expected in [
        (2000, False, "auto"),
        (2001, False, "wide"),
        (2001, True, "auto"),
        (5001, True, "wide"),
    ]:
        X = sp.random(20, width, 0.01, format="csr", random_state=0)
        model = LogisticRegression().fit(X.toarray() if dense else X, y)
        assert method_of(model) == expected, (width, dense)
    small = LinearRegression().fit(np.ones((3, 2)), [0.0, 1.0, 2.0])
    assert method_of(small) == "auto"
    assert method_of(LinearRegression("wide").fit(np.eye(3), [0.0, 1.0, 2.0])) == "wide"


@pytest.mark.parametrize("kind", ESTIMATORS)
def test_every_estimator_predicts_better_than_a_constant(kind):
    X, y = targets(kind)
    model = kind().fit(X, y)
    assert method_of(model) == "wide" and model.method == "auto"
    report = model.progressive_
    assert report["last_half"]["loss"] < report["last_half"]["constant_loss"]
    assert model.score(X, y) > 0.3
    assert model.n_samples_seen_ == 600
    assert model.n_features_in_ == WIDTH
    assert model.n_features_seen_ == len(np.unique(X.indices))
    low, high = model.predict_interval(X[:20]).T
    assert (low < high).all()
    if kind is not LogisticRegression:
        mean, std = model.predict(X[:20], return_std=True)
        assert (std > 0).all() and ((low <= mean) & (mean <= high)).all()
        median = model.predict_quantiles(X[:20], 0.5)
        assert (model.predict_cdf(X[:20], median) > 0.49).all()


@pytest.mark.parametrize("kind", ESTIMATORS)
def test_coefficients_have_the_shape_of_the_columns(kind):
    X, y = targets(kind)
    model = kind(fit_intercept=kind is not GammaRegression).fit(X, y)
    coef = np.ravel(model.coef_)
    assert coef.shape == (WIDTH,)
    seen = np.zeros(WIDTH, dtype=bool)
    seen[X.indices] = True
    assert (coef[~seen] == 0.0).all() and (coef[seen] != 0.0).all()
    errors = model.std_err_[int(model.fit_intercept) :]
    assert errors.shape == (WIDTH,)
    assert_same(np.isnan(errors), ~seen)
    assert (errors[seen] > 0.0).all()
    assert model.covariance_ is None
    # the linear predictor is that of the coefficients
    linear = model.learners_[0].predict_linear(model._rows(X).X)[0]
    assert_close(X @ coef + np.ravel(model.intercept_)[0], linear, rtol=1e-6, atol=1e-6)
    assert list(model.coef_names_[:2]) == ["x0", "x1"] and len(model.coef_names_) == WIDTH


def test_the_summary_lists_the_strongest():
    X, y = labels(n=2000)
    model = LogisticRegression().fit(X, y)
    summary = model.summary()
    names = list(summary.params)
    assert names[0] == "(intercept)" and len(names) == 101
    z = np.abs([row[3] for row in summary.rows[1:]])
    assert_same(z, np.sort(z)[::-1])
    ratio = np.abs(model.coef_[0] / model.std_err_[1:])
    assert names[1] == f"x{np.nanargmax(ratio)}"
    assert summary.params[names[1]] == model.coef_[0, int(names[1][1:])]
    assert f"{model.n_features_seen_} features seen; the numbers and the 100" in str(summary)
    inner, outer = summary.conf_int(0.5)[names[1]], summary.conf_int()[names[1]]
    assert outer[0] < inner[0] < inner[1] < outer[1]
    with pytest.raises(InputError, match="keeps no covariance"):
        summary.cov_params()
    assert len(model.plot_coefficients().get_yticks()) == 100
    with pytest.raises(InputError, match="leave X out"):
        model.plot_coefficients(X=X)


@pytest.mark.parametrize("make", [sp.csc_matrix, sp.coo_matrix, sp.csr_array, sp.lil_matrix])
def test_other_formats_are_the_same_rows(make):
    X, y = labels()
    expected = LogisticRegression().fit(X, y)
    found = LogisticRegression().fit(make(X), y)
    assert_same(found.coef_, expected.coef_)
    assert_same(found.predict_proba(make(X)), expected.predict_proba(X))
    # the same model predicts dense rows
    assert_same(found.predict_proba(X.toarray()), expected.predict_proba(X))


def test_repeated_unsorted_and_zero_entries_are_summed_sorted_and_left_out():
    y = np.tile([0, 1, 1], 20)
    data = np.tile([1.0, 2.0, -3.0, 0.0, 0.5, 0.5], 30)
    columns = np.tile([2900, 7, 2900, 11, 7, 3], 30)
    starts = np.arange(0, 181, 3)
    given = sp.csr_matrix((data, columns, starts), shape=(60, WIDTH))
    plain = given.copy()
    plain.sum_duplicates()
    plain.eliminate_zeros()
    a = LogisticRegression().fit(given, y)
    b = LogisticRegression().fit(plain, y)
    assert_same(a.coef_, b.coef_)
    assert a.coef_[0, 11] == 0.0 and a.n_features_seen_ == 3
    assert_same(given.indices, columns)  # the caller's matrix is unchanged


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_illegal_entries_are_named_and_change_nothing(value):
    X, y = labels()
    model = LogisticRegression().fit(X, y)
    before = content(model)
    bad = X.copy()
    bad.data[bad.indptr[41] + 2] = value
    column = bad.indices[bad.indptr[41] + 2]
    what = r"missing value \(NaN\)" if np.isnan(value) else r"infinite value \(inf\)"
    for call in (model.fit, model.partial_fit, model.score):
        with pytest.raises(InputError, match=rf"{what} in row 41, column {column}: "):
            call(bad, y)
    with pytest.raises(InputError, match="row 41"):
        model.predict(bad)
    assert content(model) == before
    huge = X.copy()
    huge.data[huge.indptr[41] + 2] = 1e200
    with pytest.raises(InputError, match=rf"row 41, feature {column} is 1e200: features must be"):
        model.partial_fit(huge, y)
    assert content(model) == before
    with pytest.raises(InputError, match="row 41, feature"):
        LogisticRegression().fit(huge, y)  # learned in another order


def test_illegal_matrices_are_refused_and_change_nothing():
    X, y = labels()
    model = LogisticRegression().fit(X, y)
    before = content(model)
    with pytest.raises(ValueError, match="2999 features, but LogisticRegression is expecting 3000"):
        model.partial_fit(X[:, :-1], y)
    with pytest.raises(ValueError, match="expecting 3000 features"):
        model.predict(sp.hstack([X, X]))
    broken = X.copy()
    broken.indices[3] = WIDTH
    with pytest.raises(InputError, match=f"row 0, column {WIDTH}, but only {WIDTH} columns"):
        model.partial_fit(broken, y)
    starts = np.array([0, 1, 2], dtype=np.int64)
    wide = sp.csr_matrix((np.ones(2), np.array([5, 2**31]), starts), shape=(2, 2**33))
    with pytest.raises(InputError, match="row 1, column 2147483648: columns up to 2147483647"):
        LogisticRegression().fit(wide, [0, 1])
    with pytest.raises(InputError, match="indptr must ascend"):
        WideRows(np.array([0, 2, 1]), np.array([0]), np.ones(1), 9)
    y[0] = 7
    with pytest.raises(InputError, match="label 7 in row 0"):
        model.partial_fit(X, y)
    assert content(model) == before


def test_a_refused_call_of_several_blocks_changes_nothing():
    """A target at the end is illegal, long after the first block was learned."""
    X, linear, _ = rows(n=70_000, entries=8)
    y = np.exp(np.clip(linear, -2, 2))
    model = GammaRegression().partial_fit(X[:500], y[:500])
    before = content(model)
    y[-1] = -1.0
    with pytest.raises(InputError, match="row 69999: target -1 is not legal"):
        model.partial_fit(X, y)
    assert content(model) == before


def test_batches_are_the_whole_and_means_come_before_learning():
    X, y = labels()
    whole = LogisticRegression(shuffle=False).fit(X, y)
    parts = LogisticRegression()
    found = []
    for first in range(0, 600, 100):
        part = slice(first, first + 100)
        found.append(parts.partial_fit_predict(X[part], y[part]))
    assert_same(parts.coef_, whole.coef_)
    loss = log_loss(y, np.concatenate(found))
    assert loss == pytest.approx(whole.progressive_loss_, rel=1e-9)


def test_shuffled_rows_are_those_of_the_order_given():
    X, y = labels()
    order = np.random.default_rng(0).permutation(600)
    shuffled = LogisticRegression(random_state=0).fit(X, y)
    assert_same(shuffled.coef_, LogisticRegression(shuffle=False).fit(X[order], y[order]).coef_)


@pytest.mark.parametrize("shuffle", [False, True])
def test_weights_and_offsets_reach_their_rows(shuffle):
    """Sparse rows give the model that the library makes of the same rows in dense form."""
    X, y = labels()
    rng = np.random.default_rng(2)
    weight, offset = rng.uniform(0.5, 2.0, 600), rng.normal(size=600)
    order = rng.permutation(600) if shuffle else None
    dense, sparse = (model("wide", "bernoulli", WIDTH, numbers=0) for _ in range(2))
    dense.learn_many(X.toarray(), y, weight, offset, order=order)
    sparse.learn_many(sparse_rows(X, True, named=True), y, weight, offset, order=order)
    assert_same(sparse.theta, dense.theta)
    assert_same(sparse.features, dense.features)
    plain = LogisticRegression().fit(X, y)
    assert_same(LogisticRegression().fit(X, y, sample_weight=np.ones(600)).coef_, plain.coef_)
    weighted = LogisticRegression().fit(X, y, sample_weight=weight)
    assert abs(weighted.coef_ - plain.coef_).max() > 1e-3


def test_offsets_are_those_of_a_log_exposure():
    X, linear, rng = rows()
    counts = rng.poisson(np.exp(np.clip(linear, -2, 2) + 1.0))
    model = PoissonRegression().fit(X, counts, offset=np.ones(600))
    plain = PoissonRegression().fit(X, counts)
    assert model.intercept_ == pytest.approx(plain.intercept_ - 1.0, abs=0.05)
    assert_close(model.predict(X, offset=1.0) / model.predict(X), np.e, rtol=1e-6)


def test_several_classes():
    X, linear, rng = rows()
    y = np.digitize(linear, [-0.5, 0.5])
    names = np.array(["low", "middle", "high"])[y]
    model = LogisticRegression().fit(X, names)
    assert model.coef_.shape == (3, WIDTH) and model.std_err_.shape == (3, WIDTH + 1)
    shares = model.predict_proba(X)
    assert_close(shares.sum(axis=1), 1.0, rtol=1e-12)
    assert model.score(X, names) > 0.7
    assert model.predict_interval(X[:4]).shape == (4, 3, 2)
    assert any(name.startswith("low: x") for name in model.summary().params)
    assert len(model.summary().conf_int(0.5)) == len(model.summary().params)
    assert_same(pickle.loads(pickle.dumps(model)).coef_, model.coef_)


@pytest.mark.parametrize("kind", ESTIMATORS)
def test_files_pickles_and_clones(kind, tmp_path):
    X, y = targets(kind)
    model = kind().fit(X, y)
    path = tmp_path / "model.kalmia"
    model.save(path)
    for again in (kalmia.load(path), pickle.loads(pickle.dumps(model))):
        assert again.get_params() == model.get_params()
        assert_same(again.coef_, model.coef_)
        assert_close(again.predict(X), model.predict(X), rtol=1e-12)
        assert str(again.summary()) == str(model.summary())
        assert again.progressive_loss_ == model.progressive_loss_
        again.partial_fit(X, y)
        assert again.n_samples_seen_ == 1200
        with pytest.raises(ValueError, match="expecting 3000 features"):
            again.predict(X[:, :-1])
    kalmia.load(path).save(tmp_path / "again.kalmia")
    assert (tmp_path / "again.kalmia").read_bytes() == path.read_bytes()
    assert_same(clone(model).fit(X, y).coef_, model.coef_)


def test_dense_rows_are_numbers_that_are_centered():
    rng = np.random.default_rng(3)
    X = rng.normal(1000.0, 1.0, size=(500, 4))
    y = X @ [1.0, -1.0, 2.0, 0.0] + 0.1 * rng.normal(size=500)
    model = LinearRegression("wide").fit(X, y)
    assert_close(model.coef_, [1.0, -1.0, 2.0, 0.0], atol=0.05)
    assert_close(model.predict(sp.csr_matrix(X)), model.predict(X), rtol=1e-12)
    assert list(model.summary().params) == ["(intercept)", "x0", "x1", "x2", "x3"]


def test_what_a_wide_model_lacks_is_refused_in_the_words_of_the_library():
    X, y = labels()
    model = LogisticRegression().fit(X, y)
    other = LogisticRegression().fit(X, y)
    with pytest.raises(StateError, match="wide learners of more than 128 rows cannot be merged"):
        kalmia.merge(model.learners_[0], other.learners_[0])
    with pytest.raises(StateError, match="wide learners of more than 128 rows"):
        model.merge(other)
    with pytest.raises(StateError, match="draws no coefficients"):
        model.sample_coefficients(3)
    with pytest.raises(StateError, match="draws no coefficients"):
        model.sample_predictions(X, 3)
    with pytest.raises(InputError, match="takes no averaged"):
        LogisticRegression("wide", averaged=True).fit(X, y)
    with pytest.raises(InputError, match="method 'wide' takes no noise_variance"):
        LinearRegression("wide", noise_variance=2.0).fit(X, y)
    with pytest.raises(InputError, match="a wide learner takes no single rows"):
        model.learners_[0].predict(np.zeros(WIDTH))
    with pytest.raises(InputError, match="learners of method 'wide' alone"):
        kalmia.Auto(3).predict_many(WideRows(np.array([0, 1]), np.array([1]), np.ones(1), 3))
    exact = LogisticRegression(shuffle=False).fit(X[:300], y[:300])
    short = LogisticRegression(shuffle=False).fit(X[300:400], y[300:400])
    merged = exact.merge(short)
    assert merged.merged_exactly_ and merged.n_samples_seen_ == 400
    exact.partial_fit(X[300:400], y[300:400])
    assert_close(merged.coef_, exact.coef_, rtol=1e-9, atol=1e-12)


@pytest.mark.skipif(sys.platform != "linux", reason="the limit of an address space is Linux's")
def test_a_million_columns_are_not_made_dense():
    """Neither as a whole, which would not fit, nor block by block, which would."""
    code = f"""
    import resource
    import numpy as np, scipy.sparse as sp
    from kalmia import LogisticRegression
    {LIMIT}
    rng = np.random.default_rng(0)
    n, width, entries = 20_000, 1_000_000, 20
    columns = (width * rng.random((n, entries)) ** 4).astype(np.int32)
    starts = np.arange(0, n * entries + 1, entries)
    X = sp.csr_matrix((np.ones(n * entries), columns.ravel(), starts), shape=(n, width))
    y = (columns[:, 0] % 2).astype(int)
    def refuse(*_, **__):
        raise AssertionError("the matrix was made dense")
    for kind in (sp.csr_matrix, sp.csr_array):
        kind.todense = kind.toarray = refuse
    model = LogisticRegression().fit(X[:100], y[:100])
    limit(400)
    model.fit(X, y)
    model.partial_fit(X, y)
    print(model.n_samples_seen_, model.coef_.shape, model.predict(X).shape)
    """
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(code)], capture_output=True, text=True, timeout=300
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout == "40000 (1, 1000000) (20000,)\n"


@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_illegal_entries_of_narrow_matrices_are_named_too(value):
    """They are made dense block by block, as before."""
    X, y = labels(width=50)
    X.data[X.indptr[9]] = value
    where = f"in row 9, column {X.indices[X.indptr[9]]}: "
    with pytest.raises(InputError, match=where):
        LogisticRegression().fit(X, y)
