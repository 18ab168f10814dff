"""A model file that learns batches of a stream, and knows how far it has learned."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterable, Mapping
from pathlib import Path
from types import TracebackType
from typing import Any, NamedTuple, Self, Unpack

from ._declaration import COLUMNS, Declared, declaration
from ._files import load
from ._kalmia import Claim, TableModel
from ._stream_rows import as_rows
from .errors import InputError, ModelFileError, StateError

#: The entry of the file's metadata.
ENTRY = "stream"


class StreamStep(NamedTuple):
    """What became of a batch.

    Examples
    --------
    >>> StreamStep(rows=10, skipped=0, repeated=False).rows
    10
    """

    #: Rows learned.
    rows: int
    #: Rows left out for a missing value.
    skipped: int
    #: Whether the batch was learned before, so that it was ignored now.
    repeated: bool


class StreamModel:
    __doc__ = f"""A model file that learns batches of a stream, each exactly once.

    The file is claimed until `close`: no other process can learn with it meanwhile. It is an
    ordinary model file: `kalmia.load` reads it, and the command ``kalmia`` reads and updates it.

    Parameters
    ----------
    path : path-like
        The model file. If it exists, it is continued, and the keywords below may be left out; if
        given, they must be those that it was made with. Else the first batch makes it: its rows
        decide the kinds of the columns.
    {COLUMNS}

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from kalmia.stream import StreamModel
    >>> rows = [{{"hour": h, "late": h > 12}} for h in range(24)]
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder) / "late.kalmia"
    ...     with StreamModel(path, target="late") as model:
    ...         first = model.learn(rows, 1)
    ...         again = model.learn(rows, 1)
    ...     with StreamModel(path) as model:
    ...         model.position, model.rows, first.rows, again.repeated
    ({{'stream': 1}}, 24, 24, True)
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        target: str | None = None,
        **declared: Unpack[Declared],
    ) -> None:
        self.path = Path(path)
        self._lock = threading.RLock()
        if target is None and declared:
            raise InputError(
                f"{next(iter(declared))} is given without target: give both or neither"
            )
        self._declared = None if target is None else declaration(target, **declared)
        self._claim: Claim | None = Claim(self.path)
        self._model: TableModel | None = None
        self._position: dict[str, int] = {}
        self._empty: dict[str, int] = {}
        try:
            self._read()
        except BaseException:
            self.close()
            raise

    def __repr__(self) -> str:
        return f"{type(self).__name__}({str(self.path)!r}, position={self.position})"

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
        """Gives the file up, so another process can learn with it; later calls raise."""
        with self._lock:
            if self._claim is not None:
                self._claim.release()
            self._claim = None

    @property
    def position(self) -> dict[str, int]:
        """The last position learned of each source."""
        with self._lock:
            return dict(self._position)

    @property
    def rows(self) -> int:
        """Number of rows learned."""
        with self._lock:
            return 0 if self._model is None else self._model.rows

    def learn(
        self, rows: Any, position: int, *, source: str = "stream", after: int | None = None
    ) -> StreamStep:
        """Learns a batch and writes the model with its new position, unless it was learned before.

        All or nothing: if this raises, the file is as it was.

        Parameters
        ----------
        rows : table, list of dict, or bytes
            A table of pandas, polars or Arrow, dictionaries, or JSON Lines. It may be empty.
        position : int
            The place of the batch in its source: the number of the batch, or the offset of its last
            row. A batch at or before the source's last position is ignored.
        source : str
            What the position counts, such as a topic with its partition. Each source has its own.
        after : int, optional
            The position of the batch before. If the model is not there, batches are missing, which
            is refused. Without it gaps are accepted.

        Returns
        -------
        StreamStep
        """
        if isinstance(position, bool) or not isinstance(position, int):
            raise InputError(f"position is {position!r}: give a whole number")
        with self._lock:
            if self._claim is None:
                raise StateError(f"the model file {self.path} was closed: open it again")
            known = self._position.get(source, self._empty.get(source))
            if known is not None and position <= known:
                return StreamStep(0, 0, True)
            if after is not None and known is not None and known != after:
                raise InputError(
                    f"the model file {self.path} has learned {source!r} up to {known}, but these "
                    f"rows come after {after}: learn what is between first, or restore the model "
                    "file that belongs to this point of the stream"
                )
            return self._learn(rows, position, source, self._claim)

    def _learn(self, rows: Any, position: int, source: str, claim: Claim) -> StreamStep:
        table, count = as_rows(rows)
        name = f"{source} at {position}"
        if count == 0 and self._model is None:
            # there is no model that could keep the position yet
            self._empty[source] = position
            return StreamStep(0, 0, False)
        try:
            model = self._model
            if model is None:
                # an Arrow stream of a table can be read as often as it is asked for
                model = TableModel(table, self._declaration(), name)
            learned, skipped = model.learn(table, name) if count else (0, 0)
            after = {**self._position, source: position}
            self._write(model, after, claim)
        except BaseException:
            # what was learned is not in the file: both must be the same again
            self._read()
            raise
        self._model, self._position = model, after
        return StreamStep(learned, skipped, False)

    def _declaration(self) -> dict[str, Any]:
        if self._declared is None:
            raise InputError(
                f"the model file {self.path} does not exist, so it has to be declared: give target"
            )
        return self._declared

    def _write(self, model: TableModel, position: Mapping[str, int], claim: Claim) -> None:
        if self._model is None and self.path.exists():
            raise ModelFileError(
                f"model file {self.path}: another program made it meanwhile; open it again"
            )
        entry: dict[str, Any] = {"position": dict(position)}
        made = self._declared if self._model is None else (model.entry(ENTRY) or {}).get("declared")
        if made is not None:
            entry["declared"] = made
        model.set_entry(ENTRY, entry)
        model.save(claim)

    def _read(self) -> None:
        """Takes the model and its position from the file, if there is one."""
        if not self.path.exists():
            self._model, self._position = None, {}
            return
        model = TableModel.load(self.path)
        entry = model.entry(ENTRY) or {}
        made = entry.get("declared")
        if self._declared is not None and made is not None and made != self._declared:
            differs = [name for name in made if made[name] != self._declared[name]]
            raise InputError(
                f"the model file {self.path} was made with {_shown(made, differs)}, not with "
                f"{_shown(self._declared, differs)}: leave these keywords out, or use another file"
            )
        self._model, self._position = model, dict(entry.get("position", {}))

    def estimator(self) -> Any:
        """The model as `kalmia.load` returns it; it does not follow later batches."""
        with self._lock:
            if self._model is None:
                raise StateError(f"the model file {self.path} does not exist yet: learn rows first")
            return load(self.path)


def _shown(declared: Mapping[str, Any], names: Iterable[str]) -> str:
    return ", ".join(f"{name}={declared[name]!r}" for name in names)
