"""kalmia and its peers at their defaults, behind one interface: predict a batch, then learn it."""

from __future__ import annotations

from typing import Protocol

import numpy as np

from .. import LinearRegression, LogisticRegression


class Peer(Protocol):
    """A learner under comparison; its constructor takes whether the targets are labels."""

    def predict_then_learn(self, X: np.ndarray, y: np.ndarray) -> np.ndarray:
        """Learns a batch and returns the predictions made before.

        Before each row if the peer learns row by row, else before the whole batch.
        """

    def learn(self, X: np.ndarray, y: np.ndarray) -> None:
        """Learns a batch."""


class Kalmia:
    """kalmia at its defaults."""

    def __init__(self, labels: bool) -> None:
        self.labels = labels
        self.model = LogisticRegression() if labels else LinearRegression()
        self.known = {"classes": [0.0, 1.0]} if labels else {}

    def predict_then_learn(self, X, y):
        found = self.model.partial_fit_predict(X, y, **self.known)
        return found[:, 1] if self.labels else found

    def learn(self, X, y):
        self.model.partial_fit(X, y, **self.known)


class River:
    """River's linear models, row by row."""

    def __init__(self, labels: bool, scaler: bool = False) -> None:
        from river import linear_model, preprocessing

        self.labels = labels
        model = linear_model.LogisticRegression() if labels else linear_model.LinearRegression()
        self.model = preprocessing.StandardScaler() | model if scaler else model

    def _rows(self, X, y):
        names = [str(j) for j in range(X.shape[1])]
        for row, target in zip(X.tolist(), y.tolist(), strict=True):
            yield dict(zip(names, row, strict=True)), bool(target) if self.labels else target

    def predict_then_learn(self, X, y):
        found = []
        for x, target in self._rows(X, y):
            found.append(
                self.model.predict_proba_one(x).get(True, 0.5)
                if self.labels
                else self.model.predict_one(x)
            )
            self.model.learn_one(x, target)
        return np.array(found)

    def learn(self, X, y):
        for x, target in self._rows(X, y):
            self.model.learn_one(x, target)


class ScaledRiver(River):
    """River's linear models behind its standard scaler."""

    def __init__(self, labels: bool) -> None:
        super().__init__(labels, scaler=True)


class _Batches:
    """Peers that learn whole batches; before the first they predict 0.5 for labels and 0 else."""

    untrained = True

    def predict_then_learn(self, X, y):
        found = np.full(len(y), 0.5 if self.labels else 0.0) if self.untrained else self._predict(X)
        self.learn(X, y)
        return found

    def learn(self, X, y):
        self._learn(X, y)
        self.untrained = False


class SGD(_Batches):
    """scikit-learn's stochastic gradient descent behind its standard scaler."""

    def __init__(self, labels: bool) -> None:
        from sklearn.linear_model import SGDClassifier, SGDRegressor
        from sklearn.preprocessing import StandardScaler

        self.labels = labels
        self.scaler = StandardScaler()
        self.model = (
            SGDClassifier(loss="log_loss", random_state=0)
            if labels
            else SGDRegressor(random_state=0)
        )

    def _predict(self, X):
        X = self.scaler.transform(X)
        return self.model.predict_proba(X)[:, 1] if self.labels else self.model.predict(X)

    def _learn(self, X, y):
        X = self.scaler.partial_fit(X).transform(X)
        self.model.partial_fit(X, y, **({"classes": [0.0, 1.0]} if self.labels else {}))


class VowpalWabbit:
    """Vowpal Wabbit, row by row."""

    def __init__(self, labels: bool) -> None:
        from vowpalwabbit import Workspace

        self.labels = labels
        self.model = Workspace(
            "--quiet" + (" --loss_function logistic --link logistic" if labels else "")
        )

    def _texts(self, X, y):
        targets = np.where(y > 0.5, 1, -1) if self.labels else y
        for row, target in zip(X.tolist(), targets.tolist(), strict=True):
            yield f"{target} | " + " ".join(f"f{j}:{value!r}" for j, value in enumerate(row))

    def predict_then_learn(self, X, y):
        found = []
        for text in self._texts(X, y):
            example = self.model.parse(text)
            found.append(self.model.predict(example))
            self.model.learn(example)
            self.model.finish_example(example)
        return np.array(found)

    def learn(self, X, y):
        for text in self._texts(X, y):
            self.model.learn(text)


class BayesianBandits(_Batches):
    """The linear learners of bayesianbandits, with a constant feature added."""

    def __init__(self, labels: bool) -> None:
        from bayesianbandits import BayesianGLM, NormalInverseGammaRegressor

        self.labels = labels
        self.model = BayesianGLM() if labels else NormalInverseGammaRegressor()

    @staticmethod
    def _wide(X):
        return np.hstack([np.ones((len(X), 1)), X])

    def _predict(self, X):
        return np.asarray(self.model.predict(self._wide(X)), dtype=float).ravel()

    def _learn(self, X, y):
        self.model.partial_fit(self._wide(X), y)


PEERS: dict[str, type] = {
    "kalmia": Kalmia,
    "River": River,
    "River, scaler": ScaledRiver,
    "scikit-learn SGD, scaler": SGD,
    "Vowpal Wabbit": VowpalWabbit,
    "bayesianbandits": BayesianBandits,
}
