"""Text and category columns of tables, coded as the command codes them."""

from __future__ import annotations

import numbers
from typing import Any

import numpy as np

from ._data import Rows, offsets
from ._kalmia import ArrowBlocks, Schema
from .errors import InputError


def frame_kinds(X: Any) -> list[str]:
    """The kind of each column of a pandas table: number, boolean or category.

    Columns of the types category and string are categories, and so are columns of objects that
    are all texts.

    Examples
    --------
    >>> import pandas
    >>> frame_kinds(pandas.DataFrame({"a": [1.5, 2.0], "b": ["x", "y"], "c": [True, False]}))
    ['number', 'category', 'boolean']
    """
    kinds = [(name, str(getattr(kind, "name", kind)), kind) for name, kind in X.dtypes.items()]
    return [
        _column_kind(name, text, kind, X.iloc[:, place])
        for place, (name, text, kind) in enumerate(kinds)
    ]


def _column_kind(name: Any, text: str, kind: Any, column: Any) -> str:
    if text == "category":
        return "category"
    code = getattr(kind, "kind", "O")
    if code != "O":
        return "boolean" if code == "b" else "number"
    numbers = False
    first: tuple[int, str] | None = None
    for row, value in enumerate(column):
        if not isinstance(value, str):
            numbers = numbers or not _is_missing(value)
        elif first is None and (text != "object" or not _is_number(value)):
            first = (row, value)
    if first is None:
        # texts that are numbers count as numbers among objects, as numpy has it, unless all are
        # texts
        return "number" if numbers or not _is_text(column) else "category"
    if numbers:
        raise InputError(
            f"column {name!r} mixes numbers with texts, such as {first[1]!r} in row {first[0]}: "
            "convert all to numbers, or all to texts"
        )
    return "category"


def _is_text(column: Any) -> bool:
    return any(isinstance(value, str) for value in column)


def _is_missing(value: Any) -> bool:
    return value is None or type(value).__name__ in ("NAType", "NaTType") or value != value


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def text_columns(given: Any) -> list[str]:
    """The columns that are texts, from a name, several names or None.

    Examples
    --------
    >>> text_columns(None), text_columns("review"), text_columns(("title", "review"))
    ([], ['review'], ['title', 'review'])
    """
    names = [] if given is None else [given] if isinstance(given, str) else list(given)
    wrong = [name for name in names if not isinstance(name, str)]
    if wrong:
        raise InputError(f"text holds {wrong[0]!r}: give the names of columns")
    return names


def with_texts(names: list[str], kinds: list[Any], texts: list[str]) -> list[Any]:
    """The kinds of columns, of which some are declared as texts.

    Examples
    --------
    >>> with_texts(["age", "review"], ["number", "category"], ["review"])
    ['number', 'text']
    """
    missing = [name for name in texts if name not in names]
    if missing:
        raise InputError(
            f"text names the column {missing[0]!r}, which the table lacks: its columns are "
            f"{names[:10]}"
        )
    for name, kind in zip(names, kinds, strict=True):
        if name in texts and kind != "category":
            raise InputError(
                f"text names the column {name!r}, which holds no texts: leave it out of text, or "
                "convert the column to texts"
            )
    return ["text" if name in texts else kind for name, kind in zip(names, kinds, strict=True)]


def new_schema(
    names: list[str],
    kinds: list[Any],
    intercept: bool,
    *,
    wide: Any,
    analyzer: Any,
    hash_bits: Any,
) -> Schema:
    """A schema of columns that are not all numbers, before any row."""
    if not isinstance(analyzer, str):
        raise InputError(
            f'analyzer is {analyzer!r}: give "words", "words:2" or "characters:2-4"'
        )
    whole = isinstance(hash_bits, numbers.Integral) and not isinstance(hash_bits, bool)
    if hash_bits is not None and not (whole and 1 <= hash_bits <= 30):
        raise InputError(f"hash_bits is {hash_bits!r}: give a whole number from 1 to 30")
    for name, kind in zip(names, kinds, strict=True):
        if kind is None:
            raise InputError(
                f"column {name!r} holds neither numbers nor texts: turn dates and times into "
                "numbers, such as days since a start, or into texts"
            )
    return Schema(
        names,
        target_name(names),
        None,
        intercept,
        False,
        kinds,
        wide=wide,
        analyzer=analyzer,
        hash_bits=None if hash_bits is None else int(hash_bits),
    )


