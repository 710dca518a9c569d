"""The bundled sample as a live view: extracted by rules, embedded by hashing, on exact indexes."""

from __future__ import annotations

import asyncio

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
    """Return a view of the first editions of the sample, consolidated one by one. Takes about a second."""
    embedder = HashingEmbedder()
    view = LiveView("sample", VectorIndexes(*(ExactIndex(embedder.dimensions) for _ in range(3))))
    writer = Consolidator("sample")
    for one in asyncio.run(_extractions(embedder)):
        view.apply(writer.apply([DocumentChange(one.doc_id, None, one)]))
    return view


async def _extractions(embedder: HashingEmbedder) -> list[Extraction]:
    models, caps = ExtractionModels(SemanticChunker(), OfflineExtractor(), embedder), ExtractionLimits()
    messages = (
        DocumentMessage("sample", one.id, one.text, DocumentInfo(one.title, one.source, one.occurred_at))
        for one in sample.first_editions()
    )
    return [await extract(message, number, models, caps) for number, message in enumerate(messages)]
