"""Labels of classifiers: what they may be, as targets, and the weights of their rows."""

from __future__ import annotations

from functools import reduce
from typing import Any

import numpy as np
from sklearn.utils.multiclass import check_classification_targets

from ._parameters import check_numbers
from .errors import InputError


def check_labels(y: np.ndarray) -> None:
    """Names missing and mixed labels, for which numpy and scikit-learn have obscure messages."""
    if y.dtype != object:
        return
    for row, label in enumerate(y):
        # pandas' NA has no truth value, so it is recognized by its type
        if label is None or type(label).__name__ in ("NAType", "NaTType") or label != label:
            raise InputError(f"y has no label in row {row}: drop the rows without a label")
    kinds = sorted({type(label).__name__ for label in y})
    dates = [kind for kind in kinds if kind in ("date", "datetime", "Timestamp")]
    if dates:
        raise InputError(
            f"y holds labels of type {dates[0]}: convert them to texts, or to numpy's datetime64"
        )
    if "str" in kinds and len(kinds) > 1:
        raise InputError(f"y mixes labels of types {', '.join(kinds)}: convert all to str")


def known_classes(y: np.ndarray, given: Any, before: np.ndarray | None) -> np.ndarray:
    """The sorted labels of a stream: on its first call those given, or else those of `y`.

    `before` has those of earlier calls, None on the first. They stay as they are.
    """
    try:
        return _first_classes(y, given) if before is None else _same_classes(given, before)
    except (TypeError, ValueError):
        check_labels(y)
        raise


def _first_classes(y: np.ndarray, given: Any) -> np.ndarray:
    if given is None:
        check_classification_targets(y)
    known = np.unique(y if given is None else given)
    if len(known) < 2:
        raise InputError(
            f"y holds only one class, {known.tolist()}: a classifier needs at least two; "
            "if others come later, give all labels to partial_fit as `classes`"
        )
    return known


def _same_classes(given: Any, before: np.ndarray) -> np.ndarray:
    if given is None or np.array_equal(given, before):
        return before
    known = np.unique(given)
    if not np.array_equal(known, before):
        raise InputError(
            f"classes are {known.tolist()}, but the first call had {before.tolist()}: "
            "pass the same classes, or call fit to start again"
        )
    return before


def class_masks(y: np.ndarray, known: np.ndarray) -> list[np.ndarray]:
    """Which rows have the label of each class; refuses other labels.

    Examples
    --------
    >>> class_masks(np.array(["pear", "fig"]), np.array(["fig", "pear"]))
    [array([False,  True]), array([ True, False])]
    """
    masks = [y == label for label in known]
    seen = reduce(np.logical_or, masks)
    if not seen.all():
        check_labels(y)
        row = int(np.argmin(seen))
        raise InputError(
            f"y holds the label {y[row : row + 1].tolist()[0]!r} in row {row}, which is not "
            f"among the classes {known.tolist()[:5]}: pass every label as `classes` to the "
            "first partial_fit, or call fit again"
        )
    return masks


def check_class_weight(given: Any, whole: bool) -> None:
    """Refuses class weights of another kind, and balanced ones where not all rows are known."""
    if isinstance(given, str) and given == "balanced":
        if not whole:
            # in the words of scikit-learn's SGDClassifier
            raise InputError(
                "class_weight 'balanced' is not supported for partial_fit. In order to use "
                "'balanced' weights, use compute_class_weight('balanced', classes=classes, "
                "y=y). In place of y you can use a large enough subset of the full training "
                "set target to properly estimate the class frequency distributions. Pass the "
                "resulting weights as the class_weight parameter."
            )
    elif given is not None and not isinstance(given, dict):
        raise InputError(
            f'class_weight is {given!r}: give "balanced", or a dictionary with a weight per label'
        )


def class_weights(
    given: Any, y: np.ndarray, known: np.ndarray, weight: np.ndarray | None
) -> np.ndarray | None:
    """The weights of the rows, times those of their classes."""
    if given is None:
        return weight
    base = np.ones(len(y)) if weight is None else weight
    masks = [y == label for label in known]
    if isinstance(given, str):
        totals = [float(base[mask].sum()) for mask in masks]
        present = sum(total > 0.0 for total in totals)
        factors = [base.sum() / (present * total) if total > 0.0 else 1.0 for total in totals]
    else:
        unknown = [label for label in given if label not in known.tolist()]
        if unknown:
            raise InputError(
                f"class_weight has a weight for the label {unknown[0]!r}, which is not among "
                f"the classes {known.tolist()[:5]}"
            )
        check_numbers({f"class_weight[{label!r}]": one for label, one in given.items()})
        factors = [float(given.get(label, 1.0)) for label in known.tolist()]
    scaled = base.copy()
    for mask, factor in zip(masks, factors, strict=True):
        scaled[mask] *= factor
    return scaled
