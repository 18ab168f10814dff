"""Model files: what is saved is what is loaded, and the command's files are the same."""

import numpy as np
import pytest
from sklearn.datasets import load_diabetes, load_iris

import kalmia


def estimators():
    X, y = load_diabetes(return_X_y=True, as_frame=True, scaled=False)
    amounts = y.to_numpy()
    flowers, kinds = load_iris(return_X_y=True)
    small = X / X.std()
    return {
        "gaussian": (kalmia.LinearRegression(), X, y),
        "named filter": (kalmia.LinearRegression("implicit", prior_variance=3.0, noise_variance=2.0), small, y),
        "poisson": (kalmia.PoissonRegression(fit_intercept=False), small, np.round(amounts / 50)),
        "gamma": (kalmia.GammaRegression(), X.to_numpy(), amounts),
        "numbers": (kalmia.LogisticRegression(), X, (y > 140).astype(int)),
        "truth": (kalmia.LogisticRegression(drift=True), X, y > 140),
        "texts": (kalmia.LogisticRegression("moment"), small, np.where(y > 140, "high", "low")),
        "one and two": (kalmia.LogisticRegression("ons", radius=2.0, exp_concavity=0.1), small, (y > 140) + 1),
        "three": (kalmia.LogisticRegression(), flowers, load_iris().target_names[kinds]),
        "asgd": (kalmia.LogisticRegression("asgd", step=0.01), small, y > 140),
    }


@pytest.mark.parametrize("name", estimators())
def test_saved_models_come_back_whole(name, tmp_path):
    model, X, y = estimators()[name]
    model.fit(X, y)
    path = tmp_path / "model.kalmia"
    model.save(path)
    again = kalmia.load(path)
    assert type(again) is type(model) and again.get_params() == model.get_params()
    np.testing.assert_array_equal(again.predict(X), model.predict(X))
    np.testing.assert_array_equal(again.coef_, model.coef_)
    assert again.progressive_loss_ == model.progressive_loss_
    assert str(again.summary()) == str(model.summary())
    assert hasattr(again, "feature_names_in_") == hasattr(model, "feature_names_in_")
    again.save(tmp_path / "again.kalmia")
    assert (tmp_path / "again.kalmia").read_bytes() == path.read_bytes()
    if name != "asgd":  # its horizon is reached
        model.partial_fit(X, y)
        again.partial_fit(X, y)
        np.testing.assert_array_equal(again.coef_, model.coef_)


def test_files_that_are_no_models_are_refused(tmp_path):
    path = tmp_path / "x.kalmia"
    with pytest.raises(kalmia.ModelFileError, match="cannot read"):
        kalmia.load(path)
    path.write_bytes(b"hello " * 100)
    with pytest.raises(kalmia.ModelFileError, match="not a kalmia model"):
        kalmia.load(path)
    kalmia.LinearRegression().fit([[0.0], [1.0]], [0.0, 1.0]).save(path)
    path.write_bytes(path.read_bytes()[:-3])
    with pytest.raises(kalmia.ModelFileError, match="cut short"):
        kalmia.load(path)
    with pytest.raises(kalmia.ModelFileError, match="cannot write"):
        kalmia.LinearRegression().fit([[0.0], [1.0]], [0.0, 1.0]).save(tmp_path / "none" / "x.kalmia")
