"""Progressive log-losses of other learners of several classes on sparse rows.

The functions of class_peers.py with its grids, for a scipy CSR matrix. Features are taken as they
come: to center them would make every row dense. `sgd` and `river` repeat the updates of
scikit-learn and River for all settings at once; `check` compares them with the packages themselves.
"""

import math

import numpy as np
import scipy.sparse
from class_peers import ADAGRAD_EPS, RIVER_GRID, SGD_GRID, VW_RATES, compare, losses, vw_loss
from river import linear_model, optim

#: scikit-learn moves the intercept of sparse rows by so much less.
INTERCEPT_SHARE = 0.01
#: Vowpal Wabbit scales features itself.
VW_GRID = VW_RATES


def entries(x: scipy.sparse.csr_matrix, i: int) -> tuple[np.ndarray, np.ndarray]:
    """The features of a row, and their values."""
    within = slice(x.indptr[i], x.indptr[i + 1])
    return x.indices[within], x.data[within]


def sgd_probabilities(x: scipy.sparse.csr_matrix, y: np.ndarray, classes: int) -> np.ndarray:
    """Of each row, setting and class, before the row is learned."""
    steps = np.array([setting.steps(len(y)) for setting in SGD_GRID])
    decay = 1 - steps * np.array([[setting.alpha] for setting in SGD_GRID])
    # the weights are `scale` times these numbers, so that a row touches its own features only
    weights = np.zeros((x.shape[1], len(SGD_GRID), classes))
    scale = np.ones((len(SGD_GRID), 1))
    intercepts = np.zeros((len(SGD_GRID), classes))
    signs = np.where(np.arange(classes) == y[:, None], 1.0, -1.0)
    found = np.empty((len(y), len(SGD_GRID), classes))
    for i in range(len(y)):
        at, values = entries(x, i)
        linear = np.tensordot(values, weights[at], axes=1)
        margins = np.clip(scale * linear + intercepts, -700, 700)
        each = 1 / (1 + np.exp(-margins))
        found[i] = each / each.sum(axis=1, keepdims=True)
        moves = steps[:, i, None] * -signs[i] / (1 + np.exp(signs[i] * margins))
        scale *= decay[:, i, None]
        weights[at] -= values[:, None, None] * (moves / scale)
        intercepts -= INTERCEPT_SHARE * moves
    return found


def check_sgd(x: scipy.sparse.csr_matrix, y: np.ndarray, classes: int) -> None:
    """Stops unless scikit-learn gives the same probabilities for these rows."""
    found = sgd_probabilities(x, y, classes)
    for k, setting in enumerate(SGD_GRID):
        estimator = setting.estimator()
        for i in range(len(y)):
            if i > 0:
                compare(found[i, k], estimator.predict_proba(x[i])[0], setting, i)
            estimator.partial_fit(x[i], y[i : i + 1], classes=np.arange(classes))


def sgd(x: scipy.sparse.csr_matrix, y: np.ndarray, classes: int) -> np.ndarray:
    """scikit-learn's SGDClassifier, log loss, one class against the rest."""
    return losses(sgd_probabilities(x, y, classes), y)


def with_constant(x: scipy.sparse.csr_matrix) -> scipy.sparse.csr_matrix:
    return scipy.sparse.hstack([np.ones((x.shape[0], 1)), x], format="csr")


def river_probabilities(x: scipy.sparse.csr_matrix, y: np.ndarray, classes: int) -> np.ndarray:
    """Of each row, setting and class, before the row is learned."""
    rates = np.array([rate for _, rate in RIVER_GRID])[:, None]
    adapts = np.array([kind is optim.AdaGrad for kind, _ in RIVER_GRID])
    weights = np.zeros((x.shape[1], len(RIVER_GRID), classes))
    squares = np.zeros((x.shape[1], adapts.sum(), classes))
    hits = np.arange(classes) == y[:, None]
    found = np.empty((len(y), len(RIVER_GRID), classes))
    for i in range(len(y)):
        at, values = entries(x, i)
        linear = np.tensordot(values, weights[at], axes=1)
        each = np.exp(linear - linear.max(axis=1, keepdims=True))
        found[i] = each / each.sum(axis=1, keepdims=True)
        moves = values[:, None, None] * (found[i] - hits[i])
        squares[at] += moves[:, adapts] ** 2
        moves[:, adapts] /= np.sqrt(squares[at] + ADAGRAD_EPS)
        weights[at] -= rates * moves
    return found


def check_river(x: scipy.sparse.csr_matrix, y: np.ndarray, classes: int) -> None:
    """Stops unless River gives the same probabilities for these rows."""
    found = river_probabilities(x, y, classes)
    for k, (kind, rate) in enumerate(RIVER_GRID):
        learner = linear_model.SoftmaxRegression(kind(rate))
        for label in range(classes):
            learner.weights[label]  # a class is known once it has been looked up
        for i, target in enumerate(y.tolist()):
            at, values = entries(x, i)
            row = dict(zip(at.tolist(), values.tolist()))
            by_class = learner.predict_proba_one(row)
            compare(found[i, k], [by_class[c] for c in range(classes)], f"River {kind} {rate}", i)
            learner.learn_one(row, target)


def river(x: scipy.sparse.csr_matrix, y: np.ndarray, classes: int) -> np.ndarray:
    """River's SoftmaxRegression with a constant."""
    return losses(river_probabilities(with_constant(x), y, classes), y)


def check(x: scipy.sparse.csr_matrix, y: np.ndarray, classes: int) -> None:
    """Stops unless the packages themselves give the same probabilities for these rows."""
    check_sgd(x, y, classes)
    check_river(with_constant(x), y, classes)


def vw(x: scipy.sparse.csr_matrix, y: np.ndarray, classes: int) -> np.ndarray:
    """Vowpal Wabbit's --oaa with --probabilities."""
    targets = y.tolist()
    lines = []
    for i, target in enumerate(targets):
        values = (f"{j}:{value!r}" for j, value in zip(*(part.tolist() for part in entries(x, i))))
        lines.append(f"{target + 1} | {' '.join(values)}")
    bits = max(18, math.ceil(math.log2(x.shape[1] * classes)) + 1)
    return np.array([vw_loss(lines, targets, classes, rate, f"-b {bits}") for rate in VW_GRID])
