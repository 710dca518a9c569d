"""Deletion of a graph by its single writer, between two batches.

In this order:
1. one commit: the graph does not exist from now on, its rows are out of use, revisions accepted before the request will
   never be applied; followers drop their views
2. a marker in `documents.dlq`, after which the graph's earlier dead letters are no longer listed
3. tombstones in `documents` for its documents, where the log outlives consumption
4. in bounded transactions: stored documents, verdicts, reports, revisions, memoised answers
5. one commit: the watermark passes the request

The watermark is before the request until step 5, so after a crash the request is served again. Every step gives the
same result when it is repeated. No version of the graph is committed between 1 and the end of 4: a batch that comes
between, which happens when a stopped graph was deleted, does step 4 first.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from graphtide.graph.records import GraphDelta
from graphtide.streams.consolidate.maintenance_requests import MaintenanceRequest
from graphtide.streams.dead_letters.erasure import letter_marks
from graphtide.streams.log.document_position import tombstone
from graphtide.streams.messages import DEAD_LETTERS, DOCUMENTS, document_key
from graphtide.streams.ports import GraphCommit, GraphDeletion, GraphStore, Ledger, Log, Watermark

log = logging.getLogger("graphtide.streams")

ERASE_BATCH_SIZE = 2_000
"""Maximum rows of each kind that one transaction deletes."""
PAGE = 500

OnProgress = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class GraphEraser:
    """Steps 1 to 4. `tombstones` is the ledger, where tombstones are written."""

    log: Log
    store: GraphStore
    tombstones: Ledger | None = None

    async def plan(self, request: MaintenanceRequest) -> GraphCommit | None:
        """Return the part of the commit that ends the graph; None when an earlier attempt has committed it."""
        graph = request.graph
        wanted = GraphDeletion(graph, request.before)
        known = (await self.store.deletions([graph])).get(graph)
        if known is not None and known.includes(wanted):
            return None
        stored = (await self.store.graphs()).get(graph, known.version if known else 0)
        deletion = GraphDeletion(graph, request.before, stored + 1).joined(known)
        return GraphCommit(GraphDelta(graph, stored + 1, snapshot=True, deleted=True), {}, deletion=deletion)

    async def leave_marks(self, request: MaintenanceRequest) -> None:
        """Take the graph's letters and documents out of the topics (steps 2 and 3). Memory: one page of ids."""
        await self.log.append(DEAD_LETTERS, letter_marks(request.graph, request.letters))
        if self.tombstones is not None:
            await self._leave_tombstones(request, self.tombstones)

    async def erase(self, graph: str, partition: int, expected: Watermark, on_progress: OnProgress) -> int:
        """Delete what the deletion of the graph covers (step 4); return the number of rows."""
        known = (await self.store.deletions([graph])).get(graph)
        erased = 0
        while known is not None and not known.erased:
            rows = await self.store.erase(partition, expected, graph, ERASE_BATCH_SIZE)
            if not rows:
                break
            erased += rows
            on_progress(f"{erased:,} rows deleted")
        return erased

    async def _leave_tombstones(self, request: MaintenanceRequest, ledger: Ledger) -> None:
        """Append a tombstone for each document without a revision after the deletion."""
        deletion = GraphDeletion(request.graph, request.before)
        after = ""
        while page := await ledger.documents(request.graph, after, "", PAGE):
            ids: Sequence[str] = [entry.doc_id for entry in page if deletion.covers(entry.position)]
            await self.log.append(DOCUMENTS, [tombstone(document_key(request.graph, doc_id)) for doc_id in ids])
            after = page[-1].doc_id
