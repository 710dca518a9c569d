"""The extraction pipeline: turns a document into its `Extraction` of passages, mentions, facts and embeddings.

It decides which texts are embedded, and which passages the facts of the publisher belong to. It performs no I/O on
topics. The same document, models and chunker give the same extraction, unit keys included.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from types import MappingProxyType
from typing import TypeVar

import numpy as np

from graphtide.graph.records import ChunkContribution, DocumentInfo, Extraction, Vector
from graphtide.graph.text.place import PassageKind, path_title
from graphtide.streams.document_progress import DocumentProgress, Report, unreported
from graphtide.streams.errors import Rejected
from graphtide.streams.extract.contributions.given import check_passage, given_results
from graphtide.streams.extract.contributions.units import UnitSink, drafted, pass_on
from graphtide.streams.messages import DocumentMessage
from graphtide.streams.model_ports import (
    Chunker,
    Embedder,
    ExtractedEntity,
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
SLICE_PASSAGES = 64
"""Maximum number of passages whose contributions are in memory at a time."""
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

    `chunks` and `found`, the entities and relations of all passages together, bound the memory and the time of one
    document: the writer applies it in one step. docs/faults.md has the measurement of the largest one.
    """

    chunks: int = 6_000
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


@dataclass(frozen=True, slots=True)
class DocumentFrame:
    """The parts of an extraction beside its units."""

    info: DocumentInfo
    gaps: tuple[str, ...]


class _CollectedUnits:
    def __init__(self) -> None:
        self.units: list[ChunkContribution] = []

    def restart(self) -> None:
        self.units.clear()

    def take(self, units: Sequence[ChunkContribution]) -> None:
        self.units.extend(units)


class _OtherLengthError(Exception):
    """The embedder's vectors have another length than the known ones."""


async def extract(
    document: DocumentMessage,
    revision: int,
    models: ExtractionModels,
    caps: ExtractionLimits,
    known: Mapping[str, Vector] = NO_VECTORS,
) -> Extraction:
    """Return the extraction of the document as this revision. Raises as `extract_slices`."""
    sink = _CollectedUnits()
    frame = await extract_slices(document, models, caps, sink, known)
    return Extraction(document.doc_id, revision, frame.info, tuple(sink.units), frame.gaps, document.media_type)


async def extract_slices(
    document: DocumentMessage,
    models: ExtractionModels,
    caps: ExtractionLimits,
    sink: UnitSink,
    known: Mapping[str, Vector] = NO_VECTORS,
    report: Report = unreported,
) -> DocumentFrame:
    """Pass the units of the document to `sink`, at most SLICE_PASSAGES at a time, and return the rest.

    Raises Retryable when a model is unavailable, Rejected when the document can never be processed. Cost: one
    extraction call per passage (none when the publisher supplies facts or entities), and one embedding of each text
    that is distinct in its slice and not `known`, which gives vectors of the same embedder by text. Memory: the text,
    and the units of one slice. Documents of one slice are not reported.
    """
    given = len(document.facts or ()) + len(document.entities or ())
    size = _cost(document.text) + STATEMENT_CHARS * given
    document, passages = await _run(models.pool, size, partial(_read, document, models.chunker))
    if len(passages) > caps.chunks:
        raise Rejected(f"the document has {len(passages)} passages; the limit is {caps.chunks}: split the document")
    caps.check(len(passages), given)
    found: Sequence[ExtractionResult] | None = None
    if document.entities is not None or document.facts is not None:
        found = await _run(models.pool, size, partial(given_results, document, passages, caps))
    slices = _Slices(document, passages, found, models, caps, report)
    try:
        await slices.run(sink, size, known)
    except _OtherLengthError:
        sink.restart()
        await slices.run(sink, size, NO_VECTORS)
    return DocumentFrame(document.info, _gaps(document.text, passages))


@dataclass(frozen=True, slots=True)
class _Slices:
    """The slices of one document. `found` is what the publisher supplied, by passage; None: the extractor finds it."""

    document: DocumentMessage
    passages: Sequence[SplitPassage]
    found: Sequence[ExtractionResult] | None
    models: ExtractionModels
    caps: ExtractionLimits
    report: Report

    async def run(self, sink: UnitSink, size: int, known: Mapping[str, Vector]) -> None:
        """Extract, embed and pass on each slice. Raises _OtherLengthError where `known` has other vectors."""
        pool, stated, length = self.models.pool, 0, 0
        for start in range(0, len(self.passages), SLICE_PASSAGES):
            part = self.passages[start : start + SLICE_PASSAGES]
            self._report(start, start)
            found = await self._found(start, part)
            if self.found is None:
                stated = self._checked(found, start, stated)
            self._report(start + len(part), start)
            cost = size + STATEMENT_CHARS * stated
            drafts, texts = await _run(pool, cost, partial(drafted, self.document, part, found))
            vectors = await embed_texts(texts, self.models.embedder, known)
            other = next(iter(vectors.values())).size
            if known and length not in (0, other):
                raise _OtherLengthError
            length = other
            await _run(pool, cost, partial(pass_on, sink, self.document, part, drafts, vectors))
            self._report(start + len(part), start + len(part))

    async def _found(self, start: int, part: Sequence[SplitPassage]) -> Sequence[ExtractionResult]:
        if self.found is not None:
            return self.found[start : start + len(part)]
        extractor = self.models.extractors.get(self.document.graph, self.models.extractor)
        return await _found(self.document, part, extractor)

    def _checked(self, found: Sequence[ExtractionResult], start: int, stated: int) -> int:
        """Return how many entities and relations were found so far. Raises Rejected for more than the limits."""
        for place, result in enumerate(found, start):
            size = len(result.entities) + len(result.relations)
            check_passage(place, size, self.caps)
            stated += size
        self.caps.check(len(self.passages), stated)
        return stated

    def _report(self, extracted: int, embedded: int) -> None:
        total = len(self.passages)
        if total > SLICE_PASSAGES:
            self.report(DocumentProgress("apply" if embedded == total else "extract", total, extracted, embedded))


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


async def embed_texts(
    texts: Sequence[str], embedder: Embedder, known: Mapping[str, Vector] = NO_VECTORS
) -> Mapping[str, Vector]:
    """Return the vector of each distinct text, from `known` if it is there. Raises as `Embedder.embed` does.

    Where the known vectors have another length than the new ones, all texts are embedded.
    """
    stored = {text: known[text] for text in texts if text in known}
    new = await _embedded([text for text in texts if text not in stored], embedder)
    if len({row.size for row in (*stored.values(), *new.values())}) > 1:
        return await _embedded(texts, embedder)
    return stored | new


async def _embedded(texts: Sequence[str], embedder: Embedder) -> dict[str, Vector]:
    if not texts:
        return {}
    with span("embed", texts=len(texts)):
        parts = [texts[start : start + EMBED_BATCH_SIZE] for start in range(0, len(texts), EMBED_BATCH_SIZE)]
        rows = [(await embedder.embed(part)).astype(np.float16) for part in parts]
    return {text: row for part, block in zip(parts, rows, strict=True) for text, row in zip(part, block, strict=True)}
