"""From a document to its `Extraction`: passages, mentions, facts and their embeddings.

It decides what is embedded and where brought-along facts belong; it does not know where documents come from, nor
where extractions go. The same document, models and chunker give the same extraction, unit keys included.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from graph.records import Extraction, Fact, Mention, Unit, Vector
from streams.errors import Rejected
from streams.messages import DocumentMessage, unit_key
from streams.models import Chunker, Embedder, Extractor, Found, FoundEntity, FoundRelation, Passage
from streams.tracing import span

LONG_TEXT = 20_000
"""Characters from which splitting goes to a thread, so that the event loop stays free."""


@dataclass(frozen=True, slots=True)
class Models:
    """What the extract stage works with."""

    chunker: Chunker
    extractor: Extractor
    embedder: Embedder
    extractors: Mapping[str, Extractor] = field(default_factory=dict)
    """Of the graphs that are read otherwise than the rest."""


@dataclass(frozen=True, slots=True)
class Caps:
    """At most so much is taken from one document; more is Rejected, not cut, so that nothing is lost unseen."""

    chunks: int = 5_000
    found_per_chunk: int = 2_000


async def extract(document: DocumentMessage, revision: int, models: Models, caps: Caps) -> Extraction:
    """What the document contributes as this revision.

    Raises Retryable when a model is away, Rejected when the document can never be taken. Cost: one extraction a
    passage (none when facts or entities are brought along) and one embedding call over all distinct texts.
    """
    passages = await _split(document.text, models.chunker)
    if len(passages) > caps.chunks:
        raise Rejected(f"the document has {len(passages)} passages, and {caps.chunks} are taken at most: split it up")
    found = await _found(document, passages, models.extractors.get(document.graph, models.extractor))
    for place, one in enumerate(found):
        if len(one.entities) + len(one.relations) > caps.found_per_chunk:
            raise Rejected(f"passage {place} states more than {caps.found_per_chunk} entities and relations")
    drafts = [_draft(one) for one in found]
    texts = _texts(document, passages, drafts)
    vectors = await _vectors(texts, models.embedder)
    units = (
        _unit(document.info.title, passage, draft, vectors) for passage, draft in zip(passages, drafts, strict=True)
    )
    return Extraction(document.doc_id, revision, document.info, tuple(units), _gaps(document.text, passages))


@dataclass(frozen=True, slots=True)
class _Draft:
    """A passage's mentions and relations before they have vectors; relations refer to mentions by place."""

    mentions: tuple[FoundEntity, ...]
    relations: tuple[tuple[int, int, FoundRelation], ...]
    heading: tuple[str, str]


async def _split(text: str, chunker: Chunker) -> tuple[Passage, ...]:
    return chunker.split(text) if len(text) < LONG_TEXT else await asyncio.to_thread(chunker.split, text)


def _gaps(text: str, passages: Sequence[Passage]) -> tuple[str, ...]:
    starts = [0, *(passage.end for passage in passages)]
    ends = [*(passage.start for passage in passages), len(text)]
    return tuple(text[start:end] for start, end in zip(starts, ends, strict=True))


async def _found(document: DocumentMessage, passages: Sequence[Passage], extractor: Extractor) -> Sequence[Found]:
    if document.entities is not None or document.facts is not None:
        return _given(document, passages)
    calls = (extractor.extract(passage.text, title=document.info.title) for passage in passages)
    return await asyncio.gather(*calls)


def _given(document: DocumentMessage, passages: Sequence[Passage]) -> list[Found]:
    """Put what a publisher brought along where the text speaks of it: passages that name it, else the first."""
    folded = [passage.text.casefold() for passage in passages]
    entities: list[list[FoundEntity]] = [[] for _ in passages]
    relations: list[list[FoundRelation]] = [[] for _ in passages]
    for given in document.entities or ():
        for place in _places(folded, given.name) or [0]:
            entities[place].append(FoundEntity(given.name, given.type, given.description))
    for fact in document.facts or ():
        subject, object_ = _places(folded, fact.subject), _places(folded, fact.object)
        both = [place for place in subject if place in object_]
        relation = FoundRelation(fact.subject, fact.predicate, fact.object, fact.description, fact.weight)
        relation = replace(relation, valid_from=fact.valid_from or None, valid_to=fact.valid_to or None)
        relations[(both or subject or object_ or [0])[0]].append(relation)
    return [Found(tuple(seen), tuple(said)) for seen, said in zip(entities, relations, strict=True)]


