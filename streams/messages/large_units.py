"""Units of a large extraction whose mentions, facts and vectors are made when they are read.

The vectors are most of an extraction, and the record that holds them stays in memory until it is committed: a unit
refers to its rows in the record, and keeps names and sentences as strings that all units share. Invariant: a unit reads
as the `ChunkContribution` with these fields; reading it twice gives equal objects, the second time at once the same.
Cost: to read the mentions and facts of a unit decodes its vectors.
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Sequence
from typing import Any, TypeAlias

import numpy as np

from graphtide.graph.algorithms.yield_points import yield_point
from graphtide.graph.records import ChunkContribution, Fact, Mention, Vector
from graphtide.graph.text.place import Place

LARGE_RECORD_BYTES = 1 << 20
"""Size from which a record's vectors are decoded when they are read."""
GROUP_BYTES, GROUP_CHARS = 3, 4
"""Bytes that base64 encodes together, and their characters."""
VALUE_BYTES = 2
CHECKED_CHARS = 1 << 20
"""Characters that are checked in one call, a multiple of GROUP_CHARS."""
Contents: TypeAlias = tuple[tuple[Mention, ...], tuple[Fact, ...]]


class EncodedVectors:
    """A table of float16 vectors, (count, dimensions), as base64 text, of which the rows are decoded that are read."""

    def __init__(self, text: str | memoryview, dimensions: int, size_bytes: int) -> None:
        self._text = text
        self._dimensions = dimensions
        self._width = dimensions * VALUE_BYTES
        self.count = size_bytes // self._width
        self._last: tuple[int, Contents] = (-1, ((), ()))  # by the unit's first row: a unit would form a cycle

    @classmethod
    def of(cls, text: str | memoryview, dimensions: int) -> EncodedVectors | None:
        """Return the table; None for text with other characters than those of base64, or for no vectors.

        Raises ValueError for a size that is no multiple of a row, and for a vector that is zero or not finite. Memory:
        CHECKED_CHARS and their bytes.
        """
        size, left, width = 0, b"", dimensions * VALUE_BYTES
        if not width:
            return None
        for start in range(0, len(text), CHECKED_CHARS):
            yield_point()
            try:
                part = base64.b64decode(text[start : start + CHECKED_CHARS], validate=True)
            except binascii.Error:
                return None
            if start + CHECKED_CHARS < len(text) and len(part) * GROUP_CHARS != CHECKED_CHARS * GROUP_BYTES:
                return None  # padding before the end: rows could not be found by their place
            size += len(part)
            whole = left + part
            cut = len(whole) - len(whole) % width
            table = np.frombuffer(whole[:cut], np.float16).reshape(-1, dimensions)
            if not (np.isfinite(table).all() and table.any(axis=1).all()):
                raise ValueError("a vector is zero or not finite")
            left = whole[cut:]
        if left:
            raise ValueError(f"{size} bytes of vectors are no multiple of {width}")
        return cls(text, dimensions, size) if size else None

    def rows(self, first: int, stop: int) -> Sequence[Vector]:
        """Return the rows from a first one to before another."""
        start, end = first * self._width, stop * self._width
        group = start // GROUP_BYTES
        text = self._text[group * GROUP_CHARS : -(-end // GROUP_BYTES) * GROUP_CHARS]
        skipped = start - group * GROUP_BYTES
        data = base64.b64decode(text)[skipped : skipped + end - start]
        return np.frombuffer(data, np.float16).reshape(stop - first, self._dimensions)  # type: ignore[return-value]  # its rows

    def contents(self, unit: LargeUnit) -> Contents:
        """Return the mentions and facts of a unit; those of the last one are kept."""
        first, contents = self._last
        if first != unit.first:
            contents = unit.read_contents()
            self._last = unit.first, contents
        return contents


class LargeUnit(ChunkContribution):
    """A unit whose vectors are in a table: from the row `first` on that of the text, of mentions, and of facts.

    `named` and `stated` are the encoded mentions and facts. Made by `of`; the class itself makes a `ChunkContribution`,
    as `dataclasses.replace` does with it.
    """

    __slots__ = ("_named", "_stated", "_table", "first")

    _table: EncodedVectors
    first: int
    _named: tuple[tuple[str, str, str], ...]
    _stated: tuple[tuple[Any, ...], ...]

    def __new__(cls, *fields: Any, **named: Any) -> Any:
        return ChunkContribution(*fields, **named)

    @classmethod
    def of(
        cls,
        fields: tuple[bytes, str, int, int],
        named: tuple[tuple[str, str, str], ...],
        stated: tuple[tuple[Any, ...], ...],
        layout: tuple[str, str, Place, str | None],
        vectors: tuple[EncodedVectors, int],
    ) -> LargeUnit:
        """Return the unit of a key, text, start and end; title, description, place and source; table and first row."""
        unit: LargeUnit = object.__new__(cls)
        names = ("key", "text", "start", "end", "title", "description", "place", "source")
        own = ("_named", "_stated", "_table", "first")
        values: tuple[object, ...] = (*fields, *layout, named, stated, *vectors)
        for name, value in zip((*names, *own), values, strict=True):
            object.__setattr__(unit, name, value)
        return unit

    @property
    def vector(self) -> Vector:
        """Return the vector of the text."""
        return self._table.rows(self.first, self.first + 1)[0]

    @property
    def mentions(self) -> tuple[Mention, ...]:
        """Return the mentions."""
        return self._table.contents(self)[0]

    @property
    def facts(self) -> tuple[Fact, ...]:
        """Return the facts."""
        return self._table.contents(self)[1]

    def read_contents(self) -> Contents:
        """Make the mentions and facts."""
        start = self.first + 1
        middle = start + len(self._named)
        rows = self._table.rows(start, middle + len(self._stated))
        mentions = tuple(Mention(*row, vector) for row, vector in zip(self._named, rows, strict=False))
        facts = tuple(
            Fact(*row[:6], vector, *row[6:])  # type: ignore[call-arg]
            for row, vector in zip(self._stated, rows[len(self._named) :], strict=True)
        )
        return mentions, facts
