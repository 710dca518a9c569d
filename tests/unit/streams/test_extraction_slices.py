"""A document in slices: what is in memory at a time, the record that the slices make, and the reported progress."""

from __future__ import annotations

import asyncio
import random
from base64 import b64decode
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest
from numpy.typing import NDArray

from graphtide.graph.consolidation import Consolidator, signed_counts
from graphtide.graph.records import ChunkContribution, DocumentChange, DocumentInfo, Extraction
from graphtide.graph.text.place import PassageKind, Place
from graphtide.infra.models.local.chunker import SemanticChunker
from graphtide.infra.models.local.extractor import OfflineExtractor
from graphtide.infra.models.local.hashing_embedder import HashingEmbedder
from graphtide.streams.document_progress import MAX_DOCUMENTS, DocumentProgress, ProgressBoard
from graphtide.streams.extract.contributions.texts import unit_texts
from graphtide.streams.extract.pipeline import (
    SLICE_PASSAGES,
    ExtractionLimits,
    ExtractionModels,
    extract,
    extract_slices,
)
from graphtide.streams.follow.delta_codec import encode
from graphtide.streams.messages import (
    DocumentMessage,
    ExtractionMessage,
    decode_extraction,
    decode_stored,
    extractions,
)
from graphtide.streams.messages.extraction_encoder import ExtractionEncoder
from graphtide.streams.messages.extractions import SMALL_BYTES, unit_rows

PARAGRAPHS = 132
TEXT = "\n\n".join(
    f"Ada Lovelace {n} met Charles Babbage {n % 7} in London. "
    + f"The engine {n} belongs to the museum. " * 3
    + "and so it had been for as long as they could remember, " * 15
    for n in range(PARAGRAPHS)
)
DOCUMENT = DocumentMessage("g", "d", TEXT)


@pytest.fixture(scope="module")
def whole() -> Extraction:
    """The extraction of the document at once."""
    found: list[Extraction] = []

    async def fill() -> None:  # at its end, `asyncio.run` formats what it returns
        found.append(await extract(DOCUMENT, 1, models(), ExtractionLimits()))

    asyncio.run(fill())
    return found[0]


class CountingEmbedder(HashingEmbedder):
    """Counts the texts of each call."""

    def __init__(self, dimensions: int = 16) -> None:
        super().__init__(dimensions)
        self.calls: list[int] = []

    async def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        self.calls.append(len(texts))
        return await super().embed(texts)


class CountingSink:
    """Counts the units of each slice, and keeps none; an encoder receives them, too, if there is one."""

    def __init__(self, encoder: ExtractionEncoder | None = None) -> None:
        self.slices: list[int] = []
        self.restarts = 0
        self._encoder = encoder

    def restart(self) -> None:
        self.restarts += 1
        self.slices.clear()
        if self._encoder is not None:
            self._encoder.restart()

    def take(self, units: Sequence[ChunkContribution]) -> None:
        self.slices.append(len(units))
        if self._encoder is not None:
            self._encoder.take(units)


def models(embedder: HashingEmbedder | None = None) -> ExtractionModels:
    return ExtractionModels(SemanticChunker(), OfflineExtractor(), embedder or CountingEmbedder())


async def test_a_slice_is_passed_on_before_the_next_one_is_embedded() -> None:
    """The embedder sees one slice of texts at a time, and each slice has ended when the next one begins."""
    embedder, sink, passed = CountingEmbedder(), CountingSink(), list[int]()
    reports = list[DocumentProgress]()

    def report(progress: DocumentProgress) -> None:
        reports.append(progress)
        passed.append(sum(sink.slices))

    await extract_slices(DOCUMENT, models(embedder), ExtractionLimits(), sink, report=report)
    total = sum(sink.slices)
    assert total > 2 * SLICE_PASSAGES
    assert max(sink.slices) == SLICE_PASSAGES
    assert len(embedder.calls) == len(sink.slices)
    assert passed == [progress.embedded for progress in reports]
    assert reports == sorted(reports, key=lambda one: (one.embedded, one.extracted))
    assert reports[-1] == DocumentProgress("apply", total, total, total)
    assert {one.stage for one in reports[:-1]} == {"extract"}


async def test_a_document_of_one_slice_is_not_reported() -> None:
    """Small documents cost no report."""
    reports = list[DocumentProgress]()
    document = replace(DOCUMENT, text="Ada met Bob.")
    await extract_slices(document, models(), ExtractionLimits(), CountingSink(), report=reports.append)
    assert not reports


async def test_known_vectors_of_another_length_are_given_up_for_the_whole_document(whole: Extraction) -> None:
    """The first slice is known by an embedder of 16 dimensions, the rest is not, and the new one has 8."""
    encoder = ExtractionEncoder()
    known = {
        text: row
        for unit in whole.units[:SLICE_PASSAGES]
        for text, row in zip(unit_texts(whole.info.title, unit), unit_rows(unit), strict=True)
    }
    sink, embedder = CountingSink(encoder), CountingEmbedder(8)
    await extract_slices(DOCUMENT, models(embedder), ExtractionLimits(), sink, known)
    assert sink.restarts == 1
    assert sum(sink.slices) == len(whole.units)
    frame = ExtractionMessage("g", "d", 1, None)
    decoded = decode_extraction(encoder.finish(frame, whole.info, whole.gaps, "")).extraction
    assert decoded is not None
    assert {unit.vector.size for unit in decoded.units} == {8}


