"""The entities and facts of the publisher, assigned to the passages that name them."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Protocol

from graphtide.streams.errors import Rejected
from graphtide.streams.extract.name_search import TooManyPlacesError, places_of
from graphtide.streams.messages import DocumentMessage, GivenFact
from graphtide.streams.model_ports import ExtractedEntity, ExtractedRelation, ExtractionResult, SplitPassage


class StatementLimits(Protocol):
    """The limits of the entities and relations that a document states."""

    @property
    def found_per_chunk(self) -> int:
        """Return the maximum number of one passage."""
        ...

    def check(self, passages: int, found: int) -> None:
        """Raise Rejected for more than that number of passages may state."""
        ...


def check_passage(place: int, size: int, caps: StatementLimits) -> None:
    """Raise Rejected for a passage that states more entities and relations than `caps`."""
    if size > caps.found_per_chunk:
        raise Rejected(
            f"passage {place} states more than {caps.found_per_chunk} entities and relations: split the document"
        )


def given_results(
    document: DocumentMessage, passages: Sequence[SplitPassage], caps: StatementLimits
) -> list[ExtractionResult]:
    """Assign the publisher's entities and facts to the passages that name them, otherwise to the first passage.

    Raises Rejected as soon as a passage, or all together, exceed `caps`. Cost: linear in text and names.
    """
    entities: list[list[ExtractedEntity]] = [[] for _ in passages]
    relations: list[list[ExtractedRelation]] = [[] for _ in passages]
    places = _places(document, passages)
    total = 0
    for given in document.entities or ():
        named = places[given.name.casefold()] or [0]
        total += len(named)
        caps.check(len(passages), total)
        for place in named:
            entities[place].append(ExtractedEntity(given.name, given.type, given.description))
            check_passage(place, len(entities[place]), caps)
    for fact in document.facts or ():
        place = _place_of(fact, places)
        relation = ExtractedRelation(fact.subject, fact.predicate, fact.object, fact.description, fact.weight)
        relation = replace(relation, valid_from=fact.valid_from or None, valid_to=fact.valid_to or None)
        relations[place].append(relation)
        check_passage(place, len(entities[place]) + len(relations[place]), caps)
    return [ExtractionResult(tuple(named), tuple(stated)) for named, stated in zip(entities, relations, strict=True)]


def _places(document: DocumentMessage, passages: Sequence[SplitPassage]) -> dict[str, list[int]]:
    """Find the passages that contain each name the publisher supplied, case-insensitively."""
    names = [given.name for given in document.entities or ()]
    names += [name for fact in document.facts or () for name in (fact.subject, fact.object)]
    try:
        return places_of(map(str.casefold, names), [passage.text.casefold() for passage in passages])
    except TooManyPlacesError as error:
        raise Rejected(
            f"{error} of the text: split the document, or publish it with fewer entities and facts"
        ) from error


def _place_of(fact: GivenFact, places: Mapping[str, Sequence[int]]) -> int:
    """Return the first passage that names both ends of the fact, or its subject, or its object; otherwise 0."""
    subject, object_ = places[fact.subject.casefold()], places[fact.object.casefold()]
    few, many = sorted((subject, object_), key=len)
    both = next((place for place in few if _holds(many, place)), None)
    return both if both is not None else next(iter(subject or object_), 0)


def _holds(places: Sequence[int], place: int) -> bool:
    """Return True if the ascending places contain the place."""
    at = bisect_left(places, place)
    return at < len(places) and places[at] == place
