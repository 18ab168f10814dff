"""The estimators follow scikit-learn's conventions, and name what is wrong."""

import html
import inspect
import math
import pickle
import re
import threading
import time

import numpy as np
import pandas as pd
import polars as pl
import pytest
from compare import assert_close, assert_same
from scipy import stats
from sklearn.datasets import load_breast_cancer, load_diabetes, load_iris
from sklearn.linear_model import Ridge
from sklearn.model_selection import cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

from kalmia import (
    GammaRegression,
    InputError,
    LinearRegression,
    LogisticRegression,
    NegativeBinomialRegression,
    OrdinalRegression,
    PoissonRegression,
    QuantileRegression,
    StudentRegression,
)
from kalmia._kalmia import default_texts, method_defaults
from kalmia._parameters import METHOD_PARAMETERS, PARAMETERS

ORDER = "rows are learned in order, so a weight of 2 is not two rows at other places"
BALL = "the ball of radius 2 does not hold coefficients that a class weight of 1000 asks for"
#: Methods whose Gaussian filter is ridge regression, which ignores the order of the rows.
EXACT = ["ekf", "implicit", "moment"]
WEIGHTS = [
    "check_sample_weight_equivalence_on_dense_data",
    "check_sample_weight_equivalence_on_sparse_data",
]


TEXT_ORDER = "the order of texts is not known; the parameter levels gives it"
#: Checks that give labels as texts.
TEXTS = ["check_classifiers_classes", "check_classifiers_train"]


#: Every estimator, with the parameter that it alone has.
OWN_PARAMETERS = {
    LogisticRegression: "class_weight",
    LinearRegression: "noise_variance",
    PoissonRegression: None,
    GammaRegression: "dispersion",
    NegativeBinomialRegression: "dispersion",
    QuantileRegression: "quantile",
    StudentRegression: "degrees_of_freedom",
}


class WholeCounts(NegativeBinomialRegression):
    """Rounds the targets of scikit-learn's checks, which are no counts."""

    @staticmethod
    def _whole(y):
        if not isinstance(y, list) and not hasattr(y, "__array__"):
            return y
        given = np.asarray(y)
        return np.round(given) if given.dtype.kind == "f" else y

    def fit(self, X, y, sample_weight=None, offset=None):
        return super().fit(X, self._whole(y), sample_weight, offset)

    def partial_fit(self, X, y, sample_weight=None, offset=None):
        return super().partial_fit(X, self._whole(y), sample_weight, offset)


def expected_failures(estimator):
    exact = isinstance(estimator, LinearRegression) and estimator.method in EXACT
    expected = {} if exact else dict.fromkeys(WEIGHTS, ORDER)
    if isinstance(estimator, LogisticRegression) and estimator.method == "ons":
        expected["check_class_weight_classifiers"] = BALL
    if isinstance(estimator, OrdinalRegression):
        expected |= dict.fromkeys(TEXTS, TEXT_ORDER)
    return expected


@parametrize_with_checks(
    [
        LogisticRegression(),
        LogisticRegression("moment", prior_variance=10.0),
        LogisticRegression("ons", radius=2.0, exp_concavity=0.1),
        LinearRegression(),
        LinearRegression("ekf", prior_variance=100.0, fit_intercept=False),
        LinearRegression("implicit"),
        PoissonRegression(),
        GammaRegression(),
        GammaRegression("moment", dispersion=0.5),
        WholeCounts(),
        WholeCounts("moment", dispersion=0.5),
        QuantileRegression(),
        QuantileRegression(quantile=0.8),
        StudentRegression(),
        StudentRegression("implicit", degrees_of_freedom=3),
        OrdinalRegression(),
    ],
    expected_failed_checks=expected_failures,
)
def test_scikit_learn_checks(estimator, check):
    check(estimator)


