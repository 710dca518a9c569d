"""The units of a document: drafts without vectors, and the units made of them once their texts are embedded."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Protocol

from graphtide.graph.algorithms.yield_points import with_yields
from graphtide.graph.records import ChunkContribution, Fact, Mention, Vector
from graphtide.graph.text.place import path_title
from graphtide.streams.extract.contributions.texts import mention_text, passage_text, relation_text
from graphtide.streams.messages import DocumentMessage, unit_key
from graphtide.streams.model_ports import ExtractedEntity, ExtractedRelation, ExtractionResult, SplitPassage

YIELD_PASSAGES = 4
"""Passages between two yield points: each has some forty mentions and facts."""


class UnitSink(Protocol):
    """Receiver of a document's units, slice by slice, in order. Called from threads, one at a time."""

    def restart(self) -> None:
        """Forget all units: the document is read again from its first passage."""
        ...

    def take(self, units: Sequence[ChunkContribution]) -> None:
        """Receive the next units."""
        ...


@dataclass(frozen=True, slots=True)
class Draft:
    """The mentions and relations of a passage, without vectors; relations refer to mentions by index."""

    mentions: tuple[ExtractedEntity, ...]
    relations: tuple[tuple[int, int, ExtractedRelation], ...]
    heading: tuple[str, str]


def drafted(
    document: DocumentMessage, passages: Sequence[SplitPassage], found: Sequence[ExtractionResult]
) -> tuple[list[Draft], list[str]]:
    """Return the drafts of the passages, and the texts to embed for them."""
    drafts = [_draft(result) for result in with_yields(found, YIELD_PASSAGES)]
    return drafts, _texts(document, passages, drafts)


def _draft(found: ExtractionResult) -> Draft:
    """Return distinct mentions. An end of a relation is the entity of that name, or an additional mention."""
    mentions = dict.fromkeys(found.entities)
    by_name = {entity.name: entity for entity in reversed(found.entities)}
    for relation in found.relations:
        for name in (relation.subject, relation.object):
            mentions.setdefault(by_name.setdefault(name, ExtractedEntity(name, "", "")))
    places = {entity: place for place, entity in enumerate(mentions)}
    relations = (
        (places[by_name[relation.subject]], places[by_name[relation.object]], relation) for relation in found.relations
    )
    return Draft(tuple(mentions), tuple(relations), (found.title, found.description))


def _texts(document: DocumentMessage, passages: Sequence[SplitPassage], drafts: Iterable[Draft]) -> list[str]:
    texts = [passage_text(path_title(document.info.title, passage.place), passage.text) for passage in passages]
    for draft in drafts:
        texts.extend(mention_text(entity) for entity in draft.mentions)
        texts.extend(relation_text(relation) for _, _, relation in draft.relations)
    return list(dict.fromkeys(texts))


def pass_on(
    sink: UnitSink,
    document: DocumentMessage,
    passages: Sequence[SplitPassage],
    drafts: Sequence[Draft],
    vectors: Mapping[str, Vector],
) -> None:
    """Pass the units of these passages to the sink. Equal names, types and sentences of them are one object, as in a
    decoded extraction: a sentence is the evidence of many mentions and facts.
    """
    rows, shared = with_yields(zip(passages, drafts, strict=True), YIELD_PASSAGES), dict[str, str]()

    def one(text: str) -> str:
        """Return the first equal string."""
        return shared.setdefault(text, text)

    sink.take([_unit(document, passage, draft, vectors, one) for passage, draft in rows])


def _unit(
    document: DocumentMessage,
    passage: SplitPassage,
    draft: Draft,
    vectors: Mapping[str, Vector],
    one: Callable[[str], str],
) -> ChunkContribution:
    title, piece = document.info.title, document.text[passage.start : passage.end]
    source = None if piece == passage.text else piece
    mentions = tuple(
        Mention(one(entity.name), one(entity.type), one(entity.description), vectors[mention_text(entity)])
        for entity in draft.mentions
    )
    facts = tuple(_fact(subject, object_, relation, vectors, one) for subject, object_, relation in draft.relations)
    vector = vectors[passage_text(path_title(title, passage.place), passage.text)]
    span = (passage.text, passage.start, passage.end)
    unit = ChunkContribution(b"", *span, vector, mentions, facts, *draft.heading, passage.place, source)
    return replace(unit, key=unit_key(passage.text, vector, mentions, facts, draft.heading))


def _fact(
    subject: int,
    object_: int,
    relation: ExtractedRelation,
    vectors: Mapping[str, Vector],
    one: Callable[[str], str],
) -> Fact:
    return Fact(
        subject,
        one(relation.predicate),
        object_,
        one(relation.description),
        one(relation.evidence),
        round(relation.weight * 1000),
        vectors[relation_text(relation)],
        relation.valid_from or "",
        relation.valid_to or "",
    )
