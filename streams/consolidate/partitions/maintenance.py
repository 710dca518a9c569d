"""The maintenance of the graphs of a partition: verification, rebuild and deletion on request."""

from __future__ import annotations

import logging
from functools import partial

from graphtide.graph.records import GraphDelta
from graphtide.streams.consolidate import verification
from graphtide.streams.consolidate.batches import ConsolidationBatch
from graphtide.streams.consolidate.maintenance_requests import (
    MaintenanceKind,
    MaintenanceReply,
    MaintenanceRequest,
    parse_request,
)
from graphtide.streams.consolidate.partitions.application import BatchPlanner
from graphtide.streams.consolidate.partitions.dependencies import WriterDependencies
from graphtide.streams.consolidate.partitions.watermark import PartitionWatermark
from graphtide.streams.errors import GraphStopped, GraphtideError, Rejected
from graphtide.streams.ports import (
    ConsumedRecord,
    GraphCommit,
)
from graphtide.streams.retry import outcome_of

log = logging.getLogger("graphtide.streams")


class MaintenanceServer:
    """The service of maintenance requests between two batches, each in one commit with its reply."""

    def __init__(
        self, partition: int, dependencies: WriterDependencies, watermark: PartitionWatermark, planner: BatchPlanner
    ) -> None:
        self.progress = ""
        """The running verification or rebuild and its progress; "" without one."""
        self._partition = partition
        self._dependencies = dependencies
        self._watermark = watermark
        self._planner = planner

    async def serve(self, request: MaintenanceRequest, next_offset: int) -> None:
        """Serve a request in one commit with the reply. A failed request is answered, too."""
        self._report_progress(request, "started")
        try:
            if request.kind is MaintenanceKind.DELETE:
                await self._delete(request, next_offset)
            else:
                await self._reply(request, next_offset)
        finally:
            self.progress = ""

    def _report_progress(self, request: MaintenanceRequest, progress: str) -> None:
        """Publish the progress in `progress`, which health reports show, and in the log."""
        self.progress = f"{request.kind} of graph {request.graph}: {progress}"
        log.info("%s", self.progress)

    async def _delete(self, request: MaintenanceRequest, next_offset: int) -> None:
        """Delete the graph: see graph_deletion.py for the steps. Storage failures end the batch, and are retried."""
        graph, eraser = request.graph, self._dependencies.eraser
        part = await eraser.plan(request)
        if part is not None:  # 1.
            await self._watermark.commit(ConsolidationBatch(parts=[part]), self._watermark.next_offset)
            self._planner.forget(graph)
            await self._dependencies.models.erase(graph)
            await self._dependencies.following.take(part.delta)
        await eraser.leave_marks(request)  # 2. and 3.
        progress = partial(self._report_progress, request)
        erased = await eraser.erase(graph, self._partition, self._watermark.current, progress)  # 4.
        self._planner.forget(graph)
        reply = MaintenanceReply(graph, request.kind, request.id, checked={"erased": erased})
        await self._watermark.commit(ConsolidationBatch(), next_offset, (reply.record(),))  # 5.
        log.info("graph %s is deleted, with %d rows", graph, erased, extra={"graph": graph})

    async def _reply(self, request: MaintenanceRequest, next_offset: int) -> None:
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
        await self._watermark.commit(batch, next_offset, (reply.record(),))
        if delta is not None:
            self._dependencies.models.forget(request.graph)  # the next batch restores it from the new rows
            await self._dependencies.following.take(delta)

    async def _served(self, request: MaintenanceRequest) -> tuple[MaintenanceReply, GraphDelta | None]:
        store, graph = self._dependencies.store, request.graph
        version, on_progress = await store.version(graph), partial(self._report_progress, request)
        if not version:
            return MaintenanceReply(
                graph, request.kind, request.id, failure=f"graph {graph!r} has no applied document yet"
            ), None
        if request.kind is MaintenanceKind.VERIFY:
            model = self._dependencies.models.peek(graph)
            found = await verification.recount_stored(store, graph, model.writer if model else None, on_progress)
            return MaintenanceReply(graph, request.kind, request.id, *found), None
        fresh = await verification.build(store, graph, version + 1, on_progress)
        before, after = await verification.stored_digest(store, graph), *await verification.digests(fresh)
        return MaintenanceReply(graph, request.kind, request.id, fresh.version, before, after), fresh


def repairing(delivered: ConsumedRecord, graph: str) -> MaintenanceRequest | None:
    """Return the request in the record if it rebuilds or deletes the graph."""
    try:
        request = parse_request(delivered)
    except Rejected:
        return None
    repairs = (MaintenanceKind.REBUILD, MaintenanceKind.DELETE)
    return request if request is not None and request.graph == graph and request.kind in repairs else None