@pytest.mark.parametrize("method", ["auto", "ekf", "truncated", "implicit", "moment", "asgd"])
def test_batches_are_one_pass(method):
    X, y = load_breast_cancer(return_X_y=True)
    X = StandardScaler().fit_transform(X)
    whole = LogisticRegression(method, shuffle=False).fit(X, y)
    parts = LogisticRegression(method, horizon=len(y) if method == "asgd" else None)
    means = [
        parts.partial_fit_predict(X[i : i + 100], y[i : i + 100], classes=[0, 1])
        for i in range(0, len(y), 100)
    ]
    assert_close(parts.coef_, whole.coef_, rtol=1e-9, atol=1e-12)
    assert np.concatenate(means).shape == (len(y), 2)
    assert parts.n_samples_seen_ == whole.n_samples_seen_ == len(y)
    p = np.concatenate(means)[np.arange(len(y)), y]
    assert parts.progressive_loss_ == pytest.approx(-np.log(p).mean(), rel=1e-9)


def test_one_step_ahead_predictions_are_those_of_the_model_before():
    X, y = load_diabetes(return_X_y=True, scaled=False)
    model = LinearRegression().fit(X[:200], y[:200])
    before = model.predict(X[200:201])
    assert model.partial_fit_predict(X[200:230], y[200:230])[0] == pytest.approx(
        before[0], rel=1e-12
    )


@pytest.mark.parametrize("method", EXACT)
def test_the_gaussian_filter_is_ridge_regression(method):
    X, y = load_diabetes(return_X_y=True)
    model = LinearRegression(
        method, prior_variance=50.0, noise_variance=2.0, fit_intercept=False
    ).fit(X, y)
    ridge = Ridge(alpha=2.0 / 50.0, fit_intercept=False).fit(X, y)
    assert_close(model.coef_, ridge.coef_, rtol=1e-9)
    assert_close(
        model.covariance_, 2.0 * np.linalg.inv(X.T @ X + 2.0 / 50.0 * np.eye(10)), rtol=1e-8
    )
    weights = np.random.default_rng(3).uniform(0.2, 3.0, len(y))
    model.fit(X, y, sample_weight=weights)
    assert_close(model.coef_, ridge.fit(X, y, sample_weight=weights).coef_, rtol=1e-9)


@pytest.mark.parametrize("method", ["auto", "moment"])
def test_more_classes_are_learned_jointly_or_one_against_the_rest(method):
    X, y = load_iris(return_X_y=True)
    order = np.random.default_rng(0).permutation(len(y))
    X, names = X[order], load_iris().target_names[y[order]]
    model = LogisticRegression(method).fit(X, names)
    assert len(model.learners_) == (1 if method == "auto" else 3)
    assert list(model.classes_) == ["setosa", "versicolor", "virginica"]
    assert (
        model.coef_.shape == (3, 4)
        and model.covariance_.shape == (3, 5, 5)
        and model.std_err_.shape == (3, 5)
    )
    proba = model.predict_proba(X)
    assert_close(proba.sum(axis=1), 1.0)
    assert model.score(X, names) > 0.9
    if method == "moment":
        alone = LogisticRegression(method).fit(X, names == "virginica")
        assert_close(model.coef_[2], alone.coef_[0])
    assert model.predict_interval(X[:5]).shape == (5, 3, 2)
    ahead = LogisticRegression(method).partial_fit_predict(X, names)
    assert_close(ahead.sum(axis=1), 1.0)


def test_deviations_and_intervals_widen_away_from_the_rows():
    X, y = load_diabetes(return_X_y=True, scaled=False)
    model = LinearRegression().fit(X, y)
    mean, std = model.predict(X, return_std=True)
    ends = model.predict_interval(X, level=0.8)
    inside = ((ends[:, 0] <= y) & (y <= ends[:, 1])).mean()
    assert 0.75 < inside < 0.85
    assert model.predict(X[:1] + 50.0, return_std=True)[1][0] > std.mean()
    narrow = model.predict_interval(X, level=0.8, of_mean=True)
    assert (narrow[:, 1] - narrow[:, 0] < ends[:, 1] - ends[:, 0]).all()
    labels, spread = LogisticRegression().fit(X, y > 140).predict(X[:4], return_std=True)
    assert labels.dtype == bool and (spread > 0.0).all()


