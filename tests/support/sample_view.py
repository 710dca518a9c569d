"""The bundled sample as a live view: extracted by rules, embedded by hashing, on exact indexes."""

from __future__ import annotations

import asyncio
from functools import cache

from graphtide.graph.consolidation import Consolidator
from graphtide.graph.records import DocumentChange, DocumentInfo, Extraction
from graphtide.graph.vector_index import ExactIndex
from graphtide.graph.view import LiveView, VectorIndexes
from graphtide.infra.models.local.chunker import SemanticChunker
from graphtide.infra.models.local.extractor import OfflineExtractor
from graphtide.infra.models.local.hashing_embedder import HashingEmbedder
from graphtide.services.demo import sample
from graphtide.streams.extract.pipeline import ExtractionLimits, ExtractionModels, extract
from graphtide.streams.messages import DocumentMessage


def sample_view() -> LiveView:
    """Return a view of the first editions of the sample, consolidated one by one. Takes 0.2 s."""
    view = LiveView("sample", VectorIndexes(*(ExactIndex(HashingEmbedder().dimensions) for _ in range(3))))
    writer = Consolidator("sample")
    for each in _sample():
        view.apply(writer.apply([DocumentChange(each.doc_id, None, each)]))
    return view


@cache
def _sample() -> list[Extraction]:
    """Return the extractions of the sample, which all views of a process share."""
    extractions: list[Extraction] = []

    async def fill() -> None:  # at its end, `asyncio.run` formats what it returns: 0.4 s for these vectors
        extractions.extend(await _extractions(HashingEmbedder()))

    asyncio.run(fill())
    return extractions


async def _extractions(embedder: HashingEmbedder) -> list[Extraction]:
    models, caps = ExtractionModels(SemanticChunker(), OfflineExtractor(), embedder), ExtractionLimits()
    messages = (
        DocumentMessage(
            "sample", edition.id, edition.text, DocumentInfo(edition.title, edition.source, edition.occurred_at)
        )
        for edition in sample.first_editions()
    )
    return [await extract(message, number, models, caps) for number, message in enumerate(messages)]
