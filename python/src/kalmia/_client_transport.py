"""Requests of :class:`kalmia.Client`: a kept connection per thread, and retries."""

from __future__ import annotations

import http.client
import logging
import os
import random
import threading
import time
import weakref
from collections.abc import Callable
from typing import Any, NamedTuple
from urllib.parse import SplitResult, urlsplit

from ._client_answers import (
    UNTRUSTED,
    Request,
    is_retried,
    read_json,
    refusal,
    retry_after,
    unreached,
)
from ._kalmia import __version__
from .errors import InputError, ServiceError, ServiceUnavailable, StateError

#: Seconds before the first retry; each further pause is twice as long, up to `MAX_PAUSE_SECONDS`.
FIRST_PAUSE_SECONDS = 0.1
MAX_PAUSE_SECONDS = 10.0
#: A service that asks for a longer wait than this is reported as unavailable at once.
MAX_RETRY_AFTER_SECONDS = 60.0

log = logging.getLogger("kalmia.client")


class Reply(NamedTuple):
    """What a successful request gave."""

    value: Any
    status: int
    #: Whether an attempt before may have been carried out, although its answer was lost.
    repeated: bool


class Transport:
    """Sends requests to one address; safe for use by several threads."""

    def __init__(self, url: str, token: str | None, timeout: float, retries: int) -> None:
        parts = _address(url)
        self.timeout = _checked_timeout(timeout)
        if isinstance(retries, bool) or not isinstance(retries, int) or retries < 0:
            raise InputError(f"retries is {retries!r}: give a whole number, at least 0")
        self.retries = retries
        self._secure = parts.scheme == "https"
        self._host = parts.hostname or ""
        self._port = parts.port
        self._prefix = parts.path.rstrip("/")
        self.url = f"{parts.scheme}://{parts.netloc}{self._prefix}"
        self._authorization = None if token is None else f"Bearer {_checked_token(token)}"
        self._local = threading.local()
        self._open: weakref.WeakSet[http.client.HTTPConnection] = weakref.WeakSet()
        self._lock = threading.Lock()
        self._closed = False

    def call(
        self,
        request: Request,
        receive: Callable[[http.client.HTTPResponse], Any] = read_json,
        *,
        retries: int | None = None,
    ) -> Reply:
        """Sends a request until it is answered, and raises ServiceError for a refusal.

        `receive` reads the body of a successful answer. It is called again if the connection breaks
        while it reads. `retries` is that of the client unless it is given.
        """
        started = time.monotonic()
        retries = self.retries if retries is None else retries
        repeated = False
        for attempt in range(retries + 1):
            try:
                answer, resent = self._attempt(request)
                repeated = repeated or resent
                if answer.status < 300:
                    return Reply(receive(answer), answer.status, repeated)
                failure, wait = refusal(request, answer), retry_after(answer)
            except (OSError, http.client.HTTPException) as error:
                self._drop()
                failure, wait, repeated = unreached(request, error), 0.0, True
            except BaseException:
                # an answer that nobody reads would be taken for that of the next request
                self._drop()
                raise
            if repeated and failure.code is not None and failure.code == request.done_code:
                return Reply(None, failure.status or 0, repeated)
            if not is_retried(failure):
                raise failure
            hopeless = wait > MAX_RETRY_AFTER_SECONDS or failure.code == UNTRUSTED
            if attempt == retries or hopeless:
                raise self.gave_up(request, failure, attempt + 1, started, wait)
            seconds = wait + pause(attempt)
            log.info(
                "%s: %s; retry %d of %d in %.2f s",
                request.what,
                failure.code,
                attempt + 1,
                retries,
                seconds,
            )
            time.sleep(seconds)
        raise AssertionError("the last attempt returns or raises")

    def open(self, request: Request) -> tuple[http.client.HTTPConnection, Any]:
        """One attempt on a connection of its own, for an answer that does not end."""
        self._check_open()
        connection = self._connect()
        try:
            answer = self._send(connection, request)
            if answer.status >= 300:
                raise refusal(request, answer)
        except BaseException:
            connection.close()
            raise
        return connection, answer

    def close(self) -> None:
        """Closes all connections; later calls are refused."""
        self._closed = True
        with self._lock:
            connections = list(self._open)
        for connection in connections:
            connection.close()

    def _attempt(self, request: Request) -> tuple[http.client.HTTPResponse, bool]:
        """The answer, and whether the request was sent twice."""
        self._check_open()
        resent = False
        connection = getattr(self._local, "connection", None)
        # a connection must not be shared with a process that was forked
        if connection is not None and self._local.process == os.getpid():
            try:
                return self._send(connection, request), False
            except (ConnectionError, http.client.BadStatusLine):
                # the service closes connections that are idle; that is no failed attempt
                self._drop()
                resent = True
        connection = self._connect()
        self._local.connection, self._local.process = connection, os.getpid()
        return self._send(connection, request), resent

    def _check_open(self) -> None:
        if self._closed:
            raise StateError("this client is closed: make a new kalmia.Client")

    def _connect(self) -> http.client.HTTPConnection:
        kind = http.client.HTTPSConnection if self._secure else http.client.HTTPConnection
        connection = kind(self._host, self._port, timeout=self.timeout)
        with self._lock:
            self._open.add(connection)
        return connection

    def _drop(self) -> None:
        connection = getattr(self._local, "connection", None)
        if connection is not None:
            self._local.connection = None
            connection.close()

    def _send(
        self, connection: http.client.HTTPConnection, request: Request
    ) -> http.client.HTTPResponse:
        timeout = self.timeout if request.timeout is None else request.timeout
        connection.timeout = timeout
        if connection.sock is not None:
            connection.sock.settimeout(timeout)
        headers = {"Accept": request.accept, "User-Agent": f"kalmia-python/{__version__}"}
        if request.content_type is not None:
            headers["Content-Type"] = request.content_type
        if request.key is not None:
            headers["Idempotency-Key"] = request.key
        if self._authorization is not None:
            headers["Authorization"] = self._authorization
        path = self._prefix + request.path
        try:
            connection.request(request.method, path, body=request.body, headers=headers)
        except (BrokenPipeError, ConnectionResetError):
            # a service that refuses a body may answer before it has read all of it
            try:
                return connection.getresponse()
            except (OSError, http.client.HTTPException):
                pass
            raise
        return connection.getresponse()

    def gave_up(
        self, request: Request, failure: ServiceError, attempts: int, started: float, wait: float
    ) -> ServiceUnavailable:
        """The error when the retries have run out."""
        seconds = time.monotonic() - started
        times = "once" if attempts == 1 else f"{attempts} times"
        later = f"; it asks to wait {wait:.0f} s" if wait > MAX_RETRY_AFTER_SECONDS else ""
        again = "" if request.key is None else f"; then repeat the call with key={request.key!r}"
        error = ServiceUnavailable(
            f"tried {times} in {seconds:.1f} s at {self.url}{later}: {failure}. Check that "
            f"`kalmia serve` runs there{again}",
            status=failure.status,
            code=failure.code,
            key=request.key,
        )
        error.__cause__ = failure.__cause__ or failure
        return error


