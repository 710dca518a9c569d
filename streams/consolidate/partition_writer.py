"""The single writer of one partition of `extractions`, and so of the graphs whose records the partition holds.

In this order:
1. claim: raise the partition's epoch in the store and read its watermark; a log that cannot continue there is Broken
2. forward the records of graphs that are bound to other partitions (`streams/consolidate/forwarding.py`)
3. apply the rest of the batch to the write models of its graphs
4. one transaction: watermark, rows, document states, outcomes, notices; an unbound graph is bound to the partition
5. have the followers in this process, if any, apply the deltas

While a heavy record is applied (3), small records of other graphs overtake it in commits of their own, which leave the
watermark where it is. After a crash they are read again, and their revisions are found applied. A record that cannot
be applied in this way waits for its turn.

A failure between 3 and 4 evicts the write models, so memory is ahead of the store for at most one batch. When the
storage did not fail, the batch is retried record by record, and a record that fails alone is dead-lettered with the
cause. A commit with an unknown outcome is resolved by the next claim, which reads the watermark again and fences a late
commit.

A graph whose stored rows cannot be restored, or differ from a build from its documents, is stopped, and none of its
records is dead-lettered: the partition waits at the first of them. `rebuild_stopped` searches the waiting records for a
request to rebuild the graph, so the log alone is enough for the repair.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import aclosing
from dataclasses import dataclass, replace
from functools import partial
from typing import Protocol

from graphtide.graph.records import DocumentChange, GraphDelta
from graphtide.graph.resolution import PairKey
from graphtide.streams.consolidate import verification
from graphtide.streams.consolidate.batches import STAGE, ConsolidationBatch, plan_batch
from graphtide.streams.consolidate.fault_attribution import raise_if_stopped
from graphtide.streams.consolidate.forwarding import Forwarder
from graphtide.streams.consolidate.graph_deletion import GraphEraser
from graphtide.streams.consolidate.maintenance_requests import (
    MaintenanceKind,
    MaintenanceReply,
    MaintenanceRequest,
    is_request,
    parse_request,
)
from graphtide.streams.consolidate.write_models import WriteModel, WriteModels
from graphtide.streams.dead_letters.writer import write_dead_letter
from graphtide.streams.errors import Broken, GraphStopped, GraphtideError, Rejected
from graphtide.streams.follow.freshness import accepted, seconds_since
from graphtide.streams.log.log_scan import read_up_to_end
from graphtide.streams.messages import EXTRACTIONS, ExtractionMessage
from graphtide.streams.observer import Observer
from graphtide.streams.ports import (
    Commit,
    ConsumedRecord,
    GraphCommit,
    GraphDeletion,
    GraphStore,
    Log,
    Overwritten,
    Record,
    RevisionOutcome,
    Watermark,
)
from graphtide.streams.retry import outcome_of
from graphtide.streams.tracing import continue_trace, inject, record_span, span

log = logging.getLogger("graphtide.streams")

LARGE_BYTES = 100_000
"""Size from which extractions are decoded in a thread: decoding takes more than about a millisecond."""

OVERTAKING_BATCH_SIZE = 16
MAX_OVERTAKEN = 1_000
"""Maximum number of applied records after the watermark: a restart reads them again."""

Announce = Callable[[GraphDelta, Sequence[RevisionOutcome]], tuple[Record, ...]]


class LocalFollowers:
    """The followers in this process, and the version of each graph that they have applied."""

    def __init__(self, follow: Callable[[GraphDelta], object] | None, store: GraphStore) -> None:
        self._follow = follow
        self._store = store
        self._versions: dict[str, int] | None = None
        self._lock = asyncio.Lock()

    @property
    def exist(self) -> bool:
        """Return True if this process has followers: queries to it see the versions that they have applied."""
        return self._follow is not None

    async def catch_up(self) -> None:
        """Bring the followers to the stored versions, where an earlier run ended between a commit and its `take`."""
        if self._follow is None:
            return
        async with self._lock:
            stored = await self._store.graphs()
            for graph, version in (self._versions or {}).items():
                if graph not in stored:
                    await self._apply(GraphDelta(graph, version + 1, snapshot=True, deleted=True))
            for graph, version in stored.items():
                if self._versions is not None and self._versions.get(graph, 0) < version:
                    await self._apply(await self._store.snapshot(graph))
            self._versions = dict(stored)

    async def take(self, delta: GraphDelta) -> None:
        """Apply a durable delta. No record causes a failure here: the followers start over from a snapshot."""
        if self._follow is None:
            return
        async with self._lock:
            with span("follow", graph=delta.graph, version=delta.version):
                failure = await outcome_of(self._apply(delta))
            if failure is not None:
                log.error(
                    "graph %s: applying version %d failed; loading a snapshot instead",
                    delta.graph,
                    delta.version,
                    exc_info=failure,
                )
                await self._apply(await self._store.snapshot(delta.graph))
            self._versions = {**(self._versions or {}), delta.graph: delta.version}
            if delta.deleted:
                del self._versions[delta.graph]

    async def _apply(self, delta: GraphDelta) -> None:
        if self._follow is not None:
            await self._follow(delta)  # type: ignore[misc]


@dataclass(frozen=True, slots=True)
class WriterDependencies:
    """The objects that the writers of all partitions of a process share."""

    log: Log
    store: GraphStore
    models: WriteModels
    following: LocalFollowers
    announce: Announce
    observer: Observer
    forwarder: Forwarder
    eraser: GraphEraser
    overwritten: Overwritten | None = None


class Beside(Protocol):
    """The records that may overtake a heavy one."""

    async def next_beside(self, graphs: Collection[str], limit: int) -> Sequence[ConsumedRecord]:
        """Return records of other graphs than these; when cancelled, it has taken none."""
        ...

    def put_back(self, delivered: Sequence[ConsumedRecord]) -> None:
        """Take back records that could not be applied now."""
        ...


class PartitionWriter:
    """The writer of one partition. `writing` is held while a batch is applied: other holders see whole batches only."""

    def __init__(self, partition: int, tools: WriterDependencies) -> None:
        self.partition = partition
        self.writing = asyncio.Lock()
        self.upkeep = ""
        """The running verification or rebuild and its progress; "" without one."""
        self._tools = tools
        self._held = Watermark(0, 0)
        self._overtaken: set[int] = set()
        """Offsets after the watermark whose records are applied."""
        self._scanned = 0
        self._deletions: dict[str, GraphDeletion | None] = {}
        """The last deletion of each graph that this writer has read, None for none. Only this writer adds one."""

    @property
    def next_offset(self) -> int:
        """Return the watermark: the first offset whose record is not applied."""
        return self._held.next_offset

    async def claim(self) -> int:
        """Become the partition's writer. Returns the offset to continue at.

        Raises Broken when log and store have different histories: nothing is reset automatically.
        """
        self.forget()
        self._held = await self._tools.store.claim(self.partition)
        self._overtaken.clear()
        self._deletions.clear()
        await self._check_watermark()
        async with self.writing:
            await self._tools.following.catch_up()
        return self._held.next_offset

    async def _check_watermark(self) -> None:
        held = self._held.next_offset
        end = (await self._tools.log.end(EXTRACTIONS)).get(self.partition, 0)
        if held > end:
            raise Broken(
                f"the graph store has consumed partition {self.partition} of {EXTRACTIONS} up to {held}, but the log"
                f" ends at {end}: the store and the log have different histories; restore both from one backup"
            )
        start = (await self._tools.log.start(EXTRACTIONS)).get(self.partition, 0)
        if held < start:
            raise self._gap(start)

    def _gap(self, offset: int) -> Broken:
        return Broken(
            f"the graph store has consumed partition {self.partition} of {EXTRACTIONS} up to {self._held.next_offset},"
            f" but the log continues at {offset}: the records between are lost; restore the store and the log from one"
            " backup"
        )

    async def batch(self, delivered: Sequence[ConsumedRecord]) -> None:
        """Apply the records that follow the last batch. Raises what the storage raises, and Broken for a gap."""
        if delivered[0].position.offset != self._held.next_offset:
            raise self._gap(delivered[0].position.offset)
        async with self.writing:
            for part in _between_requests(delivered):
                await self._part(part)

    async def heavy(self, delivered: ConsumedRecord, beside: Beside) -> None:
        """Apply the next record, which is no request, and those of `beside` that overtake it. Raises as `batch`."""
        if delivered.position.offset != self._held.next_offset:
            raise self._gap(delivered.position.offset)
        async with self.writing:
            await self._records((delivered,), beside)

    async def _part(self, delivered: Sequence[ConsumedRecord]) -> None:
        try:
            request = parse_request(delivered[0])
        except Rejected as error:
            await self._dead_letter(delivered[0], error)
            return
        if request is None:
            await self._records(delivered)
        elif (bound := await self._tools.forwarder.belongs_to(request.graph, self.partition)) != self.partition:
            await self._forward_request(delivered[0], request.graph, bound)
        else:
            await self._upkeep(request, delivered[0].position.offset + 1)

    async def _forward_request(self, delivered: ConsumedRecord, graph: str, partition: int) -> None:
        try:
            await self._tools.forwarder.send(delivered, graph, partition)
        except Rejected as error:
            await self._dead_letter(delivered, error)
        else:
            await self._commit(ConsolidationBatch(), delivered.position.offset + 1)

    async def _records(self, delivered: Sequence[ConsumedRecord], beside: Beside | None = None) -> None:
        """Apply the records as one batch, or one by one if the batch fails; those of `beside` may overtake them."""
        started, since_ns = time.monotonic(), time.time_ns()
        headers = [consumed.record.headers for consumed in delivered]
        with continue_trace(STAGE, headers, partition=self.partition, records=len(delivered)) as batch:
            outcome = await outcome_of(self._apply_batch(delivered, beside))
            if isinstance(outcome, ConsolidationBatch):
                await self._conclude(outcome, started, since_ns)
                return
            batch.note(failed=type(outcome).__name__)
        self.forget()
        if isinstance(outcome, GraphtideError) and not isinstance(outcome, Rejected | GraphStopped):
            raise outcome  # a storage failure, which no record caused
        if len(delivered) > 1:
            for consumed in delivered:
                await self._records((consumed,))
            return
        if isinstance(outcome, GraphStopped):
            raise outcome
        if not isinstance(outcome, Rejected):
            await raise_if_stopped(self._tools.store, delivered[0], outcome)
        await self._dead_letter(delivered[0], outcome)

    async def _conclude(self, batch: ConsolidationBatch, started: float, since_ns: int) -> None:
        """Have the followers apply a committed batch, and report it."""
        self._committed(batch)
        for part in batch.parts:
            await self._tools.following.take(part.delta)
        self._report(batch, time.monotonic() - started)
        _trace_revisions(batch, since_ns)

    async def _dead_letter(self, delivered: ConsumedRecord, error: Exception) -> None:
        started, batch = time.monotonic(), ConsolidationBatch()
        batch.fail(delivered, error)
        await self._commit(batch, delivered.position.offset + 1)
        self._report(batch, time.monotonic() - started)

    async def _apply_batch(self, delivered: Sequence[ConsumedRecord], beside: Beside | None) -> ConsolidationBatch:
        batch = await self._plan(delivered)
        await self._tools.forwarder.forward(batch, self.partition)
        if beside is None:
            await self._apply_graphs(batch)
        else:
            applying = asyncio.create_task(self._apply_graphs(batch))
            try:
                await self._overtake(applying, set(batch.newest), beside)
                await applying
            finally:
                applying.cancel()
                await asyncio.gather(applying, return_exceptions=True)
        await self._commit(batch, delivered[-1].position.offset + 1)
        return batch

    async def _plan(self, delivered: Sequence[ConsumedRecord]) -> ConsolidationBatch:
        """Return the planned batch, without the revisions that deletions of their graphs cover."""
        batch = await _plan(delivered)
        unread = [graph for graph in batch.newest if graph not in self._deletions]
        if unread:
            self._deletions.update(dict.fromkeys(unread))
            self._deletions.update(await self._tools.store.deletions(unread))
        for graph in list(batch.newest):
            if (deletion := self._deletions[graph]) is not None:
                batch.leave_out(deletion)
                await self._finish_erasure(deletion)
        return batch

    async def _finish_erasure(self, deletion: GraphDeletion) -> None:
        graph = deletion.graph
        if not deletion.erased:
            await self._tools.eraser.erase(graph, self.partition, self._held, lambda _: None)
            self._deletions[graph] = replace(deletion, erased=True)

    async def _apply_graphs(self, batch: ConsolidationBatch) -> None:
        """Apply the batch to the write models of its graphs."""
        for graph, messages in sorted(batch.newest.items()):
            part = await self._graph(graph, messages, batch)
            if part is not None:
                batch.parts.append(part)

    async def _overtake(self, applying: asyncio.Task[None], graphs: set[str], beside: Beside) -> None:
        """Apply records of other graphs until `applying` is done or a record has to wait. Raises a storage failure."""
        while not applying.done() and len(self._overtaken) < MAX_OVERTAKEN:
            waiting = asyncio.create_task(beside.next_beside(graphs, OVERTAKING_BATCH_SIZE))
            try:
                await asyncio.wait({applying, waiting}, return_when=asyncio.FIRST_COMPLETED)
            finally:
                waiting.cancel()
            delivered = (await asyncio.gather(waiting, return_exceptions=True))[0]
            if isinstance(delivered, BaseException):
                return
            if not await self._applied_beside(delivered, graphs):
                beside.put_back(delivered)
                return

    async def _applied_beside(self, delivered: Sequence[ConsumedRecord], graphs: set[str]) -> bool:
        """Apply and commit the records, and leave the watermark. Returns False, without a trace, if one has to wait."""
        started, since_ns = time.monotonic(), time.time_ns()
        batch = await self._plan(delivered)
        if batch.letters or not graphs.isdisjoint(batch.newest):
            return False
        for graph in batch.newest:
            if await self._tools.forwarder.belongs_to(graph, self.partition) != self.partition:
                return False
        headers = [consumed.record.headers for consumed in delivered]
        with continue_trace(STAGE, headers, partition=self.partition, records=len(delivered)):
            outcome = await outcome_of(self._commit_beside(batch))
            if isinstance(outcome, Exception):
                for graph in batch.newest:
                    self._tools.models.forget(graph)
                if isinstance(outcome, GraphtideError) and not isinstance(outcome, Rejected | GraphStopped):
                    raise outcome
                return False
            self._overtaken.update(consumed.position.offset for consumed in delivered)
            await self._conclude(batch, started, since_ns)
        return True

    async def _commit_beside(self, batch: ConsolidationBatch) -> None:
        await self._apply_graphs(batch)
        await self._commit(batch, self._held.next_offset)

    async def _commit(self, batch: ConsolidationBatch, next_offset: int, replies: tuple[Record, ...] = ()) -> None:
        for letter in batch.letters:
            await write_dead_letter(self._tools.log, letter)
        while next_offset in self._overtaken:
            next_offset += 1
        times = batch.accepted_ms()
        parts, outcomes = tuple(batch.parts), tuple(batch.outcomes)
        notices = tuple(record for part in parts for record in self._announced(part.delta, outcomes, times)) + replies
        more = self._tools.overwritten
        await self._tools.store.commit(Commit(self.partition, self._held, next_offset, parts, outcomes, notices, more))
        self._held = Watermark(self._held.epoch, next_offset)
        self._overtaken = {offset for offset in self._overtaken if offset > next_offset}

    def _announced(
        self, delta: GraphDelta, outcomes: Sequence[RevisionOutcome], times: Mapping[str, Sequence[int]]
    ) -> tuple[Record, ...]:
        notice, *parts = self._tools.announce(delta, outcomes)
        headers = (*notice.headers, *inject(), *accepted(times.get(delta.graph, ())))
        return (replace(notice, headers=headers), *parts)

    async def _graph(
        self, graph: str, messages: Mapping[str, ExtractionMessage], batch: ConsolidationBatch
    ) -> GraphCommit | None:
        """Apply one graph's part of the batch to its write model. Returns None when it changes nothing."""
        held = await self._tools.store.standings(graph, list(messages))
        large = sum(len(document.extraction or b"") for document in held.values()) > LARGE_BYTES
        step = partial(batch.step, graph, messages, held)
        changes, documents = await asyncio.to_thread(step) if large else step()
        if not documents:
            return None
        model = await self._tools.models.of(graph, self.partition)
        await self._check_dimensions(graph, model, changes)
        before = model.writer.effort()
        delta = await asyncio.to_thread(model.writer.apply, changes)
        batch.efforts[graph] = model.writer.effort().since(before)
        return GraphCommit(delta, documents)

    async def _check_dimensions(self, graph: str, model: WriteModel, changes: Sequence[DocumentChange]) -> None:
        """Raise Rejected for vectors of another length than the graph's: they can be neither compared nor indexed."""
        for change in changes:
            for unit in change.new.units if change.new else ():
                held = model.dimensions
                if held and unit.vector.size != held and await self._holds_any(graph):
                    raise Rejected(
                        f"the document's vectors have {unit.vector.size} dimensions and those of graph {graph!r}"
                        f" have {held}: they come from two embedding models; use one model per graph"
                    )
                model.dimensions = unit.vector.size

    async def _holds_any(self, graph: str) -> bool:
        async for _ in self._tools.store.extractions(graph):
            return True
        return False

    async def publish(self, part: GraphCommit) -> None:
        """Commit a change that no record caused, and have the followers apply it. Call while holding `writing`."""
        try:
            await self._commit(ConsolidationBatch(parts=[part]), self._held.next_offset)
        except BaseException:
            self.forget()
            raise
        await self._tools.following.take(part.delta)

    async def decide(self, model: WriteModel, pair: PairKey, same: bool) -> bool:
        """Apply a judge's verdict. Returns False when a label or the model no longer exists.

        Call while holding `writing`.
        """
        graph = model.writer.graph
        if self._tools.models.peek(graph) is not model:
            return False
        delta = await asyncio.to_thread(model.writer.decide, pair, same)
        if delta is not None:
            await self.publish(GraphCommit(delta, {}, {pair: same}))
        return delta is not None

    # -- maintenance ---------------------------------------------------------------------------------------------------

    async def _upkeep(self, request: MaintenanceRequest, next_offset: int) -> None:
        """Serve a request between two batches, in one commit with the reply. A failed request is answered, too."""
        self._report_progress(request, "started")
        try:
            if request.kind is MaintenanceKind.DELETE:
                await self._delete(request, next_offset)
            else:
                await self._serve(request, next_offset)
        finally:
            self.upkeep = ""

    def _report_progress(self, request: MaintenanceRequest, progress: str) -> None:
        """Publish the progress in `upkeep`, which health reports show, and in the log."""
        self.upkeep = f"{request.kind} of graph {request.graph}: {progress}"
        log.info("%s", self.upkeep)

    async def _delete(self, request: MaintenanceRequest, next_offset: int) -> None:
        """Delete the graph: see graph_deletion.py for the steps. Storage failures end the batch, and are retried."""
        graph, eraser = request.graph, self._tools.eraser
        part = await eraser.plan(request)
        if part is not None:  # 1.
            await self._commit(ConsolidationBatch(parts=[part]), self._held.next_offset)
            self._deletions.pop(graph, None)
            self._tools.models.forget(graph)
            await self._tools.following.take(part.delta)
        await eraser.leave_marks(request)  # 2. and 3.
        progress = partial(self._report_progress, request)
        erased = await eraser.erase(graph, self.partition, self._held, progress)  # 4.
        self._deletions.pop(graph, None)
        reply = MaintenanceReply(graph, request.kind, request.id, checked={"erased": erased})
        await self._commit(ConsolidationBatch(), next_offset, (reply.record(),))  # 5.
        log.info("graph %s is deleted, with %d rows", graph, erased, extra={"graph": graph})

    async def _serve(self, request: MaintenanceRequest, next_offset: int) -> None:
        outcome = await outcome_of(self._served(request))
        if isinstance(outcome, GraphtideError) and not isinstance(outcome, Rejected | GraphStopped):
            raise outcome
        if isinstance(outcome, Exception):
            log.error("%s of graph %s failed", request.kind, request.graph, exc_info=outcome)
            reason = f"{type(outcome).__name__}: {outcome}"[:500]
            outcome = MaintenanceReply(request.graph, request.kind, request.id, failure=reason), None
        reply, delta = outcome
        batch = ConsolidationBatch(parts=[] if delta is None else [GraphCommit(delta, {})])
        if delta is not None:
            self._report_progress(request, f"writing {len(delta.documents):,} documents and their rows")
        await self._commit(batch, next_offset, (reply.record(),))
        if delta is not None:
            self._tools.models.forget(request.graph)  # the next batch restores it from the new rows
            await self._tools.following.take(delta)

    async def _served(self, request: MaintenanceRequest) -> tuple[MaintenanceReply, GraphDelta | None]:
        store, graph = self._tools.store, request.graph
        version, on_progress = (await store.graphs()).get(graph, 0), partial(self._report_progress, request)
        if not version:
            return MaintenanceReply(
                graph, request.kind, request.id, failure=f"graph {graph!r} has no applied document yet"
            ), None
        if request.kind is MaintenanceKind.VERIFY:
            model = self._tools.models.peek(graph)
            found = await verification.recount_stored(store, graph, model.writer if model else None, on_progress)
            return MaintenanceReply(graph, request.kind, request.id, *found), None
        fresh = await verification.build(store, graph, version + 1, on_progress)
        before, after = await verification.stored_digest(store, graph), *await verification.digests(fresh)
        return MaintenanceReply(graph, request.kind, request.id, fresh.version, before, after), fresh

    async def rebuild_stopped(self, graph: str) -> bool:
        """Serve a request to rebuild or delete a stopped graph that waits after the watermark. Returns False without
        one.

        The watermark does not advance: when the request is reached in order, it is served again, which gives the same
        graph. Call after `claim`, before any batch. Cost: the waiting records that were not scanned before.
        """
        ends = await self._tools.log.end(EXTRACTIONS)
        first = max(self._held.next_offset, self._scanned)
        async with aclosing(read_up_to_end(self._tools.log, EXTRACTIONS, {**ends, self.partition: first})) as waiting:
            async for delivered in waiting:
                self._scanned = delivered.position.offset + 1
                if (request := _repairing(delivered, graph)) is not None:
                    async with self.writing:
                        await self._upkeep(request, self._held.next_offset)
                    return True
        return False

    def forget(self) -> None:
        """Evict the write models of this partition's graphs."""
        self._tools.models.forget_partition(self.partition)

    def _committed(self, batch: ConsolidationBatch) -> None:
        for graph, times in batch.accepted_ms().items():
            for accepted_ms in times:
                self._tools.observer.committed(graph, seconds_since(accepted_ms))

    def _report(self, batch: ConsolidationBatch, seconds: float) -> None:
        observer = self._tools.observer
        observer.worked(STAGE, seconds)
        for part in batch.parts:
            observer.changed(part.delta)
        for graph, effort in batch.efforts.items():
            observer.laboured(graph, effort)
        for outcome in batch.outcomes:
            observer.ended(outcome.graph, outcome.state)
        if self._tools.following.exist:
            for graph, times in batch.accepted_ms().items():
                for accepted_ms in times:
                    observer.queryable(graph, seconds_since(accepted_ms))