def _places(folded: Sequence[str], name: str) -> list[int]:
    needle = name.casefold()
    return [place for place, text in enumerate(folded) if needle in text]


def _draft(found: Found) -> _Draft:
    """Mentions without repetition. An end of a relation is the entity of that name, or a mention of its own."""
    mentions = dict.fromkeys(found.entities)
    by_name = {entity.name: entity for entity in reversed(found.entities)}
    for relation in found.relations:
        for name in (relation.subject, relation.object):
            mentions.setdefault(by_name.setdefault(name, FoundEntity(name, "", "")))
    places = {entity: place for place, entity in enumerate(mentions)}
    relations = (
        (places[by_name[relation.subject]], places[by_name[relation.object]], relation) for relation in found.relations
    )
    return _Draft(tuple(mentions), tuple(relations), (found.title, found.description))


def _texts(document: DocumentMessage, passages: Sequence[Passage], drafts: Iterable[_Draft]) -> list[str]:
    texts = [passage_text(document.info.title, passage.text) for passage in passages]
    for draft in drafts:
        texts.extend(mention_text(entity) for entity in draft.mentions)
        texts.extend(relation_text(relation) for _, _, relation in draft.relations)
    return list(dict.fromkeys(texts))


def passage_text(title: str, text: str) -> str:
    """What is embedded for a passage."""
    return f"{title}\n{text}" if title else text


def mention_text(entity: FoundEntity) -> str:
    """What is embedded for a mention."""
    return f"{entity.name}: {entity.description}" if entity.description else entity.name


def relation_text(relation: FoundRelation) -> str:
    """What is embedded for a relation."""
    triple = f"{relation.subject} {relation.predicate} {relation.object}"
    return f"{triple}: {relation.description}" if relation.description else triple


def statement_texts(unit: Unit) -> Iterator[str]:
    """Give the texts that were embedded for the mentions and facts of a unit."""
    for mention in unit.mentions:
        yield mention_text(FoundEntity(mention.name, mention.type, mention.description))
    for fact in unit.facts:
        subject, object_ = unit.mentions[fact.subject].name, unit.mentions[fact.object].name
        yield relation_text(FoundRelation(subject, fact.predicate, object_, fact.description))


async def _vectors(texts: Sequence[str], embedder: Embedder) -> Mapping[str, Vector]:
    with span("embed", texts=len(texts)):
        rows = (await embedder.embed(texts)).astype(np.float16)
    return dict(zip(texts, rows, strict=True))


def _unit(title: str, passage: Passage, draft: _Draft, vectors: Mapping[str, Vector]) -> Unit:
    mentions = tuple(
        Mention(entity.name, entity.type, entity.description, vectors[mention_text(entity)])
        for entity in draft.mentions
    )
    facts = tuple(_fact(subject, object_, said, vectors) for subject, object_, said in draft.relations)
    vector = vectors[passage_text(title, passage.text)]
    unit = Unit(b"", passage.text, passage.start, passage.end, vector, mentions, facts, *draft.heading)
    return replace(unit, key=unit_key(passage.text, vector, mentions, facts, draft.heading))


def _fact(subject: int, object_: int, said: FoundRelation, vectors: Mapping[str, Vector]) -> Fact:
    return Fact(
        subject,
        said.predicate,
        object_,
        said.description,
        said.evidence,
        round(said.weight * 1000),
        vectors[relation_text(said)],
        said.valid_from or "",
        said.valid_to or "",
    )
