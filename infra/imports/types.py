"""The contents of another system's store, in the terms of this one, and what an import loses.

The invariant: everything that a reader finds is either in an `ImportedPassage`, or counted as lost with the reason.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field

from graphtide.graph.text.storable import storable

UNNAMED_PREDICATE = "related to"
MAX_NAME_CHARS = 512
MAX_DESCRIPTION_CHARS = 8192


class UnreadableStoreError(Exception):
    """A store that cannot be imported: the message names the file, the reason and the remedy."""


@dataclass(frozen=True, slots=True)
class ImportedEntity:
    """An entity of a passage."""

    name: str
    type: str
    description: str


@dataclass(frozen=True, slots=True)
class ImportedRelation:
    """A relation of a passage."""

    subject: str
    predicate: str
    object: str
    description: str
    weight: float


@dataclass(frozen=True, slots=True)
class ImportedPassage:
    """A passage with what was extracted from it. It becomes a document whose id is the passage's own id."""

    id: str
    text: str
    document: str
    title: str
    source: str
    number: int | None
    entities: tuple[ImportedEntity, ...]
    relations: tuple[ImportedRelation, ...]


@dataclass(slots=True)
class ImportLosses:
    """Counts of what an import leaves behind or shortens, by reason."""

    counts: Counter[str] = field(default_factory=Counter)

    def add(self, reason: str, count: int = 1) -> None:
        if count:
            self.counts[reason] += count


@dataclass(frozen=True, slots=True)
class StatedEntity:
    """An entity of the whole store, with the ids of its passages and its descriptions."""

    name: str
    type: str
    descriptions: tuple[str, ...]
    passages: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class StatedRelation:
    """A relation of the whole store, with the ids of its passages and its descriptions."""

    subject: str
    predicate: str
    object: str
    descriptions: tuple[str, ...]
    weight: float
    passages: tuple[str, ...]


class PassageContents:
    """The entities and relations of a store by passage.

    The n-th description belongs to the n-th passage, further ones to the last; a summary of all passages is with the
    first one. The weight of a relation is divided among its passages, so that the sum is that of the store.
    """

    def __init__(self, passages: Iterable[str], losses: ImportLosses) -> None:
        self._entities: dict[str, list[ImportedEntity]] = {each: [] for each in passages}
        self._relations: dict[str, list[ImportedRelation]] = {each: [] for each in self._entities}
        self._losses = losses

    def add_entity(self, stated: StatedEntity) -> None:
        name = self._name(stated.name)
        places = self._known(stated.passages)
        if not name or not places:
            self._losses.add(f"entities {_cause(name)}")
            return
        for place, description in zip(places, self._spread(stated.descriptions, len(places)), strict=True):
            self._entities[place].append(ImportedEntity(name, self._short(stated.type), description))

    def add_relation(self, stated: StatedRelation) -> None:
        subject, object_ = self._name(stated.subject), self._name(stated.object)
        places = self._known(stated.passages)
        if not (subject and object_) or not places:
            self._losses.add(f"relations {_cause(subject and object_)}")
            return
        predicate = _clean(stated.predicate)[:MAX_NAME_CHARS] or UNNAMED_PREDICATE
        weight = min(max(stated.weight / len(places), 0.001), 1_000_000.0)
        for place, description in zip(places, self._spread(stated.descriptions, len(places)), strict=True):
            self._relations[place].append(ImportedRelation(subject, predicate, object_, description, weight))

    def of(self, passage: str) -> tuple[tuple[ImportedEntity, ...], tuple[ImportedRelation, ...]]:
        """Return the entities and relations of a passage, in a canonical order."""
        entities = sorted(set(self._entities[passage]), key=lambda each: (each.name, each.type, each.description))
        relations = sorted(
            set(self._relations[passage]),
            key=lambda each: (each.subject, each.predicate, each.object, each.description, each.weight),
        )
        return tuple(entities), tuple(relations)

    def _known(self, passages: Iterable[str]) -> list[str]:
        """Return the passages that the store contains, each once."""
        return [each for each in dict.fromkeys(passages) if each in self._entities]

    def _name(self, name: str) -> str:
        text = _clean(name)
        return text if len(text) <= MAX_NAME_CHARS else ""

    def _spread(self, descriptions: tuple[str, ...], count: int) -> list[str]:
        """Return one description for each of `count` passages."""
        spread = [*descriptions[:count], *([""] * (count - len(descriptions)))]
        spread[-1] = " ".join(filter(None, [spread[-1], *descriptions[count:]]))
        return [self._short(each) for each in spread]

    def _short(self, text: str) -> str:
        cleaned = _clean(text)
        if len(cleaned) > MAX_DESCRIPTION_CHARS:
            self._losses.add(f"descriptions shortened to {MAX_DESCRIPTION_CHARS} characters")
        return cleaned[:MAX_DESCRIPTION_CHARS]


def _clean(text: str) -> str:
    return " ".join(storable(text).split())


def _cause(name: str) -> str:
    return (
        "of no passage in the store"
        if name
        else f"without a name, or with one of more than {MAX_NAME_CHARS} characters"
    )
