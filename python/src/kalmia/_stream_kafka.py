"""A consumer of Kafka whose offsets are in the model file."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from typing import Any

from ._client_rows import _row_text
from ._stream_model import StreamModel
from .errors import InputError, KalmiaError


def consume_kafka(
    consumer: Any,
    topic: str,
    model: StreamModel,
    *,
    partitions: Iterable[int] | None = None,
    batch: int = 10_000,
    wait: float = 1.0,
    idle: float | None = None,
    decode: Callable[[Any], Any] | None = None,
) -> int:
    """Learns the messages of a topic, each exactly once, from where the model file stopped.

    The offsets are in the model file; those that the broker keeps for the consumer group are not
    used. One model is learned by one process, so partitions are assigned by hand.

    Parameters
    ----------
    consumer : confluent_kafka.Consumer
        Set it up with ``"enable.auto.commit": False``. Its assignment is replaced.
    topic : str
        The topic.
    model : StreamModel
        The model. Its positions are named ``"topic/partition"``.
    partitions : iterable of int, optional
        The partitions; all by default.
    batch : int
        Messages that are learned at once. The model file is written after each batch.
    wait : float
        Seconds after which a smaller batch is learned if no message comes.
    idle : float, optional
        Return when no message came for so many seconds; by default it goes on for ever.
    decode : callable, optional
        The row of a message as a dictionary, or None for a message without a row. By default the
        value of a message is a JSON object, and an empty message has no row.

    Returns
    -------
    int
        Number of rows learned.

    Examples
    --------
    >>> consumer = Consumer({"bootstrap.servers": "...", "group.id": "late"})  # doctest: +SKIP
    >>> with StreamModel("late.kalmia", target="late") as model:  # doctest: +SKIP
    ...     consume_kafka(consumer, "flights", model)
    """
    waiting: dict[int, list[Any]] = {one: [] for one in _assign(consumer, topic, model, partitions)}
    rows = 0
    quiet = time.monotonic()
    while True:
        room = min(batch - len(messages) for messages in waiting.values())
        found = consumer.consume(room, wait)
        for message in found:
            _add(message, topic, model, waiting)
        for partition, messages in waiting.items():
            if messages and (len(messages) >= batch or not found):
                rows += _learn(model, topic, partition, messages, decode)
                messages.clear()
        if found:
            quiet = time.monotonic()
        elif idle is not None and time.monotonic() - quiet >= idle:
            return rows


def _assign(
    consumer: Any, topic: str, model: StreamModel, partitions: Iterable[int] | None
) -> list[int]:
    """Lets the consumer start at the positions of the model, and returns the partitions."""
    from confluent_kafka import TopicPartition

    found = consumer.list_topics(topic, timeout=30.0).topics[topic]
    if found.error is not None:
        raise InputError(f"topic {topic!r}: {found.error}; check its name")
    chosen = sorted(found.partitions if partitions is None else partitions)
    starts = []
    for one in chosen:
        low, high = consumer.get_watermark_offsets(TopicPartition(topic, one), timeout=30.0)
        known = model.position.get(f"{topic}/{one}")
        if known is not None and not low <= known + 1 <= high:
            raise InputError(
                f"the model file {model.path} continues partition {one} of topic {topic!r} at "
                f"offset {known + 1}, but the broker has {low} to {high - 1}: messages are lost, "
                "or the topic was made anew; use another model file, or another topic"
            )
        starts.append(TopicPartition(topic, one, low if known is None else known + 1))
    consumer.assign(starts)
    return chosen


def _add(message: Any, topic: str, model: StreamModel, waiting: dict[int, list[Any]]) -> None:
    """Puts a message with those of its partition, unless it was learned."""
    error = message.error()
    if error is not None:
        if error.retriable() or error.name() == "_PARTITION_EOF":
            return
        raise KalmiaError(f"topic {topic!r}: {error}; the messages before are learned")
    partition = message.partition()
    messages = waiting.get(partition)
    if messages is None:
        return
    known = model.position.get(f"{topic}/{partition}", -1)
    last = messages[-1].offset() if messages else known
    # the client reads anew after it lost its connection
    if message.offset() > last:
        messages.append(message)


def _learn(
    model: StreamModel,
    topic: str,
    partition: int,
    messages: list[Any],
    decode: Callable[[Any], Any] | None,
) -> int:
    lines = []
    for message in messages:
        at = f"topic {topic!r}, partition {partition}, offset {message.offset()}"
        line = json_line(message, message.value(), at, decode)
        if line is not None:
            lines.append(line)
    source = f"{topic}/{partition}"
    return model.learn(b"\n".join(lines), messages[-1].offset(), source=source).rows


def json_line(
    message: Any, value: bytes | None, at: str, decode: Callable[[Any], Any] | None
) -> bytes | None:
    """The row of a message as a line of JSON; None if it has no row."""
    if decode is not None:
        try:
            row = decode(message)
        except Exception as error:
            raise InputError(
                f"{at}: decode failed: {error}; return None to leave it out"
            ) from error
        return None if row is None else _row_text(row, 1).encode()
    if not value:
        return None
    line = value.strip().replace(b"\n", b" ")
    if not (line.startswith(b"{") and line.endswith(b"}")):
        raise InputError(
            f"{at}: the message {line[:40]!r} is no JSON object; give decode, which makes a "
            "dictionary of a message, or None to leave it out"
        )
    return line
