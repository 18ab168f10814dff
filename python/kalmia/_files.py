"""Model files: the same as the command ``kalmia`` reads and writes."""

from __future__ import annotations

import json
import os
from typing import Any

import numpy as np

from ._data import Rows, offsets
from ._kalmia import Schema, load_model, save_model
from .errors import InputError, ModelFileError

#: Settings of the command that an estimator has no parameter for.
_NO_SOURCE = {"format": None, "delimiter": None, "header": True}


def save(estimator: Any, path: str | os.PathLike[str]) -> None:
    """Writes a fitted estimator; see `Estimator.save`."""
    learners = estimator.learners_
    schema = getattr(estimator, "schema_", None) or _schema(estimator)
    settings = {
        "family": learners[0].family,
        "method": estimator.method,
        "drift": estimator.drift if estimator.method == "auto" else "off",
        "prior": estimator.prior_variance or 1.0,
        "radius": estimator.radius or 1.0,
        "exp_concavity": estimator.exp_concavity or 1.0,
        "horizon": estimator.horizon,
        **_NO_SOURCE,
    }
    metadata = {
        "family": learners[0].family,
        "method": learners[0].method,
        "rows": learners[0].count,
        "target": schema.target,
        "python": _python(estimator, schema),
    }
    save_model(os.fspath(path), learners, schema, _json(settings), _json(metadata))


def _json(value: dict[str, Any]) -> str:
    """The text, numbers of numpy's as plain ones."""
    return json.dumps(value, default=lambda number: number.item())


def _python(estimator: Any, schema: Schema) -> dict[str, Any]:
    """What only the Python package needs to know."""
    classes = getattr(estimator, "classes_", None)
    names = list(getattr(estimator, "feature_names_in_", schema.columns))
    # the command trims names, and numbers columns without one
    renamed = {} if names == schema.columns else {"names": names}
    return renamed | {
        "estimator": type(estimator).__name__,
        "parameters": estimator.get_params(),
        "named": hasattr(estimator, "feature_names_in_"),
        "classes": None if classes is None else [classes.dtype.kind, classes.tolist()],
    }


def _schema(estimator: Any) -> Schema:
    names = estimator._feature_names()
    target = "y"
    while target in [name.strip() for name in names]:
        target += "_"
    classes = getattr(estimator, "classes_", None)
    # tested first, as [False, True] equals [0, 1]
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
        By the family. A model of the command whose columns are not all numbers takes tables of pandas or polars with its columns, which
        it encodes as the command does: levels that it never learned count as zeros, and a row that it leaves out for a missing
        value has the prediction NaN. An offset that the command was given is taken from the table's column of that name, unless
        `offset` is given.

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

    learners, schema, settings, metadata = load_model(os.fspath(path))
    by_family = {
        "bernoulli": LogisticRegression,
        "gaussian": LinearRegression,
        "poisson": PoissonRegression,
        "gamma": GammaRegression,
    }
    family = learners[0].family
    if family not in by_family:
        raise ModelFileError(f"model file {path}: no estimator has the family {family}")
    python = json.loads(metadata).get("python") or {}
    estimator = by_family[family](**(python.get("parameters") or _parameters(json.loads(settings))))
    estimator.learners_ = learners
    estimator.schema_ = schema
    estimator.n_features_in_ = len(schema.columns)
    if python.get("named", True):
        estimator.feature_names_in_ = np.array(python.get("names", schema.columns), dtype=object)
    if family == "bernoulli":
        estimator.classes_ = _classes(python.get("classes"), schema)
    return estimator


def _parameters(settings: dict[str, Any]) -> dict[str, Any]:
    """The command's settings as an estimator's parameters."""
    method = settings["method"]
    found: dict[str, Any] = {"method": method}
    if method == "auto":
        found["drift"] = settings["drift"]
    elif method == "ons":
        found |= {"radius": settings["radius"], "exp_concavity": settings["exp_concavity"]}
    elif method == "asgd":
        found["horizon"] = settings["horizon"]
    else:
        found["prior_variance"] = settings["prior"]
    return found


def _classes(stored: list[Any] | None, schema: Schema) -> np.ndarray:
    if stored is not None:
        kind, values = stored
        return np.array(values, dtype={"b": bool, "i": int, "u": int, "f": float}.get(kind))
    return np.array(schema.labels) if schema.labels else np.array([0, 1])


def encode(schema: Schema, X: Any, offset: Any) -> Rows:
    """The features of a table by the command's encoder; an offset that is given stands in for the table's."""
    columns, name = schema.columns, schema.offset
    is_polars = hasattr(X, "write_csv")
    if not hasattr(X, "columns") or not (is_polars or hasattr(X, "to_csv")):
        raise InputError(f"this model encodes its columns {columns[:5]}: give a table of pandas or polars that has them")
    missing = [column for column in columns if column not in X.columns]
    if missing:
        raise InputError(f"the table has no column {missing[0]!r}")
    given = offsets(offset, len(X))
    if name is not None and given is None:
        if name not in X.columns:
            raise InputError(no_offset(name))
        columns = [*columns, name]
    table = X.select(columns) if is_polars else X[columns]
    if name is not None and given is not None:
        table = table.hstack(type(X)({name: given})) if is_polars else table.assign(**{name: given})
    # spelled out, as an empty line would be no row
    text = table.write_csv(null_value="NA") if is_polars else table.to_csv(index=False, na_rep="NA")
    features, places, found = schema.encode(text)
    rows = Rows(features, found, len(X), None if len(places) == len(X) else places)
    return rows if name is not None else rows._replace(offset=rows.pick(given))


def no_offset(name: str) -> str:
    return f"the model was fitted with the offset {name!r}: give a table that has this column, or `offset`"
