"""Tables of the families: quantiles, counts that vary more than Poisson's, targets with outliers.

    pip install scikit-learn statsmodels
    python python/benchmarks/family_tables.py [quantile] [counts] [outliers]
        [--command target/release/kalmia]

Prints a Markdown table for each of the three, or for those named. kalmia learns by the command, in
one pass, without a setting. Simulations have fixed seeds.
"""

import pathlib
import tempfile

import command as kalmia
import numpy as np
from count_scores import COUNT_SETS, HINDSIGHT, block_score
from sklearn.linear_model import HuberRegressor, LinearRegression, QuantileRegressor

ROWS = 20_000
SGD_RATES = (0.03, 0.1, 0.3, 1.0)
COEFFICIENTS = np.array([3.0, 1.0, -2.0, 0.5, 0.0, 4.0])
SAMPLES = 50


def skewed(seed: int, theta: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Skewed noise whose size grows with a feature: every quantile has other coefficients."""
    rng = np.random.default_rng(seed)
    x = np.c_[rng.uniform(0, 2, ROWS), rng.normal(size=(ROWS, 9))]
    noise = rng.exponential(size=ROWS) - 1
    return x, theta[0] + x @ theta[1:] + (0.5 + x[:, 0]) * noise


def pinball(tau: float, residuals: np.ndarray) -> float:
    return float(np.maximum(tau * residuals, (tau - 1) * residuals).mean())


def gradient_loss(tau: float, rate: float, x: np.ndarray, y: np.ndarray) -> float:
    """Progressive pinball loss of stochastic gradients with steps of rate / sqrt(t)."""
    rows = np.c_[np.ones(len(y)), x]
    theta = np.zeros(rows.shape[1])
    residuals = np.empty(len(y))
    for t, (row, target) in enumerate(zip(rows, y)):
        residuals[t] = target - row @ theta
        slope = tau - 1 if residuals[t] < 0 else tau
        theta += rate * slope / np.sqrt(t + 1) * row
    return pinball(tau, residuals)


def quantile_table(command: str, folder: pathlib.Path) -> None:
    """Progressive pinball losses, and the share of new targets below the predicted level."""
    theta = 0.5 * np.random.default_rng(0).normal(size=11)
    x, y = skewed(1, theta)
    new_x, new_y = skewed(2, theta)
    rows, new, model = folder / "rows.csv", folder / "new.csv", folder / "model.kalmia"
    kalmia.write_table(rows, x, y)
    kalmia.write_table(new, new_x, new_y)
    print("| tau | kalmia | batch fit of all rows | kalmia / batch | SGD best of "
          f"{len(SGD_RATES)} | running quantile | share of new targets below |")
    print("|--:|--:|--:|--:|--:|--:|--:|")
    for tau in (0.1, 0.5, 0.9):
        options = ("--target", "y", "--family", f"quantile:{tau}", "--output", model)
        found = kalmia.fit(command, rows, len(y), *options)["progressive"]
        batch = QuantileRegressor(quantile=tau, alpha=0, solver="highs").fit(x, y)
        best = pinball(tau, y - batch.predict(x))
        sgd = min(gradient_loss(tau, rate, x, y) for rate in SGD_RATES)
        share = float((new_y < kalmia.predict(command, model, new)["mean"]).mean())
        print(kalmia.table_line(
            str(tau), found["loss"], best, found["loss"] / best, sgd, found["baseline_loss"], share
        ), flush=True)


def counts_table(command: str, folder: pathlib.Path) -> None:
    """Mean log scores per row of both families, and of batch fits in hindsight."""
    print("| set | rows | negative binomial | Poisson, widened | batch negative binomial |"
          " batch Poisson | dispersion | batch |")
    print("|---|--:|--:|--:|--:|--:|--:|--:|")
    for name, make in COUNT_SETS.items():
        x, y = make()
        scores = [block_score(command, folder, family, x, y) for family in HINDSIGHT]
        batch = [fit(x, y) for fit in HINDSIGHT.values()]
        print(kalmia.table_line(
            name, f"{len(y):,}", *(own.score for own in scores), *(fit.score for fit in batch),
            scores[0].dispersion, batch[0].dispersion,
        ), flush=True)


def contaminated(share: float, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Normal noise; a share of the targets is 30 to 60 deviations too large."""
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(5000, len(COEFFICIENTS) - 1))
    y = COEFFICIENTS[0] + x @ COEFFICIENTS[1:] + rng.normal(size=len(x))
    wrong = rng.uniform(size=len(x)) < share
    return x, y + wrong * rng.uniform(30, 60, len(x))


def one_far(seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Normal noise; one target is a million deviations too large."""
    x, y = contaminated(0.0, seed)
    y[1000] += 1e6
    return x, y


def distance(intercept: float, slopes: np.ndarray) -> float:
    """Root of the summed squared errors of the coefficients."""
    return float(np.linalg.norm(np.r_[intercept, slopes] - COEFFICIENTS))


def own_distance(command: str, path: pathlib.Path, family: str) -> float:
    summary = kalmia.run(command, "fit", path, "--target", "y", "--family", family)
    intercept, *slopes = (one["estimate"] for one in summary["coefficients"])
    return distance(intercept, np.array(slopes))


def outliers_table(command: str, folder: pathlib.Path) -> None:
    """Errors of the coefficients with contaminated targets."""
    streams = {
        "clean": lambda seed: contaminated(0.0, seed),
        "1 % outliers": lambda seed: contaminated(0.01, seed),
        "10 % outliers": lambda seed: contaminated(0.1, seed),
        "one of 1e6 deviations": one_far,
    }
    print("| targets | kalmia, student | batch Huber | student / Huber | kalmia, gaussian |"
          " batch least squares |")
    print("|---|--:|--:|--:|--:|--:|")
    path = folder / "rows.csv"
    for name, make in streams.items():
        errors = []
        for seed in range(SAMPLES):
            x, y = make(seed)
            kalmia.write_table(path, x, y)
            batch = [model.fit(x, y) for model in (HuberRegressor(alpha=0), LinearRegression())]
            huber, squares = (distance(fit.intercept_, fit.coef_) for fit in batch)
            student = own_distance(command, path, "student")
            errors.append((student, huber, own_distance(command, path, "gaussian"), squares))
        student, huber, gaussian, squares = np.mean(errors, axis=0).tolist()
        line = kalmia.table_line(name, student, huber, student / huber, gaussian, squares)
        print(line, flush=True)


TABLES = {"quantile": quantile_table, "counts": counts_table, "outliers": outliers_table}


def main() -> None:
    parser = kalmia.parser(__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*", metavar="NAME", help=", ".join(TABLES))
    given = parser.parse_args()
    if unknown := set(given.names) - set(TABLES):
        parser.error(f"no table is called {unknown.pop()}; the tables are {', '.join(TABLES)}")
    for name in given.names or TABLES:
        with tempfile.TemporaryDirectory() as folder:
            TABLES[name](given.command, pathlib.Path(folder))
        print()


if __name__ == "__main__":
    main()
