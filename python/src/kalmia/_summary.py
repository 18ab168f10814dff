"""The table of coefficients, as text and as HTML."""

from __future__ import annotations

import html
from dataclasses import dataclass, field
from collections.abc import Callable
from typing import Any

import numpy as np

from ._classes import is_joint, is_ordered, joint_covariance, summary_rows
from ._kalmia import Learner
from ._wide import is_wide
from .errors import InputError

#: Coefficients of a wide model that the library lists besides the numbers.
MAX_LISTED = 100

COLUMNS = ("coef", "std err", "z", "P>|z|", "lower", "upper")


@dataclass(frozen=True)
class Summary:
    """A table of coefficients.

    `rows` holds the name, coefficient, standard error, z, p-value and the interval's ends of each.
    All but the first two are None for a method without a covariance.

    There is no likelihood and no AIC: one pass does not maximize a likelihood, so neither would
    mean what readers take it for. `progressive_loss_` of the model is the honest counterpart: the
    loss of predictions made before each row was learned.
    """

    title: str
    rows: tuple[tuple[Any, ...], ...]
    level: float
    notes: tuple[str, ...]
    #: The places of `rows` in the order in which they are printed, the levels of a column side by
    #: side; None for their own order, which is that of the model's coefficients.
    printed: tuple[int, ...] | None = field(default=None, repr=False, compare=False)
    #: The learners, one or one per class, that `conf_int` and `cov_params` ask.
    learners: tuple[Learner, ...] = field(default=(), repr=False, compare=False)
    #: The rows of a wide model, or of several classes, at another level; None for other models.
    recompute: Callable[[float], list[tuple[Any, ...]]] | None = field(
        default=None, repr=False, compare=False
    )
    #: The covariance of several classes; None for other models.
    covariance: Callable[[], np.ndarray] | None = field(default=None, repr=False, compare=False)

    @property
    def params(self) -> dict[str, float]:
        """The coefficients by name."""
        return {row[0]: row[1] for row in self.rows}

    @property
    def std_err(self) -> dict[str, float | None]:
        """The standard errors by name."""
        return {row[0]: row[2] for row in self.rows}

    @property
    def pvalues(self) -> dict[str, float | None]:
        """The two-sided p-values by name."""
        return {row[0]: row[4] for row in self.rows}

    def conf_int(self, level: float | None = None) -> dict[str, tuple[float | None, float | None]]:
        """The intervals of the coefficients by name.

        Parameters
        ----------
        level : float, optional
            Probability of the intervals, strictly between 0 and 1; that of the table by default.
            Another level is computed from the model as it is now.

        Returns
        -------
        dict
            The lower and upper end of each; None for a method without a covariance.
        """
        rows = self.rows
        if level is not None and level != self.level and self.recompute is not None:
            rows = tuple(self.recompute(level))
        elif level is not None and level != self.level:
            names = iter(self.params)
            rows = tuple(
                row
                for learner in self.learners
                for row in learner.coefficients([next(names) for _ in range(learner.dim)], level)
            )
        return {row[0]: (row[5], row[6]) for row in rows}

    def to_frame(self) -> Any:
        """The table as a pandas DataFrame, one row per coefficient. Needs pandas."""
        pandas = _pandas("to_frame")
        names = [row[0] for row in self.rows]
        values = [[np.nan if x is None else x for x in row[1:]] for row in self.rows]
        return pandas.DataFrame(values, index=names, columns=list(COLUMNS))

    def cov_params(self) -> Any:
        """The covariance of the coefficients, now, as a pandas DataFrame by name. Needs pandas.

        Classes that are learned jointly are compared with the first, which all of them share, so
        their coefficients are correlated. With one learner per class there are zeros between them.
        """
        pandas = _pandas("cov_params")
        names = list(self.params)
        if self.covariance is not None:
            return pandas.DataFrame(self.covariance(), index=names, columns=names)
        whole = np.zeros((len(names), len(names)))
        first = 0
        for learner in self.learners:
            matrix = learner.covariance
            if matrix is None:
                raise InputError(
                    f"method '{learner.method}' keeps no covariance: use method='auto' or a filter"
                )
            last = first + learner.dim
            whole[first:last, first:last] = matrix
            first = last
        return pandas.DataFrame(whole, index=names, columns=names)

    @classmethod
    def of(cls, estimator: Any, level: float) -> Summary:
        """The summary of a fitted estimator."""
        learners = estimator.learners_
        if is_joint(learners):
            return cls._of_classes(estimator, level)
        rows: list[tuple[Any, ...]] = []
        first = learners[0]
        wide = is_wide(first)

        def strongest(level: float) -> list[tuple[Any, ...]]:
            found: list[tuple[Any, ...]] = []
            for k, learner in enumerate(learners):
                prefix = f"{_names(estimator)[k]}: " if len(learners) > 1 else ""
                main = estimator._main_coefficients(learner, level)
                found += [(prefix + row[0], *row[1:]) for row in main]
            return found

        if wide:
            rows = strongest(level)
        else:
            for k, learner in enumerate(learners):
                names = (["(intercept)"] if learner.intercept else []) + estimator._feature_names()
                if len(learners) > 1:
                    names = [f"{_names(estimator)[k]}: {name}" for name in names]
                rows += learner.coefficients(names, level)
        averaged = "averaged " if first.averaged else ""
        notes = [f"{first.count} rows, one pass, method {averaged}{first.method}"]
        notes += _loss_notes(estimator)
        if first.dispersion is not None and len(learners) == 1:
            automatic = first.method in ("auto", "wide")
            learned = " (learned; standard errors include it)" if automatic else ""
            notes.append(f"dispersion {first.dispersion:.5g}{learned}")
        if first.dispersion_note is not None:
            notes.append(first.dispersion_note)
        notes += _drift_notes(estimator)
        if len(learners) == 1 and first.certificate is not None:
            notes.append(f"certificate: {first.certificate['text']}")
        if wide:
            seen = first.dim - int(first.intercept)
            notes.append(
                f"{seen} features seen; the numbers and the 100 strongest others are listed"
                if seen > MAX_LISTED
                else f"{seen} features seen"
            )
        title = f"{type(estimator).__name__} ({first.family})"
        recompute = strongest if wide else None
        printed = None if wide else _by_column(estimator, len(rows))
        return cls(title, tuple(rows), level, tuple(notes), printed, tuple(learners), recompute)

    @classmethod
    def _of_classes(cls, estimator: Any, level: float) -> Summary:
        """The summary of an estimator that learns several classes jointly."""
        (learner,) = estimator.learners_
        rows = tuple(summary_rows(estimator, level))
        notes = (
            f"{learner.count} rows, one pass, method {learner.method}",
            *_loss_notes(estimator),
            *_drift_notes(estimator),
            *(["drift: not looked for with ordered levels"] if is_ordered(learner) else []),
            "log odds of a higher level; a|b is the cutpoint between the levels a and b"
            if is_ordered(learner)
            else f"log odds against the class {estimator.classes_[0]}",
        )
        title = f"{type(estimator).__name__} ({learner.family})"

        def again(level: float) -> list[tuple[Any, ...]]:
            return summary_rows(estimator, level)

        def covariance() -> np.ndarray:
            return joint_covariance(estimator)

        printed = None if is_wide(learner) else _by_column(estimator, len(rows))
        return cls(title, rows, level, notes, printed, (), again, covariance)

    def _level_text(self) -> str:
        return f"{100.0 * self.level:g} % intervals"

    def _texts(self) -> list[list[str]]:
        def text(value: float | None) -> str:
            return "" if value is None else f"{value:.4g}"

        rows = self.rows if self.printed is None else [self.rows[place] for place in self.printed]
        return [[row[0], *map(text, row[1:])] for row in rows]

    def __str__(self) -> str:
        table = [["", *COLUMNS], *self._texts()]
        widths = [max(len(row[j]) for row in table) for j in range(len(table[0]))]
        lines = [
            "  ".join(
                cell.rjust(width) if j else cell.ljust(width)
                for j, (cell, width) in enumerate(zip(row, widths, strict=True))
            )
            for row in table
        ]
        return "\n".join([self.title, *self.notes, "", *lines, self._level_text()])

    __repr__ = __str__

    def _repr_html_(self) -> str:
        head = "".join(f"<th>{html.escape(column)}</th>" for column in ("", *COLUMNS))
        body = ""
        for name, *cells in self._texts():
            numbers = "".join(f"<td>{cell}</td>" for cell in cells)
            body += f"<tr><th>{html.escape(name)}</th>{numbers}</tr>"
        caption = html.escape("; ".join([self.title, *self.notes, self._level_text()]))
        return (
            f"<table><caption>{caption}</caption><thead><tr>{head}</tr></thead>"
            f"<tbody>{body}</tbody></table>"
        )


