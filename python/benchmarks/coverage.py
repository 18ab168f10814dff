"""Coverage of 95 % intervals by simulation: slopes, intercept, means and targets of new rows.

Each replicate draws features, coefficients and targets, fits an estimator and counts how many
intervals hold the truth. The standard error of a share of 0.95 over 200 replicates is at most
0.015 for the intercept and less for the others.

    python python/benchmarks/coverage.py            200 replicates per line
    python python/benchmarks/coverage.py --quick    20 replicates, small sizes
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass

import numpy as np

from kalmia import GammaRegression, LinearRegression, LogisticRegression, PoissonRegression

LEVEL = 0.95
#: New rows per replicate.
NEW_ROWS = 200
#: Trials of the binomial targets.
TRIALS = 10

Draw = Callable[[np.random.Generator, np.ndarray], np.ndarray]


def _logistic(u: np.ndarray) -> np.ndarray:
    return 1.0 / (1.0 + np.exp(-u))


def _negative_binomial(rng: np.random.Generator, u: np.ndarray) -> np.ndarray:
    """Counts of mean ``exp(u)`` and variance three times that."""
    mean = np.exp(u)
    return rng.poisson(rng.gamma(0.5 * mean, 2.0)).astype(float)


def _beta_binomial(rng: np.random.Generator, u: np.ndarray) -> np.ndarray:
    """Successes of `TRIALS`, with probabilities that vary: variance 2.8 times the binomial one."""
    p, size = _logistic(u), 4.0
    chance = rng.beta(np.maximum(p * size, 1e-9), np.maximum((1.0 - p) * size, 1e-9))
    return rng.binomial(TRIALS, chance).astype(float)


@dataclass(frozen=True)
class Setting:
    """A family with a law of its targets, and how its linear predictor is scaled."""

    name: str
    draw: Draw
    mean: Callable[[np.ndarray], np.ndarray]
    make: Callable[[], object]
    intercept: float = 0.7
    #: Standard deviation of the linear predictor without the intercept.
    spread: float = 0.7


SETTINGS = [
    Setting("Gaussian", lambda r, u: u + r.normal(size=len(u)), lambda u: u, LinearRegression),
    Setting(
        "logistic",
        lambda r, u: (r.random(len(u)) < _logistic(u)).astype(float),
        _logistic,
        LogisticRegression,
        spread=1.0,
    ),
    Setting(
        "logistic, rare",
        lambda r, u: (r.random(len(u)) < _logistic(u)).astype(float),
        _logistic,
        LogisticRegression,
        intercept=-2.0,
        spread=1.0,
    ),
    Setting("Poisson", lambda r, u: r.poisson(np.exp(u)).astype(float), np.exp, PoissonRegression),
    Setting("negative binomial", _negative_binomial, np.exp, PoissonRegression),
    Setting("Gamma", lambda r, u: r.gamma(2.0, np.exp(u) / 2.0), np.exp, GammaRegression),
    Setting(
        "binomial",
        lambda r, u: r.binomial(TRIALS, _logistic(u)).astype(float),
        lambda u: TRIALS * _logistic(u),
        lambda: BinomialLearner(),
    ),
    Setting(
        "beta-binomial",
        _beta_binomial,
        lambda u: TRIALS * _logistic(u),
        lambda: BinomialLearner(),
    ),
]


class BinomialLearner:
    """The learner of binomial counts behind the calls of an estimator, which there is none of."""

    def fit(self, X: np.ndarray, y: np.ndarray) -> BinomialLearner:
        from kalmia._kalmia import model

        self.learner = model("auto", f"binomial:{TRIALS}", X.shape[1], drift="off")
        self.learner.learn_many(X, y, means=False, undo=False)
        return self

    def table(self) -> np.ndarray:
        names = [str(j) for j in range(self.learner.dim)]
        return np.array([row[5:7] for row in self.learner.coefficients(names, LEVEL)])

    def ends(self, X: np.ndarray, of_mean: bool) -> np.ndarray:
        return np.column_stack(self.learner.predict_interval(X, LEVEL, None, of_mean))


def _table(model: object) -> np.ndarray:
    """The coefficients' intervals, the intercept first."""
    if isinstance(model, BinomialLearner):
        return model.table()
    return np.array([row[5:7] for row in model.summary(LEVEL).rows])


def _ends(model: object, X: np.ndarray, of_mean: bool) -> np.ndarray | None:
    """Intervals for new rows; labels have none."""
    if isinstance(model, BinomialLearner):
        return model.ends(X, of_mean)
    if isinstance(model, LogisticRegression):
        return model.predict_interval(X, LEVEL) if of_mean else None
    return model.predict_interval(X, LEVEL, of_mean=of_mean)


def _held(ends: np.ndarray | None, truth: np.ndarray) -> float:
    if ends is None:
        return math.nan
    return float(((ends[:, 0] <= truth) & (truth <= ends[:, 1])).mean())


def replicate(setting: Setting, n: int, d: int, seed: int) -> tuple[float, float, float, float]:
    """The shares of slopes, intercept, means and new targets that their intervals hold."""
    rng = np.random.default_rng([seed, n, d])
    slopes = rng.normal(size=d) * setting.spread / math.sqrt(d)
    X, new = rng.normal(size=(n, d)), rng.normal(size=(NEW_ROWS, d))
    y = setting.draw(rng, setting.intercept + X @ slopes)
    while setting.make is LogisticRegression and len(np.unique(y)) < 2:
        y = setting.draw(rng, setting.intercept + X @ slopes)
    model = setting.make().fit(X, y)
    u = setting.intercept + new @ slopes
    table = _table(model)
    return (
        _held(table[1:], slopes),
        _held(table[:1], np.array([setting.intercept])),
        _held(_ends(model, new, True), setting.mean(u)),
        _held(_ends(model, new, False), setting.draw(rng, u)),
    )


def _line(task: tuple[int, int, int, int]) -> tuple[str, int, int, np.ndarray]:
    index, n, d, replicates = task
    setting = SETTINGS[index]
    found = [replicate(setting, n, d, seed) for seed in range(replicates)]
    return setting.name, n, d, np.mean(found, axis=0)


def lines(sizes: list[tuple[int, int]], replicates: int, jobs: int) -> Iterator[str]:
    """The table in Markdown, line by line."""
    yield "| targets | n | d | slopes | intercept | means | new targets |"
    yield "|---|---:|---:|---:|---:|---:|---:|"
    tasks = [(index, n, d, replicates) for index in range(len(SETTINGS)) for n, d in sizes]
    with ProcessPoolExecutor(jobs) as pool:
        for name, n, d, shares in pool.map(_line, tasks):
            cells = ["" if math.isnan(share) else f"{share:.3f}" for share in shares]
            yield f"| {name} | {n} | {d} | " + " | ".join(cells) + " |"


def main() -> None:
    """Prints the table."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--quick", action="store_true", help="20 replicates of small sizes")
    parser.add_argument("--replicates", type=int, help="replicates per line")
    parser.add_argument("--jobs", type=int, default=2, help="processes")
    given = parser.parse_args()
    sizes = [(n, d) for n in (200, 2000) for d in (5, 20, 40)]
    if given.quick:
        sizes = [(200, 5), (200, 20)]
    replicates = given.replicates or (20 if given.quick else 200)
    for line in lines(sizes, replicates, given.jobs):
        print(line, flush=True)


if __name__ == "__main__":
    main()
