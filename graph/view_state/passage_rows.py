"""Mentions and evidence of one passage of a view, as columns.

A sequence of rows, each of which is made when it is read; readers that need one column take that. Some 12 rows of a
passage occupy two fifths of the memory of as many objects. Columns in which every row has the default value are left
out, and texts that the passage contains are the places of their characters in it. Invariant: the rows read are those
given, in their order, and a sequence never changes.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Iterator, Sequence
from itertools import repeat
from typing import overload

from graphtide.graph.records import EvidenceRow, MentionRow

_Counts = tuple[int, ...] | None
_SHORT = 0xFFFF
"""Characters whose places take two bytes each."""


class _Texts:
    """A column of texts: where each begins and ends in the passage, continued by one text of those that it lacks."""

    __slots__ = ("_places", "_rest")

    def __init__(self, values: tuple[str, ...], passage: str) -> None:
        places, rest, end = {"": (0, 0)}, list[str](), len(passage)
        for value in values:
            if value in places:
                continue
            if (start := passage.find(value)) < 0:
                start, end = end, end + len(value)
                rest.append(value)
            places[value] = start, start + len(value)
        self._places = array("H" if end <= _SHORT else "I", [place for value in values for place in places[value]])
        self._rest = "".join(rest)

    def at(self, row: int, passage: str) -> str:
        """Return the text of a row."""
        start, end, known = self._places[2 * row], self._places[2 * row + 1], len(passage)
        return passage[start:end] if end <= known else self._rest[start - known : end - known]

    def all_of(self, passage: str) -> tuple[str, ...]:
        """Return the texts of all rows, in order."""
        known, rest, places = len(passage), self._rest, zip(self._places[::2], self._places[1::2], strict=True)
        return tuple([
            passage[start:end] if end <= known else rest[start - known : end - known] for start, end in places
        ])  # fmt: skip


def _counts(values: tuple[int, ...]) -> _Counts:
    return None if values.count(1) == len(values) else values


def _texts(values: tuple[str, ...], passage: str) -> _Texts | None:
    return _Texts(values, passage) if any(values) else None


def _text_at(column: _Texts | None, row: int, passage: str) -> str:
    return "" if column is None else column.at(row, passage)


def _all_texts(column: _Texts | None, passage: str) -> tuple[str, ...] | None:
    return None if column is None else column.all_of(passage)


class PassageMentions(Sequence[MentionRow]):
    """The mentions of one passage; `labels` are their labels, in order."""

    __slots__ = ("_chunk", "_counts", "_descriptions", "_names", "_text", "labels")

    def __init__(self, rows: Sequence[MentionRow] = (), text: str = "") -> None:
        """Hold the rows, all of one passage with this text."""
        self._chunk = rows[0].chunk if rows else -1
        self._text = text
        self.labels = tuple([row.label for row in rows])
        self._names = _texts(tuple([row.name for row in rows]), text)
        self._descriptions = _texts(tuple([row.description for row in rows]), text)
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
        label = self.labels[place]  # raises IndexError first
        name = _text_at(self._names, place, self._text)
        description = _text_at(self._descriptions, place, self._text)
        count = self._counts[place] if self._counts is not None else 1
        return MentionRow(label, self._chunk, name, description, count)

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
        names, descriptions = _all_texts(self._names, self._text), _all_texts(self._descriptions, self._text)
        return self._chunk, self.labels, names, descriptions, self._counts


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
        self._descriptions = _texts(tuple([row.description for row in rows]), text)
        self._sentences = _texts(tuple([row.sentence for row in rows]), text)
        self._counts = _counts(tuple([row.count for row in rows]))
        self._from = _texts(tuple([row.valid_from for row in rows]), text)
        self._till = _texts(tuple([row.valid_to for row in rows]), text)

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
            _text_at(self._descriptions, place, self._text),
            _text_at(self._sentences, place, self._text),
            self._weights[place],
            self._counts[place] if self._counts is not None else 1,
            _text_at(self._from, place, self._text),
            _text_at(self._till, place, self._text),
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
        descriptions: Iterable[str] = _all_texts(self._descriptions, self._text) or repeat("")
        sentences: Iterable[str] = _all_texts(self._sentences, self._text) or repeat("")
        counts: Iterable[int] = self._counts or repeat(1)
        return zip(self.statements, descriptions, sentences, counts, strict=False)

    def _columns(self) -> tuple[object, ...]:
        columns = (self._descriptions, self._sentences, self._from, self._till)
        texts = [_all_texts(column, self._text) for column in columns]
        return self._chunk, self.statements, self._weights, self._counts, *texts


NO_MENTIONS, NO_EVIDENCE = PassageMentions(), PassageEvidence()
