"""What is common to the calls of :class:`kalmia.Client`: connections, keys, parts and files."""

from __future__ import annotations

import http.client
import os
import time
import uuid
from collections.abc import Iterable
from pathlib import Path
from types import TracebackType
from typing import Any, BinaryIO, Self
from urllib.parse import quote, urlencode

from ._client_answers import Request
from ._client_rows import Body
from ._client_transport import Transport, checked_key, pause
from .errors import InputError, KalmiaError, ModelFileError, ServiceError, ServiceUnavailable

#: Bytes of a file that are in memory at once.
PIECE_BYTES = 1 << 16


class Connected:
    """The part of a client that knows nothing of models."""

    def __init__(
        self,
        url: str = "http://127.0.0.1:8642",
        *,
        token: str | None = None,
        timeout: float = 30.0,
        retries: int = 8,
    ) -> None:
        self._transport = Transport(url, token, timeout, retries)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self._transport.url!r})"

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def close(self) -> None:
        """Closes the connections; later calls raise `StateError`."""
        self._transport.close()

    def wait_ready(self, timeout: float = 30.0) -> None:
        """Waits until the service answers and has read its models.

        Raises :class:`kalmia.ServiceUnavailable` after `timeout` seconds.
        """
        started, attempt = time.monotonic(), 0
        while True:
            left = started + timeout - time.monotonic()
            try:
                seconds = min(max(left, 0.05), self._transport.timeout)
                request = Request("GET", "/readyz", "wait until ready", timeout=seconds)
                self._transport.call(request, lambda answer: answer.read(), retries=0)
                return
            except ServiceUnavailable as error:
                if left <= 0.0:
                    raise ServiceUnavailable(
                        f"the service at {self._transport.url} is not ready after {timeout} s: "
                        f"{error.__cause__}; check that `kalmia serve` runs there",
                        status=error.status,
                        code=error.code,
                    ) from error.__cause__
            time.sleep(min(pause(attempt), 1.0, max(0.0, left)))
            attempt += 1

    def _json(self, method: str, name: str, what: str, **rest: Any) -> dict[str, Any]:
        request = Request(method, model_path(name), f"{what} {name!r}", **rest)
        answer: dict[str, Any] = self._transport.call(request).value
        return answer

    def _parts(
        self, verb: str, name: str, parts: Iterable[Body], key: str | None, query: dict[str, str]
    ) -> list[dict[str, Any]]:
        """Sends the bodies one after the other, each with a key of its own."""
        path = model_path(name) + f"/{verb}" + (f"?{urlencode(query)}" if query else "")
        what = f"{verb} with model {name!r}"
        answers: list[dict[str, Any]] = []
        done = 0
        try:
            for body in parts:
                own = key if key is None or not answers else f"{key}#part{len(answers) + 1}"
                request = Request("POST", path, what, body.data, body.content_type, own)
                answers.append(self._transport.call(request).value)
                done += body.rows
        except KalmiaError as error:
            if done:
                _count_from(error, done, key)
            raise
        if not answers:
            raise NoRows(f"{what}: there are no rows; give at least one")
        return answers

    def _download(self, request: Request, target: Path) -> None:
        """Writes an answer to a file beside the target, which then takes the target's place."""
        draft = target.with_name(f".{target.name}.{uuid.uuid4().hex}")
        try:
            with draft.open("xb") as file:
                self._transport.call(request, lambda answer: _copy(answer, file, target))
                file.flush()
                os.fsync(file.fileno())
            os.replace(draft, target)
        except OSError as error:
            raise _not_written(target, error) from error
        finally:
            draft.unlink(missing_ok=True)


class NoRows(InputError):
    """A call without rows."""


def _copy(answer: http.client.HTTPResponse, file: BinaryIO, target: Path) -> None:
    """Writes the body of an answer to an open file, from its start."""
    # errors of the file are not to be taken for a broken connection, which is retried
    try:
        file.seek(0)
        file.truncate()
    except OSError as error:
        raise _not_written(target, error) from error
    while data := answer.read(PIECE_BYTES):
        try:
            file.write(data)
        except OSError as error:
            raise _not_written(target, error) from error
    # what is left; reading in pieces does not report an early end by itself
    if answer.length:
        raise http.client.IncompleteRead(b"", answer.length)


def _not_written(target: Path, error: OSError) -> ModelFileError:
    return ModelFileError(f"model file {target}: cannot be written: {error.strerror or error}")


def _count_from(error: KalmiaError, done: int, key: str | None) -> None:
    """Adds to an error that earlier requests of the same call succeeded."""
    said = f"{error}; the first {done} rows of this call are done already"
    if isinstance(error, ServiceError):
        if error.row is not None:
            said += f", and row {error.row} of this request is row {error.row + done} of the call"
            error.row += done
        error.rows_done = done
        error.key = key
    error.args = (said,)


def call_key(key: str | None) -> str:
    """The key of a call, a new one if none is given."""
    return str(uuid.uuid4()) if key is None else checked_key(key)


def model_path(name: str) -> str:
    """The path of a model; its name may have any characters."""
    if not isinstance(name, str) or name in ("", ".", ".."):
        raise InputError(f"name is {name!r}: give the name of a model")
    return f"/v1/models/{quote(name, safe='')}"
