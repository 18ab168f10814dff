"""What an answer of a service means: a value, a refusal, or a reason to try again."""

from __future__ import annotations

import email.utils
import http.client
import json
import ssl
import time
from typing import Any, NamedTuple

from .errors import ServiceError

#: Busy, stopping, or out of disk space; the others come from proxies and from timeouts.
RETRIED_STATUSES = frozenset({408, 429, 502, 503, 504, 507})
#: The code of a certificate that nobody known has signed, for which no retry helps.
UNTRUSTED = "untrusted"
#: Bytes of an answer that is no JSON which an error shows.
MAX_SHOWN_BYTES = 200


class Request(NamedTuple):
    """One request, the same in every attempt."""

    method: str
    path: str
    #: What it does, for messages.
    what: str
    body: bytes | None = None
    content_type: str | None = None
    key: str | None = None
    accept: str = "application/json"
    #: Seconds per attempt, if not those of the client.
    timeout: float | None = None
    #: The error that means success if an earlier attempt may have been carried out.
    done_code: str | None = None


def refusal(request: Request, answer: http.client.HTTPResponse) -> ServiceError:
    """The error in an answer: what is wrong, where, what to do."""
    data = answer.read()
    try:
        found = json.loads(data)["error"]
        code, message = str(found["code"]), str(found["message"])
    except (ValueError, KeyError, TypeError):
        shown = data[:MAX_SHOWN_BYTES].decode("utf-8", "replace").strip()
        found, code = {}, f"http_{answer.status}"
        message = f"the answer is {answer.status} {answer.reason}" + (f": {shown}" if shown else "")
        if 300 <= answer.status < 400:
            # not followed, because the token would go to another address
            message += "; give the client the address that it points to"
    row, column, hint = found.get("row"), found.get("column"), found.get("hint")
    places = [] if row is None or f"row {row}" in message else [f"row {row}"]
    if column is not None and str(column) not in message:
        places.append(f"column {column!r}")
    where = f" ({', '.join(places)})" if places else ""
    todo = f"; {hint}" if hint and str(hint) not in message else ""
    return ServiceError(
        f"{request.what}: {message}{where}{todo} [{answer.status} {code}]",
        status=answer.status,
        code=code,
        row=row,
        column=column,
        hint=hint,
        key=request.key,
    )


def unreached(request: Request, error: Exception) -> ServiceError:
    """The error for a request without an answer."""
    said = str(error) or type(error).__name__
    code = "unreachable"
    if isinstance(error, TimeoutError):
        said = "no answer in time"
    elif isinstance(error, ssl.SSLCertVerificationError):
        code = UNTRUSTED
        said = (
            f"the certificate is not trusted: {error.verify_message}; name a file with the right "
            "authority in the environment variable SSL_CERT_FILE"
        )
    failure = ServiceError(f"{request.what}: {said}", code=code, key=request.key)
    failure.__cause__ = error
    return failure


def is_retried(failure: ServiceError) -> bool:
    """Whether the same request may succeed later."""
    if failure.status is None or failure.status in RETRIED_STATUSES:
        return True
    return failure.status == 409 and failure.code == "under_way"


def read_json(answer: http.client.HTTPResponse) -> Any:
    """The JSON of a successful answer, None if it is empty."""
    data = answer.read()
    try:
        return json.loads(data) if data else None
    except ValueError as error:
        shown = data[:MAX_SHOWN_BYTES].decode("utf-8", "replace")
        raise ServiceError(
            f"the answer is no JSON: {shown!r}; check that the address is that of `kalmia serve`",
            status=answer.status,
            code="bad_answer",
        ) from error


def retry_after(answer: http.client.HTTPResponse) -> float:
    """Seconds that the service asks to wait, 0 if it does not."""
    given = answer.getheader("Retry-After")
    if given is None:
        return 0.0
    try:
        return max(0.0, float(given))
    except ValueError:
        pass
    try:
        return max(0.0, email.utils.parsedate_to_datetime(given).timestamp() - time.time())
    except ValueError:
        return 0.0
