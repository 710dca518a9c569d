"""An extraction worker on a real broker, in the test's own loop, with a ledger that outlives it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

from graphtide.infra.faust.worker import WorkerSettings, run_extraction
from graphtide.infra.kafka.address import KafkaAddress
from graphtide.infra.kafka.log import KafkaLog
from graphtide.infra.models.local.chunker import SemanticChunker
from graphtide.infra.models.local.extractor import OfflineExtractor
from graphtide.infra.models.local.hashing_embedder import HashingEmbedder
from graphtide.streams.clock import now_ms
from graphtide.streams.extract.pipeline import ExtractionModels
from graphtide.streams.extract.settings import ExtractSettings
from graphtide.streams.extract.stage import ExtractStage
from graphtide.streams.extract.sweeper import SweepSettings
from graphtide.streams.messages import (
    DEAD_LETTERS,
    DELTAS,
    DOCUMENTS,
    EXTRACTIONS,
    ExtractionMessage,
    decode_extraction,
)
from graphtide.streams.model_ports import Embedder
from graphtide.streams.ports import ConsumedRecord, Record
from tests.model.memory import MemoryBackend
from tests.model.memory.ledger import MemoryLedger
from tests.support.kafka_server import KafkaServer, fresh, make_topic
from tests.support.logs import TIMEOUT_S, TUNING, taken
from tests.support.stages import Seen

SWEEP = SweepSettings(age_s=0.0, every_s=3600.0)
QUICK = ExtractSettings(concurrency=2, poll_s=1.0, crashes_allowed=3)


@dataclass(slots=True)
class Cluster:
    """Topics of three partitions, a ledger in memory that all workers share, and a log for the test's own reads."""

    address: KafkaAddress
    log: KafkaLog
    ledger: MemoryLedger = field(default_factory=lambda: MemoryLedger(MemoryBackend().log, now_ms))

    def stage(self, embedder: Embedder | None = None, settings: ExtractSettings = QUICK) -> ExtractStage:
        models = ExtractionModels(SemanticChunker(), OfflineExtractor(), embedder or HashingEmbedder())
        return ExtractStage(self.log, self.ledger, models, Seen(), settings)

    @asynccontextmanager
    async def working(self, stage: ExtractStage, sweep: SweepSettings = SWEEP) -> AsyncIterator[asyncio.Task[None]]:
        """Yield a worker that is stopped in order at the end; it must not have failed."""
        settings = WorkerSettings(6.0, sweep)
        task = asyncio.create_task(run_extraction(self.address, stage, self.log, self.ledger, settings))
        try:
            yield task
        finally:
            task.cancel()
            [ended] = await asyncio.gather(task, return_exceptions=True)
        if isinstance(ended, Exception):
            raise ended

    async def publish(self, records: Sequence[Record]) -> None:
        await self.log.append(DOCUMENTS, records)

    async def read(self, topic: str, count: int) -> list[ConsumedRecord]:
        """Return the first `count` records of a topic, once they are there."""
        reader = self.log.reader(topic, {})
        try:
            return await taken(reader, count)
        finally:
            await reader.close()

    async def extractions(self, count: int) -> list[ExtractionMessage]:
        return [decode_extraction(each.record.value or b"") for each in await self.read(EXTRACTIONS, count)]

    async def until_committed(self, count: int) -> None:
        """Return once the group has committed that many records."""
        async with asyncio.timeout(TIMEOUT_S):
            while sum((await self.log.committed(DOCUMENTS, "extract")).values()) < count:  # noqa: ASYNC110 - a broker sets no event
                await asyncio.sleep(0.02)


@asynccontextmanager
async def cluster(server: KafkaServer) -> AsyncIterator[Cluster]:
    address = fresh(server)
    for topic in (DOCUMENTS, EXTRACTIONS, DELTAS, DEAD_LETTERS):
        await asyncio.to_thread(make_topic, server, address.topic(topic), 3)
    log = KafkaLog(address, TUNING)
    try:
        yield Cluster(address, log)
    finally:
        await log.close()