@pytest.mark.parametrize("method", ["asgd", "ons"])
def test_methods_without_a_belief_have_no_interval_of_the_mean(method):
    X, y = load_diabetes(return_X_y=True)
    given = {"radius": 2.0, "exp_concavity": 0.1} if method == "ons" else {}
    labels, numbers = (
        LogisticRegression(method, **given).fit(X, y > 140),
        LinearRegression(method, **given).fit(X, y),
    )
    for refused in (
        lambda: labels.predict_interval(X),
        lambda: numbers.predict_interval(X, of_mean=True),
    ):
        with pytest.raises(InputError, match=f"method '{method}' keeps no covariance"):
            refused()
    # the interval of the target includes the noise
    assert_close(np.diff(numbers.predict_interval(X)), 2.0 * 1.959964, rtol=1e-6)


def test_offsets_enter_the_linear_predictor():
    rng = np.random.default_rng(7)
    X, exposure = rng.normal(size=(400, 2)), rng.uniform(0.5, 20.0, 400)
    y = rng.poisson(exposure * np.exp(0.3 + X @ [0.5, -0.2]))
    model = PoissonRegression().fit(X, y, offset=np.log(exposure))
    assert_close([model.intercept_, *model.coef_], [0.3, 0.5, -0.2], atol=0.1)
    one, two = model.predict(X[:1]), model.predict(X[:1], offset=[np.log(2.0)])
    assert two[0] == pytest.approx(2.0 * one[0])
    assert_same(
        model.predict(X, offset=np.log(2.0)), model.predict(X, offset=np.full(400, np.log(2.0)))
    )
    for bad in ([0.0] * 401, np.zeros((400, 1)), ["x"] * 400):
        for refused in (model.predict, lambda X, offset: model.partial_fit(X, y, offset=offset)):
            with pytest.raises(InputError, match="offset"):
                refused(X, offset=bad)
    labels = LogisticRegression().fit(X, y > 5, offset=1.0)
    shifted = LogisticRegression().fit(X, y > 5)
    assert_close(labels.predict_proba(X, offset=1.0), shifted.predict_proba(X), atol=0.05)
    assert (labels.predict_proba(X)[:, 1] < shifted.predict_proba(X)[:, 1]).all()


def test_estimators_live_in_pipelines_and_pickles():
    X, y = load_breast_cancer(return_X_y=True)
    assert (
        cross_val_score(make_pipeline(StandardScaler(), LogisticRegression()), X, y, cv=3).mean()
        > 0.95
    )
    model = LogisticRegression().fit(X[:300], y[:300])
    again = pickle.loads(pickle.dumps(model))
    assert pickle.dumps(again) == pickle.dumps(model)
    again.partial_fit(X[300:], y[300:])
    model.partial_fit(X[300:], y[300:])
    assert_same(again.covariance_, model.covariance_)


def test_a_refused_call_changes_nothing():
    X, y = load_breast_cancer(return_X_y=True)
    model = LogisticRegression().fit(X, y)
    before = model.coef_.copy()
    with pytest.raises(InputError, match="not among the classes"):
        model.partial_fit(X, np.where(y == 1, 2, 0))
    counts = PoissonRegression().fit(X, y)
    kept = counts.coef_.copy()
    with pytest.raises(InputError, match="row 568: target -0.5"):
        counts.partial_fit(X, [*y[:-1], -0.5])
    assert_same(model.coef_, before)
    assert_same(counts.coef_, kept)
    assert counts.n_samples_seen_ == len(y)


@pytest.mark.parametrize("classes", [2, 3])
def test_threads_share_an_estimator(classes):
    rng = np.random.default_rng(8)
    X = rng.normal(size=(600, 8))
    y = np.digitize(X[:, 0] + rng.normal(size=600), np.linspace(-0.5, 0.5, classes - 1))
    model, errors, rounds, threads = LogisticRegression(), [], 20, 4
    start = threading.Barrier(threads + 1)

    def guarded(work):
        try:
            start.wait()
            work()
        except Exception as error:
            errors.append(error)

    def learn():
        for _ in range(rounds):
            model.partial_fit(X, y)

    def look():
        while not hasattr(model, "learners_") and any(one.is_alive() for one in learners):
            time.sleep(1e-4)
        while any(learner.is_alive() for learner in learners):
            assert np.isfinite(model.predict_proba(X[:20])).all() and np.isfinite(model.coef_).all()
            pickle.loads(pickle.dumps(model)).summary()

    learners = [threading.Thread(target=guarded, args=(learn,)) for _ in range(threads)]
    looker = threading.Thread(target=guarded, args=(look,))
    for thread in (*learners, looker):
        thread.start()
    for thread in (*learners, looker):
        thread.join()
    assert errors == []
    assert [learner.count for learner in model.learners_] == [threads * rounds * len(y)]


