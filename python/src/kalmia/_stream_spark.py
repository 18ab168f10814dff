"""The function for Spark's ``foreachBatch``, with the batch id kept in the model."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any, Unpack

from ._declaration import Declared
from ._stream_model import StreamModel
from .errors import InputError


def foreach_batch(
    model_path: str | os.PathLike[str],
    target: str | None = None,
    *,
    allow_gap: bool = False,
    **declared: Unpack[Declared],
) -> Callable[[Any, int], None]:
    """A function for ``writeStream.foreachBatch`` that learns each micro-batch exactly once.

    Spark repeats a micro-batch if the job stops before its end is recorded. The batch id is in the
    model file, written in one step with the model, so a repeated batch is ignored. The rows of a
    micro-batch come to the driver, so bound them with ``maxOffsetsPerTrigger``,
    ``maxFilesPerTrigger`` or the like.

    Parameters
    ----------
    model_path : path-like
        The model file, on a disk of the driver.
    allow_gap : bool
        Whether batches may be missing: a new model at a later batch of an old query, or a new
        checkpoint for an old model. By default both are refused.
    target, **declared
        As for :class:`StreamModel`.

    Returns
    -------
    callable
        It takes the micro-batch and its id. One query may use it.

    Examples
    --------
    >>> learn = foreach_batch("late.kalmia", target="late")
    >>> query = rows.writeStream.foreachBatch(learn).start()  # doctest: +SKIP
    """
    opened: list[StreamModel] = []

    def learn_batch(batch: Any, batch_id: int) -> None:
        if not opened:
            opened.append(StreamModel(model_path, target, **declared))
        model = opened[0]
        source = _query(batch)
        known = model.position
        others = [name for name in known if name.startswith("spark:") and name != source]
        if not allow_gap and source not in known and (others or (known == {} and batch_id > 0)):
            learned = f"has learned another query, up to batch {known[others[0]]}"
            raise InputError(
                f"the model file {model.path} {learned if others else 'is new'}, but this is batch "
                f"{batch_id} of query {source.removeprefix('spark:')}: use the model and the "
                "checkpoint that belong together, or give allow_gap=True"
            )
        after = None if allow_gap else batch_id - 1
        model.learn(batch.toArrow(), batch_id, source=source, after=after)

    return learn_batch


def _query(batch: Any) -> str:
    """The query that the batch belongs to; its id stays the same when it is restarted."""
    context = batch.sparkSession.sparkContext
    return f"spark:{context.getLocalProperty('sql.streaming.queryId')}"
