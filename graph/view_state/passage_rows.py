"""Mentions and evidence of one passage of a view, as columns.

A sequence of rows, each of which is made when it is read; readers that need one column take that. Columns in which
every row has the default value are left out. The texts are one byte string for all columns, which may be in a file
(vector_store.py): the places of those that the passage contains, and the others. Invariant: the rows read are those
given, in their order, and a sequence never changes.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain, repeat
from typing import overload

from graphtide.graph._vectors import text_at, texts
from graphtide.graph.records import EvidenceRow, MentionRow
from graphtide.graph.vector_store import VectorBytes, stored_varied

_Counts = tuple[int, ...] | None
_SHORT = 0xFFFF
"""Bytes of texts whose places take two bytes each."""


class _Columns:
    """Columns of texts, of one passage whose text in UTF-8 is `_utf8`; those without a text are left out.

    `_texts` has the columns one after another (graph/kernels/vectors/text_column.hpp); `_present` has a bit for each.
    """

    __slots__ = ("_present", "_texts", "_utf8")

    def __init__(self, columns: Sequence[tuple[str, ...]], utf8: VectorBytes) -> None:
        self._utf8 = utf8
        self._present = sum(any(column) << place for place, column in enumerate(columns))
        self._texts = _packed(list(chain.from_iterable(filter(any, columns))), utf8) if self._present else b""

    def _text_at(self, column: int, row: int, rows: int) -> str:
        """Return the text of a row, one of so many."""
        if not self._present >> column & 1:
            return ""
        before = (self._present & (1 << column) - 1).bit_count()
        return text_at(self._texts, before * rows + row, self._utf8)

    def _columns(self, wanted: int, rows: int) -> Iterator[tuple[str, ...] | None]:
        """Yield the first columns, as many as wanted, each of so many rows; None for one without a text."""
        found, start = texts(self._texts, self._utf8) if self._present else (), 0
        for column in range(wanted):
            if self._present >> column & 1:
                yield found[start : start + rows]
                start += rows
            else:
                yield None


def _packed(values: Sequence[str], utf8: VectorBytes) -> VectorBytes:
    places, rest, passage, end = {"": (0, 0)}, list[bytes](), bytes(utf8), len(utf8)
    for value in values:
        if value in places:
            continue
        encoded = value.encode("utf-8", "surrogatepass")
        if (start := passage.find(encoded)) < 0:
            start, end = end, end + len(encoded)
            rest.append(encoded)
        places[value] = start, start + len(encoded)
    wide = end > _SHORT
    written = array("I" if wide else "H", [place for value in values for place in places[value]])
    return stored_varied(b"".join([array("I", [2 * len(values) + wide]).tobytes(), written.tobytes(), *rest]))


def _counts(values: tuple[int, ...]) -> _Counts:
    return None if values.count(1) == len(values) else values


class PassageMentions(_Columns, Sequence[MentionRow]):
    """The mentions of one passage; `labels` are their labels, in order."""

    __slots__ = ("_chunk", "_counts", "labels")

    def __init__(self, rows: Sequence[MentionRow] = (), utf8: VectorBytes = b"") -> None:
        """Hold the rows, all of one passage with this text in UTF-8."""
        super().__init__((tuple([row.name for row in rows]), tuple([row.description for row in rows])), utf8)
        self._chunk = rows[0].chunk if rows else -1
        self.labels = tuple([row.label for row in rows])
        self._counts = _counts(tuple([row.count for row in rows]))

    def __len__(self) -> int:
        return len(self.labels)

    @overload
    def __getitem__(self, place: int) -> MentionRow: ...

    @overload
    def __getitem__(self, place: slice) -> Sequence[MentionRow]: ...

    def __getitem__(self, place: int | slice) -> MentionRow | Sequence[MentionRow]:
        if isinstance(place, slice):
            return tuple(self)[place]
        rows = len(self.labels)
        row = range(rows)[place]
        count = self._counts[row] if self._counts is not None else 1
        name, description = (self._text_at(column, row, rows) for column in range(2))
        return MentionRow(self.labels[row], self._chunk, name, description, count)

    def __iter__(self) -> Iterator[MentionRow]:
        names, descriptions = self._columns(2, len(self.labels))
        columns = names or repeat(""), descriptions or repeat(""), self._counts or repeat(1)
        return map(MentionRow, self.labels, repeat(self._chunk), *columns)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, PassageMentions) and self._values() == other._values()

    def __hash__(self) -> int:
        return hash(self._values())

    def count_of(self, label: int) -> int:
        """Return how often the passage mentions a label."""
        counts = self._counts
        if counts is None:
            return self.labels.count(label)
        return sum(count for other, count in zip(self.labels, counts, strict=True) if other == label)

    def _values(self) -> tuple[object, ...]:
        return self._chunk, self.labels, self._counts, *self._columns(2, len(self.labels))


class PassageEvidence(_Columns, Sequence[EvidenceRow]):
    """The support of one passage for statements; `statements` are their numbers, in order."""

    __slots__ = ("_chunk", "_counts", "_weights", "statements")

    def __init__(self, rows: Sequence[EvidenceRow] = (), utf8: VectorBytes = b"") -> None:
        """Hold the rows, all of one passage with this text in UTF-8."""
        described = tuple([row.description for row in rows]), tuple([row.sentence for row in rows])
        dates = tuple([row.valid_from for row in rows]), tuple([row.valid_to for row in rows])
        super().__init__((*described, *dates), utf8)
        self._chunk = rows[0].chunk if rows else -1
        self.statements = tuple([row.statement for row in rows])
        weights = tuple([row.weight_milli for row in rows])
        self._weights = weights[0] if len(set(weights)) == 1 else weights
        """One number where all rows have it."""
        self._counts = _counts(tuple([row.count for row in rows]))

    def __len__(self) -> int:
        return len(self.statements)

    @overload
    def __getitem__(self, place: int) -> EvidenceRow: ...

    @overload
    def __getitem__(self, place: slice) -> Sequence[EvidenceRow]: ...

    def __getitem__(self, place: int | slice) -> EvidenceRow | Sequence[EvidenceRow]:
        return tuple(self)[place] if isinstance(place, slice) else self._row(range(len(self.statements))[place])

    def _row(self, row: int) -> EvidenceRow:
        rows = len(self.statements)
        description, sentence, valid_from, valid_to = (self._text_at(column, row, rows) for column in range(4))
        weight = self._weights if isinstance(self._weights, int) else self._weights[row]
        count = self._counts[row] if self._counts is not None else 1
        fields = self.statements[row], self._chunk, description, sentence, weight, count
        return EvidenceRow(*fields, valid_from, valid_to)

    def __iter__(self) -> Iterator[EvidenceRow]:
        columns = [column or repeat("") for column in self._columns(4, len(self.statements))]
        weights: Iterable[int] = repeat(self._weights) if isinstance(self._weights, int) else self._weights
        numbers = weights, self._counts or repeat(1)
        return map(EvidenceRow, self.statements, repeat(self._chunk), *columns[:2], *numbers, *columns[2:])

    def __eq__(self, other: object) -> bool:
        return isinstance(other, PassageEvidence) and self._values() == other._values()

    def __hash__(self) -> int:
        return hash(self._values())

    def of(self, statement: int) -> list[EvidenceRow]:
        """Return the rows of one statement."""
        return [self._row(place) for place, other in enumerate(self.statements) if other == statement]

    def texts(self) -> Iterator[tuple[int, str, str, int]]:
        """Yield (statement, description, sentence, count) of each row, without making the row."""
        descriptions, sentences = (column or repeat("") for column in self._columns(2, len(self.statements)))
        counts: Iterable[int] = self._counts or repeat(1)
        return zip(self.statements, descriptions, sentences, counts, strict=False)

    def _values(self) -> tuple[object, ...]:
        numbers = self._chunk, self.statements, self._weights, self._counts
        return *numbers, *self._columns(4, len(self.statements))


NO_MENTIONS, NO_EVIDENCE = PassageMentions(), PassageEvidence()
