"""The extraction pipeline: turns a document into its `Extraction` of passages, mentions, facts and embeddings.

It decides which texts are embedded, and which passages the facts of the publisher belong to. It performs no I/O on
topics. The same document, models and chunker give the same extraction, unit keys included.
"""

from __future__ import annotations

import asyncio
from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from types import MappingProxyType
from typing import TypeVar

import numpy as np

from graphtide.graph.records import ChunkContribution, DocumentInfo, Extraction, Fact, Mention, Vector
from graphtide.graph.text.place import PassageKind, path_title
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
from graphtide.streams.scheduling.work_pool import WorkPool
from graphtide.streams.tracing import span

T = TypeVar("T")

NO_VECTORS: Mapping[str, Vector] = MappingProxyType({})
LARGE_CHARS = 6_000
"""Cost from which a document is processed in a thread, so that the event loop stays responsive: 2 to 4 ms of plain
sentences."""
EMBED_BATCH_SIZE = 2_000
"""Maximum number of texts per call of the embedder."""
STATEMENT_CHARS = 200
"""Processing cost of an entity or a relation, in equivalent characters of text."""
MARKS, MARK_CHARS = "\n[]<>*_`&\\|!~", 60
"""Characters that may be structure of a text, and the cost of one in equivalent characters: a text of marks alone takes
the chunker up to 75 µs for each."""


@dataclass(frozen=True, slots=True)
class ExtractionModels:
    """The models of the extract stage."""

    chunker: Chunker
    extractor: Extractor
    embedder: Embedder
    extractors: Mapping[str, Extractor] = field(default_factory=dict)
    """The extractors of graphs that do not use the default one."""
    pool: WorkPool = field(default_factory=WorkPool)
    """The threads that process large documents."""


@dataclass(frozen=True, slots=True)
class ExtractionLimits:
    """Limits of one document. A larger one is Rejected, not truncated, so that no content is lost silently.

    `found` bounds the entities and relations of all passages together: the writer applies a document in one step, and
    later documents wait for it.
    """

    chunks: int = 5_000
    found_per_chunk: int = 2_000
    found: int = 250_000

    def check(self, passages: int, found: int) -> None:
        """Raise Rejected for more entities and relations than `passages` passages may state."""
        limit = min(self.found, self.found_per_chunk * passages)
        if found > limit:
            raise Rejected(
                f"the document states {found} entities and relations; the limit is {limit}"
                f" ({self.found_per_chunk} per passage, {self.found} per document): split the document"
            )


async def extract(
    document: DocumentMessage,
    revision: int,
    models: ExtractionModels,
    caps: ExtractionLimits,
    known: Mapping[str, Vector] = NO_VECTORS,
) -> Extraction:
    """Return the extraction of the document as this revision.

    Raises Retryable when a model is unavailable, Rejected when the document can never be processed. Cost: one
    extraction call per passage (none when the publisher supplies facts or entities), and one embedding of each
    distinct text that is not `known`, which gives vectors of the same embedder by text.
    """
    given = len(document.facts or ()) + len(document.entities or ())
    size = _cost(document.text) + STATEMENT_CHARS * given
    document, passages = await _run(models.pool, size, partial(_read, document, models.chunker))
    if len(passages) > caps.chunks:
        raise Rejected(f"the document has {len(passages)} passages; the limit is {caps.chunks}: split the document")
    caps.check(len(passages), given)
    if document.entities is not None or document.facts is not None:
        found: Sequence[ExtractionResult] = await _run(models.pool, size, partial(_given, document, passages, caps))
    else:
        found = await _found(document, passages, models.extractors.get(document.graph, models.extractor))
        size += STATEMENT_CHARS * _check_found(found, caps)
    drafts, texts = await _run(models.pool, size, partial(_drafted, document, passages, found))
    vectors = await embed_texts(texts, models.embedder, known)
    units = await _run(models.pool, size, partial(_units, document, passages, drafts, vectors))
    gaps = _gaps(document.text, passages)
    return Extraction(document.doc_id, revision, document.info, units, gaps, document.media_type)


def _read(document: DocumentMessage, chunker: Chunker) -> tuple[DocumentMessage, tuple[SplitPassage, ...]]:
    """Return the passages of the document, and the document with the information that its text states about itself.

    The publisher's own title, date and metadata take precedence.
    """
    stated, given = chunker.describe(document.text, document.media_type), document.info
    info = DocumentInfo(
        given.title or stated.title,
        given.source,
        given.occurred_at or stated.occurred_at,
        tuple(sorted({**dict(stated.metadata), **dict(given.metadata)}.items())),
    )
    return replace(document, info=info), chunker.split(document.text, document.media_type)


def _cost(text: str) -> int:
    """Return an upper bound of the cost of a text, in equivalent characters of plain sentences."""
    return len(text) + MARK_CHARS * sum(map(text.count, MARKS)) if len(text) < LARGE_CHARS else len(text)


async def _run(pool: WorkPool, size: int, work: Callable[[], T]) -> T:
    """Run the work on the event loop when it is small and the loop has time for it, otherwise in a thread."""
    return await pool.run(work, small=size < LARGE_CHARS)


@dataclass(frozen=True, slots=True)
class _Draft:
    """The mentions and relations of a passage, without vectors; relations refer to mentions by index."""

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
    calls = (_found_in(passage, document.info.title, extractor) for passage in passages)
    return await asyncio.gather(*calls)


