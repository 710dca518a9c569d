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
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import aclosing
from functools import partial

from graphtide.graph.algorithms.in_parts import free_in_parts
from graphtide.graph.algorithms.yield_points import yielding
from graphtide.graph.records import GraphDelta
from graphtide.graph.resolution import PairKey, Verdict
from graphtide.streams.consolidate.batches import STAGE, ConsolidationBatch
from graphtide.streams.consolidate.fault_attribution import raise_if_stopped
from graphtide.streams.consolidate.maintenance_requests import (
    is_request,
    parse_request,
)
from graphtide.streams.consolidate.partition_buffer import size_of
from graphtide.streams.consolidate.partitions.application import BatchPlanner, GraphApplier
from graphtide.streams.consolidate.partitions.dependencies import Beside, WriterDependencies
from graphtide.streams.consolidate.partitions.maintenance import MaintenanceServer, repairing
from graphtide.streams.consolidate.partitions.reporting import report, report_commit, trace_revisions
from graphtide.streams.consolidate.partitions.watermark import PartitionWatermark
from graphtide.streams.consolidate.write_models import WriteModel
from graphtide.streams.errors import GraphStopped, GraphtideError, Rejected
from graphtide.streams.free_memory import return_free_memory
from graphtide.streams.log.log_scan import read_again, read_up_to_end
from graphtide.streams.messages import EXTRACTIONS
from graphtide.streams.ports import (
    ConsumedRecord,
    GraphCommit,
)
from graphtide.streams.retry import outcome_of
from graphtide.streams.scheduling.precedence import QUESTIONS
from graphtide.streams.tracing import continue_trace

OVERTAKING_BATCH_SIZE = 16
YIELDING_BYTES = 512 << 10
"""Size of a record from which its application waits for questions to other graphs: 50 ms of work."""
FREED_ROWS = 10_000
"""Rows of deltas that are freed in a thread: at once they would stop the event loop for some milliseconds."""
RELEASING_BYTES = 16 << 20
"""Size of a record whose application leaves some 50 MB of free memory, which is returned to the system."""