@pytest.mark.parametrize("again", ["fit", "partial_fit"])
def test_a_refused_first_call_leaves_the_fitted_model_as_it_was(again):
    X, y = load_diabetes(return_X_y=True, as_frame=True, scaled=False)
    for model, bad in [
        (LinearRegression(), [*y[:-1], np.nan]),
        (LogisticRegression(), np.ones(len(y))),
    ]:
        if again == "fit":
            model.fit(X, y if isinstance(model, LinearRegression) else y > 140)
        before = {name: value for name, value in vars(model).items() if name.endswith("_")}
        expected = model.predict(X) if again == "fit" else None
        with pytest.raises(ValueError):
            getattr(model, again)(X.to_numpy()[:, :2], bad)
        after = {name: value for name, value in vars(model).items() if name.endswith("_")}
        assert after.keys() == before.keys() and all(after[name] is before[name] for name in before)
        if again == "fit":
            assert_same(model.predict(X), expected)
        else:
            model.partial_fit(X, y if isinstance(model, LinearRegression) else y > 140)


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"method": "sgd"}, "no method is named"),
        ({"method": "auto", "prior_variance": 2.0}, "takes no prior_variance"),
        ({"method": "ekf", "prior_variance": -1.0}, "prior_variance is -1: it must be a finite"),
        ({"method": "ons", "radius": 0.0}, "radius is 0: it must be positive"),
        ({"method": "ekf", "drift": "adapt"}, "'ekf' takes no drift; it takes prior_variance"),
        ({"method": "ekf", "scale": 2.0}, "takes no scale.*, and scale is for truncated"),
        ({"drift": "perhaps"}, "drift is"),
        ({"method": "truncated", "beta": 0.7}, "beta is 0.7: it must lie strictly between"),
        ({"method": "asgd", "step": -1.0}, "step is -1: it must be finite and positive"),
        ({"fit_intercept": "no"}, "fit_intercept is 'no': give True or False"),
        ({"shuffle": 1}, "shuffle is 1: give True or False"),
        ({"random_state": -1}, "random_state is -1: give a whole number"),
        ({"random_state": "x"}, "random_state is 'x': give a whole number"),
        ({"weights": "analytic"}, 'weights are "frequency" or "precision"'),
        ({"weights": 2}, 'weights is 2: give "frequency" or "precision"'),
    ],
)
def test_bad_parameters_are_named(parameters, message):
    with pytest.raises(InputError, match=message):
        LogisticRegression(**parameters).fit([[0.0], [1.0]], [0, 1])


@pytest.mark.parametrize("drift", ["detect", "off", "adapt"])
def test_a_drift_is_reported(drift):
    rng = np.random.default_rng(1)
    X = rng.normal(size=(6000, 2))
    still = X[:, 0] + rng.normal(size=6000)
    moving = X[:, 0] * np.where(np.arange(6000) < 3000, 3.0, -3.0) + rng.normal(size=6000)
    note = {
        "detect": "drift: detected and followed from row 3",
        "off": 'If the relation changes over time, drift="adapt" follows it (about ',
        "adapt": "drift: followed from row 129 on; the coefficients are those of the last rows",
    }[drift]
    model = LinearRegression(drift=drift, shuffle=False).fit(X, moving)
    assert (
        model.drifts_ is (drift != "off")
        and note in str(model.summary())
        and note in html.unescape(model.summary()._repr_html_())
    )
    if drift != "off":
        assert model.coef_[0] < -2.0
    model = LinearRegression(drift=drift, shuffle=False).fit(X, still)
    assert model.drifts_ is (drift == "adapt") and ("drift" in str(model.summary())) is (
        drift == "adapt"
    )
    labels = np.where(moving > 0, "up", np.where(X[:, 1] > 2.0, "side", "down"))
    classes = LogisticRegression(drift=drift, shuffle=False).fit(X, labels)
    assert classes.drifts_ is (drift != "off")
    assert ("drift: " in str(classes.summary())) is (drift != "off")
    if drift != "off":
        up, down = list(classes.classes_).index("up"), list(classes.classes_).index("down")
        assert classes.coef_[up, 0] < classes.coef_[down, 0] - 2.0
    filter = LinearRegression("ekf").fit(X, moving)
    assert filter.drifts_ is False and "drift" not in str(filter.summary())


