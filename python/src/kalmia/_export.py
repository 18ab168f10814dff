"""Fitted estimators for other programs: ONNX graphs and JSON files."""

from __future__ import annotations

import os
from typing import Any

from sklearn.utils.validation import check_is_fitted

from . import _classes, _files
from ._kalmia import Learner, export_classes, export_model, export_quantiles
from .errors import InputError


class Exports:
    """The methods of estimators that write files for other programs."""

    learners_: list[Learner]

    def _scored(self) -> list[Any]:
        raise NotImplementedError

    def to_onnx(self, path: str | os.PathLike[str], *, offset: bool = False) -> None:
        """Writes the model as an ONNX graph, for runtimes without Python.

        The input ``x`` has the rows x features of `predict`, as 64-bit floats. The outputs are
        ``linear``, the linear predictor, and ``mean``, the prediction: the mean of the target, the
        probability of the second class, or with more than two classes one column of probabilities
        per class. Several quantiles have a column per level, sorted in ``mean``. Columns of text
        are given as the model encodes them: the metadata entry
        ``features`` names the columns of ``x``, ``classes`` the labels.

        The graph uses the coefficients alone, while `predict` and `predict_proba` average over
        their uncertainty: probabilities in the graph are a little closer to 0 and 1, and means
        under a log link a little smaller. The difference vanishes as rows are learned.

        Parameters
        ----------
        path : path-like
            The file. An existing one is replaced in one step.
        offset : bool
            Whether the graph has a second input ``offset`` (rows x 1), which is added to the
            linear predictor. A model that the command fitted with an offset always has it.
        """
        self._export(path, "onnx", offset)

    def to_json(self, path: str | os.PathLike[str]) -> None:
        """Writes coefficients, their covariance and the columns as JSON, as ``kalmia export`` does.

        With more than two classes it holds ``classes`` and the coefficients of each against the
        first, or with one learner per class a list of ``models``.

        Parameters
        ----------
        path : path-like
            The file. An existing one is replaced in one step.
        """
        self._export(path, "json", False)

    def _export(self, path: str | os.PathLike[str], format: str, offset: bool) -> None:
        check_is_fitted(self, "learners_")
        if _classes.is_joint(self.learners_):
            if offset:
                raise InputError("a model of more than two classes takes no offset: leave it out")
            codes, labels = self._codes.tolist(), self.classes_.tolist()
            schema = _files.schema_of(self)
            export_classes(os.fspath(path), self.learners_[0], schema, format, codes, labels)
            return
        schema = getattr(self, "schema_", None) or _files._schema(self)
        if self._scored() is not self.learners_:
            (scores,) = self._scored()
            export_quantiles(os.fspath(path), self.learners_, scores, schema, format, bool(offset))
            return
        classes: Any = getattr(self, "classes_", None)
        labels = [] if classes is None else classes.tolist()
        offset = bool(offset) or schema.offset is not None
        export_model(os.fspath(path), self.learners_, schema, format, labels, offset)
