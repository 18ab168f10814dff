"""Model files: the same as the command ``kalmia`` reads and writes."""

from __future__ import annotations

import os
from typing import Any

import numpy as np

from ._data import Rows, offsets
from ._kalmia import Schema, load_model, method_defaults, save_model
from ._parameters import METHOD_PARAMETERS
from .errors import InputError, ModelFileError


def save(estimator: Any, path: str | os.PathLike[str]) -> None:
    """Writes a fitted estimator; see `Estimator.save`."""
    schema = getattr(estimator, "schema_", None) or _schema(estimator)
    save_model(os.fspath(path), estimator.learners_, schema, _python(estimator, schema))


def _python(estimator: Any, schema: Schema) -> dict[str, Any]:
    """What only the Python package needs to know."""
    classes = getattr(estimator, "classes_", None)
    names = list(getattr(estimator, "feature_names_in_", schema.columns))
    # the command trims names, and numbers columns without one
    renamed = {} if names == schema.columns else {"names": names}
    return renamed | {
        "estimator": type(estimator).__name__,
        # as they were when the learners were made, whatever has been set since
        "parameters": estimator.get_params() | getattr(estimator, "_made_with", {}),
        "named": hasattr(estimator, "feature_names_in_"),
        "classes": None if classes is None else [classes.dtype.kind, classes.tolist()],
    }


def _schema(estimator: Any) -> Schema:
    names = estimator._feature_names()
    target = "y"
    while target in [name.strip() for name in names]:
        target += "_"
    classes = getattr(estimator, "classes_", None)
    # tested first, because [False, True] equals [0, 1]
    boolean = classes is not None and classes.dtype.kind == "b"
    labels = None
    if classes is not None and len(classes) == 2 and not boolean and list(classes) != [0, 1]:
        labels = (str(classes[0]), str(classes[1]))
    return Schema(names, target, labels, estimator.learners_[0].intercept, boolean)


def load(path: str | os.PathLike[str]) -> Any:
    """Reads a model that an estimator's `save`, or the command ``kalmia``, wrote.

    Parameters
    ----------
    path : path-like
        The file.

    Returns
    -------
    LogisticRegression, LinearRegression, PoissonRegression or GammaRegression
        By the family. If the command fitted the model and not all of its columns are numbers, it
        takes tables of pandas or polars and encodes them as the command does: unknown levels count
        as zeros, and a row that is left out for a missing value has the prediction NaN. If the
        command was given an offset, the table's column of that name is used, unless `offset` is
        given.

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
    from ._linear import GammaRegression, LinearRegression, PoissonRegression
    from ._logistic import LogisticRegression

    learners, schema, method, kind, found, python = load_model(os.fspath(path))
    if python and "river" in python:
        from ._river_model import read

        return read(learners, python["river"], path)
    by_family = {
        "bernoulli": LogisticRegression,
        "gaussian": LinearRegression,
        "poisson": PoissonRegression,
        "gamma": GammaRegression,
    }
    family = learners[0].family
    if family not in by_family:
        raise ModelFileError(f"model file {path}: no estimator has the family {family}")
    python = python or {}
    parameters = python.get("parameters") or {"method": method, "weights": kind, **found}
    estimator = by_family[family](**_taken(parameters))
    estimator.learners_ = learners
    estimator._remember()
    estimator.schema_ = schema
    estimator.n_features_in_ = len(schema.columns)
    if python.get("named", True):
        estimator.feature_names_in_ = np.array(python.get("names", schema.columns), dtype=object)
    if family == "bernoulli":
        estimator.classes_ = _classes(python.get("classes"), schema)
    return estimator


def _taken(parameters: dict[str, Any]) -> dict[str, Any]:
    """The parameters without values for other methods, which earlier versions stored."""
    taken = method_defaults(parameters["method"])
    others = [name for name in METHOD_PARAMETERS if name not in taken]
    if parameters["method"] == "auto":
        others += ["noise_variance", "dispersion"]
    return {name: value for name, value in parameters.items() if name not in others}


def _classes(stored: list[Any] | None, schema: Schema) -> np.ndarray:
    if stored is not None:
        kind, values = stored
        return np.array(values, dtype={"b": bool, "i": int, "u": int, "f": float}.get(kind))
    return np.array(schema.labels) if schema.labels else np.array([0, 1])


def encode(schema: Schema, X: Any, offset: Any) -> Rows:
    """The features of a table by the command's encoder; `offset` replaces the table's own."""
    columns = schema.columns
    name = schema.offset
    is_frame = hasattr(X, "iloc")
    if not hasattr(X, "columns") or not (is_frame or hasattr(X, "hstack")):
        raise InputError(
            f"this model encodes its columns {columns[:5]}: give a table of pandas or polars that "
            "has them"
        )
    missing = [column for column in columns if column not in X.columns]
    if missing:
        raise InputError(f"the table has no column {missing[0]!r}")
    given = offsets(offset, len(X))
    if name is not None and given is None:
        if name not in X.columns:
            raise InputError(no_offset(name))
        columns = [*columns, name]
    table = X[columns].reset_index(drop=True) if is_frame else X.select(columns)
    if name is not None and given is not None:
        added = {name: given}
        table = table.assign(**added) if is_frame else table.hstack(type(X)(added))
    features, places, found, unseen = _encode(schema, table)
    rows = Rows(features, found, len(X), None if len(places) == len(X) else places, unseen)
    return rows if name is not None else rows._replace(offset=rows.pick(given))


def _encode(
    schema: Schema, table: Any
) -> tuple[np.ndarray, np.ndarray, np.ndarray | None, np.ndarray | None]:
    """`Schema.encode`, through lists if pandas cannot make an Arrow stream of the table.

    It needs pyarrow for that, which refuses columns of mixed types.
    """
    if not hasattr(table, "iloc"):
        return schema.encode(table)
    try:
        stream = table.__arrow_c_stream__()
    except (AttributeError, ImportError, TypeError, ValueError):
        values = table.astype(object)
        return schema.encode(values.where(values.notna(), None).to_dict("list"))
    return schema.encode(stream)


def no_offset(name: str) -> str:
    """The message for a model with an offset and a table without one."""
    return (
        f"the model was fitted with the offset {name!r}: give a table that has this column, or "
        "`offset`"
    )