def _by_column(estimator: Any, rows: int) -> tuple[int, ...] | None:
    """The places of a table's rows with those of a column side by side.

    The table has the features once per learner or class; other rows, such as cutpoints, come last.
    """
    schema = getattr(estimator, "schema_", None)
    if schema is None or schema.is_numeric:
        return None
    constant = 0 if is_ordered(estimator.learners_[0]) else int(estimator.learners_[0].intercept)
    one = [*range(constant), *(constant + place for place in schema.features_by_column)]
    tables = max(rows // len(one), 1) if one else 0
    if is_ordered(estimator.learners_[0]):
        tables = min(tables, 1)
    first = [table * len(one) + place for table in range(tables) for place in one]
    return (*first, *range(len(first), rows))


def _names(estimator: Any) -> Any:
    """What tells the learners apart if there are several: their classes, or their levels."""
    return estimator.classes_ if hasattr(estimator, "classes_") else estimator.quantiles_


def _pandas(method: str) -> Any:
    try:
        import pandas
    except ImportError as error:
        raise ImportError(f"{method}() needs the package pandas: pip install pandas") from error
    return pandas


def _loss_notes(estimator: Any) -> list[str]:
    """The progressive losses, over all rows and over the last half, and the coverage."""
    scored = estimator._scored()
    report = scored[0].progressive
    if report is None or not np.isfinite(report["loss"]):
        return []
    loss = estimator.progressive_loss_
    if len(scored) > 1:
        return [f"progressive loss {loss:.5g}"]
    notes = [f"progressive loss {loss:.5g} (constant predictor {report['constant_loss']:.5g})"]
    for level in report.get("levels", []):
        notes.append(
            f"level {level['level']:g}: progressive loss {level['loss']:.5g} (constant predictor "
            f"{level['constant_loss']:.5g}), {100.0 * level['share_below']:.1f} % of targets below"
        )
    half = report["last_half"]
    if half is not None:
        notes.append(
            f"last half, rows {half['first_row']} to {half['last_row']}: {half['loss']:.5g} "
            f"(constant predictor {half['constant_loss']:.5g})"
        )
    if report["coverage"] is not None and "accuracy" not in report:
        notes.append(f"95 % intervals held {100.0 * report['coverage']:.1f} % of the rows")
    conformal = report.get("conformal")
    if conformal is not None:
        notes.append(
            f"conformal 95 % intervals held {100.0 * conformal['coverage']:.1f} %, mean width "
            f"{conformal['width']:.5g}; the model's own {100.0 * conformal['model_coverage']:.1f} "
            f"%, {conformal['model_width']:.5g}"
        )
    return notes


def _drift_notes(estimator: Any) -> list[str]:
    """What there is to say about a drift; of several learners, with the classes it concerns."""
    learners = estimator.learners_
    if len(learners) == 1:
        return [f"drift: {note}" for note in [learners[0].drift_note] if note is not None]
    classes: dict[str, list[str]] = {}
    for name, learner in zip(_names(estimator), learners, strict=True):
        if learner.drift_note is not None:
            classes.setdefault(learner.drift_note, []).append(str(name))
    return [f"drift ({', '.join(names)}): {note}" for note, names in classes.items()]
