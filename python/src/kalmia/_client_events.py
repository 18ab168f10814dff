"""The events of a service, read as they come, over as many connections as it takes."""

from __future__ import annotations

import http.client
import json
import time
from collections.abc import Iterable, Iterator
from typing import Any

from ._client_answers import UNTRUSTED, Request, is_retried, unreached
from ._client_transport import Transport, pause
from .errors import ServiceError

#: Seconds without a line after which a stream counts as broken; heartbeats come more often.
MAX_SILENCE_SECONDS = 60.0


def follow(transport: Transport, request: Request) -> Iterator[dict[str, Any]]:
    """The data of all events named `model`; a broken stream is opened again.

    Each event has the whole model, so nothing is missed that a later one does not contain.
    """
    request = request._replace(timeout=max(transport.timeout, MAX_SILENCE_SECONDS))
    failures, started = 0, time.monotonic()
    while True:
        try:
            connection, answer = transport.open(request)
            try:
                for event, data in parse(answer):
                    failures, started = 0, time.monotonic()
                    if event == "model":
                        yield json.loads(data)
            finally:
                connection.close()
            failure = ServiceError(f"{request.what}: the stream ended", code="unreachable")
        except ServiceError as error:
            if not is_retried(error):
                raise
            failure = error
        except (OSError, http.client.HTTPException) as error:
            failure = unreached(request, error)
        if failures == transport.retries or failure.code == UNTRUSTED:
            raise transport.gave_up(request, failure, failures + 1, started, 0.0)
        time.sleep(pause(failures))
        failures += 1


def parse(lines: Iterable[bytes]) -> Iterator[tuple[str, str]]:
    """The name and the data of each event in a stream of lines; comments are left out.

    Examples
    --------
    >>> list(parse([b": heartbeat\\n", b"event: model\\n", b"data: {}\\n", b"\\n"]))
    [('model', '{}')]
    """
    event = "message"
    data: list[str] = []
    for line in lines:
        text = line.decode("utf-8").rstrip("\r\n")
        if not text:
            if data:
                yield event, "\n".join(data)
            event, data = "message", []
            continue
        field, _, value = text.partition(":")
        value = value.removeprefix(" ")
        if field == "event":
            event = value
        elif field == "data":
            data.append(value)
