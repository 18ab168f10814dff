"""Log-losses of several classes: kalmia beside tuned online learners, and beside batch fits.

    pip install scikit-learn river vowpalwabbit statsmodels wordfreq palmerpenguins
    python python/benchmarks/class_losses.py [NAME ...] [--command target/release/kalmia]
    python python/benchmarks/class_losses.py --held-out     # the second table alone

Prints two Markdown tables with one line for each set of class_sets.py, or for those named.

The first is the mean log-loss of predictions made before each row is learned, in one pass. All
learners read the same rows in the same order; the number is the mean over several random orders.
kalmia gets the file and nothing else. "constant" is the best single prediction for all rows. Each
"best of" column runs a grid of settings (class_peers.py has them) and shows the setting with the
lowest mean on the very rows that it is scored on. That favors the grid: in use nobody knows the
best setting beforehand.

The second is the loss and the accuracy on the last 30 % of the rows of each order, after training
on the first 70 %: kalmia in one pass, kalmia polished by further passes until nothing moves,
scikit-learn's LogisticRegression on standardized features until it converges, with C = 1 and with
the best of seven C by cross-validation in five folds.

Sets of texts are sparse: kalmia reads them as libsvm files, and nobody standardizes their features.
They are left out of the second table: a split would need 36 batch fits of 200,000 coefficients or
more.
"""

import pathlib
import sys
import tempfile
import warnings

import class_peers
import class_sparse_peers
import command as kalmia
import numpy as np
import scipy.sparse
from class_sets import ORDERS, SETS, ClassSet, SourceMissing
from sklearn.datasets import dump_svmlight_file
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression, LogisticRegressionCV
from sklearn.metrics import accuracy_score, log_loss
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

#: Rows from which kalmia takes the classes; the other learners get all of them at the start.
FIRST_BLOCK = 1024
CHECKED_ROWS = 25
TRAINED = 0.7
PENALTIES = np.logspace(-3, 3, 7)


def shuffled(data: ClassSet, seed: int) -> ClassSet:
    order = np.random.default_rng(seed).permutation(len(data.y))
    found = ClassSet(data.x[order], data.y[order])
    if len(np.unique(found.y[:FIRST_BLOCK])) < data.classes:
        raise SystemExit(f"order {seed} has a class that does not occur in {FIRST_BLOCK} rows")
    return found


def write(path: pathlib.Path, data: ClassSet) -> pathlib.Path:
    """As a file of which the target is a text, or as libsvm rows."""
    if scipy.sparse.issparse(data.x):
        path = path.with_suffix(".svm")
        dump_svmlight_file(data.x, data.y, str(path), zero_based=False)
    else:
        kalmia.write_table(path, data.x, (f"class{k}" for k in data.y))
    return path


def options(data: ClassSet) -> tuple[str, str]:
    """Options of the command, which infers several classes from texts but not from numbers."""
    if scipy.sparse.issparse(data.x):
        return ("--family", "categorical")
    return ("--target", "y")


def peers_of(data: ClassSet):
    """The other learners for such rows."""
    return class_sparse_peers if scipy.sparse.issparse(data.x) else class_peers


def constant_loss(data: ClassSet) -> float:
    shares = np.bincount(data.y) / len(data.y)
    return float(-(shares * np.log(shares)).sum())


def progressive(command: str, folder: pathlib.Path, name: str) -> str:
    """A line of the first table."""
    data = SETS[name]()
    orders = [shuffled(data, seed) for seed in range(ORDERS[SETS[name]])]
    first = orders[0]
    peers = peers_of(data)
    peers.check(first.x[:CHECKED_ROWS], first.y[:CHECKED_ROWS], data.classes)
    files = [write(folder / f"{seed}.csv", one) for seed, one in enumerate(orders)]
    fits = [kalmia.fit(command, path, len(data.y), *options(data)) for path in files]
    own = float(np.mean([fit["progressive"]["loss"] for fit in fits]))
    best = [
        float(np.mean([learner(*one, data.classes) for one in orders], axis=0).min())
        for learner in (peers.sgd, peers.river, peers.vw)
    ]
    return kalmia.table_line(
        name, f"{len(data.y):,}", data.x.shape[1], data.classes, len(orders),
        constant_loss(data), own, *best, f"{own / min(best):.2f}",
    )


