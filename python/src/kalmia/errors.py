"""The exceptions of the package, all under :class:`KalmiaError`."""

from __future__ import annotations

__all__ = [
    "DivergenceError",
    "InputError",
    "KalmiaError",
    "ModelFileError",
    "ServiceError",
    "ServiceUnavailable",
    "StateError",
]


class KalmiaError(Exception):
    """Base of all errors that kalmia raises."""


class InputError(KalmiaError, ValueError):
    """A parameter, row or column is invalid. The message names it; the learner is unchanged."""


class StateError(KalmiaError, ValueError):
    """The learner does not support the call, such as growing or merging."""


class DivergenceError(KalmiaError, ArithmeticError):
    """The recursion overflowed or lost its precision; the learner is unchanged."""


class ModelFileError(KalmiaError, ValueError):
    """A model file cannot be read or written."""


class ServiceError(KalmiaError):
    """A service refused a request of `Client`; repeating it would not help.

    `status` is the HTTP status and `code` the service's name of the error, such as
    ``"missing_value"``. `row` (over all rows of the call, the first is 1) and `column` say where it
    is, and `hint` what to do; each is None if the service does not say. `rows_done` counts the rows
    of the call that earlier requests had finished, because a large table goes in several requests.
    `key` is the idempotency key: a repeated call with it skips these rows.

    Examples
    --------
    >>> error = ServiceError("no model 'late'", status=404, code="unknown_model")
    >>> error.status, error.code, error.row
    (404, 'unknown_model', None)
    """

    def __init__(
        self,
        message: str,
        *,
        status: int | None = None,
        code: str | None = None,
        row: int | None = None,
        column: str | None = None,
        hint: str | None = None,
        key: str | None = None,
        rows_done: int = 0,
    ) -> None:
        super().__init__(message)
        self.status = status
        self.code = code
        self.row = row
        self.column = column
        self.hint = hint
        self.key = key
        self.rows_done = rows_done


class ServiceUnavailable(ServiceError):
    """A service did not answer, or was busy, until the retries ran out.

    `__cause__` is the last failure. It is not known if the rows were learned: repeat the call with
    ``key=error.key``, and none is learned twice.
    """
