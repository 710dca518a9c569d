"""The single writer of one partition of `extractions`, and so of the graphs whose records it holds.

In this order:
1. claim: raise the partition's epoch in the store and take its watermark; what the log cannot continue is Broken
2. forward the records of graphs that are bound to other partitions (`streams/consolidate/forwarding.py`)
3. apply the rest of the batch to the write models of its graphs
4. one transaction: watermark, rows, standings, outcomes, notices; a graph without a binding is bound to the partition
5. let the followers in this process, if any, apply the deltas

A failure between 3 and 4 forgets the write models: memory never runs ahead of the store for longer than a batch. When
it is not the storage that failed, the batch is tried again record by record, and the record that fails alone is
dead-lettered with the cause. A commit whose outcome is unknown is settled by the next claim, which re-reads the
watermark and makes a late one impossible.

A graph whose stored rows cannot be restored, or differ from what its documents say, is stopped, and no record of it is
dead-lettered: the partition waits at the first of them. `rebuild_stopped` finds a request to rebuild the graph behind
it, so that the cure needs no other way than the log.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import aclosing
from dataclasses import dataclass, replace
from functools import partial

from graphtide.graph.records import DocumentChange, GraphDelta
from graphtide.graph.resolution import PairKey
from graphtide.streams.consolidate import verification as recounting
from graphtide.streams.consolidate.batches import STAGE, ConsolidationBatch, plan_batch
from graphtide.streams.consolidate.fault_attribution import raise_if_stopped
from graphtide.streams.consolidate.forwarding import Forwarder
from graphtide.streams.consolidate.maintenance_requests import (
    REQUEST,
    MaintenanceKind,
    MaintenanceReply,
    MaintenanceRequest,
    parse_request,
)
from graphtide.streams.consolidate.write_models import WriteModel, WriteModels
from graphtide.streams.dead_letters.writer import write_dead_letter
from graphtide.streams.errors import Broken, GraphStopped, GraphtideError, Rejected
from graphtide.streams.follow.freshness import accepted, seconds_since
from graphtide.streams.log_scan import read_up_to_end
from graphtide.streams.messages import EXTRACTIONS, ExtractionMessage
from graphtide.streams.observer import Observer
from graphtide.streams.ports import Commit, ConsumedRecord, GraphCommit, GraphStore, Log, Record, Watermark
from graphtide.streams.retry import outcome_of
from graphtide.streams.tracing import continue_trace, inject, span, told

log = logging.getLogger("graphtide.streams")

LARGE_BYTES = 100_000
"""Extractions that take more than about a millisecond to decode: they are decoded in a thread."""

Announce = Callable[[GraphDelta], tuple[Record, ...]]


class LocalFollowers:
    """The followers in this process, and which version of each graph they were brought to."""

    def __init__(self, follow: Callable[[GraphDelta], object] | None, store: GraphStore) -> None:
        self._follow = follow
        self._store = store
        self._versions: dict[str, int] | None = None
        self._turn = asyncio.Lock()

    @property
    def anybody(self) -> bool:
        """Whether this process has followers: what they were brought to is what questions to it see."""
        return self._follow is not None

    async def catch_up(self) -> None:
        """Bring them to what the store has, where an earlier run ended between a commit and its `take`."""
        if self._follow is None:
            return
        async with self._turn:
            stands = await self._store.graphs()
            for graph, version in stands.items():
                if self._versions is not None and self._versions.get(graph, 0) < version:
                    await self._to(await self._store.snapshot(graph))
            self._versions = {**(self._versions or {}), **stands}

    async def take(self, delta: GraphDelta) -> None:
        """The delta is durable, so no failure here is a record's: the followers start over from a snapshot."""
        if self._follow is None:
            return
        async with self._turn:
            with span("follow", graph=delta.graph, version=delta.version):
                failure = await outcome_of(self._to(delta))
            if failure is not None:
                log.error("graph %s: version %d is taken from a snapshot", delta.graph, delta.version, exc_info=failure)
                await self._to(await self._store.snapshot(delta.graph))
            self._versions = {**(self._versions or {}), delta.graph: delta.version}

    async def _to(self, delta: GraphDelta) -> None:
        if self._follow is not None:
            await self._follow(delta)  # type: ignore[misc]


