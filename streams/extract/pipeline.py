"""From a document to its `Extraction`: passages, mentions, facts and their embeddings.

It decides what is embedded and where brought-along facts belong; it does not know where documents come from, nor
where extractions go. The same document, models and chunker give the same extraction, unit keys included.
"""

from __future__ import annotations

import asyncio
from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TypeVar

import numpy as np

from graphtide.graph.records import ChunkContribution, Extraction, Fact, Mention, Vector
from graphtide.streams.errors import Rejected
from graphtide.streams.extract.name_search import TooManyPlacesError, places_of
from graphtide.streams.messages import DocumentMessage, GivenFact, unit_key
from graphtide.streams.model_ports import (
    Chunker,
    Embedder,
    ExtractedEntity,
    ExtractedRelation,
    ExtractionResult,
    Extractor,
    SplitPassage,
)
from graphtide.streams.tracing import span
from graphtide.streams.work_pool import WorkPool

T = TypeVar("T")

LARGE_CHARS = 20_000
"""Characters of a document from which it is read in a thread, so that the event loop stays free."""
EMBEDDED_AT_ONCE = 2_000
"""Texts in one call of the embedder."""
STATEMENT_CHARS = 200
"""What an entity or a relation counts for, in characters of text."""


@dataclass(frozen=True, slots=True)
class ExtractionModels:
    """What the extract stage works with."""

    chunker: Chunker
    extractor: Extractor
    embedder: Embedder
    extractors: Mapping[str, Extractor] = field(default_factory=dict)
    """Of the graphs that are read otherwise than the rest."""
    pool: WorkPool = field(default_factory=WorkPool)
    """Where large documents are read."""


@dataclass(frozen=True, slots=True)
class ExtractionLimits:
    """At most so much is taken from one document; more is Rejected, not cut, so that nothing is lost unseen.

    `found` bounds the entities and relations of all passages together: the writer applies a document in one step, and
    the documents behind it wait that long.
    """

    chunks: int = 5_000
    found_per_chunk: int = 2_000
    found: int = 250_000

    def check(self, passages: int, found: int) -> None:
        """Raise Rejected for more entities and relations than `passages` passages may state."""
        limit = min(self.found, self.found_per_chunk * passages)
        if found > limit:
            raise Rejected(
                f"the document states {found} entities and relations; {limit} are taken at most"
                f" ({self.found_per_chunk} per passage, {self.found} per document): split it up"
            )


async def extract(
    document: DocumentMessage, revision: int, models: ExtractionModels, caps: ExtractionLimits
) -> Extraction:
    """What the document contributes as this revision.

    Raises Retryable when a model is away, Rejected when the document can never be taken. Cost: one extraction a
    passage (none when facts or entities are brought along) and one embedding call over all distinct texts.
    """
    given = len(document.facts or ()) + len(document.entities or ())
    size = len(document.text) + STATEMENT_CHARS * given
    passages = await _aside(models.pool, size, partial(models.chunker.split, document.text))
    if len(passages) > caps.chunks:
        raise Rejected(f"the document has {len(passages)} passages, and {caps.chunks} are taken at most: split it up")
    caps.check(len(passages), given)
    if document.entities is not None or document.facts is not None:
        found: Sequence[ExtractionResult] = await _aside(models.pool, size, partial(_given, document, passages, caps))
    else:
        found = await _found(document, passages, models.extractors.get(document.graph, models.extractor))
        size += STATEMENT_CHARS * _check_found(found, caps)
    drafts, texts = await _aside(models.pool, size, partial(_drafted, document, passages, found))
    vectors = await _vectors(texts, models.embedder)
    units = await _aside(models.pool, size, partial(_units, document.info.title, passages, drafts, vectors))
    return Extraction(document.doc_id, revision, document.info, units, _gaps(document.text, passages))


async def _aside(pool: WorkPool, size: int, work: Callable[[], T]) -> T:
    """Run the work here when it is about as much as a short document, else in a thread."""
    return work() if size < LARGE_CHARS else await pool.run(work)


@dataclass(frozen=True, slots=True)
class _Draft:
    """A passage's mentions and relations before they have vectors; relations refer to mentions by place."""

    mentions: tuple[ExtractedEntity, ...]
    relations: tuple[tuple[int, int, ExtractedRelation], ...]
    heading: tuple[str, str]


def _gaps(text: str, passages: Sequence[SplitPassage]) -> tuple[str, ...]:
    starts = [0, *(passage.end for passage in passages)]
    ends = [*(passage.start for passage in passages), len(text)]
    return tuple(text[start:end] for start, end in zip(starts, ends, strict=True))


async def _found(
    document: DocumentMessage, passages: Sequence[SplitPassage], extractor: Extractor
) -> Sequence[ExtractionResult]:
    calls = (extractor.extract(passage.text, title=document.info.title) for passage in passages)
    return await asyncio.gather(*calls)


def _check_found(found: Sequence[ExtractionResult], caps: ExtractionLimits) -> int:
    """Return how many entities and relations were found. Raises Rejected for more than `caps`."""
    sizes = [len(one.entities) + len(one.relations) for one in found]
    for place, size in enumerate(sizes):
        _check_passage(place, size, caps)
    caps.check(len(sizes), sum(sizes))
    return sum(sizes)


def _check_passage(place: int, size: int, caps: ExtractionLimits) -> None:
    if size > caps.found_per_chunk:
        raise Rejected(f"passage {place} states more than {caps.found_per_chunk} entities and relations")


