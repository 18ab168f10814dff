"""Model files: the same as the command ``kalmia`` reads and writes."""

from __future__ import annotations

import os
from typing import Any

import numpy as np

from ._encoding import target_name
from ._classes import all_labels, is_joint, is_ordered, labels_of
from ._kalmia import (
    Schema,
    load_model,
    method_defaults,
    save_classes,
    save_model,
    save_quantiles,
)
from ._parameters import METHOD_PARAMETERS
from ._wide import FIRST_UNNAMED, is_wide
from .errors import ModelFileError


def save(estimator: Any, path: str | os.PathLike[str]) -> None:
    """Writes a fitted estimator; see `Estimator.save`."""
    schema = schema_of(estimator)
    python = _python(estimator, schema)
    stream = getattr(estimator, "_stream_entry", None)
    if estimator._scored() is not estimator.learners_:
        (scores,) = estimator._scored()
        save_quantiles(os.fspath(path), estimator.learners_, scores, schema, python, stream)
        return
    write(path, estimator.learners_, schema, python, stream)


def write(
    path: str | os.PathLike[str],
    learners: list[Any],
    schema: Schema,
    python: dict[str, Any],
    stream: Any = None,
) -> None:
    """Writes learners with their columns and the entries of this package."""
    if is_joint(learners):
        save_classes(os.fspath(path), learners[0], schema, python, stream)
    else:
        save_model(os.fspath(path), learners, schema, python, stream)


def schema_of(estimator: Any) -> Schema:
    """The columns of a fitted estimator as its file has them."""
    schema: Schema | None = getattr(estimator, "schema_", None)
    if schema is not None and estimator._from_command:
        return schema
    numeric = schema is None or (schema.is_numeric and not schema.is_sparse)
    made = _schema(estimator) if numeric or schema is None else schema
    if is_joint(estimator.learners_):
        names = [""] * len(estimator.classes_)
        for label, code in zip(estimator.classes_, estimator._codes, strict=True):
            names[code] = str(label)
        ordered = is_ordered(estimator.learners_[0])
        return made.with_levels(names) if ordered else made.with_classes(names)
    return made if numeric else made.with_coding(*_coding(estimator))


def _python(estimator: Any, schema: Schema) -> dict[str, Any]:
    """What only the Python package needs to know."""
    classes = getattr(estimator, "classes_", None)
    names = list(getattr(estimator, "feature_names_in_", schema.columns))
    # the command trims names, and numbers columns without one
    made = estimator.get_params() | getattr(estimator, "_made_with", {})
    renamed: dict[str, Any] = {} if names == schema.columns else {"names": names}
    if schema.is_sparse:
        renamed["width"] = estimator.n_features_in_
    return renamed | {
        "estimator": type(estimator).__name__,
        # as they were when the learners were made, whatever has been set since
        "parameters": {
            name: np.asarray(value).tolist() if np.ndim(value) > 0 else value
            for name, value in made.items()
        },
        "named": hasattr(estimator, "feature_names_in_"),
        "classes": None if classes is None else _stored_classes(classes),
    }


def _stored_classes(classes: np.ndarray) -> list[Any]:
    """The type and the values of labels. Dates are texts in the file."""
    if classes.dtype.kind == "M":
        return [classes.dtype.str, classes.astype(str).tolist()]
    return [classes.dtype.kind, classes.tolist()]


def _schema(estimator: Any) -> Schema:
    names = estimator._feature_names()
    labels, boolean = _coding(estimator)
    learner = estimator.learners_[0]
    wide = "always" if is_wide(learner) else "never"
    return Schema(names, target_name(names), labels, learner.intercept, boolean, wide=wide)


def _coding(estimator: Any) -> tuple[tuple[str, str] | None, bool]:
    """The two labels as texts, None if they are 0 and 1, and whether they are truth values."""
    classes = getattr(estimator, "classes_", None)
    # tested first, because [False, True] equals [0, 1]
    boolean = classes is not None and classes.dtype.kind == "b"
    if classes is None or len(classes) != 2 or boolean or list(classes) == [0, 1]:
        return None, boolean
    return (str(classes[0]), str(classes[1])), boolean


