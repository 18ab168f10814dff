"""Sets of counts, and the log scores of the counts families: progressive and in hindsight.

The command prints deviances, which do not see the width of a law. So rows are learned in blocks:
`kalmia predict` gives the mean and the standard deviation of the linear predictor of the next
block, `kalmia update` then learns it and prints the dispersion. The log score is that of the law
that these three numbers describe, with the linear predictor integrated out. A drift is not
followed, because the batch fits describe all rows alike.
"""

import functools
import pathlib
from collections.abc import Callable
from typing import NamedTuple

import command as kalmia
import numpy as np
import statsmodels.api as sm
from scipy.special import gammaln, logsumexp

ROOT = pathlib.Path(__file__).resolve().parents[2]
BLOCK = 100
#: Nodes of the trapezoid rule, in standard deviations: fine enough for a count of some hundreds.
NODES = np.linspace(-8, 8, 1601)
DISPERSION = 0.7


class Score(NamedTuple):
    """Mean of minus the log probability per row, and the dispersion at the end."""

    score: float
    dispersion: float


def stored(path: str) -> tuple[np.ndarray, np.ndarray]:
    table = np.loadtxt(ROOT / path, delimiter=",", skiprows=1)
    return table[:, :-1], table[:, -1]


def simulated() -> tuple[np.ndarray, np.ndarray]:
    """Negative binomial counts: Poisson's with a Gamma factor in their rate."""
    rng = np.random.default_rng(1)
    x = rng.uniform(-1, 1, size=(6000, 4))
    rate = np.exp(1 + x @ np.array([0.8, -0.5, 0.3, 0.0]))
    return x, rng.poisson(rate * rng.gamma(1 / DISPERSION, DISPERSION, len(x))).astype(float)


def lognormal_rates() -> tuple[np.ndarray, np.ndarray]:
    """Counts whose rate has a lognormal factor: neither family is true."""
    rng = np.random.default_rng(2)
    x = rng.uniform(-1, 1, size=(6000, 2))
    u = 0.5 + x @ np.array([1.0, -0.5]) + 0.7 * rng.normal(size=len(x))
    return x, rng.poisson(np.exp(u)).astype(float)


COUNT_SETS: dict[str, Callable[[], tuple[np.ndarray, np.ndarray]]] = {
    "randhie": lambda: stored("examples/randhie.csv.gz"),
    "visits": lambda: stored("crates/kalmia/tests/data/real/visits.csv.gz"),
    "simulated": simulated,
    "lognormal rates": lognormal_rates,
}


def log_poisson(y: np.ndarray, u: np.ndarray) -> np.ndarray:
    return y * u - np.exp(u) - gammaln(y + 1)


def log_negative_binomial(y: np.ndarray, u: np.ndarray, dispersion: float) -> np.ndarray:
    size = 1 / dispersion
    spread = np.logaddexp(np.log(size), u)
    base = gammaln(y + size) - gammaln(size) - gammaln(y + 1)
    return base + size * (np.log(size) - spread) + y * (u - spread)


def integrated(log_density, y: np.ndarray, mean: np.ndarray, deviation: np.ndarray) -> np.ndarray:
    """Log of the density of `y` with a normal linear predictor."""
    u = mean[:, None] + deviation[:, None] * NODES
    weights = -0.5 * NODES**2 + np.log(NODES[1] - NODES[0]) - 0.5 * np.log(2 * np.pi)
    return logsumexp(log_density(y[:, None], u) + weights, axis=1)


def log_density(family: str, y: np.ndarray, law: dict, dispersion: float) -> np.ndarray:
    """Of the counts under the law that kalmia predicts."""
    mean, deviation = law["linear"], law["linear_sd"]
    if family == "negative-binomial":
        density = functools.partial(log_negative_binomial, dispersion=dispersion)
        return integrated(density, y, mean, deviation)
    # a random part of each count's own brings the variance to `dispersion` times Poisson's
    extra = np.log1p(max(dispersion - 1, 0.0) * np.exp(-mean))
    return integrated(log_poisson, y, mean - extra / 2, np.sqrt(deviation**2 + extra))


def block_score(
    command: str, folder: pathlib.Path, family: str, x: np.ndarray, y: np.ndarray
) -> Score:
    """Of all rows but the first block, each block predicted before it is learned."""
    model, rows = folder / "model.kalmia", folder / "block.csv"
    total = 0.0
    dispersion = None
    for start in range(0, len(y), BLOCK):
        block = slice(start, start + BLOCK)
        kalmia.write_table(rows, x[block], y[block])
        if dispersion is None:
            options = ("--target", "y", "--family", family, "--drift", "off", "--output", model)
            dispersion = kalmia.run(command, "fit", rows, *options)["dispersion"]
            continue
        law = kalmia.predict(command, model, rows)
        total -= log_density(family, y[block], law, dispersion).sum()
        dispersion = kalmia.run(command, "update", model, rows)["dispersion"]
    return Score(float(total / (len(y) - BLOCK)), dispersion)


def batch_negative_binomial(x: np.ndarray, y: np.ndarray) -> Score:
    fit = sm.NegativeBinomial(y, sm.add_constant(x)).fit(disp=False, maxiter=500)
    return Score(float(-fit.llf / len(y)), float(fit.params[-1]))


def batch_poisson(x: np.ndarray, y: np.ndarray) -> Score:
    fit = sm.Poisson(y, sm.add_constant(x)).fit(disp=False, maxiter=500)
    return Score(float(-fit.llf / len(y)), 1.0)


#: The batch fit of each family, by the name that the command has for it.
HINDSIGHT = {"negative-binomial": batch_negative_binomial, "poisson": batch_poisson}
