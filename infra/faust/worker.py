"""An extraction worker: the extract stage on a Faust stream, and the sweeper. One per process."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from pathlib import Path

from graphtide.infra.faust.app import SCRATCH, extraction_app
from graphtide.infra.faust.consumer import FaustConsumer
from graphtide.infra.kafka.address import KafkaAddress
from graphtide.streams.errors import Broken
from graphtide.streams.extract.stage import STAGE, ExtractStage
from graphtide.streams.extract.sweeper import Sweeper, SweepSettings
from graphtide.streams.messages import DEAD_LETTERS, DOCUMENTS, EXTRACTIONS
from graphtide.streams.ports import Ledger, Log


@dataclass(frozen=True, slots=True)
class WorkerSettings:
    """Settings of a worker. `session_timeout_s` is how long a worker may be silent before it loses its partitions.

    `folder` is Faust's own.
    """

    session_timeout_s: float = 30.0
    sweep: SweepSettings = field(default_factory=SweepSettings)
    folder: Path = SCRATCH


async def run_extraction(
    address: KafkaAddress, stage: ExtractStage, log: Log, ledger: Ledger, settings: WorkerSettings | None = None
) -> None:
    """Extract until cancelled; then leave the group in order, without counting an attempt for unfinished records.

    Runs under `streams.retry.supervise`, which restarts it: raises Retryable while the cluster is unreachable or when
    Faust gave up, Broken when a topic is missing. Finished records are committed; all others are delivered again.
    """
    settings = settings or WorkerSettings()
    for topic in (DOCUMENTS, EXTRACTIONS, DEAD_LETTERS):
        await log.end(topic)  # Broken, with the remedy, when it is missing
    app = extraction_app(address, STAGE, settings.session_timeout_s, settings.folder)
    consumer = FaustConsumer(app, address.topic(DOCUMENTS))
    sweeper = Sweeper(log, ledger, stage, consumer.assigned, settings.sweep)
    tasks: list[asyncio.Task[None]] = []
    try:
        await consumer.open()
        tasks = [asyncio.create_task(stage.run(consumer), name=STAGE), asyncio.create_task(sweeper.run(), name="sweep")]
        done, _ = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        for task in done:
            task.result()
        raise Broken("the extraction worker ended by itself")
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        await consumer.close()  # the stage may not have reached it
        await stage.release_attempts()