@dataclass(frozen=True, slots=True)
class WriterDependencies:
    """What the writers of all partitions of a process share."""

    log: Log
    store: GraphStore
    models: WriteModels
    following: LocalFollowers
    announce: Announce
    observer: Observer
    forwarder: Forwarder


class PartitionWriter:
    """See the module. `writing` is held while a batch is applied: whoever else holds it sees none half done."""

    def __init__(self, partition: int, tools: WriterDependencies) -> None:
        self.partition = partition
        self.writing = asyncio.Lock()
        self.upkeep = ""
        """What it recounts or rebuilds now, and how far it is; "" otherwise."""
        self._tools = tools
        self._held = Watermark(0, 0)
        self._scanned = 0

    async def claim(self) -> int:
        """Become the partition's writer; returns the offset to go on at.

        Raises Broken when log and store are not of one history: nothing resets by itself.
        """
        self.forget()
        self._held = await self._tools.store.claim(self.partition)
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
                f" ends at {end}: the store and the log are not of one history; restore both from one backup"
            )
        start = (await self._tools.log.start(EXTRACTIONS)).get(self.partition, 0)
        if held < start:
            raise self._gap(start)

    def _gap(self, offset: int) -> Broken:
        return Broken(
            f"the graph store has consumed partition {self.partition} of {EXTRACTIONS} up to {self._held.next_offset},"
            f" but the log goes on at {offset}: what is between is lost; restore the store and the log from one backup"
        )

    async def batch(self, delivered: Sequence[ConsumedRecord]) -> None:
        """Apply the records, which go on where the last batch ended. Raises what the storage raises, and Broken."""
        if delivered[0].position.offset != self._held.next_offset:
            raise self._gap(delivered[0].position.offset)
        async with self.writing:
            for part in _between_requests(delivered):
                await self._part(part)

    async def _part(self, delivered: Sequence[ConsumedRecord]) -> None:
        try:
            request = parse_request(delivered[0])
        except Rejected as error:
            await self._bury(delivered[0], error)
            return
        if request is None:
            await self._records(delivered)
        elif (bound := await self._tools.forwarder.belongs_to(request.graph, self.partition)) != self.partition:
            await self._forward_request(delivered[0], request.graph, bound)
        else:
            await self._upkeep(request, delivered[0].position.offset + 1)

    async def _forward_request(self, one: ConsumedRecord, graph: str, partition: int) -> None:
        try:
            await self._tools.forwarder.send(one, graph, partition)
        except Rejected as error:
            await self._bury(one, error)
        else:
            await self._commit(ConsolidationBatch(), one.position.offset + 1)

    async def _records(self, delivered: Sequence[ConsumedRecord]) -> None:
        """All at once if that goes, else one by one."""
        started, since_ns = time.monotonic(), time.time_ns()
        behind = [one.record.headers for one in delivered]
        with continue_trace(STAGE, behind, partition=self.partition, records=len(delivered)) as batch:
            outcome = await outcome_of(self._together(delivered))
            if isinstance(outcome, ConsolidationBatch):
                self._committed(outcome)
                for part in outcome.parts:
                    await self._tools.following.take(part.delta)
                self._report(outcome, time.monotonic() - started)
                _tell(outcome, since_ns)
                return
            batch.note(failed=type(outcome).__name__)
        self.forget()
        if isinstance(outcome, GraphtideError) and not isinstance(outcome, Rejected | GraphStopped):
            raise outcome  # of the storage: no record is to blame
        if len(delivered) > 1:
            for one in delivered:
                await self._records((one,))
            return
        if isinstance(outcome, GraphStopped):
            raise outcome
        if not isinstance(outcome, Rejected):
            await raise_if_stopped(self._tools.store, delivered[0], outcome)
        await self._bury(delivered[0], outcome)

    async def _bury(self, one: ConsumedRecord, error: Exception) -> None:
        started, batch = time.monotonic(), ConsolidationBatch()
        batch.fail(one, error)
        await self._commit(batch, one.position.offset + 1)
        self._report(batch, time.monotonic() - started)

    async def _together(self, delivered: Sequence[ConsumedRecord]) -> ConsolidationBatch:
        large = sum(len(one.record.value or b"") for one in delivered) > LARGE_BYTES
        batch = await asyncio.to_thread(plan_batch, delivered) if large else plan_batch(delivered)
        await self._tools.forwarder.forward(batch, self.partition)
        for graph, messages in sorted(batch.newest.items()):
            part = await self._graph(graph, messages, batch)
            if part is not None:
                batch.parts.append(part)
        await self._commit(batch, delivered[-1].position.offset + 1)
        return batch

    async def _commit(self, batch: ConsolidationBatch, next_offset: int, replies: tuple[Record, ...] = ()) -> None:
        for letter in batch.letters:
            await write_dead_letter(self._tools.log, letter)
        times = batch.accepted_ms()
        notices = tuple(record for part in batch.parts for record in self._announced(part.delta, times)) + replies
        parts, outcomes = tuple(batch.parts), tuple(batch.outcomes)
        await self._tools.store.commit(Commit(self.partition, self._held, next_offset, parts, outcomes, notices))
        self._held = Watermark(self._held.epoch, next_offset)

    def _announced(self, delta: GraphDelta, times: Mapping[str, Sequence[int]]) -> tuple[Record, ...]:
        notice, *parts = self._tools.announce(delta)
        headers = (*notice.headers, *inject(), *accepted(times.get(delta.graph, ())))
        return (replace(notice, headers=headers), *parts)

    async def _graph(
        self, graph: str, messages: Mapping[str, ExtractionMessage], batch: ConsolidationBatch
    ) -> GraphCommit | None:
        """Apply one graph's part of the batch to its write model; None when nothing of it is new."""
        held = await self._tools.store.standings(graph, list(messages))
        large = sum(len(one.extraction or b"") for one in held.values()) > LARGE_BYTES
        step = partial(batch.step, graph, messages, held)
        changes, standings = await asyncio.to_thread(step) if large else step()
        if not standings:
            return None
        model = await self._tools.models.of(graph, self.partition)
        await self._check_dimensions(graph, model, changes)
        before = model.writer.effort()
        delta = await asyncio.to_thread(model.writer.apply, changes)
        batch.efforts[graph] = model.writer.effort().since(before)
        return GraphCommit(delta, standings)

    async def _check_dimensions(self, graph: str, model: WriteModel, changes: Sequence[DocumentChange]) -> None:
        """Raise Rejected for vectors of another length than the graph's: they cannot be compared, nor indexed."""
        for change in changes:
            for unit in change.new.units if change.new else ():
                held = model.dimensions
                if held and unit.vector.size != held and await self._holds_any(graph):
                    raise Rejected(
                        f"its vectors have {unit.vector.size} dimensions, and those of graph {graph!r} have {held}:"
                        " they are of two embedding models"
                    )
                model.dimensions = unit.vector.size

    async def _holds_any(self, graph: str) -> bool:
        async for _ in self._tools.store.extractions(graph):
            return True
        return False

    async def publish(self, part: GraphCommit) -> None:
        """Commit and let follow what no record of the log brought about. Call while holding `writing`."""
        try:
            await self._commit(ConsolidationBatch(parts=[part]), self._held.next_offset)
        except BaseException:
            self.forget()
            raise
        await self._tools.following.take(part.delta)

    async def decide(self, model: WriteModel, pair: PairKey, same: bool) -> bool:
        """Take a judge's verdict; False when one of the labels, or the model, is gone by now. Likewise."""
        graph = model.writer.graph
        if self._tools.models.peek(graph) is not model:
            return False
        delta = await asyncio.to_thread(model.writer.decide, pair, same)
        if delta is not None:
            await self.publish(GraphCommit(delta, {}, {pair: same}))
        return delta is not None

    # -- upkeep --------------------------------------------------------------------------------------------------------

    async def _upkeep(self, request: MaintenanceRequest, next_offset: int) -> None:
        """Serve a request between two batches, in one commit with the reply. Its own failure is an answer, too."""
        self._say(request, "begun")
        try:
            await self._serve(request, next_offset)
        finally:
            self.upkeep = ""

    def _say(self, request: MaintenanceRequest, how_far: str) -> None:
        """For whoever looks at this process, and for its log."""
        self.upkeep = f"{request.kind} of graph {request.graph}: {how_far}"
        log.info("%s", self.upkeep)

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
            self._say(request, f"writing {len(delta.documents):,} documents and what they make")
        await self._commit(batch, next_offset, (reply.record(),))
        if delta is not None:
            self._tools.models.forget(request.graph)  # the next batch restores it from the rows that stand now
            await self._tools.following.take(delta)

    async def _served(self, request: MaintenanceRequest) -> tuple[MaintenanceReply, GraphDelta | None]:
        store, graph = self._tools.store, request.graph
        stands, told = (await store.graphs()).get(graph, 0), partial(self._say, request)
        if not stands:
            return MaintenanceReply(
                graph, request.kind, request.id, failure=f"graph {graph!r} has no document applied yet"
            ), None
        if request.kind is MaintenanceKind.VERIFY:
            model = self._tools.models.peek(graph)
            found = await recounting.recount_stored(store, graph, model.writer if model else None, told)
            return MaintenanceReply(graph, request.kind, request.id, *found), None
        fresh = await recounting.build(store, graph, stands + 1, told)
        before, after = await recounting.stored_digest(store, graph), *await recounting.digests(fresh)
        return MaintenanceReply(graph, request.kind, request.id, fresh.version, before, after), fresh

    async def rebuild_stopped(self, graph: str) -> bool:
        """Serve a request to rebuild a stopped graph that waits behind the watermark; False when there is none.

        The watermark stays: in its turn the request is served again, which gives the same graph. Call after `claim`,
        before any batch. Cost: the records that wait and were not looked at before.
        """
        ends = await self._tools.log.end(EXTRACTIONS)
        first = max(self._held.next_offset, self._scanned)
        async with aclosing(read_up_to_end(self._tools.log, EXTRACTIONS, {**ends, self.partition: first})) as waiting:
            async for one in waiting:
                self._scanned = one.position.offset + 1
                if _asks_to_rebuild(one, graph):
                    async with self.writing:
                        await self._upkeep(
                            MaintenanceRequest(graph, MaintenanceKind.REBUILD, _id(one)), self._held.next_offset
                        )
                    return True
        return False

    def forget(self) -> None:
        """Drop the write models of this partition's graphs."""
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
        if self._tools.following.anybody:
            for graph, times in batch.accepted_ms().items():
                for accepted_ms in times:
                    observer.queryable(graph, seconds_since(accepted_ms))