async def _found_in(passage: SplitPassage, title: str, extractor: Extractor) -> ExtractionResult:
    """Return the passage's entities and relations: those that the extractor finds, and the names it links to."""
    if passage.place.kind is PassageKind.CODE:
        return ExtractionResult()
    found = await extractor.extract(passage.text, title=path_title(title, passage.place))
    known = {entity.name.casefold() for entity in found.entities}
    linked = (ExtractedEntity(name, "") for name in passage.mentions if name.casefold() not in known)
    return replace(found, entities=(*found.entities, *linked)) if passage.mentions else found


def _check_found(found: Sequence[ExtractionResult], caps: ExtractionLimits) -> int:
    """Return how many entities and relations were found. Raises Rejected for more than `caps`."""
    sizes = [len(result.entities) + len(result.relations) for result in found]
    for place, size in enumerate(sizes):
        _check_passage(place, size, caps)
    caps.check(len(sizes), sum(sizes))
    return sum(sizes)


def _check_passage(place: int, size: int, caps: ExtractionLimits) -> None:
    if size > caps.found_per_chunk:
        raise Rejected(
            f"passage {place} states more than {caps.found_per_chunk} entities and relations: split the document"
        )


def _given(
    document: DocumentMessage, passages: Sequence[SplitPassage], caps: ExtractionLimits
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
            _check_passage(place, len(entities[place]), caps)
    for fact in document.facts or ():
        place = _place_of(fact, places)
        relation = ExtractedRelation(fact.subject, fact.predicate, fact.object, fact.description, fact.weight)
        relation = replace(relation, valid_from=fact.valid_from or None, valid_to=fact.valid_to or None)
        relations[place].append(relation)
        _check_passage(place, len(entities[place]) + len(relations[place]), caps)
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


def _drafted(
    document: DocumentMessage, passages: Sequence[SplitPassage], found: Sequence[ExtractionResult]
) -> tuple[list[_Draft], list[str]]:
    """Return the drafts of the passages, and the texts to embed for them."""
    drafts = [_draft(result) for result in found]
    return drafts, _texts(document, passages, drafts)


def _draft(found: ExtractionResult) -> _Draft:
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
    return _Draft(tuple(mentions), tuple(relations), (found.title, found.description))


def _texts(document: DocumentMessage, passages: Sequence[SplitPassage], drafts: Iterable[_Draft]) -> list[str]:
    texts = [passage_text(path_title(document.info.title, passage.place), passage.text) for passage in passages]
    for draft in drafts:
        texts.extend(mention_text(entity) for entity in draft.mentions)
        texts.extend(relation_text(relation) for _, _, relation in draft.relations)
    return list(dict.fromkeys(texts))


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


async def embed_texts(
    texts: Sequence[str], embedder: Embedder, known: Mapping[str, Vector] = NO_VECTORS
) -> Mapping[str, Vector]:
    """Return the vector of each distinct text, from `known` if it is there. Raises as `Embedder.embed` does.

    Where the known vectors have another length than the new ones, all texts are embedded.
    """
    held = {text: known[text] for text in texts if text in known}
    new = await _embedded([text for text in texts if text not in held], embedder)
    if len({row.size for row in (*held.values(), *new.values())}) > 1:
        return await _embedded(texts, embedder)
    return held | new


async def _embedded(texts: Sequence[str], embedder: Embedder) -> dict[str, Vector]:
    if not texts:
        return {}
    with span("embed", texts=len(texts)):
        parts = [texts[start : start + EMBED_BATCH_SIZE] for start in range(0, len(texts), EMBED_BATCH_SIZE)]
        rows = [(await embedder.embed(part)).astype(np.float16) for part in parts]
    return {text: row for part, block in zip(parts, rows, strict=True) for text, row in zip(part, block, strict=True)}


def _units(
    document: DocumentMessage, passages: Sequence[SplitPassage], drafts: Sequence[_Draft], vectors: Mapping[str, Vector]
) -> tuple[ChunkContribution, ...]:
    return tuple(_unit(document, passage, draft, vectors) for passage, draft in zip(passages, drafts, strict=True))


def _unit(
    document: DocumentMessage, passage: SplitPassage, draft: _Draft, vectors: Mapping[str, Vector]
) -> ChunkContribution:
    title, piece = document.info.title, document.text[passage.start : passage.end]
    source = None if piece == passage.text else piece
    mentions = tuple(
        Mention(entity.name, entity.type, entity.description, vectors[mention_text(entity)])
        for entity in draft.mentions
    )
    facts = tuple(_fact(subject, object_, relation, vectors) for subject, object_, relation in draft.relations)
    vector = vectors[passage_text(path_title(title, passage.place), passage.text)]
    span = (passage.text, passage.start, passage.end)
    unit = ChunkContribution(b"", *span, vector, mentions, facts, *draft.heading, passage.place, source)
    return replace(unit, key=unit_key(passage.text, vector, mentions, facts, draft.heading))


def _fact(subject: int, object_: int, relation: ExtractedRelation, vectors: Mapping[str, Vector]) -> Fact:
    return Fact(
        subject,
        relation.predicate,
        object_,
        relation.description,
        relation.evidence,
        round(relation.weight * 1000),
        vectors[relation_text(relation)],
        relation.valid_from or "",
        relation.valid_to or "",
    )
