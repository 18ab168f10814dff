"""A call that learns: one at a time, and undone if it is refused."""

from __future__ import annotations

from threading import RLock
from typing import Any

from ._parameters import same
from .errors import InputError


class LearningCall:
    """A call that learns: other calls wait until it ends, and a refused first call is undone.

    A class and not a generator, because a generator's cost would show in calls of one row.
    """

    def __init__(self, estimator: Any, reset: bool):
        self._attributes = vars(estimator)
        self._reset = reset

    def __enter__(self) -> bool:
        """Whether this is a first call. Later calls change no attribute before they succeed."""
        self._lock = self._attributes.setdefault("_lock", RLock())
        self._lock.acquire()
        first = self._reset or "learners_" not in self._attributes
        if not first:
            self._check_unchanged()
        self._before = dict(self._attributes) if first else None
        return first

    def _check_unchanged(self) -> None:
        """Refuses parameters that were changed after the learner was made."""
        for name, value in self._attributes.get("_made_with", {}).items():
            now = self._attributes[name]
            if now is not value and not same(now, value):
                self._lock.release()
                raise InputError(
                    f"{name} was {value!r} when the model was fitted and is now {now!r}: call fit "
                    "to start again, or set it back"
                )

    def __exit__(self, kind: type[BaseException] | None, *_: Any) -> None:
        if kind is not None and self._before is not None:
            for name in self._attributes.keys() - self._before.keys():
                del self._attributes[name]
            self._attributes.update(self._before)
        self._lock.release()