def _tell(batch: ConsolidationBatch, since_ns: int) -> None:
    """The part that each revision had in the batch, in the trace of its document: the batch is in that of one only."""
    ours = inject()
    for one in batch.outcomes if ours else ():
        behind = [batch.carried.get((one.graph, one.doc_id, one.revision), ()), ours]
        about = {"graph": one.graph, "doc_id": one.doc_id, "state": one.state.value}
        told("apply", behind, since_ns, revision=one.revision, **about)


def _between_requests(delivered: Sequence[ConsumedRecord]) -> list[Sequence[ConsumedRecord]]:
    """The records in runs, every request for upkeep, well-formed or not, a run of its own."""
    runs: list[list[ConsumedRecord]] = []
    alone = True
    for one in delivered:
        asked = is_request(one)
        if asked or alone:
            runs.append([])
        runs[-1].append(one)
        alone = asked
    return list(runs)


def _asks_to_rebuild(one: ConsumedRecord, graph: str) -> bool:
    try:
        request = parse_request(one)
    except Rejected:
        return False
    return request is not None and (request.graph, request.kind) == (graph, MaintenanceKind.REBUILD)


def _id(one: ConsumedRecord) -> str:
    return dict(one.record.headers)[REQUEST].decode(errors="replace")


def is_request(one: ConsumedRecord) -> bool:
    """Whether the record says that it asks for upkeep."""
    return any(name == REQUEST for name, _ in one.record.headers)
