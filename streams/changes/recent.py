"""The change log of a query replica: what its views applied since they were loaded, in memory.

A replica records what each delta overwrites before it applies it. A view that is loaded anew begins a new log; earlier
commits are in the topic `deltas` (`streams/changes/cluster_log.py`).

Invariant: the records of a graph have consecutive versions and end at the version of its view; all records together
hold at most `TOTAL_BYTES`.
"""

from __future__ import annotations

import asyncio
from collections import Counter, deque
from collections.abc import Mapping, Sequence
from itertools import islice

from graphtide.graph.changes.capture import capture
from graphtide.graph.records import GraphDelta
from graphtide.graph.view import LiveView
from graphtide.streams.changes import old_rows
from graphtide.streams.changes.change_log import ChangeRecord, ChangeRetention, encode_forward, included
from graphtide.streams.changes.changed_document import ChangedDocument
from graphtide.streams.changes.commit_header import CommitOrigin, commit_origin
from graphtide.streams.changes.old_rows import OldRows
from graphtide.streams.clock import now_ms
from graphtide.streams.follow.view_registry import ViewRegistry
from graphtide.streams.ports import Ledger, RevisionState
from graphtide.streams.tracing import Headers

TOTAL_BYTES = 256 << 20


class RecentChanges:
    """See ChangeLog. The registry of the views calls `before`, `applied` and `restart` (`ViewRecorder`)."""

    def __init__(self, views: ViewRegistry, ledger: Ledger, retention: ChangeRetention) -> None:
        self._views = views
        self._ledger = ledger
        self._retention = retention
        self._records: dict[str, deque[ChangeRecord]] = {}
        self._sizes: Counter[str] = Counter()
        self._moved = asyncio.Event()

    # -- see ViewRecorder ----------------------------------------------------------------------------------------------

    def before(self, view: LiveView, delta: GraphDelta) -> bytes:
        """See ViewRecorder.before."""
        return old_rows.encode(OldRows(*capture(view, delta))) if self._retention.commits else b""

    async def applied(self, delta: GraphDelta, old: bytes, headers: Headers = ()) -> None:
        """See ViewRecorder.applied."""
        if not self._retention.commits:
            return
        graph = delta.graph
        forward = await asyncio.to_thread(encode_forward, delta)
        origin = commit_origin(headers) or CommitOrigin(now_ms(), await self._documents(delta))
        records = self._records.setdefault(graph, deque())
        if records and records[-1].version != delta.version - 1:
            self.restart(graph)
            records = self._records.setdefault(graph, deque())
        records.append(ChangeRecord(graph, delta.version, origin.committed_ms, origin.documents, forward, old))
        self._sizes[graph] += len(forward) + len(old)
        self._trim(graph)
        self._announce()

    async def _documents(self, delta: GraphDelta) -> tuple[ChangedDocument, ...]:
        """Return the applied and deleted revisions of a commit by a worker whose notices do not name them."""
        documents = [ChangedDocument(row.doc_id, row.revision, RevisionState.APPLIED) for row in delta.documents]
        for doc_id in delta.gone.documents:
            latest = await self._ledger.latest(delta.graph, doc_id)
            documents.append(ChangedDocument(doc_id, latest.revision if latest else 0, RevisionState.DELETED))
        return tuple(documents)

    def restart(self, graph: str) -> None:
        """See ViewRecorder.restart."""
        self._records.pop(graph, None)
        self._sizes.pop(graph, None)
        self._announce()

    def clear(self) -> None:
        """Forget all records: they hold deleted content."""
        for graph in list(self._records):
            self.restart(graph)

    def _trim(self, graph: str) -> None:
        records, limit, oldest_ms = self._records[graph], self._retention, now_ms() - 1000 * self._retention.age_s
        while len(records) > 1 and (
            len(records) > limit.commits or self._sizes[graph] > limit.size_bytes or records[0].committed_ms < oldest_ms
        ):
            self._drop_oldest(graph)
        while self._sizes.total() > TOTAL_BYTES:
            self._drop_oldest(max(self._sizes, key=lambda name: self._sizes[name]))

    def _drop_oldest(self, graph: str) -> None:
        record = self._records[graph].popleft()
        self._sizes[graph] -= len(record.forward) + len(record.old)

    def _announce(self) -> None:
        self._moved.set()
        self._moved = asyncio.Event()

    # -- see ChangeLog -------------------------------------------------------------------------------------------------

    async def first(self, graph: str) -> int:
        """See ChangeLog.first."""
        records = self._records.get(graph)
        return records[0].version - 1 if records else self._views.version(graph)

    async def last(self, graph: str) -> int:
        """See ChangeLog.last."""
        records = self._records.get(graph)
        return records[-1].version if records else self._views.version(graph)

    async def retains(self, graph: str, version: int) -> bool:
        """See ChangeLog.retains."""
        return await self.first(graph) <= version <= await self.last(graph)

    async def read(self, graph: str, after: int, limit: int) -> Sequence[ChangeRecord]:
        """See ChangeLog.read."""
        records = self._records.get(graph)
        if not records:
            return []
        start = max(0, after + 1 - records[0].version)
        return list(islice(records, start, start + limit))

    async def version_of(self, graph: str, until: Mapping[int, int]) -> int:
        """See ChangeLog.version_of."""
        for record in reversed(self._records.get(graph, ())):
            if any(included(document.revision, until) for document in record.documents):
                return record.version
        return 0

    async def wait(self, graph: str, version: int) -> None:
        """See ChangeLog.wait. It also returns when another graph moves."""
        moved = self._moved
        if await self.last(graph) <= version:
            await moved.wait()
