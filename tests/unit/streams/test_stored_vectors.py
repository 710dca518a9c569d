"""Edits embed only the texts that the live revision of the document lacks, and give the same extraction."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from graphtide.graph.records import DocumentInfo
from graphtide.infra.models.local.chunker import SemanticChunker
from graphtide.infra.models.local.extractor import OfflineExtractor
from graphtide.infra.models.local.hashing_embedder import HashingEmbedder
from graphtide.streams.consolidate.stage import ConsolidateStage
from graphtide.streams.errors import Retryable
from graphtide.streams.extract.pipeline import ExtractionModels, embed_texts
from graphtide.streams.extract.settings import ExtractSettings
from graphtide.streams.extract.stage import STAGE, ExtractStage
from graphtide.streams.extract.stored_vectors import StoredExtraction, live_extraction, never_stored, stored_vectors
from graphtide.streams.messages import (
    DOCUMENTS,
    DocumentMessage,
    ExtractionMessage,
    GivenEntity,
    GivenFact,
    decode_stored,
)
from graphtide.streams.ports import Record, RevisionState
from graphtide.streams.scheduling.work_pool import WorkPool
from tests.support.backends import NAMES, Backend, Clock, opened
from tests.support.stages import Seen, committed, eventually, running

FACTS = (GivenFact("Ada", "knew", "Charles"), GivenFact("Ada", "wrote", "Notes"))
FIRST = DocumentMessage(
    "g",
    "a",
    "Ada knew Charles.",
    DocumentInfo("Letters"),
    (GivenEntity("Ada", "person"), GivenEntity("Charles")),
    FACTS,
)
LETTERS_FIRST = "Letters\nAda knew Charles."
EDITED = replace(FIRST, text="Ada knew Charles well.", facts=(*FACTS, GivenFact("Charles", "built", "Engine")))


class Recording:
    """An embedder that records the texts that it receives. It knows its dimension from the start, or only later."""

    def __init__(self, dimensions: int = 384, says_length: bool = True) -> None:
        self._inner = HashingEmbedder(dimensions)
        self._says_length = says_length
        self.texts: list[str] = []

    @property
    def name(self) -> str:
        return self._inner.name

    @property
    def dimensions(self) -> int:
        return self._inner.dimensions if self._says_length else 0

    async def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        self.texts += texts
        return await self._inner.embed(texts)


@pytest.fixture(params=NAMES)
async def backend(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Backend]:
    """Both implementations of the storage."""
    async with opened(request.param, tmp_path, Clock()) as one:
        yield one


async def put(backend: Backend, message: DocumentMessage, embedder: Recording, stored: StoredExtraction) -> None:
    """Publish the document, extract and consolidate it."""
    models = ExtractionModels(SemanticChunker(), OfflineExtractor(), embedder)
    extract = ExtractStage(backend.log, backend.ledger, models, Seen(), ExtractSettings(), stored=stored)
    await backend.ledger.accept([Record(message.key, message.encode())])

    async def is_applied() -> bool:
        latest = await backend.ledger.latest(message.graph, message.doc_id)
        return latest is not None and latest.state is RevisionState.APPLIED

    async with running(extract.run):
        await eventually(lambda: _all_read(backend))
    async with running(ConsolidateStage(backend.log, backend.store, None, Seen()).run):
        await eventually(is_applied)


async def _all_read(backend: Backend) -> bool:
    return await committed(backend, DOCUMENTS, STAGE) == -1


async def test_edit_embeds_only_texts_that_the_live_revision_lacks(backend: Backend) -> None:
    """An edit of one passage with one more fact embeds the passage, the new mention and the new fact: nothing else."""
    stored = live_extraction(backend.store, lambda graph, doc_id: True)
    first, second = Recording(), Recording()
    await put(backend, FIRST, first, stored)
    await put(backend, EDITED, second, stored)
    assert sorted(first.texts) == ["Ada", "Ada knew Charles", "Ada wrote Notes", "Charles", LETTERS_FIRST, "Notes"]
    assert sorted(second.texts) == ["Charles built Engine", "Engine", "Letters\nAda knew Charles well."]


async def test_edit_gives_the_extraction_of_a_document_without_history(backend: Backend) -> None:
    """Vectors and unit keys are equal to the last bit, taken from the live revision or computed."""
    await put(backend, FIRST, Recording(), never_stored)
    await put(backend, EDITED, Recording(), live_extraction(backend.store, lambda graph, doc_id: True))
    await put(backend, replace(EDITED, doc_id="b"), Recording(), never_stored)
    stored = await backend.store.standings("g", ["a", "b"])
    edited, fresh = (decode_stored("g", doc_id, stored[doc_id].extraction or b"") for doc_id in ("a", "b"))
    assert edited is not None and fresh is not None
    assert [unit.key for unit in edited.units] == [unit.key for unit in fresh.units]
    again = replace(fresh, doc_id="a", revision=edited.revision)
    of = [ExtractionMessage("g", "a", edited.revision, one).encode() for one in (edited, again)]
    assert of[0] == of[1]


async def test_documents_that_are_not_live_are_not_read(backend: Backend) -> None:
    """The store is not asked for a document that the view lacks; a deleted document has no vectors."""
    asked: list[str] = []

    def is_live(graph: str, doc_id: str) -> bool:
        asked.append(doc_id)
        return False

    await put(backend, FIRST, Recording(), live_extraction(backend.store, is_live))
    assert asked == ["a"]
    found = await stored_vectors(live_extraction(backend.store, is_live), "g", "a", 0, WorkPool())
    assert not found


@pytest.mark.parametrize("says_length", [True, False])
async def test_vectors_of_another_length_are_not_used(backend: Backend, says_length: bool) -> None:
    """Every text is embedded when the stored vectors have another length, also if the embedder learns its own late."""
    await put(backend, FIRST, Recording(64), never_stored)
    embedder = Recording(96, says_length)
    stored = live_extraction(backend.store, lambda graph, doc_id: True)
    known = await stored_vectors(stored, "g", "a", embedder.dimensions, WorkPool())
    assert bool(known) is not says_length
    vectors = await embed_texts(["Ada", "Engine"], embedder, known)
    assert [row.size for row in vectors.values()] == [96, 96]
    assert list(vectors) == ["Ada", "Engine"]


async def test_extraction_that_cannot_be_read_counts_as_none() -> None:
    """Damage of the stored revision does not stop the extraction of the next one."""

    async def damaged(graph: str, doc_id: str) -> bytes:
        return b'{"schema":1,"units":'

    assert await stored_vectors(damaged, "g", "a", 0, WorkPool()) == {}


async def test_unreachable_store_delays_the_document(backend: Backend) -> None:
    """While the live revision cannot be read, the document waits as for a model, and is then extracted."""
    calls = 0

    async def unreachable_once(graph: str, doc_id: str) -> None:
        nonlocal calls
        calls += 1
        if calls == 1:
            raise Retryable("the store is unreachable")

    await put(backend, FIRST, Recording(), unreachable_once)
    assert calls == 2