def _given(
    document: DocumentMessage, passages: Sequence[SplitPassage], caps: ExtractionLimits
) -> list[ExtractionResult]:
    """Put what a publisher brought along where the text speaks of it: passages that name it, else the first.

    Raises Rejected as soon as a passage, or all together, state more than `caps`. Cost: linear in text and names.
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
            _check_passage(place, len(entities[place]), caps)
    for fact in document.facts or ():
        place = _place_of(fact, places)
        relation = ExtractedRelation(fact.subject, fact.predicate, fact.object, fact.description, fact.weight)
        relation = replace(relation, valid_from=fact.valid_from or None, valid_to=fact.valid_to or None)
        relations[place].append(relation)
        _check_passage(place, len(entities[place]) + len(relations[place]), caps)
    return [ExtractionResult(tuple(seen), tuple(said)) for seen, said in zip(entities, relations, strict=True)]


def _places(document: DocumentMessage, passages: Sequence[SplitPassage]) -> dict[str, list[int]]:
    """Find the passages that contain each name that was brought along, without regard to case."""
    names = [given.name for given in document.entities or ()]
    names += [name for fact in document.facts or () for name in (fact.subject, fact.object)]
    try:
        return places_of(map(str.casefold, names), [passage.text.casefold() for passage in passages])
    except TooManyPlacesError as error:
        raise Rejected(
            f"{error} of the text: split the document up, or bring fewer entities and facts along"
        ) from error


def _place_of(fact: GivenFact, places: Mapping[str, Sequence[int]]) -> int:
    """Return the first passage that names both ends of the fact, else its subject, else its object, else the first."""
    subject, object_ = places[fact.subject.casefold()], places[fact.object.casefold()]
    few, many = sorted((subject, object_), key=len)
    both = next((place for place in few if _holds(many, place)), None)
    return both if both is not None else next(iter(subject or object_), 0)


def _holds(places: Sequence[int], place: int) -> bool:
    """Whether the ascending places hold the place."""
    at = bisect_left(places, place)
    return at < len(places) and places[at] == place


def _drafted(
    document: DocumentMessage, passages: Sequence[SplitPassage], found: Sequence[ExtractionResult]
) -> tuple[list[_Draft], list[str]]:
    """Return the drafts of the passages, and the texts to embed for them."""
    drafts = [_draft(one) for one in found]
    return drafts, _texts(document, passages, drafts)


def _draft(found: ExtractionResult) -> _Draft:
    """Mentions without repetition. An end of a relation is the entity of that name, or a mention of its own."""
    mentions = dict.fromkeys(found.entities)
    by_name = {entity.name: entity for entity in reversed(found.entities)}
    for relation in found.relations:
        for name in (relation.subject, relation.object):
            mentions.setdefault(by_name.setdefault(name, ExtractedEntity(name, "", "")))
    places = {entity: place for place, entity in enumerate(mentions)}
    relations = (
        (places[by_name[relation.subject]], places[by_name[relation.object]], relation) for relation in found.relations
    )
    return _Draft(tuple(mentions), tuple(relations), (found.title, found.description))


def _texts(document: DocumentMessage, passages: Sequence[SplitPassage], drafts: Iterable[_Draft]) -> list[str]:
    texts = [passage_text(document.info.title, passage.text) for passage in passages]
    for draft in drafts:
        texts.extend(mention_text(entity) for entity in draft.mentions)
        texts.extend(relation_text(relation) for _, _, relation in draft.relations)
    return list(dict.fromkeys(texts))


def passage_text(title: str, text: str) -> str:
    """What is embedded for a passage."""
    return f"{title}\n{text}" if title else text


def mention_text(entity: ExtractedEntity) -> str:
    """What is embedded for a mention."""
    return f"{entity.name}: {entity.description}" if entity.description else entity.name


def relation_text(relation: ExtractedRelation) -> str:
    """What is embedded for a relation."""
    triple = f"{relation.subject} {relation.predicate} {relation.object}"
    return f"{triple}: {relation.description}" if relation.description else triple


def statement_texts(unit: ChunkContribution) -> Iterator[str]:
    """Give the texts that were embedded for the mentions and facts of a unit."""
    for mention in unit.mentions:
        yield mention_text(ExtractedEntity(mention.name, mention.type, mention.description))
    for fact in unit.facts:
        subject, object_ = unit.mentions[fact.subject].name, unit.mentions[fact.object].name
        yield relation_text(ExtractedRelation(subject, fact.predicate, object_, fact.description))


async def _vectors(texts: Sequence[str], embedder: Embedder) -> Mapping[str, Vector]:
    with span("embed", texts=len(texts)):
        parts = [texts[start : start + EMBEDDED_AT_ONCE] for start in range(0, len(texts), EMBEDDED_AT_ONCE)]
        rows = [(await embedder.embed(part)).astype(np.float16) for part in parts]
    return {text: row for part, block in zip(parts, rows, strict=True) for text, row in zip(part, block, strict=True)}


def _units(
    title: str, passages: Sequence[SplitPassage], drafts: Sequence[_Draft], vectors: Mapping[str, Vector]
) -> tuple[ChunkContribution, ...]:
    return tuple(_unit(title, *one, vectors) for one in zip(passages, drafts, strict=True))


def _unit(title: str, passage: SplitPassage, draft: _Draft, vectors: Mapping[str, Vector]) -> ChunkContribution:
    mentions = tuple(
        Mention(entity.name, entity.type, entity.description, vectors[mention_text(entity)])
        for entity in draft.mentions
    )
    facts = tuple(_fact(subject, object_, said, vectors) for subject, object_, said in draft.relations)
    vector = vectors[passage_text(title, passage.text)]
    unit = ChunkContribution(b"", passage.text, passage.start, passage.end, vector, mentions, facts, *draft.heading)
    return replace(unit, key=unit_key(passage.text, vector, mentions, facts, draft.heading))


def _fact(subject: int, object_: int, said: ExtractedRelation, vectors: Mapping[str, Vector]) -> Fact:
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
