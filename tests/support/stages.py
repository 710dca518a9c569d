"""Stages in the test's own event loop, over any storage, and waiting for their results."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from graphtide.graph.consolidation import KernelWork
from graphtide.graph.records import GraphDelta
from graphtide.graph.vector_index import ExactIndex
from graphtide.graph.view import IndexVersions, VectorIndexes
from graphtide.infra.models.local.chunker import SemanticChunker
from graphtide.infra.models.local.extractor import OfflineExtractor
from graphtide.infra.models.local.hashing_embedder import HashingEmbedder
from graphtide.streams.extract.pipeline import ExtractionModels
from graphtide.streams.extract.settings import ExtractSettings
from graphtide.streams.extract.stage import ExtractStage
from graphtide.streams.messages import DEAD_LETTERS, EXTRACTIONS, DeadLetter, ExtractionMessage, decode_dead_letter
from graphtide.streams.messages import decode_extraction as decode
from graphtide.streams.model_ports import Embedder
from graphtide.streams.ports import ConsumedRecord, RevisionState
from tests.support.backends import Backend

TIMEOUT_S = 120.0


async def eventually(holds: Callable[[], Awaitable[bool]]) -> None:
    """Return as soon as the condition holds; fail at the time limit."""
    async with asyncio.timeout(TIMEOUT_S):
        while not await holds():  # noqa: ASYNC110 - what is waited for is in the storage, which sets no event
            await asyncio.sleep(0.002)


@dataclass
class Seen:
    """An Observer that records its calls."""

    ends: list[tuple[str, RevisionState]] = field(default_factory=list)
    retries: int = 0
    forwards: list[str] = field(default_factory=list)
    kernel_work: list[tuple[str, KernelWork]] = field(default_factory=list)

    def ended(self, graph: str, state: RevisionState) -> None:
        self.ends.append((graph, state))

    def committed(self, graph: str, seconds: float) -> None:
        """Ignore the call."""

    def queryable(self, graph: str, seconds: float) -> None:
        """Ignore the call."""

    def changed(self, delta: GraphDelta) -> None:
        """Ignore the call."""

    def kernel_worked(self, graph: str, work: KernelWork) -> None:
        self.kernel_work.append((graph, work))

    def worked(self, stage: str, seconds: float) -> None:
        """Ignore the call."""

    def retried(self, stage: str) -> None:
        self.retries += 1

    def forwarded(self, graph: str) -> None:
        self.forwards.append(graph)


@dataclass
class Minded:
    """An Embedder that calls `mind` before every answer, which may wait, raise, or return."""

    mind: Callable[[Sequence[str]], Awaitable[None]]
    calls: int = 0
    inner: Embedder = field(default_factory=HashingEmbedder)

    @property
    def name(self) -> str:
        return self.inner.name

    @property
    def dimensions(self) -> int:
        return self.inner.dimensions

    async def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        self.calls += 1
        await self.mind(texts)
        return await self.inner.embed(texts)


class ExactKeeper:
    """An IndexKeeper that saves nothing: brute-force indexes, empty each time."""

    def open(self, graph: str, dimensions: int, version: int) -> tuple[VectorIndexes, IndexVersions]:
        return VectorIndexes(*(ExactIndex(dimensions) for _ in range(3))), IndexVersions()

    def save(self, graph: str, indexes: VectorIndexes, version: int) -> None:
        """Save nothing."""

    def compact(self, indexes: VectorIndexes) -> None:
        """Do nothing: brute force keeps no removed rows."""

    def drop(self, graph: str) -> None:
        """Do nothing: nothing was saved."""

    def close(self, indexes: VectorIndexes) -> None:
        """Do nothing: nothing runs."""


def extract_stage(
    backend: Backend,
    embedder: Embedder | None = None,
    settings: ExtractSettings | None = None,
    seen: Seen | None = None,
) -> ExtractStage:
    """Return an extract stage on the offline models, as a new process would create it."""
    models = ExtractionModels(SemanticChunker(), OfflineExtractor(), embedder or HashingEmbedder())
    return ExtractStage(backend.log, backend.ledger, models, seen or Seen(), settings)


@asynccontextmanager
async def running(run: Callable[[], Awaitable[None]]) -> AsyncIterator[asyncio.Task[None]]:
    """Run a stage beside the block and cancel it at the end; if the stage failed, the block fails."""

    async def forever() -> None:
        await run()

    task = asyncio.create_task(forever())
    try:
        yield task
    finally:
        task.cancel()
        [ended] = await asyncio.gather(task, return_exceptions=True)
    if isinstance(ended, Exception):
        raise ended


async def records(backend: Backend, topic: str) -> list[ConsumedRecord]:
    """Return all records of the topic."""
    return list(await backend.log.consumer(topic, "test").poll(100_000, 0))


async def dead_letters(backend: Backend) -> list[DeadLetter]:
    return [decode_dead_letter(consumed.record.value or b"") for consumed in await records(backend, DEAD_LETTERS)]


async def extractions(backend: Backend) -> list[ExtractionMessage]:
    return [decode(consumed.record.value or b"") for consumed in await records(backend, EXTRACTIONS)]


async def committed(backend: Backend, topic: str, group: str) -> int:
    """Return the offset at which the group would resume, -1 when nothing is left."""
    left = await backend.log.consumer(topic, group).poll(1, 0)
    return left[0].position.offset if left else -1
