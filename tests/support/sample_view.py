"""The bundled sample as a live view: read by rules, embedded by hashing, on exact indexes."""

from __future__ import annotations

import asyncio

from graph.consolidation import Consolidator
from graph.records import Change, DocumentInfo, Extraction
from graph.vector_index import ExactIndex
from graph.view import Indexes, LiveView
from infra.models.chunking import SemanticChunker
from infra.models.hashing_embeddings import HashingEmbedder
from infra.models.offline_extraction import OfflineExtractor
from services import sample
from streams.extraction import Caps, Models, extract
from streams.messages import DocumentMessage


def sample_view() -> LiveView:
    """The first editions of the sample, consolidated one by one. About a second."""
    embedder = HashingEmbedder()
    view = LiveView("sample", Indexes(*(ExactIndex(embedder.dimensions) for _ in range(3))))
    writer = Consolidator("sample")
    for one in asyncio.run(_extractions(embedder)):
        view.apply(writer.apply([Change(one.doc_id, None, one)]))
    return view


async def _extractions(embedder: HashingEmbedder) -> list[Extraction]:
    models, caps = Models(SemanticChunker(), OfflineExtractor(), embedder), Caps()
    messages = (
        DocumentMessage("sample", one.id, one.text, DocumentInfo(one.title, one.source, one.occurred_at))
        for one in sample.first_editions()
    )
    return [await extract(message, number, models, caps) for number, message in enumerate(messages)]
