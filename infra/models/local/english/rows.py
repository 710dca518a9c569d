"""Statements of a table's row, of a labelled value and of a list: facts without a verb.

A row is about its key column, a labelled value about the topic of its document, a list item about the topic under its
heading. The column's name, the label or the heading is the predicate. Cost: linear in the block.
"""

from collections.abc import Iterator

from graphtide.infra.models.local.english.clauses import ClauseReader
from graphtide.infra.models.local.english.discourse import Discourse
from graphtide.infra.models.local.english.lexical.dates import measures_in
from graphtide.infra.models.local.english.lexical.naming import (
    NAME,
    ORGANISATION,
    PERSON,
    PLACE,
    TERM,
    could_be_person,
    type_of,
)
from graphtide.infra.models.local.english.lexical.words import (
    KEYS_OF_ORGANISATIONS,
    KEYS_OF_PERSONS,
    KEYS_OF_PLACES,
    ROLES,
    WEEKDAYS,
)
from graphtide.infra.models.local.english.mentions import Item
from graphtide.infra.models.local.english.statements import ReadStatement, Reference
from graphtide.infra.models.local.english.structure import PassageBlock, RowCell, subject_cell

_MAX_VALUE_WORDS = 10
_MAX_VALUES = 12
_HINTS = {
    **dict.fromkeys(ROLES | KEYS_OF_PERSONS, PERSON),
    **dict.fromkeys(KEYS_OF_PLACES, PLACE),
    **dict.fromkeys(KEYS_OF_ORGANISATIONS, ORGANISATION),
}
_WEIGHT = 0.9


class RowReader:
    """Reader of the rows of one text; ``discourse`` knows its names and its topic."""

    def __init__(self, text: str, discourse: Discourse) -> None:
        self._text = text
        self._discourse = discourse

    def read(self, block: PassageBlock, items: list[list[Item]]) -> Iterator[ReadStatement]:
        """Yield the statements of a row. `items` are those of its sentences, in order."""
        by_cell = [
            [item for line in items for item in line if cell.start <= item.start < cell.end] for cell in block.cells
        ]
        if len(block.cells) == 1:
            yield from self._labelled(block.cells[0], by_cell[0], items)
            return
        key = subject_cell(block.cells, self._text)
        subject = next(iter(self._values(block.cells[key], by_cell[key])), None)
        if subject is None:
            return
        since = self._date(block.cells[0]) if key else None
        for at, cell in enumerate(block.cells):
            if at == key or not cell.key:
                continue
            for value in self._values(cell, by_cell[at]):
                yield from _stated(subject, _predicate(cell.key), value, since)

    def _labelled(self, cell: RowCell, items: list[Item], lines: list[list[Item]]) -> Iterator[ReadStatement]:
        """Read "Owner: Ann Lee" as a fact of the topic, and "Ann: return the raft" as a statement about Ann."""
        name = self._discourse.full(cell.key)
        if self._discourse.type_of(name) == PERSON and " " not in cell.key.strip(" ")[len(name) :]:
            person = Item("name", cell.key, cell.start, cell.start, PERSON)
            yield from ClauseReader([person, *(lines[0] if lines else [])], self._discourse).read()
            return
        if not self._discourse.topic:
            return
        topic = Reference(self._discourse.topic, self._discourse.type_of(self._discourse.topic))
        for value in self._values(cell, items):
            yield from _stated(topic, _predicate(cell.key), value, None)

    def listed(self, heading: str, items: list[Item]) -> Iterator[ReadStatement]:
        """Read a list item without a verb as a fact of the topic: its first name under the heading."""
        if not self._discourse.topic or not items or items[0].kind != "name" or any(i.kind == "verb" for i in items):
            return
        name = self._discourse.full(items[0].text)
        topic = Reference(self._discourse.topic, self._discourse.type_of(self._discourse.topic))
        yield from _stated(topic, _predicate(heading), self._hinted(heading, name), None)

    def _date(self, cell: RowCell) -> str | None:
        found = measures_in(self._text, cell.start, cell.end)
        return next((measure.iso for measure in found.values() if measure.type == "date"), None)

    def _values(self, cell: RowCell, items: list[Item]) -> list[Reference]:
        """Return the entities of a value: its date or quantity, the names of a list, or the whole value."""
        start, end = cell.start, cell.end
        value = self._text[start:end].partition(" <")[0].strip().rstrip(".,;")
        if moment := self._moment(value, start, end):
            return [moment]
        kept = list(_outside_brackets(items))
        names = [item for item in kept if item.kind == "name"]
        others = [item for item in kept if item.kind not in ("name", "comma", "conjunction", "stop")]
        if names and not others:
            return self._listed_names(cell.key, [self._discourse.full(item.text) for item in names[:_MAX_VALUES]])
        if not value or len(value.split()) > _MAX_VALUE_WORDS:
            return self._listed_names(cell.key, [self._discourse.full(item.text) for item in names[:1]])
        is_amount = not any(character.isalpha() for character in value)
        return [Reference(value, "quantity" if is_amount else type_of(value) if names else TERM)]

    def _moment(self, value: str, start: int, end: int) -> Reference | None:
        """Return the date or quantity that a value consists of, with a weekday and a time of day at most."""
        measures = list(measures_in(self._text, start, end).values())
        words = [word.strip(",()").lower() for word in value.split()]
        if words and not measures and all(word in WEEKDAYS for word in words):
            return Reference(value, "date")
        if len(measures) != 1:
            return None
        rest = self._text[start : measures[0].start].split() + self._text[measures[0].end : end].split()
        spare = [word.strip(",().;").lower() for word in rest]
        if all(word in WEEKDAYS or not any(c.isalnum() for c in word) or ":" in word for word in spare):
            return Reference(measures[0].name, measures[0].type)
        return None

    def _listed_names(self, key: str, names: list[str]) -> list[Reference]:
        full = any(" " in name for name in names)  # "Hedvig Lund, Kalmar": a person and a town
        return [self._hinted(key, name) if " " in name or not full else self._plain(name) for name in names]

    def _plain(self, name: str) -> Reference:
        return Reference(name, self._discourse.type_of(name))

    def _hinted(self, key: str, name: str) -> Reference:
        """Return a name with the type that it has, or that its column suggests."""
        kind = self._discourse.type_of(name)
        if kind == NAME:
            hint = next((_HINTS[w] for w in _predicate(key).split() if w in _HINTS), "")
            kind = hint if hint and (hint != PERSON or could_be_person(name)) else kind
        return Reference(name, kind)


def _outside_brackets(items: list[Item]) -> Iterator[Item]:
    depth = 0
    for item in items:
        depth += (item.kind == "open") - (item.kind == "close")
        if depth == 0 and item.kind != "close":
            yield item


def _predicate(key: str) -> str:
    return " ".join(key.replace("_", " ").lower().split())


def _stated(subject: Reference, predicate: str, value: Reference, since: str | None) -> Iterator[ReadStatement]:
    if subject.name.casefold() != value.name.casefold() and subject.name and value.name:
        yield ReadStatement(subject, predicate, value, _WEIGHT, since)