def batch_scores(estimator, train: ClassSet, test: ClassSet) -> tuple[float, float]:
    model = make_pipeline(StandardScaler(), estimator).fit(train.x, train.y)
    probabilities = model.predict_proba(test.x)
    known = np.arange(probabilities.shape[1])
    loss = log_loss(test.y, probabilities, labels=known)
    return float(loss), float(accuracy_score(test.y, model.predict(test.x)))


def own_scores(
    command: str, folder: pathlib.Path, train: ClassSet, test: ClassSet
) -> tuple[tuple[float, float], tuple[float, float]]:
    """After one pass, and after a polish of that model."""
    model = folder / "model.kalmia"
    path = write(folder / "train.csv", train)
    other = write(folder / "test.csv", test)
    kalmia.fit(command, path, len(train.y), *options(train), "--output", model)
    first = kalmia.run(command, "evaluate", model, other)
    kalmia.run(command, "polish", model, path)
    then = kalmia.run(command, "evaluate", model, other)
    return (first["loss"], first["accuracy"]), (then["loss"], then["accuracy"])


def held_out(command: str, folder: pathlib.Path, name: str) -> str:
    """A line of the second table."""
    data = SETS[name]()
    if scipy.sparse.issparse(data.x):
        raise SourceMissing("36 batch fits of 200,000 coefficients or more per split are too slow")
    cut = round(TRAINED * len(data.y))
    scores = []
    for seed in range(ORDERS[SETS[name]]):
        whole = shuffled(data, seed)
        train = ClassSet(whole.x[:cut], whole.y[:cut])
        test = ClassSet(whole.x[cut:], whole.y[cut:])
        fixed = LogisticRegression(C=1.0, max_iter=5000)
        chosen = LogisticRegressionCV(
            Cs=PENALTIES, l1_ratios=(0,), cv=5, scoring="neg_log_loss", max_iter=1000,
            use_legacy_attributes=False,
        )
        scores.append((
            *own_scores(command, folder, train, test),
            batch_scores(fixed, train, test),
            batch_scores(chosen, train, test),
        ))
    means = np.mean(scores, axis=0)
    losses = means[:, 0].tolist()
    return kalmia.table_line(
        name, len(scores), *losses, f"{losses[0] / min(losses[2:]):.2f}",
        f"{losses[1] / min(losses[2:]):.2f}",
        *(f"{accuracy:.3f}" for accuracy in means[:, 1]),
    )


def main() -> None:
    parser = kalmia.parser(__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*", metavar="NAME", help=", ".join(SETS))
    parser.add_argument("--held-out", action="store_true", help="only the second table")
    given = parser.parse_args()
    if unknown := set(given.names) - set(SETS):
        parser.error(f"no set is called {unknown.pop()}; the sets are {', '.join(SETS)}")
    # large C without a maximum of the likelihood: the last iterate is what is compared
    warnings.filterwarnings("ignore", category=ConvergenceWarning)
    tables = {
        progressive: (
            "| set | rows | features | classes | orders | constant | kalmia |"
            f" SGD best of {len(class_peers.SGD_GRID)} |"
            f" River best of {len(class_peers.RIVER_GRID)} |"
            f" VW best of {len(class_peers.VW_GRID)} or {len(class_sparse_peers.VW_GRID)} |"
            " kalmia / best |\n"
            "|---|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|"
        ),
        held_out: (
            "| set | splits | kalmia, one pass | kalmia, polished | batch, C = 1 |"
            " batch, C by folds | one pass / best | polished / best | accuracy: one pass |"
            " polished | batch, C = 1 | batch, C by folds |\n"
            "|---|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|"
        ),
    }
    for measure, head in tables.items():
        if given.held_out and measure is not held_out:
            continue
        print(head)
        for name in given.names or SETS:
            with tempfile.TemporaryDirectory() as folder:
                try:
                    print(measure(given.command, pathlib.Path(folder), name), flush=True)
                except SourceMissing as missing:
                    print(f"{name} is left out: {missing}", file=sys.stderr)
        print()


if __name__ == "__main__":
    main()
