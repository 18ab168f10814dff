"""Further passes over the rows of an estimator."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from . import _classes, _files
from ._calls import LearningCall
from ._kalmia import polish_classes, polish_learner
from .errors import InputError


def polish(
    estimator: Any,
    X: Any,
    y: Any,
    sample_weight: Any,
    offset: Any,
    *,
    robust: bool,
    prior: str,
    passes: int | None,
) -> None:
    """Polishes every learner of an estimator; see `Estimator.polish`."""
    if passes is not None and (isinstance(passes, bool) or passes != int(passes) or passes < 1):
        raise InputError(f"passes is {passes!r}: give a whole number above 0, or None")
    with LearningCall(estimator, False):
        rows = estimator._rows(X, offset)
        targets, weight = estimator._polish_targets(y, rows, sample_weight)
        schema = _files.schema_of(estimator)
        options = {
            "robust": robust,
            "prior": prior,
            "passes": None if passes is None else int(passes),
        }
        if _classes.is_joint(estimator.learners_):
            found = [_polish_classes(estimator, schema, rows, targets[0], weight, options)]
        else:
            found = [
                polish_learner(
                    learner,
                    schema,
                    rows.X,
                    rows.pick(target),
                    rows.pick(weight),
                    rows.offset,
                    **options,
                )
                for learner, target in zip(estimator.learners_, targets, strict=True)
            ]
        learned, kept = estimator.learners_[0].count, found[0][0].count
        if kept < learned:
            warnings.warn(
                f"the model has learned {learned} rows and is polished over {kept}: what the "
                "others said is forgotten. Give all rows that were learned",
                UserWarning,
                stacklevel=3,
            )
        reports = [report for _, report in found]
        for report in reports:
            errors = report["robust_std_err"]
            report["robust_std_err"] = None if errors is None else np.array(errors)
        # all at once: a refused call changes nothing
        estimator.learners_ = [learner for learner, _ in found]
        estimator.polish_ = reports[0] if len(reports) == 1 else reports


def _polish_classes(
    estimator: Any, schema: Any, rows: Any, codes: Any, weight: Any, options: dict[str, Any]
) -> tuple[Any, dict[str, Any]]:
    """Polishes the one learner of several classes."""
    return polish_classes(
        estimator.learners_[0],
        schema,
        _classes.check_offset(rows).X,
        rows.pick(codes),
        [int(code) for code in estimator._codes],
        rows.pick(weight),
        **options,
    )
