"""The bundled sample as a live view: read by rules, embedded by hashing, on exact indexes."""

from __future__ import annotations

import asyncio

from graphtide.graph.consolidation import Consolidator
from graphtide.graph.records import Change, DocumentInfo, Extraction
from graphtide.graph.vector_index import ExactIndex
from graphtide.graph.view import Indexes, LiveView
from graphtide.infra.models.local.chunker import SemanticChunker
from graphtide.infra.models.local.extractor import OfflineExtractor
from graphtide.infra.models.local.hashing_embedder import HashingEmbedder
from graphtide.services.demo import sample
from graphtide.streams.extract.pipeline import Caps, Models, extract
from graphtide.streams.messages import DocumentMessage


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
