"""Purge of a graph's memos: entries of texts that no live document contains any more are deleted.

Entries of live documents are kept, so that the next edit of one pays only for what it changes. Reports and entity
summaries are all deleted: the graph stores those that it needs.
"""

from __future__ import annotations

from collections.abc import AsyncIterable
from dataclasses import dataclass, field

from graphtide.graph.records import Extraction
from graphtide.graph.text.place import path_title
from graphtide.infra.models.cache.embeddings import MemoisedEmbedder, VectorStore
from graphtide.infra.models.cache.extractions import MemoisedExtractor
from graphtide.infra.models.cache.keys import scope_of
from graphtide.streams.extract.contributions.texts import unit_texts
from graphtide.streams.extract.pipeline import ExtractionModels
from graphtide.streams.usage import BillingContext, paid_by


@dataclass(frozen=True, slots=True)
class LiveKeys:
    """The keys of the entries that the live documents of one graph need."""

    graph: str
    vectors: set[bytes] = field(default_factory=set)
    extractions: set[bytes] = field(default_factory=set)


async def live_keys(graph: str, live: AsyncIterable[Extraction], reading: ExtractionModels) -> LiveKeys:
    """Collect the keys of all live extractions of a graph. Memory: about 100 bytes per distinct text."""
    keys = LiveKeys(graph)
    extractor = reading.extractors.get(graph, reading.extractor)
    async for extraction in live:
        with paid_by(BillingContext(graph)):
            for unit in extraction.units:
                title = path_title(extraction.info.title, unit.place)
                if isinstance(extractor, MemoisedExtractor):
                    keys.extractions.add(extractor.key(title, unit.text))
                if isinstance(reading.embedder, MemoisedEmbedder):
                    keys.vectors.update(map(reading.embedder.key, unit_texts(extraction.info.title, unit)))
    return keys


async def purge_memos(
    keys: LiveKeys, vectors: VectorStore, extractions: VectorStore, reports: VectorStore | None = None
) -> int:
    """Delete the graph's entries that no live document needs; return how many were deleted.

    An entry that a document in flight has just paid for may be among them: extracting it again pays again.
    """
    scope = scope_of(keys.graph)
    deleted = await vectors.purge(scope, keys.vectors) + await extractions.purge(scope, keys.extractions)
    return deleted + (await reports.purge(scope) if reports is not None else 0)
