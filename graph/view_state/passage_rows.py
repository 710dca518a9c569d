"""Mentions and evidence of one passage of a view, as columns.

A sequence of rows, each of which is made when it is read; readers that need one column take that. Some 12 rows of a
passage occupy two fifths of the memory of as many objects. Columns in which every row has the default value are left
out, and sentences that the passage states are the places of their characters in it. Invariant: the rows read are those
given, in their order, and a sequence never changes.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Iterator, Sequence
from itertools import repeat
from typing import TypeAlias, overload

from graphtide.graph.records import EvidenceRow, MentionRow

_Column = tuple[str, ...] | None
_Counts = tuple[int, ...] | None
_Quotations: TypeAlias = "tuple[str, ...] | array[int] | None"
"""Texts; or, for each row, where its text begins and ends in the passage."""
_SHORT = 0xFFFF
"""Characters of a passage whose places take two bytes each."""


def _column(values: tuple[str, ...]) -> _Column:
    return values if any(values) else None


def _counts(values: tuple[int, ...]) -> _Counts:
    return None if values.count(1) == len(values) else values


def _quotations(values: tuple[str, ...], text: str) -> _Quotations:
    """Return the places of values that a text contains, the values if it lacks one."""
    if not any(values):
        return None
    places = {"": (0, 0)}
    for value in values:
        if value not in places:
            start = text.find(value)
            if start < 0:
                return values
            places[value] = start, start + len(value)
    return array("H" if len(text) <= _SHORT else "I", [end for value in values for end in places[value]])


def _quoted(column: _Quotations, text: str, place: int) -> str:
    """Return the text of a row."""
    if column is None:
        return ""
    return column[place] if isinstance(column, tuple) else text[column[2 * place] : column[2 * place + 1]]


def _all_quoted(column: _Quotations, text: str) -> Iterable[str]:
    """Return the texts of all rows, in order; without end where every one is empty."""
    if column is None:
        return repeat("")
    if isinstance(column, tuple):
        return column
    return [text[start:end] for start, end in zip(column[::2], column[1::2], strict=True)]


class PassageMentions(Sequence[MentionRow]):
    """The mentions of one passage; `labels` are their labels, in order."""

    __slots__ = ("_chunk", "_counts", "_descriptions", "_names", "_text", "labels")

    def __init__(self, rows: Sequence[MentionRow] = (), text: str = "") -> None:
        """Hold the rows, all of one passage with this text."""
        self._chunk = rows[0].chunk if rows else -1
        self._text = text
        self.labels = tuple([row.label for row in rows])
        self._names = tuple([row.name for row in rows])
        self._descriptions = _quotations(tuple([row.description for row in rows]), text)
        self._counts = _counts(tuple([row.count for row in rows]))

    def __len__(self) -> int:
        return len(self.labels)

    @overload
    def __getitem__(self, place: int) -> MentionRow: ...

    @overload
    def __getitem__(self, place: slice) -> Sequence[MentionRow]: ...

    def __getitem__(self, place: int | slice) -> MentionRow | Sequence[MentionRow]:
        return tuple(self)[place] if isinstance(place, slice) else self._row(place)

    def _row(self, place: int) -> MentionRow:
        name = self._names[place]  # raises IndexError first
        description = _quoted(self._descriptions, self._text, place)
        count = self._counts[place] if self._counts is not None else 1
        return MentionRow(self.labels[place], self._chunk, name, description, count)

    def __iter__(self) -> Iterator[MentionRow]:
        return map(self._row, range(len(self.labels)))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, PassageMentions) and self._columns() == other._columns()

    def __hash__(self) -> int:
        return hash(self._columns())

    def count_of(self, label: int) -> int:
        """Return how often the passage mentions a label."""
        counts = self._counts
        if counts is None:
            return self.labels.count(label)
        return sum(count for other, count in zip(self.labels, counts, strict=True) if other == label)

    def _columns(self) -> tuple[object, ...]:
        described = self._descriptions and tuple(_all_quoted(self._descriptions, self._text))
        return self._chunk, self.labels, self._names, described, self._counts


class PassageEvidence(Sequence[EvidenceRow]):
    """The support of one passage for statements; `statements` are their numbers, in order."""

    __slots__ = (
        "_chunk", "_counts", "_descriptions", "_from", "_sentences", "_text", "_till", "_weights", "statements",
    )  # fmt: skip

    def __init__(self, rows: Sequence[EvidenceRow] = (), text: str = "") -> None:
        """Hold the rows, all of one passage with this text."""
        self._chunk = rows[0].chunk if rows else -1
        self._text = text
        self.statements = tuple([row.statement for row in rows])
        self._weights = tuple([row.weight_milli for row in rows])
        self._descriptions = _column(tuple([row.description for row in rows]))
        self._sentences = _quotations(tuple([row.sentence for row in rows]), text)
        self._counts = _counts(tuple([row.count for row in rows]))
        self._from = _column(tuple([row.valid_from for row in rows]))
        self._till = _column(tuple([row.valid_to for row in rows]))

    def __len__(self) -> int:
        return len(self.statements)

    @overload
    def __getitem__(self, place: int) -> EvidenceRow: ...

    @overload
    def __getitem__(self, place: slice) -> Sequence[EvidenceRow]: ...

    def __getitem__(self, place: int | slice) -> EvidenceRow | Sequence[EvidenceRow]:
        return tuple(self)[place] if isinstance(place, slice) else self._row(place)

    def _row(self, place: int) -> EvidenceRow:
        return EvidenceRow(
            self.statements[place],
            self._chunk,
            self._descriptions[place] if self._descriptions is not None else "",
            _quoted(self._sentences, self._text, place),
            self._weights[place],
            self._counts[place] if self._counts is not None else 1,
            self._from[place] if self._from is not None else "",
            self._till[place] if self._till is not None else "",
        )

    def __iter__(self) -> Iterator[EvidenceRow]:
        return map(self._row, range(len(self.statements)))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, PassageEvidence) and self._columns() == other._columns()

    def __hash__(self) -> int:
        return hash(self._columns())

    def of(self, statement: int) -> list[EvidenceRow]:
        """Return the rows of one statement."""
        numbers = self.statements
        if numbers.count(statement) == 1:
            return [self._row(numbers.index(statement))]
        return [self._row(place) for place, other in enumerate(numbers) if other == statement]

    def texts(self) -> Iterator[tuple[int, str, str, int]]:
        """Yield (statement, description, sentence, count) of each row, without making the row."""
        descriptions: Iterable[str] = self._descriptions or repeat("")
        sentences = _all_quoted(self._sentences, self._text)
        counts: Iterable[int] = self._counts or repeat(1)
        return zip(self.statements, descriptions, sentences, counts, strict=False)

    def _columns(self) -> tuple[object, ...]:
        sentences = self._sentences and tuple(_all_quoted(self._sentences, self._text))
        dates = (self._from, self._till)
        return self._chunk, self.statements, self._weights, self._descriptions, sentences, self._counts, dates


NO_MENTIONS, NO_EVIDENCE = PassageMentions(), PassageEvidence()