def test_the_docstring_states_the_defaults_of_the_methods():
    stated = {
        "prior_variance": r"; (\S+) by default\. Filters only",
        "drift": r'``"(\w+)"``, the default',
        "scale": r"at row ``t``; (\S+) and",
        "beta": r"at row ``t``; \S+ and (\S+) by default",
        "radius": r"coefficients of ``\"ons\"``; (\S+) by default",
        "multiplier": r"``multiplier / gamma``; (\S+) by default",
        "gradient_bound": r"norm for ``\"ons\"``; ``(\S+)`` by default",
        "exp_concavity": r"constant of ``\"ons\"``; ``(.*?)`` by default",
        "lam": r"times the identity; ``(.*?)`` by default",
        "step": r"Step size of ``\"asgd\"``; ``(.*?)`` by default",
        "oracle": r"coefficients for ``\"asgd\"``; (\S+) by default",
    }
    text = " ".join(PARAMETERS.split())
    found = {name: re.search(pattern, text)[1] for name, pattern in stated.items()}
    # one table of defaults serves the command and Python, which writes formulas in its own way
    texts = default_texts()
    for name, shown in found.items():
        assert shown.replace(" ** ", "^").replace(" * ", " ") == texts[name], name
    seen = set()
    for method in re.search(r"method : \{(.*?)\}", text)[1].replace('"', "").split(", "):
        defaults = method_defaults(method)
        seen |= set(defaults)
        for name in stated.keys() & defaults.keys():
            value = defaults[name]
            if value is not None and name != "exp_concavity":
                assert found[name] == (value if name == "drift" else f"{value:g}"), (method, name)
    assert seen == set(METHOD_PARAMETERS) - {"prior_mean", "certificate", "conformal"}
    assert set(texts) == seen
    ons = method_defaults("ons")
    assert "``1 / (4 * radius)`` by default" in text
    assert ons["exp_concavity"] == 1.0 / (4.0 * ons["radius"])
    assert method_defaults("asgd") == {"horizon": None, "step": None, "oracle": None}
    X, y = load_diabetes(return_X_y=True)
    rows, features = X.shape
    step = 1.0 / (2.0 * (features + 1) * math.sqrt(rows))
    assert "``1 / (2 * d * sqrt(horizon))`` by default" in text
    assert_same(
        LinearRegression("asgd").fit(X, y).coef_,
        LinearRegression("asgd", horizon=rows, step=step).fit(X, y).coef_,
    )


@pytest.mark.parametrize("level", [0.5, 0.95])
def test_the_coefficient_table_is_that_of_scipy(level):
    X, y = load_diabetes(return_X_y=True)
    models = [
        LinearRegression().fit(X[:40], y[:40]),
        LinearRegression("ekf", prior_variance=1e4).fit(X, y),
        LogisticRegression(fit_intercept=False).fit(X, y > 140),
    ]
    for model in models:
        learner = model.learners_[0]
        degrees = learner.degrees_of_freedom
        law = stats.t(degrees) if np.isfinite(degrees) else stats.norm()
        reach = law.ppf(0.5 + level / 2.0)
        rows = model.summary(level).rows
        assert len(rows) == learner.dim
        for row, value, error in zip(rows, learner.theta, learner.standard_errors, strict=True):
            z = value / error
            p = 2.0 * law.sf(abs(z))
            ends = [value - reach * error, value + reach * error]
            assert_close(row[1:], [value, error, z, p, *ends], rtol=1e-12, atol=1e-12)
    assert np.isfinite(models[0].learners_[0].degrees_of_freedom)
    for bad in (0.0, 1.0, math.nan):
        with pytest.raises(InputError, match="level is"):
            models[0].summary(bad)


