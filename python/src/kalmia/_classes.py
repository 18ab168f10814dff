"""Several classes learned jointly: what :class:`LogisticRegression` asks of its `ClassLearner`."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ._data import Rows
from ._kalmia import ClassLearner
from ._parameters import check_flag
from ._wide import by_column, is_wide
from .errors import InputError


def is_joint(learners: list[Any]) -> bool:
    """Whether one learner holds all classes."""
    return isinstance(learners[0], ClassLearner)


def new_codes(estimator: Any, classes: int, rows: Rows) -> np.ndarray | None:
    """The codes of classes that one learner is to hold; None if such rows are not learned jointly.

    They are by ``"auto"`` and ``"wide"``, without offsets.
    """
    joint = (
        classes > 2
        and estimator.method in ("auto", "wide")
        and not estimator.averaged
        and not estimator.certificate
        and estimator.outliers in (None, "keep")
        and rows.offset is None
    )
    return np.arange(classes) if joint else None


def new_learner(estimator: Any, first: Rows, classes: int, shuffle: int | None) -> ClassLearner:
    """A learner of several classes for such rows."""
    # refuses parameters that the method does not take
    estimator._new_learner(first._replace(X=np.empty((0, 1))), None, shuffle)
    return ClassLearner(
        classes,
        first.X.shape[1],
        check_flag("fit_intercept", estimator.fit_intercept),
        drift=estimator.drift,
        weights=estimator.weights,
        shuffle=shuffle,
        numbers=first.numbers,
    )


def coded(y: np.ndarray, labels: np.ndarray, codes: np.ndarray) -> np.ndarray:
    """The codes of labels, all of which are among the sorted ones.

    Examples
    --------
    >>> coded(np.array(["pear", "fig"]), np.array(["fig", "pear"]), np.array([1, 0]))
    array([0., 1.])
    """
    found: np.ndarray = codes[np.searchsorted(labels, y)].astype(np.float64)
    return found


def check_offset(rows: Rows) -> Rows:
    """Refuses offsets, which all classes would share."""
    if rows.offset is not None and np.any(rows.offset):
        raise InputError(
            "a model of more than two classes takes no offset: all classes would share it; leave "
            "it out"
        )
    return rows


def covariances(estimator: Any) -> np.ndarray:
    """The covariances of the coefficients of each class against the first; 0 for the first."""
    (learner,) = estimator.learners_
    codes = estimator._codes
    return np.array([learner.contrast(int(code), int(codes[0]))[1] for code in codes])


def contrasts(learner: ClassLearner, codes: Any) -> tuple[np.ndarray, np.ndarray]:
    """Coefficients of each class against the first, and standard errors; 0 for the first."""
    found = [learner.contrast_errors(int(code), int(codes[0])) for code in codes]
    return np.array([one[0] for one in found]), np.array([one[1] for one in found])


def is_ordered(learner: Any) -> bool:
    """Whether a learner of several classes takes them as ordered levels."""
    return bool(learner.family == "ordinal")


def joint_covariance(estimator: Any) -> np.ndarray:
    """The covariance of the coefficients of all classes but the first, class after class.

    Of ordered levels, that of the coefficients and the cutpoints.
    """
    (learner,) = estimator.learners_
    if is_ordered(learner):
        levels: np.ndarray = learner.levels_estimate()[2]
        return levels
    first, *others = (int(code) for code in estimator._codes)
    covariance: np.ndarray = learner.contrasts(others, first)[1]
    return covariance


def columns(estimator: Any) -> tuple[np.ndarray, np.ndarray]:
    """The same of an estimator by its columns, the intercept first if there is one."""
    (learner,) = estimator.learners_
    theta, errors = contrasts(learner, estimator._codes)
    if not is_wide(learner):
        return theta, errors
    return (
        np.array([by_column(estimator, learner, one, 0.0) for one in theta]),
        np.array([by_column(estimator, learner, one, np.nan) for one in errors]),
    )


def summary_rows(estimator: Any, level: float) -> list[tuple[Any, ...]]:
    """The coefficients of each class against the first; of ordered levels, and the cutpoints."""
    (learner,) = estimator.learners_
    if is_ordered(learner):
        levels = [str(level) for level in estimator.classes_]
        return list(learner.level_coefficients(estimator._feature_names(), levels, level))
    first, *others = zip(estimator.classes_, estimator._codes, strict=True)
    rows: list[tuple[Any, ...]] = []
    if is_wide(learner):
        codes = [int(code) for code in estimator._codes]
        tables = estimator._main_class_coefficients(learner, codes, level)
        for (label, _), table in zip(others, tables, strict=True):
            rows += [(f"{label}: {row[0]}", *row[1:]) for row in table]
        return rows
    names = (["(intercept)"] if learner.intercept else []) + estimator._feature_names()
    for label, code in others:
        named = [f"{label}: {name}" for name in names]
        rows += learner.coefficients(named, int(code), int(first[1]), level)
    return rows


def sampled_probabilities(estimator: Any, rows: Rows, n: int, start: int) -> np.ndarray:
    """Draws of the probabilities, of shape (n, rows, classes); `start` is the seed."""
    (learner,) = estimator.learners_
    coefficients = learner.sample_coefficients(n, start)[:, estimator._codes]
    table = rows.X.toarray() if hasattr(rows.X, "toarray") else np.asarray(rows.X, dtype=float)
    if learner.intercept:
        table = np.hstack([np.ones((len(table), 1)), table])
    linear = np.einsum("rd,nkd->nrk", table, coefficients)
    linear -= linear.max(axis=2, keepdims=True)
    found: np.ndarray = np.exp(linear)
    found /= found.sum(axis=2, keepdims=True)
    return found


def labels_of(names: list[str]) -> tuple[np.ndarray, np.ndarray]:
    """The sorted labels of a file of the command, and the code of each: numbers if all are."""
    for kind in (int, float, str):
        try:
            labels = np.array([kind(name) for name in names])
        except ValueError:
            continue
        break
    codes = np.argsort(labels, kind="stable")
    return labels[codes], codes


def all_labels(labels: list[Any], names: list[str]) -> list[Any]:
    """The labels of a file by their codes, with those that the command has added to it.

    The command knows labels as texts. What it adds to numbers is a number if it can be one.
    """
    numbers = all(type(label) in (int, float) for label in labels)
    return labels + [_number_or_text(name) if numbers else name for name in names[len(labels) :]]


def _number_or_text(name: str) -> Any:
    for kind in (int, float):
        try:
            number = kind(name)
        except ValueError:
            continue
        # a label is never NaN
        return number if math.isfinite(number) else name
    return name
