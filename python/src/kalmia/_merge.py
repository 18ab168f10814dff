"""One estimator of two that learned different rows."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.utils.validation import check_is_fitted

from . import _classes, _files
from ._kalmia import merge, merge_classes
from ._parameters import same
from .errors import InputError, StateError


def merged(a: Any, b: Any) -> Any:
    """The model of the rows of both; see `Estimator.merge`."""
    if type(a) is not type(b):
        raise InputError(
            f"a {type(a).__name__} cannot be merged with a {type(b).__name__}: give two models of "
            "one class"
        )
    check_is_fitted(b, "learners_")
    if a._scored() is not a.learners_:
        raise InputError(
            "a model of several quantiles cannot be merged: its levels are judged together; fit "
            "and merge one model per level"
        )
    for name, value in a._made_with.items():
        other = b._made_with.get(name)
        if not same(value, other):
            raise InputError(
                f"the models cannot be merged: {name} is {value!r} in one and {other!r} in the "
                "other; fit both with the same parameters"
            )
    one, two = _names(a), _names(b)
    if one != two:
        place = next((j for j, pair in enumerate(zip(one, two)) if pair[0] != pair[1]), None)
        shown = (
            f"{len(one)} and {len(two)} features"
            if place is None
            else f"feature {place} is {one[place]!r} in one and {two[place]!r} in the other"
        )
        raise InputError(
            f"the models cannot be merged: {shown}; fit both on the same columns, with levels in "
            "the same order"
        )
    if not np.array_equal(getattr(a, "classes_", 0), getattr(b, "classes_", 0)):
        raise InputError(
            f"the models cannot be merged: one has the classes {a.classes_.tolist()[:5]}, the "
            f"other {b.classes_.tolist()[:5]}; give both all labels as `classes`"
        )
    if a.n_features_in_ != b.n_features_in_:
        raise InputError(
            f"the models cannot be merged: one has {a.n_features_in_} columns, the other "
            f"{b.n_features_in_}; fit both on the same columns"
        )
    result = clone(a)
    kept = ("schema_", "classes_", "_codes", "n_features_in_", "feature_names_in_", "_from_command")
    known = vars(a)
    vars(result).update({name: known[name] for name in kept if name in known})
    try:
        _merge_learners(result, a, b)
    except StateError as error:
        raise StateError(f"the models cannot be merged: {error}") from error
    result._remember()
    return result


def _merge_learners(result: Any, a: Any, b: Any) -> None:
    """Gives the result the learners of both."""
    joint = [_classes.is_joint(one.learners_) for one in (a, b)]
    if joint[0] != joint[1]:
        raise InputError(
            "the models cannot be merged: one learns all classes jointly, the other one model per "
            "class; fit both with the same parameters and kinds of columns"
        )
    if not joint[0]:
        pairs = [merge(*pair) for pair in zip(a.learners_, b.learners_, strict=True)]
        result.learners_ = [learner for learner, _ in pairs]
        result.merged_exactly_ = all(exact for _, exact in pairs)
        return
    first, second = _files.schema_of(a), _files.schema_of(b)
    learner, schema, exact = merge_classes(a.learners_[0], first, b.learners_[0], second)
    result.learners_, result.merged_exactly_ = [learner], exact
    # the classes may have met in another order
    names = (first.classes or [], schema.classes or [])
    result._codes = np.array([names[1].index(names[0][code]) for code in a._codes])
    if hasattr(result, "schema_"):
        result.schema_ = schema


def _names(estimator: Any) -> list[str]:
    """The features that must agree: of a wide model those with a name, and not the hashed ones."""
    schema = getattr(estimator, "schema_", None)
    if schema is not None and schema.is_wide:
        found: list[str] = schema.features
        return found
    names: list[str] = estimator._feature_names()
    return names