def pause(attempt: int) -> float:
    """Seconds before a retry: growing, and random so that many clients do not return at once."""
    return min(MAX_PAUSE_SECONDS, FIRST_PAUSE_SECONDS * 2.0**attempt) * random.uniform(0.5, 1.0)


def _address(url: str) -> SplitResult:
    parts = urlsplit(url)
    if parts.username is not None or parts.password is not None:
        raise InputError("url has a user name or password: give the secret as token=... instead")
    try:
        usable = parts.scheme in ("http", "https") and parts.hostname and parts.port != 0
    except ValueError:
        usable = False
    if not usable or parts.query or parts.fragment:
        raise InputError(f"url is {url!r}: give an address such as 'http://127.0.0.1:8642'")
    return parts


def _checked_token(token: str) -> str:
    """The token without the line end that a file adds. No message shows it."""
    stripped = token.strip()
    if not stripped or not stripped.isascii() or not stripped.isprintable() or " " in stripped:
        raise InputError("token must be one word of printable ASCII characters, without spaces")
    return stripped


def _checked_timeout(timeout: float) -> float:
    if isinstance(timeout, bool) or not isinstance(timeout, int | float) or not timeout > 0:
        raise InputError(f"timeout is {timeout!r}: give seconds, above 0")
    return float(timeout)


def checked_key(key: str) -> str:
    """An idempotency key that a header can hold."""
    if not isinstance(key, str) or not key or not key.isascii() or not key.isprintable():
        raise InputError(f"key is {key!r}: give a text of printable ASCII characters")
    return key
