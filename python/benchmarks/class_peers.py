"""Progressive log-losses of other learners of several classes, for each setting of a grid.

Each function takes rows in an order and returns the mean loss per setting. A row is predicted by
what was learned from the rows before it. The classes are known from the first row on. A
probability below 1e-15 counts as that much, so that no single row costs more than 35.

`sgd` and `river` repeat the updates of scikit-learn and River with NumPy, for all settings at once:
a call per row and setting would take hours. `check` compares them with the packages themselves.
"""

import math
from typing import NamedTuple

import numpy as np
import wide_losses
from river import linear_model, optim
from sklearn.linear_model import SGDClassifier
from sklearn.preprocessing import StandardScaler
from vowpalwabbit import pyvw

SMALLEST = 1e-15
SGD_ALPHAS = (1e-5, 1e-4, 1e-3, 1e-2)
#: Constant rates; None is scikit-learn's schedule `optimal`.
SGD_RATES = (None, 0.003, 0.01, 0.03, 0.1, 0.3, 1.0)
RIVER_RATES = {
    optim.SGD: (0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 1.0),
    optim.AdaGrad: (0.01, 0.03, 0.1, 0.3, 1.0),
}
#: River's default.
ADAGRAD_EPS = 1e-8
VW_RATES = (*wide_losses.RATES, 8, 16)


class SgdSetting(NamedTuple):
    """The parameters of an SGDClassifier."""

    alpha: float
    rate: float | None

    def estimator(self) -> SGDClassifier:
        schedule = "optimal" if self.rate is None else "constant"
        # with the schedule `optimal` eta0 is not used
        rate = self.rate or 0.01
        return SGDClassifier(
            loss="log_loss", alpha=self.alpha, learning_rate=schedule, eta0=rate, shuffle=False
        )

    def steps(self, count: int) -> np.ndarray:
        """The size of each step."""
        if self.rate is not None:
            return np.full(count, self.rate)
        typical = math.sqrt(1 / math.sqrt(self.alpha))
        first = typical / max(1.0, 1 / (1 + math.exp(-typical)))
        return 1 / (self.alpha * (1 / (first * self.alpha) + np.arange(count)))


SGD_GRID = [SgdSetting(alpha, rate) for alpha in SGD_ALPHAS for rate in SGD_RATES]
RIVER_GRID = [(kind, rate) for kind, rates in RIVER_RATES.items() for rate in rates]
#: On the features as they come, which it scales itself, and on standardized ones.
VW_GRID = [(standardized, rate) for standardized in (False, True) for rate in VW_RATES]


