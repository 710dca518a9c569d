"""The extract stage: reads `documents`, writes `extractions`, and dead-letters what can never be taken.

For each record, in this order:
1. enter it in the ledger, and count the attempt, durably, before any work: a record that kills the process is counted
2. extract and embed; wait and try again as long as a model is away
3. append the outcome to `extractions`, or the dead letter to `documents.dlq` and the failure to the ledger
4. commit the position, once everything in front of it is done too

Extractions of different documents may overtake each other, and so may those of one document: the revision decides
downstream. A crash between 3 and 4 repeats 2 and 3, which the consolidate stage notices by the revision.
"""

from __future__ import annotations

import asyncio
import time
from dataclasses import dataclass, field

from streams.errors import Rejected, Retryable
from streams.extraction import Caps, Models, extract
from streams.messages import (
    DEAD_LETTERS,
    DOCUMENTS,
    EXTRACTIONS,
    DeadLetter,
    ExtractionMessage,
    decode_document,
    document_key,
    split_document_key,
)
from streams.observing import Observer
from streams.ports import Consumer, Delivered, Ledger, Log, Outcome, Position, Record, State
from streams.retrying import Backoff

STAGE = "extract"


@dataclass(frozen=True, slots=True)
class ExtractSettings:
    concurrency: int = 8
    poll_s: float = 5.0
    crashes_allowed: int = 8
    caps: Caps = field(default_factory=Caps)


class ExtractStage:
    """See the module. `waiting` says, by document, what an accepted revision is waiting for."""

    def __init__(
        self, log: Log, ledger: Ledger, models: Models, observer: Observer, settings: ExtractSettings | None = None
    ) -> None:
        self._log = log
        self._ledger = ledger
        self._models = models
        self._observer = observer
        self._settings = settings or ExtractSettings()
        self.waiting: dict[tuple[str, str], str] = {}

    async def run(self) -> None:
        """Work until cancelled. Unfinished records are read again by the next run."""
        consumer = self._log.consumer(DOCUMENTS, STAGE)
        free = asyncio.Semaphore(self._settings.concurrency)
        running: dict[Position, asyncio.Task[None]] = {}
        try:
            async with asyncio.TaskGroup() as tasks:
                while True:
                    batch = await consumer.poll(self._settings.concurrency, self._settings.poll_s)
                    if batch:
                        await self._ledger.enter(batch)
                    for delivered in batch:
                        await free.acquire()
                        task = tasks.create_task(self._record(delivered))
                        task.add_done_callback(lambda _: free.release())
                        running[delivered.position] = task
                        await self._commit_finished(consumer, running)
                    if not batch or len(batch) < self._settings.concurrency:
                        await self._drain(consumer, running)
        except ExceptionGroup as group:
            # One failed record ends the run; the supervisor wants the cause itself, not the group around it.
            raise group.exceptions[0] from group
        finally:
            await consumer.close()

    async def _drain(self, consumer: Consumer, running: dict[Position, asyncio.Task[None]]) -> None:
        """Commit what is done when nothing more is queued, without waiting for a slow record."""
        if running:
            await asyncio.wait(running.values(), timeout=0.05, return_when=asyncio.ALL_COMPLETED)
        await self._commit_finished(consumer, running)

    async def _commit_finished(self, consumer: Consumer, running: dict[Position, asyncio.Task[None]]) -> None:
        done: dict[int, Position] = {}
        blocked: set[int] = set()
        for position in sorted(running):
            task = running[position]
            if position.partition in blocked or not task.done() or task.cancelled() or task.exception():
                blocked.add(position.partition)
            else:
                done[position.partition] = position
                del running[position]
        for position in done.values():
            await consumer.commit(position)

    async def _record(self, delivered: Delivered) -> None:
        started = time.monotonic()
        revision, record = delivered.position.offset, delivered.record
        try:
            graph, doc_id = split_document_key(record.key)
        except Rejected as error:
            await self._bury(DeadLetter("", record.key, revision, STAGE, str(error), 1, record.value or b""))
            return
        attempts = await self._ledger.begin(graph, doc_id, revision)
        try:
            if attempts > self._settings.crashes_allowed:
                raise Rejected(f"its extraction was started {attempts - 1} times and never came to an end")
            value = await self._outcome(graph, doc_id, delivered)
            await self._log.append(EXTRACTIONS, [Record(graph, value, record.headers)])
        except Rejected as error:
            await self._bury(DeadLetter(graph, doc_id, revision, STAGE, str(error), attempts, record.value or b""))
            await self._ledger.conclude([Outcome(graph, doc_id, revision, State.FAILED, str(error))])
            self._observer.ended(graph, State.FAILED)
        self._observer.worked(STAGE, time.monotonic() - started)

    async def _outcome(self, graph: str, doc_id: str, delivered: Delivered) -> bytes:
        revision, accepted_ms = delivered.position.offset, delivered.timestamp_ms
        if delivered.record.value is None:
            return ExtractionMessage(graph, doc_id, revision, None, accepted_ms).encode()
        document = decode_document(delivered.record.key, delivered.record.value)
        backoff, attempt = Backoff(), 0
        while True:
            try:
                extraction = await extract(document, revision, self._models, self._settings.caps)
                self.waiting.pop((graph, doc_id), None)
                return ExtractionMessage(graph, doc_id, revision, extraction, accepted_ms).encode()
            except Retryable as error:
                self.waiting[graph, doc_id] = str(error)
                self._observer.retried(STAGE)
                wait_s = backoff.delay_s(attempt) if error.retry_after_s is None else error.retry_after_s
            attempt += 1
            await asyncio.sleep(wait_s)

    async def _bury(self, letter: DeadLetter) -> None:
        self.waiting.pop((letter.graph, letter.doc_id), None)
        await self._log.append(DEAD_LETTERS, [Record(document_key(letter.graph, letter.doc_id), letter.encode())])
