"""What the calls of :class:`kalmia.Client` take and return."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypedDict


class Declaration(TypedDict, total=False):
    """What `Client.create` may say of a model, beside its family and target.

    The service's documentation explains each; all have defaults, and without `columns` the first
    learned rows decide which there are.

    Examples
    --------
    >>> options: Declaration = {"missing": "skip", "columns": {"hour": "number"}}
    """

    method: str
    parameters: Mapping[str, Any]
    drift: Literal["off", "adapt", "detect"]
    outliers: Literal["keep", "downweight"]
    conformal: bool
    classes: list[str]
    columns: Mapping[str, Literal["number", "category", "boolean", "text"]]
    features: list[str]
    exclude: list[str]
    categorical: list[str]
    text: list[str]
    analyzer: str
    hash: int
    weight: str
    weight_kind: Literal["frequency", "precision"]
    offset: str
    positive: str
    intercept: bool
    missing: Literal["error", "skip", "mean"]
    na_values: list[str]
    max_features: int


@dataclass(frozen=True, slots=True)
class Prediction:
    """What the service predicted for one row.

    Attributes
    ----------
    mean : float
        The mean of the target; the probability of the positive label. NaN for several classes and
        several quantiles, which have `probabilities` or `quantiles` in its place.
    lower, upper : float or None
        The ends of the interval that was asked for; None without one.
    linear, linear_sd : float or None
        The linear predictor and its standard deviation; None if the method keeps no covariance.
    predicted : object
        The label or class with the largest probability; None if the target is a number.
    probabilities : dict or None
        The probability of each class by its name; None if the model has no several classes.
    quantiles : dict or None
        The quantile of each level, such as ``{0.1: 3.5, 0.9: 8.2}``; None if the model has no
        several quantiles.

    Examples
    --------
    >>> Prediction(mean=0.25, lower=0.1, upper=0.5, linear=-1.1, linear_sd=0.4).mean
    0.25
    >>> flower = Prediction(predicted="setosa", probabilities={"setosa": 0.9, "virginica": 0.1})
    >>> flower.probabilities[flower.predicted]
    0.9
    """

    mean: float = math.nan
    lower: float | None = None
    upper: float | None = None
    linear: float | None = None
    linear_sd: float | None = None
    predicted: Any = None
    probabilities: dict[str, float] | None = None
    quantiles: dict[float, float] | None = None

    @classmethod
    def _read(cls, answer: Mapping[str, Any]) -> Prediction:
        """The prediction in a service's answer; members that this version lacks are left out."""
        quantiles = answer.get("quantiles")
        if quantiles is not None:
            return cls(quantiles={float(level): value for level, value in quantiles.items()})
        if "probabilities" in answer:
            return cls(predicted=answer["predicted"], probabilities=dict(answer["probabilities"]))
        return cls(
            mean=answer["mean"],
            lower=answer.get("lower"),
            upper=answer.get("upper"),
            linear=answer.get("linear"),
            linear_sd=answer.get("linear_sd"),
            predicted=answer.get("predicted"),
        )


@dataclass(frozen=True, slots=True)
class Learned:
    """What a call of `Client.learn` did.

    Attributes
    ----------
    sequence : int
        The number of the model's last change; `snapshot` contains it.
    rows : int
        How many rows were learned.
    duplicate : bool
        Whether all rows had been learned before under the same key, so that nothing changed.
    skipped : int
        Rows left out for missing values.
    ignored : tuple of str
        Members of rows that are no columns of the model.
    predictions : tuple of Prediction or None
        With ``predict=True``, what was predicted just before each row was learned, None for rows
        that were left out. None without it.

    Examples
    --------
    >>> Learned(sequence=7, rows=100).duplicate
    False
    """

    sequence: int
    rows: int
    duplicate: bool = False
    skipped: int = 0
    ignored: tuple[str, ...] = ()
    predictions: tuple[Prediction | None, ...] | None = None

    @classmethod
    def _read(cls, answers: Sequence[Mapping[str, Any]]) -> Learned:
        """The sum of the answers to the requests of one call."""
        ignored = dict.fromkeys(name for one in answers for name in one.get("ignored") or ())
        predictions = None
        if any(one.get("predictions") is not None for one in answers):
            predictions = tuple(found for one in answers for found in predictions_of(one))
        return cls(
            sequence=max(one["sequence"] for one in answers),
            rows=sum(one["rows"] for one in answers),
            duplicate=all(one.get("duplicate", False) for one in answers),
            skipped=sum(one.get("skipped") or 0 for one in answers),
            ignored=tuple(ignored),
            predictions=predictions,
        )


@dataclass(frozen=True, slots=True)
class Served:
    """How good predictions were, as they were served before their labels came.

    Attributes
    ----------
    rows : int
        How many rows had a served prediction.
    loss : float or None
        Their mean loss; None without rows.

    Examples
    --------
    >>> Served(rows=2, loss=0.31).loss
    0.31
    """

    rows: int
    loss: float | None


@dataclass(frozen=True, slots=True)
class Labelled:
    """What a call of `Client.label` did.

    Attributes
    ----------
    sequence, rows, duplicate, skipped
        As in :class:`Learned`.
    served : Served or None
        The loss of the predictions as they were served, over the labels of this call.

    Examples
    --------
    >>> Labelled(sequence=8, rows=1, served=Served(1, 0.2)).served.loss
    0.2
    """

    sequence: int
    rows: int
    duplicate: bool = False
    skipped: int = 0
    served: Served | None = None

    @classmethod
    def _read(cls, answers: Sequence[Mapping[str, Any]]) -> Labelled:
        """The sum of the answers to the requests of one call."""
        learned = Learned._read(answers)
        served = [one["served"] for one in answers if one.get("served")]
        rows = sum(one["rows"] for one in served)
        total = sum(one["rows"] * one["loss"] for one in served if one["loss"] is not None)
        return cls(
            sequence=learned.sequence,
            rows=learned.rows,
            duplicate=learned.duplicate,
            skipped=learned.skipped,
            served=Served(rows, total / rows if rows else None) if served else None,
        )


@dataclass(frozen=True, slots=True)
class Choice:
    """The candidate that a call of `Client.choose` chose.

    Attributes
    ----------
    choice : int
        The position of the chosen candidate, counted from 0.
    probability : float
        The probability with which it was chosen, for estimates by inverse propensity.
    id : str
        The name under which `label` takes its reward.
    prediction : Prediction or None
        What was predicted for it.

    Examples
    --------
    >>> Choice(choice=2, probability=0.41, id="a1").choice
    2
    """

    choice: int
    probability: float
    id: str
    prediction: Prediction | None = None

    @classmethod
    def _read(cls, answer: Mapping[str, Any]) -> Choice:
        """The choice in a service's answer."""
        found = answer.get("prediction")
        return cls(
            choice=answer["choice"],
            probability=answer["probability"],
            id=answer["id"],
            prediction=None if found is None else Prediction._read(found),
        )


def predictions_of(answer: Mapping[str, Any]) -> list[Prediction | None]:
    """The predictions in an answer, None for rows that were left out."""
    return [
        None if one is None else Prediction._read(one) for one in answer.get("predictions") or ()
    ]
