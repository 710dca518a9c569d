"""The texts that are embedded for a passage, its mentions and its facts."""

from __future__ import annotations

from collections.abc import Iterator

from graphtide.graph.records import ChunkContribution
from graphtide.graph.text.place import path_title
from graphtide.streams.model_ports import ExtractedEntity, ExtractedRelation


def passage_text(title: str, text: str) -> str:
    """Return the text to embed for a passage; `title` includes the path of its headings."""
    return f"{title}\n{text}" if title else text


def mention_text(entity: ExtractedEntity) -> str:
    """Return the text to embed for a mention."""
    return f"{entity.name}: {entity.description}" if entity.description else entity.name


def relation_text(relation: ExtractedRelation) -> str:
    """Return the text to embed for a relation."""
    triple = f"{relation.subject} {relation.predicate} {relation.object}"
    return f"{triple}: {relation.description}" if relation.description else triple


def unit_texts(title: str, unit: ChunkContribution) -> list[str]:
    """Return the texts that were embedded for a unit: of its passage, of each mention, and of each fact, in order."""
    return [passage_text(path_title(title, unit.place), unit.text), *statement_texts(unit)]


def statement_texts(unit: ChunkContribution) -> Iterator[str]:
    """Yield the texts that were embedded for the mentions and facts of a unit."""
    for mention in unit.mentions:
        yield mention_text(ExtractedEntity(mention.name, mention.type, mention.description))
    for fact in unit.facts:
        subject, object_ = unit.mentions[fact.subject].name, unit.mentions[fact.object].name
        yield relation_text(ExtractedRelation(subject, fact.predicate, object_, fact.description))
