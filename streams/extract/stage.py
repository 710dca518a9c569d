"""The extract stage: reads `documents`, writes `extractions`, and dead-letters records that can never be processed.

For each record, in this order:
1. enter the record in the ledger at once, which numbers it in the order of its partition; then count the attempt,
   durably, before any work, so that a record that crashes the process is counted
2. decode it; then extract and embed in one of a few slots, only texts that the live revision of the document lacks;
   while a model is unavailable, wait and try again
3. append the outcome to the partition of `extractions` that the graph is bound to (without a binding, by its key), or
   the dead letter to `documents.dlq` and the failure to the ledger
4. commit the position, once every earlier record is finished too

Graphs take turns (`streams/scheduling/fair_queue.py`) at starting records and at the slots. Records are read ahead,
within a memory limit, so that the records of a small graph are found among those of a large one. Within a graph,
records start in log order. Extractions may overtake each other, also those of one document: downstream, the revision
decides. A crash between 3 and 4 repeats 2 and 3, which the consolidate stage detects by the revision.

After a crash, the records that were in flight run one at a time, each alone until it has ended or waits for a model,
so that only the record that crashed the process is counted again when it does so again.

When a partition is reassigned to another process, its records in flight are cancelled here, and their attempts are not
counted. `release_attempts` does the same for all partitions when a process shuts down cleanly.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Sequence
from functools import partial

from graphtide.graph.algorithms.yield_points import yielding
from graphtide.streams.consolidate.maintenance_requests import without_requests
from graphtide.streams.dead_letters.writer import write_dead_letter
from graphtide.streams.document_progress import ProgressBoard
from graphtide.streams.errors import BudgetExceeded, GraphtideError, Rejected, Retryable
from graphtide.streams.extract.budget_pauses import BudgetPauses, PausedDocuments
from graphtide.streams.extract.in_flight import DeletedWithGraphError, InFlight, InFlightRecord, Reading
from graphtide.streams.extract.pipeline import DocumentFrame, ExtractionModels, extract_slices
from graphtide.streams.extract.record_codec import EncodedExtraction, decoded, deletion, encoded, is_named
from graphtide.streams.extract.settings import (
    EVER,
    HEAVY_BYTES,
    MAX_PARKED,
    PARKED_BYTES,
    RECORDS_PER_SLOT,
    ExtractSettings,
)
from graphtide.streams.extract.stored_vectors import StoredExtraction, never_stored, stored_vectors
from graphtide.streams.json_parts import escape_surrogates
from graphtide.streams.log.document_position import is_erasure, with_position
from graphtide.streams.log.revisions import number
from graphtide.streams.log.routing import Bindings, Routes, unbound
from graphtide.streams.messages import (
    DOCUMENTS,
    EXTRACTIONS,
    DeadLetter,
    DocumentMessage,
    ExtractionMessage,
    split_document_key,
)
from graphtide.streams.messages.extraction_encoder import ExtractionEncoder
from graphtide.streams.observer import Observer
from graphtide.streams.ports import (
    ConsumedRecord,
    Consumer,
    Ledger,
    Log,
    Position,
    Record,
    RevisionOutcome,
    RevisionState,
)
from graphtide.streams.retry import Backoff
from graphtide.streams.scheduling.fair_queue import Slots
from graphtide.streams.scheduling.precedence import QUESTIONS
from graphtide.streams.tracing import Span, carried_on, continue_trace
from graphtide.streams.usage import BillingContext, paid_by

log = logging.getLogger("graphtide.streams")

STAGE = "extract"


class ExtractStage:
    """The stage. `waiting` holds, by document, the reason why an accepted revision waits; `progress` how far it is."""

    def __init__(
        self,
        log: Log,
        ledger: Ledger,
        models: ExtractionModels,
        observer: Observer,
        settings: ExtractSettings | None = None,
        bindings: Bindings = unbound,
        stored: StoredExtraction = never_stored,
    ) -> None:
        self._log = log
        self._stored = stored
        self._routes = Routes(bindings)
        self._ledger = ledger
        self._models = models
        self._observer = observer
        self._settings = settings or ExtractSettings()
        self._suspects: set[Position] | None = None
        self._spared: dict[Position, int] = {}
        self._assigned: frozenset[int] = frozenset()
        self._cancelled: set[tuple[str, str, Position, int]] = set()
        self._faults: dict[Position, tuple[int, str]] = {}
        self._pauses = BudgetPauses()
        self._paused = PausedDocuments()
        self.waiting: dict[tuple[str, str], str] = {}
        self.progress = ProgressBoard()

    async def run(self, consumer: Consumer | None = None) -> None:
        """Extract until cancelled. The next run reads unfinished records again. The consumer is closed."""
        self.waiting.clear()
        self._paused.clear()
        consumer = consumer or self._log.consumer(DOCUMENTS, STAGE)
        self._assigned = consumer.assigned()
        course = InFlight(Slots(self._settings.concurrency))
        reading: Reading | None = None
        try:
            if self._suspects is None:
                self._suspects = await self._in_flight_at_a_crash()
            while True:
                await self._start_queued(course)
                if reading is None and (room := self._room(course)) > 0:
                    reading = asyncio.create_task(consumer.poll(room, self._settings.poll_s))
                await course.moves(reading)
                await self._settle(consumer, course)
                if reading is not None and reading.done():
                    batch, reading = reading.result(), None
                    if consumer.assigned() != self._assigned:
                        await self._reassign(consumer.assigned(), course)
                    await self._read_batch(batch, course)
        finally:
            self._note_cancelled(course, self._assigned)
            await course.end(reading)
            await consumer.close()

    async def reprocess(self, delivered: ConsumedRecord) -> None:
        """Process a record that was read and lost, beside those of `run`. The attempt is not counted if it ends."""
        [revision] = await self._ledger.register([delivered]) if is_named(delivered) else [None]
        work = InFlightRecord(delivered, revision, asyncio.get_running_loop().create_future())
        await self._record(work, Slots(1), 0.0)
        if revision is not None:
            await self._ledger.uncount_attempt(*split_document_key(delivered.record.key), revision)

    async def release_attempts(self) -> None:
        """Uncount the attempts that were cancelled without failing. Call it when the process shuts down cleanly."""
        while self._cancelled:
            graph, doc_id, position, revision = self._cancelled.pop()
            if self._spared.pop(position, 0):
                await self._ledger.uncount_attempt(graph, doc_id, revision)

    def refusal(self, graph: str, until: Sequence[Position] | None = None) -> BudgetExceeded | None:
        """Return the budget's refusal for which a document of the graph waits, None without such a document.

        With `until`, only revisions up to the position of their partition count. Cost: the paused documents.
        """
        refusal = self._pauses.refusal(graph)
        return refusal if refusal and self._paused.any(graph, until) else None

    async def _reassign(self, assigned: frozenset[int], course: InFlight) -> None:
        """Cancel the records of revoked partitions; suspect the in-flight records of newly assigned ones."""
        lost, gained = self._assigned - assigned, assigned - self._assigned
        self._assigned = assigned
        if lost:
            self._note_cancelled(course, lost)
            await course.revoke(lost)
            await self.release_attempts()
        if gained:
            self._suspects = (self._suspects or set()) | await self._in_flight_at_a_crash()

    def _note_cancelled(self, course: InFlight, partitions: frozenset[int]) -> None:
        every = [*course.running.items(), *course.shelved.items()]
        for work in [work for task, work in every if not task.done()]:
            delivered = work.delivered
            if delivered.position.partition in partitions and work.revision is not None:
                self._cancelled.add((*split_document_key(delivered.record.key), delivered.position, work.revision))

    async def _in_flight_at_a_crash(self) -> set[Position]:
        entries = await self._ledger.unfinished(EVER, self._settings.read_ahead)
        return {entry.position for entry in entries if entry.attempts}

    def _room(self, course: InFlight) -> int:
        """Return how many records may be read now."""
        settings = self._settings
        full = len(course.shelved) >= MAX_PARKED or course.shelved_bytes >= PARKED_BYTES
        if full or course.held_bytes() >= settings.held_bytes:
            return 0
        left = settings.read_ahead - len(course.window) + len(course.shelved)
        return min(left, RECORDS_PER_SLOT * settings.concurrency)

    async def _read_batch(self, batch: Sequence[ConsumedRecord], course: InFlight) -> None:
        """Number the records before any other step: numbers follow the log's order, the graphs' turns do not."""
        named = [delivered for delivered in batch if is_named(delivered)]
        numbers = await self._ledger.register(named) if named else ()
        revisions = {delivered.position: revision for delivered, revision in zip(named, numbers, strict=True)}
        for delivered in batch:
            course.read(delivered, revisions.get(delivered.position))

    async def _start_queued(self, course: InFlight) -> None:
        for delivered in self._next_to_begin(course):
            work = self._start(delivered, course.revisions.pop(delivered.position), course, 0.0)
            course.alone = work.safe if self._is_suspected(delivered) else None

    def _next_to_begin(self, course: InFlight) -> list[ConsumedRecord]:
        """Return the next batch to start. A record suspected of crashing the worker runs alone, and ends the batch."""
        batch: list[ConsumedRecord] = []
        if course.alone is not None and not course.alone.done():
            return batch
        while course.queue and len(course.running) + len(batch) < RECORDS_PER_SLOT * self._settings.concurrency:
            batch.append(course.next(batch))
            if self._is_suspected(batch[-1]):
                break
        return batch

    def _is_suspected(self, delivered: ConsumedRecord) -> bool:
        return self._suspects is not None and delivered.position in self._suspects

    def _start(
        self, delivered: ConsumedRecord, revision: int | None, course: InFlight, wait_s: float
    ) -> InFlightRecord:
        work = InFlightRecord(delivered, revision, asyncio.get_running_loop().create_future(), course)
        task = asyncio.create_task(self._record(work, course.slots, wait_s))
        task.add_done_callback(lambda _: work.mark_safe())
        course.running[task] = work
        return work

    async def _settle(self, consumer: Consumer, course: InFlight) -> None:
        """Commit finished records. A storage failure ends the run; after an unexpected error the record is retried."""
        commits: dict[int, Position] = {}
        for task in [task for task in course.running if task.done()]:
            work = course.running.pop(task)
            delivered = work.delivered
            error = asyncio.CancelledError("cancelled") if task.cancelled() else task.exception()
            if error is None:
                position = course.window.ended(delivered.position)
                if position is not None:
                    commits[position.partition] = position
            elif isinstance(error, GraphtideError):
                raise error
            else:
                self._start(delivered, work.revision, course, self._note_fault(delivered.position, error))
        for position in commits.values():
            # A finished record is not read again: its text is in the extraction or in the dead letter.
            done = Position(position.partition, position.offset + 1)
            await consumer.commit(position)
            await self._log.trim(DOCUMENTS, done)

    def _note_fault(self, position: Position, error: BaseException) -> float:
        """Log an unexpected error. Returns the seconds to wait before the record is retried."""
        log.error(
            "extracting the document at offset %d of partition %d failed; it will be retried",
            position.offset,
            position.partition,
            exc_info=error,
        )
        times = self._faults.get(position, (0, ""))[0] + 1
        self._faults[position] = times, f"{type(error).__name__}: {error}"[:500]
        self._observer.retried(STAGE)
        return Backoff().delay_s(times - 1)

    async def _record(self, work: InFlightRecord, slots: Slots, wait_s: float) -> None:
        await asyncio.sleep(wait_s)
        started = time.monotonic()
        position, record = work.delivered.position, work.delivered.record
        try:
            graph, doc_id = split_document_key(record.key)
        except Rejected as error:
            revision = number(position.offset, position.partition)  # it has none: this one identifies the dead letter
            letter = DeadLetter("", record.key, revision, STAGE, str(error), 1, record.value or b"")
            await write_dead_letter(self._log, letter)
            return
        if is_erasure(record):
            return
        revision = work.numbered()
        attempts = self._spared.pop(position, 0) or await self._ledger.start_attempt(graph, doc_id, revision)
        if not attempts:
            log.info("revision %d of document %r was deleted with graph %r", revision, doc_id, graph)
            return
        try:
            if attempts == 1 or not await self._has_ended(graph, doc_id, position):
                headers = [record.headers]
                with continue_trace(STAGE, headers, graph=graph, doc_id=doc_id, revision=revision) as span:
                    await self._attempt(work, slots, attempts, span)
        except DeletedWithGraphError:
            log.info("revision %d of document %r was deleted with graph %r", revision, doc_id, graph)
        except (GraphtideError, asyncio.CancelledError):
            # The record did not cause it: in this process the same attempt continues, and is not counted again.
            self._spared[position] = attempts
            raise
        finally:
            self.waiting.pop((graph, doc_id), None)
            self._paused.remove(graph, position)
        self._faults.pop(position, None)
        self._observer.worked(STAGE, time.monotonic() - started)

    async def _has_ended(self, graph: str, doc_id: str, position: Position) -> bool:
        """Return True if a revision that was started before has a final state: only its commit was lost."""
        latest = await self._ledger.latest(graph, doc_id)
        return latest is not None and latest.position == position and latest.state is not RevisionState.ACCEPTED

    async def _attempt(self, work: InFlightRecord, slots: Slots, attempts: int, span: Span) -> None:
        record, revision = work.delivered.record, work.numbered()
        graph, doc_id = split_document_key(record.key)
        try:
            if attempts > self._settings.crashes_allowed:
                _, last = self._faults.get(work.delivered.position, (0, "the process died each time"))
                raise Rejected(f"the extraction was started {attempts - 1} times and never finished ({last})")
            with yielding(QUESTIONS.hook(graph) if len(record.value or b"") >= HEAVY_BYTES else None):
                outcome = await self._outcome(graph, doc_id, work, slots)
            headers = with_position(carried_on(without_requests(record.headers)), work.delivered.position)
            appended = Record(graph, outcome.value, headers, await self._routes.of(graph), outcome.message)
            await self._log.append(EXTRACTIONS, [appended])
            log.debug("extracted", extra={"graph": graph, "doc_id": doc_id, "revision": revision})
        except Rejected as error:
            if await self._ledger.latest(graph, doc_id) is None:
                raise DeletedWithGraphError from error
            reason = escape_surrogates(str(error))
            attributes = {"graph": graph, "doc_id": doc_id, "revision": revision}
            log.warning("document rejected; its status gives the reason", extra=attributes)
            letter = DeadLetter(graph, doc_id, revision, STAGE, reason, attempts, record.value or b"")
            await write_dead_letter(self._log, letter)
            await self._ledger.finish([RevisionOutcome(graph, doc_id, revision, RevisionState.FAILED, reason)])
            self._observer.ended(graph, RevisionState.FAILED)
            span.note(state=RevisionState.FAILED.value)

    async def _outcome(self, graph: str, doc_id: str, work: InFlightRecord, slots: Slots) -> EncodedExtraction:
        record, revision, accepted_ms = work.delivered.record, work.numbered(), work.delivered.timestamp_ms
        if record.value is None:
            return deletion(graph, doc_id, revision, accepted_ms)
        document = await decoded(record, record.value, self._settings.decode, self._models.pool)
        if document is None:
            return deletion(graph, doc_id, revision, accepted_ms)
        spared = False
        while True:
            if self._pauses.left_s(graph):
                if not spared:
                    spared = True
                    self._paused.add(graph, work.delivered.position)
                    self._observer.retried(STAGE)
                    work.mark_safe()
                    await self._ledger.uncount_attempt(graph, doc_id, revision)
                work.park()
                await self._pause(graph, doc_id)
            async with slots.one(graph):
                if self._pauses.left_s(graph):  # the previous holder of the slot found the budget used up
                    continue
                work.unpark()
                if spared:
                    spared = False
                    await self._begin_again(graph, doc_id, revision)
                encoder = ExtractionEncoder()
                frame = await self._read(document, work, encoder)
            if frame is not None:
                message = ExtractionMessage(graph, doc_id, revision, None, accepted_ms)
                return await encoded(encoder, message, frame, document.media_type, self._models.pool)

    async def _pause(self, graph: str, doc_id: str) -> None:
        """Wait until the graph's budget may have something left."""
        while (left_s := self._pauses.left_s(graph)) > 0:
            self.waiting[graph, doc_id] = self._pauses.reason(graph)
            await asyncio.sleep(left_s)

    async def _read(
        self, document: DocumentMessage, work: InFlightRecord, sink: ExtractionEncoder
    ) -> DocumentFrame | None:
        """Pass the units to `sink`, return the rest; None: the budget is used up. Waits for an unavailable model."""
        graph, doc_id, revision = document.graph, document.doc_id, work.numbered()
        backoff, attempt = Backoff(), 0
        report = partial(self.progress.note, graph, doc_id, revision)
        while True:
            sink.restart()
            try:
                models, caps = self._models, self._settings.caps
                dimensions = models.embedder.dimensions
                known = await stored_vectors(self._stored, graph, doc_id, dimensions, models.pool)
                with paid_by(BillingContext(graph, doc_id)):
                    return await extract_slices(document, models, caps, sink, known, report)
            except BudgetExceeded as refusal:
                self._pauses.pause(graph, refusal)
                return None
            except Retryable as error:
                self.waiting[graph, doc_id] = str(error)
                self._observer.retried(STAGE)
                wait_s = backoff.wait_s(attempt, error)
            work.mark_safe()
            attempt += 1
            # Waiting is not a failed attempt, even if the process dies meanwhile.
            await self._ledger.uncount_attempt(graph, doc_id, revision)
            await asyncio.sleep(wait_s)
            await self._begin_again(graph, doc_id, revision)

    async def _begin_again(self, graph: str, doc_id: str, revision: int) -> None:
        """Count an attempt after a wait, in which the graph may have been deleted."""
        if not await self._ledger.start_attempt(graph, doc_id, revision):
            raise DeletedWithGraphError
