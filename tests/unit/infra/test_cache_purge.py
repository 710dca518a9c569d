"""Memos: isolation between graphs, and their content after a purge (entries of live documents)."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable

from graphtide.graph.records import DocumentInfo, Extraction
from graphtide.infra.models.cache.embeddings import MemoisedEmbedder, MemoryVectorStore
from graphtide.infra.models.cache.extractions import MemoisedExtractor
from graphtide.infra.models.cache.purge import live_keys, purge_memos
from graphtide.infra.models.local.chunker import SemanticChunker
from graphtide.infra.models.local.extractor import OfflineExtractor
from graphtide.infra.models.local.hashing_embedder import HashingEmbedder
from graphtide.streams.extract.pipeline import ExtractionLimits, ExtractionModels, extract
from graphtide.streams.messages import DocumentMessage
from graphtide.streams.model_ports import ExtractionResult
from graphtide.streams.usage import BillingContext, paid_by

CURIE = "Marie Curie discovered polonium in Paris in 1898. She was born in Warsaw."
NOBEL = "Alfred Nobel invented dynamite. He lived in Sanremo."


class CountingExtractor(OfflineExtractor):
    """Offline extractor that counts its calls as a paid one would."""

    def __init__(self) -> None:
        super().__init__()
        self.calls = 0

    async def extract(self, text: str, *, title: str) -> ExtractionResult:
        self.calls += 1
        return await super().extract(text, title=title)


class Reading:
    """Memoised models, and their stores."""

    def __init__(self) -> None:
        self.vectors, self.extractions = MemoryVectorStore(), MemoryVectorStore()
        self.counting = CountingExtractor()
        extractor = MemoisedExtractor(self.counting, self.extractions)
        self.models = ExtractionModels(SemanticChunker(), extractor, MemoisedEmbedder(HashingEmbedder(), self.vectors))

    async def read(self, graph: str, doc_id: str, text: str) -> Extraction:
        document = DocumentMessage(graph, doc_id, text, DocumentInfo(f"Title of {doc_id}"))
        with paid_by(BillingContext(graph, doc_id)):
            return await extract(document, 1, self.models, ExtractionLimits())


async def _each(extractions: Iterable[Extraction]) -> AsyncIterator[Extraction]:
    for one in extractions:
        yield one


async def test_memo_never_shows_one_graph_what_another_has_read() -> None:
    """A passage that another graph paid for costs as much as an unknown one: the cost reveals nothing."""
    reading = Reading()
    for graph in ("secret", "curious"):
        before = reading.counting.calls
        await reading.read(graph, "d", CURIE)
        assert reading.counting.calls == before + 1
        await reading.read(graph, "d", CURIE)
        assert reading.counting.calls == before + 1
    assert len(reading.extractions.keys()) == 2


async def test_purge_leaves_what_live_documents_rest_on_and_nothing_else() -> None:
    """After a purge, reading the live document is free, the deleted one is paid for again, others are unchanged."""
    reading = Reading()
    live = await reading.read("g", "live", CURIE)
    await reading.read("g", "deleted", NOBEL)
    await reading.read("other", "deleted", NOBEL)
    other = MemoryVectorStore()
    keys = await live_keys("g", _each([live]), reading.models)
    assert keys.extractions < set(reading.extractions.keys()) and keys.vectors < set(reading.vectors.keys())
    assert await purge_memos(keys, reading.vectors, reading.extractions, other) > 0
    assert await purge_memos(keys, reading.vectors, reading.extractions, other) == 0

    vectors, calls = set(reading.vectors.keys()), reading.counting.calls
    again = await reading.read("g", "live", CURIE)
    assert [unit.key for unit in again.units] == [unit.key for unit in live.units]
    await reading.read("other", "deleted", NOBEL)
    assert reading.counting.calls == calls and set(reading.vectors.keys()) == vectors
    await reading.read("g", "deleted", NOBEL)
    assert reading.counting.calls == calls + 1
