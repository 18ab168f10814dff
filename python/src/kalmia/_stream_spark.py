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
        It takes the micro-batch and its id.

    Examples
    --------
    >>> learn = foreach_batch("late.kalmia", target="late")
    >>> query = rows.writeStream.foreachBatch(learn).start()  # doctest: +SKIP
    """
    # batches without rows before there is a model that could keep their ids
    empty: dict[str, int] = {}

    def learn_batch(batch: Any, batch_id: int) -> None:
        source = _query(batch)
        rows = batch.toArrow()
        # opened per batch, so no claim on the file outlives a query that failed
        with StreamModel(model_path, target, **declared) as model:
            known = model.position
            if source not in known and empty.get(source) != batch_id - 1 and not allow_gap:
                _check_start(model, source, batch_id)
            after = None if allow_gap else batch_id - 1
            model.learn(rows, batch_id, source=source, after=after)
            if not model.position:
                empty[source] = batch_id

    return learn_batch


def _check_start(model: StreamModel, source: str, batch_id: int) -> None:
    """Refuses a model and a query that do not begin together."""
    others = {name: last for name, last in model.position.items() if name.startswith("spark:")}
    if others:
        known = f"has learned another query, up to batch {max(others.values())}"
    elif batch_id > 0:
        known = "is new"
    else:
        return
    raise InputError(
        f"the model file {model.path} {known}, but this is batch {batch_id} of query "
        f"{source.removeprefix('spark:')}: use the model and the checkpoint that belong together, "
        "or give allow_gap=True"
    )


def _query(batch: Any) -> str:
    """The query that the batch belongs to; its id stays the same when it is restarted."""
    context = batch.sparkSession.sparkContext
    return f"spark:{context.getLocalProperty('sql.streaming.queryId')}"