def load(path: str | os.PathLike[str]) -> Any:
    """Reads a model that an estimator's `save`, or the command ``kalmia``, wrote.

    Parameters
    ----------
    path : path-like
        The file.

    Returns
    -------
    LogisticRegression, LinearRegression or another estimator
        By the family. If the command fitted the model and not all of its columns are numbers, it
        takes tables of pandas or polars and encodes them as the command does: unknown levels count
        as zeros, and a row that is left out for a missing value has the prediction NaN. If the
        command was given an offset, the table's column of that name is used, unless `offset` is
        given. A wide model of libsvm files takes matrices of any width, in which column j has
        the index j. A model of :mod:`kalmia.stream` has `stream_position_`, the last position of
        each source, which `save` keeps.

    Examples
    --------
    >>> import os, tempfile, kalmia
    >>> model = kalmia.LinearRegression().fit([[0.0], [1.0], [2.0]], [1.0, 3.0, 5.0])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = os.path.join(folder, "line.kalmia")
    ...     model.save(path)
    ...     again = kalmia.load(path)
    >>> bool((again.predict([[3.0]]) == model.predict([[3.0]])).all())
    True
    """
    from ._families import NegativeBinomialRegression, StudentRegression
    from ._linear import GammaRegression, LinearRegression, PoissonRegression
    from ._logistic import LogisticRegression
    from ._ordinal import OrdinalRegression
    from ._quantile import QuantileRegression

    content = load_model(os.fspath(path))
    learners, schema, method, kind, found, python, stream, scores = content
    if python and "river" in python:
        from ._river_model import read

        return read(learners, python["river"], path, schema.classes)
    by_family = {
        "bernoulli": LogisticRegression,
        "categorical": LogisticRegression,
        "ordinal": OrdinalRegression,
        "gaussian": LinearRegression,
        "poisson": PoissonRegression,
        "gamma": GammaRegression,
        "negative-binomial": NegativeBinomialRegression,
        "quantile": QuantileRegression,
        "student": StudentRegression,
    }
    family = learners[0].family
    if family not in by_family:
        raise ModelFileError(f"model file {path}: no estimator has the family {family}")
    from_command = python is None
    python = python or {}
    parameters = python.get("parameters") or {
        "method": method,
        "weights": kind,
        "text": schema.texts or None,
        "analyzer": schema.analyzer,
        "hash_bits": schema.hash_bits,
        **learners[0].family_parameters,
        **({} if scores is None else {"quantile": scores.levels}),
        **found,
    }
    if family == "ordinal":
        levels = _levels(python.get("classes"), schema)
        parameters = python.get("parameters") or {"levels": levels, "weights": kind}
        estimator: Any = OrdinalRegression(**parameters)
        estimator.classes_, estimator._codes = levels, np.arange(len(levels))
    else:
        estimator = by_family[family](**_taken(parameters))
    estimator.learners_ = learners
    if scores is not None:
        estimator._scores = scores
    estimator._remember()
    estimator.schema_ = schema
    estimator._from_command = from_command
    estimator.n_features_in_ = len(schema.columns)
    if schema.is_sparse:
        seen = learners[0].features[int(learners[0].intercept) :]
        last = int(seen.max(initial=FIRST_UNNAMED))
        estimator.n_features_in_ = python.get("width", last - FIRST_UNNAMED + 1)
    elif python.get("named", True):
        estimator.feature_names_in_ = np.array(python.get("names", schema.columns), dtype=object)
    if stream is not None:
        estimator._stream_entry = stream
        estimator.stream_position_ = stream["position"]
    if family == "categorical":
        names = schema.classes or []
        stored = python.get("classes")
        labels, codes = labels_of(names)
        if stored is not None:
            # with the classes that the command has added since
            known = _classes(stored, schema)
            added = len(names) > len(known)
            every = np.array(all_labels(known.tolist(), names)) if added else known
            codes = np.argsort(every, kind="stable")
            labels = every[codes]
        estimator.classes_, estimator._codes = labels, codes
    if family == "bernoulli":
        estimator.classes_ = _classes(python.get("classes"), schema)
    return estimator


def _levels(stored: list[Any] | None, schema: Schema) -> np.ndarray:
    """The levels of a file in their order: as they were given, or numbers if all are."""
    if stored is not None:
        return _classes(stored, schema)
    names = schema.classes or []
    labels, codes = labels_of(names)
    in_order = np.empty_like(labels)
    in_order[codes] = labels
    return in_order


def _taken(parameters: dict[str, Any]) -> dict[str, Any]:
    """The parameters without values for other methods, which earlier versions stored."""
    taken = method_defaults(parameters["method"])
    others = [name for name in METHOD_PARAMETERS if name not in taken]
    # not among the defaults of methods, and no earlier version had them
    kept = ("prior_mean", "certificate", "conformal")
    others = [name for name in others if name not in kept]
    if np.ndim(parameters.get("prior_variance")) > 0 and "prior_variance" in others:
        others.remove("prior_variance")
    if parameters["method"] in ("auto", "wide"):
        others += ["noise_variance", "dispersion"]
    return {name: value for name, value in parameters.items() if name not in others}


def _classes(stored: list[Any] | None, schema: Schema) -> np.ndarray:
    if stored is not None:
        kind, values = stored
        if "M8" in kind:
            return np.array(values, dtype=kind)
        return np.array(values, dtype={"b": bool, "i": int, "u": int, "f": float}.get(kind))
    return np.array(schema.labels) if schema.labels else np.array([0, 1])
