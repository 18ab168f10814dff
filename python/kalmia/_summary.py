"""The table of coefficients, as text and as HTML."""

from __future__ import annotations

import html
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import stats

COLUMNS = ("coef", "std err", "z", "P>|z|", "lower", "upper")


@dataclass(frozen=True)
class Summary:
    """A table of coefficients; `rows` holds name, coefficient, standard error, ratio, p-value and the interval's ends."""

    title: str
    rows: tuple[tuple[Any, ...], ...]
    level: float
    notes: tuple[str, ...]

    @classmethod
    def of(cls, estimator: Any, level: float) -> Summary:
        """The summary of a fitted estimator."""
        if not 0.0 < level < 1.0:
            raise ValueError(f"level is {level}: it must lie strictly between 0 and 1")
        rows: list[tuple[Any, ...]] = []
        learners = estimator.learners_
        for k, learner in enumerate(learners):
            names = (["(intercept)"] if learner.intercept else []) + estimator._feature_names()
            if len(learners) > 1:
                names = [f"{estimator.classes_[k]}: {name}" for name in names]
            rows += _rows(names, learner, level)
        first = learners[0]
        report = first.progressive
        notes = [f"{first.count} rows, one pass, method {first.method}"]
        if report is not None and report["rows"] > 0:
            loss, constant = estimator.progressive_loss_, report["constant_loss"]
            against = f" ({constant:.5g} by the mean of the rows before)" if len(learners) == 1 else ""
            notes.append(f"progressive loss {loss:.5g}{against}")
        if first.dispersion is not None:
            notes.append(f"dispersion {first.dispersion:.5g}")
        notes += _drift_notes(estimator)
        return cls(f"{type(estimator).__name__} ({first.family})", tuple(rows), level, tuple(notes))

    def _texts(self) -> list[list[str]]:
        return [[str(row[0]), *("" if value is None else f"{value:.4g}" for value in row[1:])] for row in self.rows]

    def __str__(self) -> str:
        table = [["", *COLUMNS], *self._texts()]
        widths = [max(len(row[j]) for row in table) for j in range(len(table[0]))]
        lines = ["  ".join([row[0].ljust(widths[0]), *(c.rjust(w) for c, w in zip(row[1:], widths[1:], strict=True))]) for row in table]
        return "\n".join([self.title, *self.notes, "", *lines, f"intervals of {self.level:g}"])

    __repr__ = __str__

    def _repr_html_(self) -> str:
        head = "".join(f"<th>{html.escape(column)}</th>" for column in ("", *COLUMNS))
        body = "".join(
            f"<tr><th>{html.escape(row[0])}</th>" + "".join(f"<td>{cell}</td>" for cell in row[1:]) + "</tr>"
            for row in self._texts()
        )
        caption = html.escape("; ".join([self.title, *self.notes, f"intervals of {self.level:g}"]))
        return f"<table><caption>{caption}</caption><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


def _drift_notes(estimator: Any) -> list[str]:
    """What became of a drift, with the classes that it concerns where there are several learners."""
    learners = estimator.learners_

    def where(state: str) -> str | None:
        found = [k for k, learner in enumerate(learners) if learner.drift == state]
        if not found:
            return None
        return " (" + ", ".join(str(estimator.classes_[k]) for k in found) + ")" if len(learners) > 1 else ""

    notes = []
    followed, seen = where("followed"), where("seen")
    if followed is not None:
        how = "is followed from the start" if estimator.drift == "adapt" else "was found and is followed"
        notes.append(f"a drift {how}: coefficients are those of the last rows{followed}")
    if seen is not None and estimator.drift == "off":
        notes.append(f'a drift was found and is not followed: drift="detect" would{seen}')
    return notes


def _rows(names: list[str], learner: Any, level: float) -> list[tuple[Any, ...]]:
    theta, errors = learner.theta, learner.standard_errors
    if errors is None:
        return [(name, value, None, None, None, None, None) for name, value in zip(names, theta, strict=True)]
    degrees = learner.degrees_of_freedom
    law = stats.t(degrees) if np.isfinite(degrees) else stats.norm()
    reach = law.ppf(0.5 + level / 2.0)
    rows = []
    for name, value, error in zip(names, theta, errors, strict=True):
        ratio = value / error if error > 0.0 else np.nan
        rows.append((name, value, error, ratio, 2.0 * law.sf(abs(ratio)), value - reach * error, value + reach * error))
    return rows
