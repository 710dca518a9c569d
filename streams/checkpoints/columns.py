"""Tables of rows as columns: NumPy arrays that are stored and read without pickling.

A table is a name and its fields. A field of numbers is one array; one of texts is the UTF-8 bytes of all values and
their lengths; one of names, which repeat, is the texts of the distinct names and a number for each row; one of lists is
the numbers of all lists and their lengths; one of bytes is those of all values and their lengths.

Invariant: `rows_of(table, columns_of(table, rows))` are the fields of the rows, in order.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum, auto
from itertools import accumulate, islice, pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from graphtide.graph.algorithms.yield_points import with_yields
from graphtide.graph.int_sets import shared_int, shared_tuple, shared_value

Columns = Mapping[str, NDArray[Any]]

BLOCK_ROWS = 4_096
"""Rows that are turned into columns at a time."""


class FieldKind(Enum):
    """The type of a field, and with it the arrays that store it."""

    ID = auto()
    """The number of a row."""
    NUMBER = auto()
    TEXT = auto()
    NAME = auto()
    """A text that many rows have."""
    IDS = auto()
    """A tuple of numbers of rows."""
    BYTES = auto()


@dataclass(frozen=True, slots=True)
class ColumnTable:
    """A table. `fields_of` returns the fields of a row in the order of `kinds`."""

    name: str
    fields_of: Callable[[Any], Sequence[Any]]
    kinds: tuple[tuple[str, FieldKind], ...]


def columns_of(table: ColumnTable, rows: Iterable[Any]) -> dict[str, NDArray[Any]]:
    """Return the columns of the rows. Cost: the rows; memory beside the columns: the texts."""
    writers = [_WRITERS[kind]() for _, kind in table.kinds]
    fields = map(table.fields_of, rows)
    for block in with_yields(iter(lambda: tuple(islice(fields, BLOCK_ROWS)), ())):
        for writer, values in zip(writers, zip(*block, strict=True), strict=True):
            writer.extend(values)
    return {
        f"{table.name}.{field}{part}": column
        for (field, _), writer in zip(table.kinds, writers, strict=True)
        for part, column in writer.columns()
    }


def rows_of(table: ColumnTable, columns: Columns) -> Iterator[tuple[Any, ...]]:
    """Yield the fields of each row. Raises KeyError or ValueError for other columns than `columns_of` makes."""
    return zip(*(_READERS[kind](columns, f"{table.name}.{field}") for field, kind in table.kinds), strict=True)


class _Numbers:
    def __init__(self) -> None:
        self._values = array("q")

    def extend(self, values: Sequence[int]) -> None:
        self._values.extend(values)

    def columns(self) -> Iterator[tuple[str, NDArray[Any]]]:
        yield "", _narrow(np.frombuffer(self._values, np.int64))


class _Texts:
    def __init__(self) -> None:
        self._bytes = bytearray()
        self._sizes = array("q")

    def extend(self, values: Sequence[str]) -> None:
        self._bytes += "".join(values).encode("utf-8", "surrogatepass")
        self._sizes.extend(map(len, values))

    def columns(self) -> Iterator[tuple[str, NDArray[Any]]]:
        yield ".utf8", np.frombuffer(self._bytes, np.uint8)
        yield ".sizes", _narrow(np.frombuffer(self._sizes, np.int64))


class _Names:
    def __init__(self) -> None:
        self._codes = array("q")
        self._numbers: dict[str, int] = {}

    def extend(self, values: Sequence[str]) -> None:
        numbers = self._numbers
        self._codes.extend([numbers.setdefault(value, len(numbers)) for value in values])

    def columns(self) -> Iterator[tuple[str, NDArray[Any]]]:
        yield ".codes", _narrow(np.frombuffer(self._codes, np.int64))
        names = _Texts()
        names.extend(tuple(self._numbers))
        yield from names.columns()


class _Lists:
    def __init__(self) -> None:
        self._members, self._sizes = array("q"), array("q")

    def extend(self, values: Sequence[Sequence[int]]) -> None:
        self._sizes.extend(map(len, values))
        for members in values:
            self._members.extend(members)

    def columns(self) -> Iterator[tuple[str, NDArray[Any]]]:
        yield ".members", _narrow(np.frombuffer(self._members, np.int64))
        yield ".sizes", _narrow(np.frombuffer(self._sizes, np.int64))


class _Blobs:
    def __init__(self) -> None:
        self._bytes = bytearray()
        self._sizes = array("q")

    def extend(self, values: Sequence[bytes]) -> None:
        self._bytes += b"".join(values)
        self._sizes.extend(map(len, values))

    def columns(self) -> Iterator[tuple[str, NDArray[Any]]]:
        yield ".bytes", np.frombuffer(self._bytes, np.uint8)
        yield ".sizes", _narrow(np.frombuffer(self._sizes, np.int64))


def _narrow(numbers: NDArray[np.int64]) -> NDArray[Any]:
    """Return the numbers as little-endian int32 if they fit, else int64."""
    bounds = np.iinfo(np.int32)
    fits = not len(numbers) or (numbers.min() >= bounds.min and numbers.max() <= bounds.max)
    return numbers.astype("<i4" if fits else "<i8", copy=False)


def _ids(columns: Columns, name: str) -> list[int]:
    return list(map(shared_int, columns[name].tolist()))


def _numbers(columns: Columns, name: str) -> list[int]:
    return list(map(shared_value, columns[name].tolist()))


def _texts(columns: Columns, name: str) -> list[str]:
    text = columns[f"{name}.utf8"].tobytes().decode("utf-8", "surrogatepass")
    return [text[start:end] for start, end in _spans(columns[f"{name}.sizes"], len(text))]


def _names(columns: Columns, name: str) -> list[str]:
    names = _texts(columns, name)
    return [names[code] for code in columns[f"{name}.codes"].tolist()]


def _lists(columns: Columns, name: str) -> list[tuple[int, ...]]:
    members = _ids(columns, f"{name}.members")
    return [shared_tuple(members[start:end]) for start, end in _spans(columns[f"{name}.sizes"], len(members))]


def _blobs(columns: Columns, name: str) -> list[bytes]:
    data = columns[f"{name}.bytes"].tobytes()
    return [data[start:end] for start, end in _spans(columns[f"{name}.sizes"], len(data))]


def _spans(sizes: NDArray[Any], total: int) -> Iterator[tuple[int, int]]:
    lengths = sizes.tolist()
    if sum(lengths) != total or min(lengths, default=0) < 0:
        raise ValueError(f"{len(lengths)} values of {sum(lengths)} in all, but {total} are stored")
    return pairwise(accumulate(lengths, initial=0))


_WRITERS: Mapping[FieldKind, Callable[[], Any]] = {
    FieldKind.ID: _Numbers,
    FieldKind.NUMBER: _Numbers,
    FieldKind.TEXT: _Texts,
    FieldKind.NAME: _Names,
    FieldKind.IDS: _Lists,
    FieldKind.BYTES: _Blobs,
}
_READERS: Mapping[FieldKind, Callable[[Columns, str], list[Any]]] = {
    FieldKind.ID: _ids,
    FieldKind.NUMBER: _numbers,
    FieldKind.TEXT: _texts,
    FieldKind.NAME: _names,
    FieldKind.IDS: _lists,
    FieldKind.BYTES: _blobs,
}