def test_messages_name_what_is_wrong_and_what_to_do():
    counts = PoissonRegression().fit([[0.0, 1.0], [1.0, 0.0]], [1, 2])
    with pytest.raises(InputError, match="row 0: target -0.5 .* a number from 0"):
        counts.partial_fit([[0.0, 1.0]], [-0.5])
    with pytest.raises(
        InputError, match="x has 3 features, but the learner has 2 besides the intercept"
    ):
        counts.learners_[0].predict([1.0, 2.0, 3.0])
    with pytest.raises(InputError, match=r"1e\+200 in row 0, column 1: give at most 1e120"):
        counts.partial_fit([[0.0, 1e200]], [1.0])
    with pytest.raises(InputError, match="'asgd' needs horizon"):
        LinearRegression("asgd").partial_fit([[0.0], [1.0]], [0.0, 1.0])


def test_the_constructors_agree():
    def parameters(kind):
        found = dict(inspect.signature(kind).parameters)
        return {name: (one.kind, one.default) for name, one in found.items()}

    common = parameters(PoissonRegression)
    assert len(common) == 26
    for kind, own in OWN_PARAMETERS.items():
        # scikit-learn reads the parameters of each class from its own constructor
        assert "__init__" in vars(kind)
        found = parameters(kind)
        assert own is None or found.pop(own)
        assert list(found) == list(common) and found == common
        documented = re.findall(r"^    (\w[\w, ]*) : ", kind.__doc__, re.MULTILINE)
        listed = [name for line in documented for name in line.split(", ")]
        assert sorted(listed) == sorted(parameters(kind))


@pytest.mark.parametrize(
    ("model", "X", "y", "message"),
    [
        (LogisticRegression(drift=True), [[0.0], [1.0]], [0, 1], 'drift is True: give one of "det'),
        (LogisticRegression(3), [[0.0], [1.0]], [0, 1], "method is 3: give the name of a method"),
        (LogisticRegression(), [[0.0], [1.0]], [0.0, 0.0], r"y holds only one class, \[0.0\]: a"),
        (LogisticRegression(), [[0.0], [1.0]], ["a", None], "y has no label in row 1"),
        (LogisticRegression(), [[0.0], [1.0]], pd.Series([None, "a"]), "y has no label in row 0"),
        (
            LogisticRegression(),
            [[0.0], [1.0]],
            np.array([1, "a"], dtype=object),
            "y mixes labels of types int, str: convert all to str",
        ),
        (
            LinearRegression("ekf", noise_variance=-1),
            [[0.0]],
            [1.0],
            "noise_variance is -1: it must be a finite number above 0",
        ),
        (LinearRegression(), pl.LazyFrame({"a": [1.0]}), [1.0], r"X is a LazyFrame.*X.collect\(\)"),
    ],
)
def test_errors_say_what_is_wrong_and_what_to_do(model, X, y, message):
    with pytest.raises(InputError, match=message):
        model.fit(X, y)
    assert not hasattr(model, "learners_")


def test_an_unknown_parameter_is_refused_by_the_class_that_was_called():
    for kind in OWN_PARAMETERS:
        with pytest.raises(TypeError, match=rf"{kind.__name__}\.__init__\(\) got an unexpected"):
            kind(penalty="l2")


def test_numbers_of_numpy_are_parameters_as_well():
    X, y = np.array([[0.0], [1.0], [2.0]]), [1.0, 2.0, 4.0]
    for kind, name in [(LinearRegression, "noise_variance"), (GammaRegression, "dispersion")]:
        plain, other = kind("ekf", **{name: 0.5}), kind("ekf", **{name: np.float64(0.5)})
        assert_same(plain.fit(X, y).coef_, other.fit(X, y).coef_)
        with pytest.raises(
            InputError, match=f"{name} is 'much': it must be a finite number above 0"
        ):
            kind("ekf", **{name: "much"}).fit(X, y)


def test_the_summary_is_a_table():
    X, y = load_diabetes(return_X_y=True, as_frame=True, scaled=False)
    model = LinearRegression().fit(X, y)
    summary = model.summary(level=0.9)
    assert [row[0] for row in summary.rows] == ["(intercept)", *X.columns]
    assert summary.rows[3][1] == model.coef_[2] and summary.rows[3][2] == model.std_err_[3]
    text = str(summary)
    assert "bmi" in text and "std err" in text and "442 rows" in text
    assert summary._repr_html_().count("<tr>") == 12
    assert "None" not in str(LinearRegression("asgd", step=1e-9).fit(X, y).summary())
