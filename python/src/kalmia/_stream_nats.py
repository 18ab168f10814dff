"""A consumer of NATS JetStream whose position is in the model file."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from typing import Any

from ._stream_kafka import json_line
from ._stream_model import StreamModel
from .errors import InputError


async def consume_nats(
    jetstream: Any,
    stream: str,
    model: StreamModel,
    *,
    subject: str | None = None,
    batch: int = 10_000,
    wait: float = 1.0,
    idle: float | None = None,
    decode: Callable[[Any], Any] | None = None,
) -> int:
    """Learns the messages of a JetStream stream, each exactly once, from where the model stopped.

    The position is in the model file. The consumer on the server is temporary and starts at the
    model's position, so what the server remembers of deliveries does not matter; messages are
    acknowledged after they are in the file. A lost connection is opened again by the client, and
    the consumer is then made anew.

    Parameters
    ----------
    jetstream : nats.js.JetStreamContext
        From ``connection.jetstream()``.
    stream : str
        The stream, which also names the position.
    model : StreamModel
        The model.
    subject : str, optional
        Learn only messages of this subject.
    batch, wait, idle, decode
        As for :func:`consume_kafka`.

    Returns
    -------
    int
        Number of rows learned.

    Examples
    --------
    >>> async def main():
    ...     connection = await nats.connect("nats://127.0.0.1:4222")
    ...     with StreamModel("late.kalmia", target="late") as model:
    ...         await consume_nats(connection.jetstream(), "FLIGHTS", model)
    """
    rows = 0
    delivered = 0
    quiet = time.monotonic()
    waiting: list[Any] = []
    consumer = None
    while True:
        if consumer is None:
            waiting, delivered = [], 0
            consumer = await _subscribe(jetstream, stream, model, subject)
        found = await _fetch(consumer, batch - len(waiting), wait)
        if found is None or not _in_order(found, delivered):
            # messages were lost on the way: begin again after what is in the file
            await _unsubscribe(consumer)
            consumer = None
            quiet = time.monotonic()
            continue
        delivered += len(found)
        waiting += found
        if waiting and (len(waiting) >= batch or not found):
            rows += await asyncio.to_thread(_learn, model, stream, waiting, decode)
            await waiting[-1].ack()
            waiting = []
        if found:
            quiet = time.monotonic()
        elif idle is not None and time.monotonic() - quiet >= idle:
            await _unsubscribe(consumer)
            return rows


async def _subscribe(jetstream: Any, stream: str, model: StreamModel, subject: str | None) -> Any:
    """A consumer that starts after the model's position; None if the server does not answer."""
    from nats.errors import Error
    from nats.js.api import AckPolicy, ConsumerConfig, DeliverPolicy
    from nats.js.errors import NotFoundError

    known = model.position.get(stream)
    try:
        state = (await jetstream.stream_info(stream)).state
        if known is not None and not state.first_seq <= known + 1 <= state.last_seq + 1:
            raise InputError(
                f"the model file {model.path} continues stream {stream!r} at {known + 1}, but the "
                f"server has {state.first_seq} to {state.last_seq}: messages are lost, or the "
                "stream was made anew; use another model file, or another stream"
            )
        config = ConsumerConfig(
            deliver_policy=DeliverPolicy.BY_START_SEQUENCE,
            opt_start_seq=1 if known is None else known + 1,
            ack_policy=AckPolicy.ALL,
            max_deliver=-1,
        )
        return await jetstream.pull_subscribe(subject or "", stream=stream, config=config)
    except NotFoundError as error:
        raise InputError(f"stream {stream!r} does not exist on the server: {error}") from error
    except (Error, asyncio.TimeoutError):
        return None


async def _unsubscribe(consumer: Any) -> None:
    from nats.errors import Error

    try:
        if consumer is not None:
            await consumer.unsubscribe()
    except (Error, asyncio.TimeoutError):
        # the connection is gone, and with it the subscription
        pass


async def _fetch(consumer: Any, count: int, wait: float) -> list[Any] | None:
    """The next messages; none if there are none yet, and None if the consumer is gone."""
    from nats.errors import Error

    if consumer is None:
        await asyncio.sleep(min(wait, 0.2))
        return None
    try:
        return list(await consumer.fetch(count, timeout=wait))
    except asyncio.TimeoutError:
        # the client raises its own kind, and the plain one if it was busy elsewhere
        try:
            await consumer.consumer_info()
        except (Error, asyncio.TimeoutError):
            return None
        return []
    except Error:
        return None


def _in_order(found: list[Any], delivered: int) -> bool:
    """Whether each message is the next one that the server delivered, and none came again."""
    return all(
        message.metadata.sequence.consumer == delivered + place
        and message.metadata.num_delivered == 1
        for place, message in enumerate(found, 1)
    )


def _learn(
    model: StreamModel, stream: str, messages: list[Any], decode: Callable[[Any], Any] | None
) -> int:
    known = model.position.get(stream, 0)
    lines = []
    for message in messages:
        place = message.metadata.sequence.stream
        if place > known:
            at = f"stream {stream!r}, sequence {place}"
            line = json_line(message, message.data, at, decode)
            lines += [] if line is None else [line]
    last = messages[-1].metadata.sequence.stream
    return model.learn(b"\n".join(lines), last, source=stream).rows