class PartitionWriter:
    """The writer of one partition. `writing` is held while a batch is applied: other holders see whole batches only."""

    def __init__(self, partition: int, dependencies: WriterDependencies) -> None:
        self.partition = partition
        self.writing = asyncio.Lock()
        self._dependencies = dependencies
        self._watermark = PartitionWatermark(partition, dependencies)
        self._planner = BatchPlanner(partition, dependencies)
        self._graphs = GraphApplier(partition, dependencies)
        self._maintenance = MaintenanceServer(partition, dependencies, self._watermark, self._planner)
        self._scanned = 0

    @property
    def maintenance(self) -> str:
        """Return the running verification or rebuild and its progress; "" without one."""
        return self._maintenance.progress

    @property
    def next_offset(self) -> int:
        """Return the watermark: the first offset whose record is not applied."""
        return self._watermark.next_offset

    async def claim(self) -> int:
        """Become the partition's writer. Returns the offset to continue at.

        Raises Broken when log and store have different histories: nothing is reset automatically.
        """
        self.forget()
        self._planner.forget_all()
        await self._watermark.claim()
        async with self.writing:
            await self._dependencies.following.catch_up()
        return self._watermark.next_offset

    async def read_again(self, first: int, after: int) -> Sequence[ConsumedRecord]:
        """Return the records from an offset to before another. Raises Retryable if they do not arrive."""
        return await read_again(self._dependencies.log, EXTRACTIONS, self.partition, first, after)

    async def batch(self, delivered: Sequence[ConsumedRecord]) -> None:
        """Apply the records that follow the last batch. Raises what the storage raises.

        For a missing record it raises Retryable, and Broken when that is missing again.
        """
        self._watermark.check_next(delivered[0])
        async with self.writing:
            for part in _between_requests(delivered):
                await self._part(part)

    async def heavy(self, delivered: list[ConsumedRecord], beside: Beside) -> None:
        """Apply the next record, which is no request, and those of `beside` that overtake it. Raises as `batch`.

        `delivered` has this one record, and is empty once that is committed: nothing reads it then.
        """
        self._watermark.check_next(delivered[0])
        async with self.writing:
            size, graph = size_of(delivered[0]), delivered[0].record.key
            with yielding(QUESTIONS.hook(graph) if size >= YIELDING_BYTES else None):
                await self._records(delivered, beside)
        if size >= RELEASING_BYTES:
            await asyncio.to_thread(return_free_memory)

    async def _part(self, delivered: list[ConsumedRecord]) -> None:
        try:
            request = parse_request(delivered[0])
        except Rejected as error:
            await self._dead_letter(delivered[0], error)
            return
        if request is None:
            await self._records(delivered)
        elif (bound := await self._dependencies.forwarder.belongs_to(request.graph, self.partition)) != self.partition:
            await self._forward_request(delivered[0], request.graph, bound)
        else:
            await self._maintenance.serve(request, delivered[0].position.offset + 1)

    async def _forward_request(self, delivered: ConsumedRecord, graph: str, partition: int) -> None:
        try:
            await self._dependencies.forwarder.send(delivered, graph, partition)
        except Rejected as error:
            await self._dead_letter(delivered, error)
        else:
            await self._watermark.commit(ConsolidationBatch(), delivered.position.offset + 1)

    async def _records(self, delivered: list[ConsumedRecord], beside: Beside | None = None) -> None:
        """Apply the records as one batch, or one by one if the batch fails; those of `beside` may overtake them.

        Empties the list when the batch is committed.
        """
        started, since_ns = time.monotonic(), time.time_ns()
        headers = [consumed.record.headers for consumed in delivered]
        with continue_trace(STAGE, headers, partition=self.partition, records=len(delivered)) as batch:
            outcome = await outcome_of(self._apply_batch(delivered, beside))
            if isinstance(outcome, ConsolidationBatch):
                large = size_of(delivered[0]) >= RELEASING_BYTES
                delivered.clear()
                await self._conclude(outcome, started, since_ns, large=large)
                return
            batch.note(failed=type(outcome).__name__)
        self.forget()
        if isinstance(outcome, GraphtideError) and not isinstance(outcome, Rejected | GraphStopped):
            raise outcome  # a storage failure, which no record caused
        if len(delivered) > 1:
            for consumed in delivered:
                await self._records([consumed])
            return
        if isinstance(outcome, GraphStopped):
            raise outcome
        if not isinstance(outcome, Rejected):
            await raise_if_stopped(self._dependencies.store, delivered[0], outcome)
        await self._dead_letter(delivered[0], outcome)

    async def _conclude(self, batch: ConsolidationBatch, started: float, since_ns: int, *, large: bool = False) -> None:
        """Have the followers apply a committed batch, and report it. They begin with the memory of a `large` one."""
        batch.release()
        if large:
            await asyncio.to_thread(return_free_memory)
        report_commit(batch, self._dependencies.observer)
        await self._follow(batch)
        self._report(batch, started)
        trace_revisions(batch, since_ns)
        if batch.changed_rows() >= FREED_ROWS:
            await asyncio.to_thread(lambda: free_in_parts(batch.take_rows()))

    async def _follow(self, batch: ConsolidationBatch) -> None:
        for part in batch.parts:
            await self._dependencies.following.take(part.delta)

    async def _dead_letter(self, delivered: ConsumedRecord, error: Exception) -> None:
        started, batch = time.monotonic(), ConsolidationBatch()
        batch.fail(delivered, error)
        await self._watermark.commit(batch, delivered.position.offset + 1)
        self._report(batch, started)

    async def _apply_batch(self, delivered: Sequence[ConsumedRecord], beside: Beside | None) -> ConsolidationBatch:
        batch = await self._planner.plan(delivered, self._watermark.current)
        await self._dependencies.forwarder.forward(batch, self.partition)
        if beside is None:
            await self._graphs.apply(batch)
        else:
            applying = asyncio.create_task(self._graphs.apply(batch))
            try:
                await self._overtake(applying, set(batch.newest), beside)
                await applying
            finally:
                applying.cancel()
                await asyncio.gather(applying, return_exceptions=True)
        await self._watermark.commit(batch, delivered[-1].position.offset + 1)
        return batch

    async def _overtake(self, applying: asyncio.Task[None], graphs: set[str], beside: Beside) -> None:
        """Apply records of other graphs until `applying` is done or a record has to wait. Raises a storage failure."""
        while not applying.done() and self._watermark.may_be_overtaken:
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
        batch = await self._planner.plan(delivered, self._watermark.current)
        if batch.letters or not graphs.isdisjoint(batch.newest):
            return False
        for graph in batch.newest:
            if await self._dependencies.forwarder.belongs_to(graph, self.partition) != self.partition:
                return False
        headers = [consumed.record.headers for consumed in delivered]
        with continue_trace(STAGE, headers, partition=self.partition, records=len(delivered)), yielding(None):
            outcome = await outcome_of(self._commit_beside(batch))
            if isinstance(outcome, Exception):
                for graph in batch.newest:
                    self._dependencies.models.forget(graph)
                if isinstance(outcome, GraphtideError) and not isinstance(outcome, Rejected | GraphStopped):
                    raise outcome
                return False
            self._watermark.note_overtaken(delivered)
            await self._conclude(batch, started, since_ns)
        return True

    async def _commit_beside(self, batch: ConsolidationBatch) -> None:
        await self._graphs.apply(batch)
        await self._watermark.commit(batch, self._watermark.next_offset)

    async def change(
        self, model: WriteModel, work: Callable[[], GraphDelta | None], verdicts: Mapping[PairKey, Verdict] = {}
    ) -> GraphDelta | None:
        """Make a change of a model that no record caused, commit it, and have the followers apply it.

        Returns None when it changed nothing. Call while holding `writing`, for a model that is in memory.
        """
        was_settled, model.is_settled = model.is_settled, False
        delta = await asyncio.to_thread(work)
        if delta is None:
            model.is_settled = was_settled
            return None
        part = GraphCommit(delta, {}, verdicts)
        try:
            await self._watermark.commit(ConsolidationBatch(parts=[part]), self._watermark.next_offset)
        except BaseException:
            self.forget()
            raise
        await self._dependencies.following.take(part.delta)
        return delta

    async def decide(self, model: WriteModel, pair: PairKey, verdict: Verdict) -> bool:
        """Apply a judge's verdict. Returns False when a label or the model no longer exists.

        Call while holding `writing`.
        """
        graph = model.writer.graph
        if self._dependencies.models.peek(graph) is not model:
            return False
        return await self.change(model, partial(model.writer.decide, pair, verdict), {pair: verdict}) is not None

    async def rebuild_stopped(self, graph: str) -> bool:
        """Serve a request to rebuild or delete a stopped graph that waits after the watermark. Returns False without
        one.

        The watermark does not advance: when the request is reached in order, it is served again, which gives the same
        graph. Call after `claim`, before any batch. Cost: the waiting records that were not scanned before.
        """
        ends = await self._dependencies.log.end(EXTRACTIONS)
        first = max(self._watermark.next_offset, self._scanned)
        async with aclosing(
            read_up_to_end(self._dependencies.log, EXTRACTIONS, {**ends, self.partition: first})
        ) as waiting:
            async for delivered in waiting:
                self._scanned = delivered.position.offset + 1
                if (request := repairing(delivered, graph)) is not None:
                    async with self.writing:
                        await self._maintenance.serve(request, self._watermark.next_offset)
                    return True
        return False

    def forget(self) -> None:
        """Evict the write models of this partition's graphs."""
        self._dependencies.models.forget_partition(self.partition)

    def leave(self) -> None:
        """Evict them and save those that equal the stored graphs: another writer may continue the partition."""
        self._dependencies.models.leave_partition(self.partition)

    def _report(self, batch: ConsolidationBatch, started: float) -> None:
        report(batch, time.monotonic() - started, self._dependencies.observer, self._dependencies.following.exist)


def _between_requests(delivered: Sequence[ConsumedRecord]) -> list[list[ConsumedRecord]]:
    """Return the records in runs; every maintenance request, well-formed or not, is a run of its own."""
    runs: list[list[ConsumedRecord]] = []
    after_request = True
    for consumed in delivered:
        request = is_request(consumed)
        if request or after_request:
            runs.append([])
        runs[-1].append(consumed)
        after_request = request
    return runs