def losses(probabilities: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Mean log-loss of each setting."""
    of_class = probabilities[np.arange(len(y)), :, y]
    return -np.log(np.maximum(of_class, SMALLEST)).mean(axis=0)


def compare(found: np.ndarray, expected: np.ndarray, setting: object, row: int) -> None:
    if not np.allclose(found, expected, rtol=1e-6, atol=1e-9):
        raise SystemExit(f"row {row + 1}, {setting}: {found} instead of {expected}")


def with_constant(x: np.ndarray) -> np.ndarray:
    return np.c_[np.ones(len(x)), x]


def running_standard(x: np.ndarray) -> np.ndarray:
    """Each row in standard deviations from the mean, both of the rows up to and with it.

    That is `StandardScaler.partial_fit`, then `transform`, row by row. A constant column gives 0.
    """
    count = np.arange(1, len(x) + 1)[:, None]
    shifted = x - x[0]
    mean = np.cumsum(shifted, axis=0) / count
    variance = np.cumsum(shifted**2, axis=0) / count - mean**2
    varies = variance > 1e-12 * (1 + mean**2)
    return np.where(varies, (shifted - mean) / np.sqrt(np.where(varies, variance, 1)), 0.0)


def sgd_probabilities(x: np.ndarray, y: np.ndarray, classes: int) -> np.ndarray:
    """Of each row, setting and class, before the row is learned."""
    steps = np.array([setting.steps(len(y)) for setting in SGD_GRID])
    decay = 1 - steps * np.array([[setting.alpha] for setting in SGD_GRID])
    weights = np.zeros((len(SGD_GRID), classes, x.shape[1]))
    intercepts = np.zeros((len(SGD_GRID), classes))
    signs = np.where(np.arange(classes) == y[:, None], 1.0, -1.0)
    found = np.empty((len(y), len(SGD_GRID), classes))
    for i, row in enumerate(x):
        margins = np.clip(weights @ row + intercepts, -700, 700)
        each = 1 / (1 + np.exp(-margins))
        found[i] = each / each.sum(axis=1, keepdims=True)
        slopes = -signs[i] / (1 + np.exp(signs[i] * margins))
        moves = steps[:, i, None] * slopes
        weights *= decay[:, i, None, None]
        weights -= moves[:, :, None] * row
        intercepts -= moves
    return found


def check_sgd(x: np.ndarray, y: np.ndarray, classes: int) -> None:
    """Stops unless scikit-learn gives the same probabilities for these rows."""
    found = sgd_probabilities(x, y, classes)
    for k, setting in enumerate(SGD_GRID):
        estimator = setting.estimator()
        for i in range(len(y)):
            if i > 0:
                compare(found[i, k], estimator.predict_proba(x[i : i + 1])[0], setting, i)
            estimator.partial_fit(x[i : i + 1], y[i : i + 1], classes=np.arange(classes))


def check(x: np.ndarray, y: np.ndarray, classes: int) -> None:
    """Stops unless the packages themselves give the same probabilities for these rows."""
    standard = running_standard(x)
    scaler = StandardScaler()
    expected = [scaler.partial_fit(row[None]).transform(row[None])[0] for row in x]
    if not np.allclose(standard, expected, rtol=1e-6, atol=1e-9):
        raise SystemExit("standardized features differ from those of scikit-learn")
    check_sgd(standard, y, classes)
    check_river(with_constant(standard), y, classes)


def sgd(x: np.ndarray, y: np.ndarray, classes: int) -> np.ndarray:
    """scikit-learn's SGDClassifier, log loss, one class against the rest."""
    return losses(sgd_probabilities(running_standard(x), y, classes), y)


def river_probabilities(x: np.ndarray, y: np.ndarray, classes: int) -> np.ndarray:
    """Of each row, setting and class, before the row is learned."""
    rates = np.array([rate for _, rate in RIVER_GRID])[:, None, None]
    adapts = np.array([kind is optim.AdaGrad for kind, _ in RIVER_GRID])
    weights = np.zeros((len(RIVER_GRID), classes, x.shape[1]))
    squares = np.zeros_like(weights[adapts])
    hits = np.arange(classes) == y[:, None]
    found = np.empty((len(y), len(RIVER_GRID), classes))
    for i, row in enumerate(x):
        linear = weights @ row
        each = np.exp(linear - linear.max(axis=1, keepdims=True))
        found[i] = each / each.sum(axis=1, keepdims=True)
        moves = (found[i] - hits[i])[:, :, None] * row
        squares += moves[adapts] ** 2
        moves[adapts] /= np.sqrt(squares + ADAGRAD_EPS)
        weights -= rates * moves
    return found


def check_river(x: np.ndarray, y: np.ndarray, classes: int) -> None:
    """Stops unless River gives the same probabilities for these rows."""
    found = river_probabilities(x, y, classes)
    for k, (kind, rate) in enumerate(RIVER_GRID):
        learner = linear_model.SoftmaxRegression(kind(rate))
        for label in range(classes):
            learner.weights[label]  # a class is known once it has been looked up
        for i, (values, target) in enumerate(zip(x.tolist(), y.tolist())):
            row = dict(enumerate(values))
            by_class = learner.predict_proba_one(row)
            compare(found[i, k], [by_class[c] for c in range(classes)], f"River {kind} {rate}", i)
            learner.learn_one(row, target)


def river(x: np.ndarray, y: np.ndarray, classes: int) -> np.ndarray:
    """River's SoftmaxRegression on standardized features and a constant."""
    return losses(river_probabilities(with_constant(running_standard(x)), y, classes), y)


def vw(x: np.ndarray, y: np.ndarray, classes: int) -> np.ndarray:
    """Vowpal Wabbit's --oaa with --probabilities."""
    targets = y.tolist()
    lines = {False: vw_lines(x, targets), True: vw_lines(running_standard(x), targets)}
    return np.array([vw_loss(lines[own], targets, classes, rate) for own, rate in VW_GRID])


def vw_lines(x: np.ndarray, targets: list[int]) -> list[str]:
    def entries(row):
        return " ".join(f"{j}:{value!r}" for j, value in enumerate(row) if value)

    return [f"{target + 1} | {entries(row)}" for row, target in zip(x.tolist(), targets)]


def vw_loss(
    lines: list[str], targets: list[int], classes: int, rate: float, more: str = ""
) -> float:
    options = f"--oaa {classes} --probabilities --loss_function logistic -l {rate} --quiet"
    learner = pyvw.Workspace(f"{options} {more}")
    total = 0.0
    for line, target in zip(lines, targets):
        example = learner.example(line)
        total -= math.log(max(learner.predict(example)[target], SMALLEST))
        learner.learn(example)
        learner.finish_example(example)
    learner.finish()
    return total / len(lines)
