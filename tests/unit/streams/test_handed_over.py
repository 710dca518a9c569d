"""An extraction that the same process encoded is consolidated without decoding, as if it had been decoded."""

from __future__ import annotations

import random

import numpy as np
import pytest

from graphtide.graph.records import DocumentInfo, Extraction
from graphtide.infra.models.local.chunker import SemanticChunker
from graphtide.infra.models.local.extractor import OfflineExtractor
from graphtide.infra.models.local.hashing_embedder import HashingEmbedder
from graphtide.streams.consolidate import batches
from graphtide.streams.consolidate.batches import plan_batch
from graphtide.streams.extract.pipeline import DocumentFrame, ExtractionLimits, ExtractionModels, extract_slices
from graphtide.streams.extract.record_codec import EncodedExtraction, deletion, encoded
from graphtide.streams.messages import (
    DocumentMessage,
    ExtractionMessage,
    decode_extraction,
    metadata_pairs,
)
from graphtide.streams.messages.extraction_encoder import ExtractionEncoder
from graphtide.streams.messages.extractions import SMALL_BYTES
from graphtide.streams.ports import ConsumedRecord, Position, Record
from graphtide.streams.scheduling.work_pool import WorkPool
from tests.support.extractions import random_extraction
from tests.support.records import plain

TEXT = (
    "# Engines\n\nAda Lovelace met Charles Babbage in London. Ada Lovelace wrote notes on the engine of Charles"
    " Babbage.\n\n## Later\n\nCharles Babbage lived in London. The engine is in a museum in London.\n\n| a | b |\n"
    "| --- | --- |\n| Ada | 1815 |\n"
)
INFO = DocumentInfo("Notes", "wire", "1843-07", metadata_pairs({"a": [1, {"b": None}]}))


async def encoded_by_the_stage(extraction: Extraction) -> EncodedExtraction:
    encoder = ExtractionEncoder()
    encoder.take(extraction.units)
    message = ExtractionMessage("g", extraction.doc_id, extraction.revision, None, 42)
    frame = DocumentFrame(extraction.info, extraction.gaps)
    return await encoded(encoder, message, frame, extraction.media_type, WorkPool())


def record(outcome: EncodedExtraction) -> ConsumedRecord:
    return ConsumedRecord(Position(0, 3), 5, Record("g", outcome.value, (), None, outcome.message))


@pytest.mark.parametrize("seed", range(4))
async def test_message_that_is_handed_over_equals_the_decoded_one(seed: int) -> None:
    """To the last bit."""
    print("seed", seed)
    outcome = await encoded_by_the_stage(random_extraction(random.Random(seed), "d", 7))
    assert outcome.message is not None
    assert plain(decode_extraction(outcome.value)) == plain(outcome.message)


async def test_extracted_document_that_is_handed_over_equals_the_decoded_one() -> None:
    """With headings, places, sources, gaps and metadata; and equal strings are one object, as in a decoded record."""
    encoder = ExtractionEncoder()
    document = DocumentMessage("g", "d", TEXT, INFO, media_type="text/markdown")
    models = ExtractionModels(SemanticChunker(), OfflineExtractor(), HashingEmbedder(16))
    frame = await extract_slices(document, models, ExtractionLimits(), encoder)
    message = ExtractionMessage("g", "d", 7, None, 42)
    outcome = await encoded(encoder, message, frame, document.media_type, models.pool)
    assert outcome.message is not None and outcome.message.extraction is not None
    assert plain(decode_extraction(outcome.value)) == plain(outcome.message)
    units = outcome.message.extraction.units
    texts = [text for unit in units for row in unit.mentions for text in (row.name, row.description)]
    texts += [text for unit in units for row in unit.facts for text in (row.description, row.sentence)]
    assert len(texts) > len({id(text) for text in texts}) == len(set(texts))


async def test_batch_decodes_only_what_was_not_handed_over(monkeypatch: pytest.MonkeyPatch) -> None:
    """A record that was read from the log again has no message; the batch is the same."""
    decoded: list[bytes] = []

    def counting(value: bytes) -> ExtractionMessage:
        decoded.append(value)
        return decode_extraction(value)

    monkeypatch.setattr(batches, "decode_extraction", counting)
    outcome = await encoded_by_the_stage(random_extraction(random.Random(1), "d", 7))
    for each, calls in ((outcome, 0), (EncodedExtraction(outcome.value), 1), (deletion("g", "d", 8, 42), 1)):
        batch = plan_batch([record(each)])
        assert batch.values["g", "d"] == each.value
        assert plain(batch.newest["g"]["d"]) == plain(decode_extraction(each.value))
        assert len(decoded) == calls


@pytest.mark.parametrize("bad", [np.nan, 0.0, -0.0, np.inf, -np.inf])
async def test_vector_that_decoding_refuses_is_not_handed_over(bad: float) -> None:
    """The record is dead-lettered, as one that another process encoded."""
    extraction = random_extraction(random.Random(1), "d", 7)
    extraction.units[0].vector[:] = bad
    outcome = await encoded_by_the_stage(extraction)
    assert outcome.message is None
    [letter] = plan_batch([record(outcome)]).letters
    assert "zero or not finite" in letter.reason


async def test_large_message_is_not_handed_over() -> None:
    """It would stay in memory beside its bytes until it is committed."""
    extraction = random_extraction(random.Random(1), "d", 7)
    units = extraction.units * (1 + SMALL_BYTES // len(ExtractionMessage("g", "d", 7, extraction).encode()))
    large = Extraction("d", 7, extraction.info, units)
    assert (await encoded_by_the_stage(large)).message is None