def target_name(names: list[str]) -> str:
    """A name for the target that no column has."""
    target = "y"
    while target in [name.strip() for name in names]:
        target += "_"
    return target


def encode(
    schema: Schema, X: Any, offset: Any, *, learn: bool = False, by_place: bool = False
) -> Rows:
    """The features of a table by the command's encoder; `offset` replaces the table's own.

    With `learn`, levels that are new become features, and the rows have the schema that knows
    them. With `by_place`, columns are taken by their places; their names were compared before.
    """
    name = schema.offset
    if isinstance(X, ArrowBlocks):
        missing = [column for column in schema.columns if column not in X.names]
        if missing and not by_place:
            raise InputError(f"the table has no column {missing[0]!r}")
        found = _encoded(schema, X, learn)
        places = found[1][1]
        # a stream does not say how many rows it had: those after the last one used are lost
        given = int(places[-1]) + 1 if len(places) else 0
        return _rows(found, given, offsets(offset, given), name)
    is_frame = hasattr(X, "iloc")
    if not hasattr(X, "columns") or not (is_frame or hasattr(X, "hstack")):
        raise InputError(
            f"this model encodes its columns {schema.columns[:5]}: give a table of pandas or "
            "polars, or an Arrow stream, that has them"
        )
    if by_place:
        table = X.set_axis(schema.columns, axis=1).reset_index(drop=True)
        return _rows(_encoded(schema, table, learn), len(X), offsets(offset, len(X)), name)
    columns = schema.columns
    missing = [column for column in columns if column not in X.columns]
    if missing:
        raise InputError(f"the table has no column {missing[0]!r}")
    given_offset = offsets(offset, len(X))
    if name is not None and given_offset is None:
        if name not in X.columns:
            raise InputError(no_offset(name))
        columns = [*columns, name]
    table = X[columns].reset_index(drop=True) if is_frame else X.select(columns)
    if name is not None and given_offset is not None:
        added = {name: given_offset}
        table = table.assign(**added) if is_frame else table.hstack(type(X)(added))
    return _rows(_encoded(schema, table, learn), len(X), given_offset, name)


def _rows(found: Any, given: int, offset: np.ndarray | None, name: str | None) -> Rows:
    """The rows that were encoded; `offset` is what the caller gave, `name` the table's own."""
    after, (features, places, own, unseen) = found
    kept = None if len(places) == given else places
    rows = Rows(features, own, given, kept, unseen, schema=after)
    return rows if name is not None else rows._replace(offset=rows.pick(offset))


def _encoded(schema: Schema, table: Any, learn: bool) -> Any:
    """The schema after the rows if it learns, else None, and the encoded rows.

    Through lists if pandas cannot make an Arrow stream of the table: it needs pyarrow for that,
    which refuses columns of mixed types.
    """

    def run(source: Any) -> Any:
        return schema.learn(source) if learn else (None, schema.encode(source))

    if not hasattr(table, "iloc"):
        return run(table)
    try:
        stream = table.__arrow_c_stream__()
    except (AttributeError, ImportError, TypeError, ValueError):
        values = table.astype(object)
        return run(values.where(values.notna(), None).to_dict("list"))
    return run(stream)


def no_offset(name: str) -> str:
    """The message for a model with an offset and a table without one."""
    return (
        f"the model was fitted with the offset {name!r}: give a table that has this column, or "
        "`offset`"
    )
