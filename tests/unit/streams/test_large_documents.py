"""Large documents: what is rejected before it is read, and how they share a partition with small ones."""

from __future__ import annotations

import pytest

from graphtide.infra.models.local.chunker import SemanticChunker
from graphtide.infra.models.local.extractor import OfflineExtractor
from graphtide.infra.models.local.hashing_embedder import HashingEmbedder
from graphtide.streams.consolidate.partition_buffer import PartitionBuffer
from graphtide.streams.errors import Rejected
from graphtide.streams.extract.contributions import given
from graphtide.streams.extract.pipeline import ExtractionLimits, ExtractionModels, extract
from graphtide.streams.messages import DocumentMessage, GivenEntity, GivenFact
from graphtide.streams.ports import ConsumedRecord, Position, Record


def models() -> ExtractionModels:
    return ExtractionModels(SemanticChunker(), OfflineExtractor(), HashingEmbedder(64))


async def test_more_facts_than_the_passages_may_state_are_rejected_before_the_text_is_searched(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Three facts where two may be stated: the limits are named, and no name was searched for."""
    monkeypatch.setattr(given, "places_of", None)
    facts = tuple(GivenFact(f"a{n}", "knows", f"b{n}") for n in range(3))
    with pytest.raises(Rejected, match=r"states 3 .* the limit is 2 \(2 per passage, 9 per document\)"):
        await extract(DocumentMessage("g", "d", "Nobody.", facts=facts), 1, models(), ExtractionLimits(5, 2, 9))


async def test_entities_that_all_passages_name_are_rejected_by_the_bound_of_the_document() -> None:
    """Two entities in each of many passages: the document's bound counts every passage that names them."""
    text = "Ada met Bob. " * 2_000
    document = DocumentMessage("g", "d", text, entities=(GivenEntity("Ada"), GivenEntity("Bob")))
    with pytest.raises(Rejected, match="50 per document"):
        await extract(document, 1, models(), ExtractionLimits(found=50))


async def test_found_entities_and_relations_are_bounded_per_document() -> None:
    """The same for what the extractor finds."""
    document = DocumentMessage("g", "d", "Ada Lovelace met Charles Babbage in London. " * 500)
    with pytest.raises(Rejected, match="20 per document"):
        await extract(document, 1, models(), ExtractionLimits(found=20))


async def test_a_batch_ends_before_a_large_record_and_keeps_the_order_of_the_log() -> None:
    """Small, small, large, small, large, large, small: no batch holds records on both sides of a large one."""
    inbox = PartitionBuffer(expected=0, heavy_bytes=100)
    for offset, size in enumerate((10, 10, 200, 10, 200, 200, 10)):
        inbox.take(ConsumedRecord(Position(0, offset), 0, Record("g", b"x" * size)))
    batches = []
    while inbox.records:
        batches.append([one.position.offset for one in await inbox.next(64)])
    assert batches == [[0, 1], [2], [3], [4], [5], [6]]
