"""Several classes learned jointly, beside batch fits of other packages."""

import pickle

import numpy as np
import pandas as pd
import pytest
import statsmodels.api as sm
from compare import assert_close, assert_same
from sklearn.datasets import load_digits, load_wine
from sklearn.linear_model import LogisticRegression as Batch
from sklearn.metrics import log_loss
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import kalmia
from kalmia import LogisticRegression


def softmax_rows(seed, rows, classes=4, features=3):
    """Rows of a true softmax, and its coefficients."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(rows, features))
    theta = rng.normal(size=(classes, features + 1))
    linear = theta[:, 0] + X @ theta[:, 1:].T
    return X, np.argmax(linear + rng.gumbel(size=linear.shape), axis=1), theta


def test_coefficients_are_those_of_a_batch_multinomial_fit():
    X, y, _ = softmax_rows(1, 6000)
    model = LogisticRegression().fit(X, y)
    batch = sm.MNLogit(y, sm.add_constant(X)).fit(disp=False)
    params, errors = batch.params.T, batch.bse.T
    found = np.column_stack([model.intercept_, model.coef_])[1:]
    assert (np.abs(found - params) < 1.0 * errors).all()
    # independent beliefs per class cannot show every correlation
    ratio = model.std_err_[1:] / errors
    assert (ratio > 0.7).all() and (ratio < 1.3).all()
    assert (model.std_err_[0] == 0).all() and (model.coef_[0] == 0).all()
    assert_close(np.sqrt(np.diagonal(model.covariance_[2])), model.std_err_[2], rtol=1e-12)
    assert_close(log_loss(y, model.predict_proba(X)), -batch.llf / len(y), rtol=0.002)


# one pass over the 1347 digits, which planes separate, ends before the batch fit's optimum
@pytest.mark.parametrize(("load", "factor"), [(load_wine, 1.05), (load_digits, 1.25)])
def test_held_out_loss_is_near_that_of_a_batch_fit(load, factor):
    X, y = load(return_X_y=True)
    ours, theirs = [], []
    for seed in range(3):
        train, test, y_train, y_test = train_test_split(X, y, random_state=seed, stratify=y)
        model = LogisticRegression(random_state=seed).fit(train, y_train)
        batch = make_pipeline(StandardScaler(), Batch(max_iter=2000)).fit(train, y_train)
        ours.append(log_loss(y_test, model.predict_proba(test), labels=model.classes_))
        theirs.append(log_loss(y_test, batch.predict_proba(test), labels=model.classes_))
    assert np.mean(ours) < factor * np.mean(theirs), (ours, theirs)


def test_probabilities_are_calibrated_and_intervals_hold_the_true_ones():
    inside, total, errors = 0, 0, []
    for seed in range(20):
        X, y, theta = softmax_rows(100 + seed, 800)
        model = LogisticRegression(shuffle=False).fit(X, y)
        new, _, _ = softmax_rows(500 + seed, 50)
        linear = theta[:, 0] + new @ theta[:, 1:].T
        true = np.exp(linear) / np.exp(linear).sum(axis=1, keepdims=True)
        ends = model.predict_interval(new, level=0.9)
        inside += ((ends[:, :, 0] <= true) & (true <= ends[:, :, 1])).sum()
        total += true.size
        errors.append(model.progressive_["calibration_error"])
    assert 0.84 < inside / total < 0.96, inside / total
    assert np.mean(errors) < 0.045, errors
    assert max(errors) < 0.065, errors


def test_a_stream_is_learned_as_one_fit():
    X, y, _ = softmax_rows(3, 1500)
    whole = LogisticRegression(shuffle=False).fit(X, y)
    parts = LogisticRegression()
    ahead = [
        parts.partial_fit_predict(X[i : i + 137], y[i : i + 137], classes=range(4))
        for i in range(0, 1500, 137)
    ]
    assert_close(parts.coef_, whole.coef_, rtol=1e-9)
    loss = log_loss(y, np.concatenate(ahead))
    assert_close(loss, parts.progressive_loss_, rtol=1e-9)
    again = pickle.loads(pickle.dumps(parts)).partial_fit(X[:200], y[:200])
    assert_same(again.coef_, parts.partial_fit(X[:200], y[:200]).coef_)
    with pytest.raises(kalmia.InputError, match="not among the classes"):
        parts.partial_fit(X[:2], [0, 9])
    before = parts.coef_
    with pytest.raises(kalmia.InputError, match="row 1"):
        parts.partial_fit([[1.0, 2.0, 3.0], [1.0, 1e200, 3.0]], [0, 1])
    assert_same(parts.coef_, before)


def test_draws_have_the_moments_of_the_belief():
    X, y, _ = softmax_rows(4, 1500)
    model = LogisticRegression().fit(X, y)
    draws = model.sample_coefficients(4000, random_state=1)
    contrast = draws - draws[:, :1]
    theta = np.column_stack([model.intercept_, model.coef_])
    errors = np.where(model.std_err_ > 0, model.std_err_, 1.0)
    assert (np.abs(contrast.mean(axis=0) - theta) < 0.1 * errors).all()
    assert_close(contrast.std(axis=0)[1:], model.std_err_[1:], rtol=0.08)
    shares = model.sample_predictions(X[:5], 4000, random_state=2, of_mean=True)
    assert_close(shares.sum(axis=2), 1.0, rtol=1e-12)
    assert_close(shares.mean(axis=0), model.predict_proba(X[:5]), atol=0.01)
    labels = model.sample_predictions(X[:5], 4000, random_state=2)
    assert_close((labels == 1).mean(axis=0), model.predict_proba(X[:5])[:, 1], atol=0.03)


def test_tables_with_new_levels_and_weights():
    X, y, _ = softmax_rows(5, 900)
    table = pd.DataFrame(X, columns=["a", "b", "c"]).assign(
        town=np.where(np.arange(900) < 450, "Ulm", "Bonn")
    )
    model = LogisticRegression().partial_fit(table[:450], y[:450], classes=range(4))
    model.partial_fit(table[450:], y[450:])
    assert model.coef_.shape == (4, 4) and "town=Bonn" in model.coef_names_
    assert np.isfinite(model.predict_proba(table.assign(town="Kiel"))).all()
    twice = LogisticRegression(shuffle=False).fit(X, y, sample_weight=np.full(900, 2.0))
    once = LogisticRegression(shuffle=False).fit(X, y)
    assert (twice.std_err_[1:] < once.std_err_[1:]).all()
    balanced = LogisticRegression(class_weight="balanced").fit(X, y)
    rare = np.bincount(y).argmin()
    assert balanced.predict_proba(X)[:, rare].mean() > once.predict_proba(X)[:, rare].mean()


def test_offsets_and_sparse_rows_have_one_learner_per_class():
    X, y, _ = softmax_rows(6, 300)
    assert len(LogisticRegression().fit(X, y, offset=0.1).learners_) == 4
    model = LogisticRegression().fit(X, y)
    with pytest.raises(kalmia.InputError, match="takes no offset"):
        model.predict(X, offset=1.0)
    with pytest.raises(kalmia.InputError, match="takes no offset"):
        model.partial_fit(X, y, offset=1.0)