@pytest.mark.parametrize("seed", range(4))
async def test_the_record_of_slices_is_that_of_the_whole_extraction(seed: int) -> None:
    """However the units are sliced, and with headings, places and sources on some of them."""
    print("seed", seed)
    rng = random.Random(seed)
    whole = await extract(replace(DOCUMENT, text=TEXT[:30_000]), 7, models(CountingEmbedder(11)), ExtractionLimits())
    units = [
        replace(
            unit,
            title=rng.choice(["", "A heading"]) if seed else "",
            place=Place(("Chapter",), kind=PassageKind.QUOTE) if seed and rng.random() < 0.3 else unit.place,
            source=rng.choice([None, "*markup*"]) if seed else None,
        )
        for unit in whole.units
    ]
    extraction = Extraction("d", 7, whole.info, tuple(units), whole.gaps, "text/plain" if seed else "")
    encoder, at = ExtractionEncoder(), 0
    encoder.take(units[:1])
    encoder.restart()
    while at < len(units):
        end = at + rng.randint(1, 9)
        encoder.take(units[at:end])
        at = end
    message = ExtractionMessage("g", "d", 7, None, 42)
    encoded = encoder.finish(message, whole.info, whole.gaps, extraction.media_type)
    assert encoded == replace(message, extraction=extraction).encode()


async def test_equal_strings_of_a_decoded_record_are_one_object(whole: Extraction) -> None:
    """A sentence is the evidence of many mentions and facts."""
    value = ExtractionMessage("g", "d", 1, whole).encode()
    extraction = decode_extraction(value).extraction
    assert extraction is not None
    texts = [mention.description for unit in extraction.units for mention in unit.mentions]
    texts += [fact.description for unit in extraction.units for fact in unit.facts]
    texts += [fact.sentence for unit in extraction.units for fact in unit.facts]
    assert len(texts) > len(set(texts))
    assert len({id(text) for text in texts}) == len(set(texts))


async def test_contributions_counted_in_slices_give_the_delta_of_one_count(
    whole: Extraction, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A new document, and an edit of it, with slices of three units."""
    new = await extract(replace(DOCUMENT, text=TEXT[900:] + "\n\nBob met Ada."), 2, models(), ExtractionLimits())
    changes = [DocumentChange("d", None, whole)], [DocumentChange("d", whole, new)], [DocumentChange("d", new, None)]
    at_once = Consolidator("g")
    expected = [encode(at_once.apply(change)) for change in changes]
    monkeypatch.setattr(signed_counts, "COUNTED_UNITS", 3)
    sliced = Consolidator("g")
    assert [encode(sliced.apply(change)) for change in changes] == expected


def test_the_board_holds_the_latest_documents_and_one_revision_of_each() -> None:
    """Another revision than the noted one has no progress, and the oldest document is dropped at the limit."""
    board, progress = ProgressBoard(), DocumentProgress("extract", 3, 1, 0)
    for n in range(MAX_DOCUMENTS + 1):
        board.note("g", str(n), 1, progress)
    assert board.of("g", "0", 1) is None
    assert board.of("g", "1", 1) == progress
    assert board.of("g", "1", 2) is None


async def test_a_stored_extraction_is_read_without_its_vectors(whole: Extraction) -> None:
    """The status of a large document needs its text and its facts: the vectors are most of the record."""
    value = ExtractionMessage("g", "d", 1, whole).encode()
    assert len(value) > SMALL_BYTES
    bare = decode_stored("g", "d", value, vectors=False)
    assert bare is not None and bare.text == TEXT
    assert {row.size for unit in bare.units for row in unit_rows(unit)} == {0}
    assert [[fact.sentence for fact in unit.facts] for unit in bare.units] == [
        [fact.sentence for fact in unit.facts] for unit in whole.units
    ]


async def test_a_stored_extraction_is_read_without_its_statements(whole: Extraction) -> None:
    """The text of a large document needs none of them."""
    bare = decode_stored("g", "d", ExtractionMessage("g", "d", 1, whole).encode(), statements=False)
    assert bare is not None and bare.text == TEXT and bare.info == whole.info
    assert [unit.place for unit in bare.units] == [unit.place for unit in whole.units]
    assert not any(unit.mentions or unit.facts for unit in bare.units)


@pytest.mark.parametrize("searched", [8, 100, 1 << 20])
async def test_vectors_are_found_among_members_of_the_same_name(
    whole: Extraction, searched: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Metadata may have members of every name, and a text may quote the record."""
    monkeypatch.setattr(extractions, "SEARCHED_BYTES", searched)
    metadata = (("dimensions", "5"), ("vectors", '"AAAA"'))
    named = replace(whole, info=DocumentInfo('"dimensions":5,"vectors":"', "", "", metadata))
    for extraction in (named, replace(named, units=(), gaps=())):
        value = ExtractionMessage("g", "d", 1, extraction).encode()
        start, end = extractions.vectors_in(len(value), lambda first, stop, value=value: value[first:stop])  # type: ignore[misc]
        rows = [row for unit in extraction.units for row in unit_rows(unit)]
        assert b64decode(value[start:end]) == b"".join(row.tobytes() for row in rows)
        assert (start == end) == (not rows)