async def _plan(delivered: Sequence[ConsumedRecord]) -> ConsolidationBatch:
    """Return the planned batch; large records are decoded in a thread."""
    large = sum(len(consumed.record.value or b"") for consumed in delivered) > LARGE_BYTES
    return await asyncio.to_thread(plan_batch, delivered) if large else plan_batch(delivered)


def _trace_revisions(batch: ConsolidationBatch, since_ns: int) -> None:
    """Add a span to the trace of each revision's document: the span of the batch itself is in one trace only."""
    ours = inject()
    for outcome in batch.outcomes if ours else ():
        parents = [batch.carried.get((outcome.graph, outcome.doc_id, outcome.revision), ()), ours]
        attributes = {"graph": outcome.graph, "doc_id": outcome.doc_id, "state": outcome.state.value}
        record_span("apply", parents, since_ns, revision=outcome.revision, **attributes)


def _between_requests(delivered: Sequence[ConsumedRecord]) -> list[Sequence[ConsumedRecord]]:
    """Return the records in runs; every maintenance request, well-formed or not, is a run of its own."""
    runs: list[list[ConsumedRecord]] = []
    after_request = True
    for consumed in delivered:
        request = is_request(consumed)
        if request or after_request:
            runs.append([])
        runs[-1].append(consumed)
        after_request = request
    return list(runs)


def _repairing(delivered: ConsumedRecord, graph: str) -> MaintenanceRequest | None:
    """Return the request in the record if it rebuilds or deletes the graph."""
    try:
        request = parse_request(delivered)
    except Rejected:
        return None
    repairs = (MaintenanceKind.REBUILD, MaintenanceKind.DELETE)
    return request if request is not None and request.graph == graph and request.kind in repairs else None
