"""The reference of the GraphStore port: rows, document states, watermarks and reports in dicts."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import replace

from graphtide.graph.records import GraphDelta
from graphtide.graph.resolution import PairKey, Verdict
from graphtide.streams.checks import (
    check_binding,
    check_ends,
    check_epoch,
    check_next,
    check_replacement,
    check_watermark,
)
from graphtide.streams.content import size_of
from graphtide.streams.messages import DELTAS
from graphtide.streams.ports import (
    Commit,
    GraphContent,
    GraphDeletion,
    ReportRow,
    SnapshotUse,
    StoredDocument,
    Watermark,
)
from tests.model.memory.ledger import MemoryLedger
from tests.model.memory.log import MemoryLog
from tests.model.memory.outbox import MemoryOutbox
from tests.model.memory.overwritten import overwritten
from tests.model.memory.rows import Rows

NOTHING = Watermark(0, 0)
"""The watermark of a partition that was never claimed."""


class MemoryGraphStore:
    """The in-memory GraphStore."""

    def __init__(self, log: MemoryLog, ledger: MemoryLedger, outbox: MemoryOutbox | None = None) -> None:
        self.outbox = outbox
        self._log = log
        self._ledger = ledger
        self._watermarks: dict[int, Watermark] = {}
        self._rows: dict[str, Rows] = {}
        self._standings: dict[str, dict[str, StoredDocument]] = {}
        self._reports: dict[str, dict[int, ReportRow]] = {}
        self._verdicts: dict[str, dict[PairKey, Verdict]] = {}
        self._bindings: dict[str, int] = {}
        self._deletions: dict[str, GraphDeletion] = {}

    async def claim(self, partition: int) -> Watermark:
        """See GraphStore.claim."""
        before = self._watermarks.get(partition, NOTHING)
        self._watermarks[partition] = Watermark(before.epoch + 1, before.next_offset)
        return self._watermarks[partition]

    async def commit(self, commit: Commit) -> None:
        """See GraphStore.commit. Raises Broken when a delta is not the next version of its graph."""
        check_watermark(commit, self._watermarks.get(commit.partition, NOTHING))
        versions = {name: rows.version for name, rows in self._rows.items()}
        for part in commit.graphs:
            check_binding(commit, part.delta.graph, self._bindings.get(part.delta.graph))
            check_next(part.delta, versions.get(part.delta.graph, 0))
            versions[part.delta.graph] = part.delta.version
        check_ends(commit.outcomes)
        self._log.check(commit.notices)
        # 1.
        self._watermarks[commit.partition] = Watermark(commit.expected.epoch, commit.next_offset)
        # 2.
        notices = list(commit.notices)
        for part in commit.graphs:
            if commit.overwritten is not None and not part.delta.snapshot:
                before = self._rows.get(part.delta.graph, Rows(part.delta.graph)).snapshot()
                notices += commit.overwritten(part.delta, overwritten(before, part.delta))
            self._bindings.setdefault(part.delta.graph, commit.partition)
            self._write(part.delta)
            self._standings.setdefault(part.delta.graph, {}).update(part.standings)
            self._verdicts.setdefault(part.delta.graph, {}).update(part.verdicts)
            if part.deletion is not None:
                self._deletions[part.delta.graph] = part.deletion
        # 3.
        self._ledger.record(commit.outcomes)
        # 4.
        if self.outbox is None:
            self._log.add(DELTAS, notices)
        else:
            self.outbox.put(commit.partition, notices)

    def _write(self, delta: GraphDelta) -> None:
        if delta.snapshot:
            self._rows[delta.graph] = Rows(delta.graph)
            self._reports.pop(delta.graph, None)
        self._rows.setdefault(delta.graph, Rows(delta.graph)).apply(replace(delta, snapshot=False))

    async def bindings(self, graphs: Sequence[str]) -> Mapping[str, int]:
        """See GraphStore.bindings."""
        return {graph: self._bindings[graph] for graph in graphs if graph in self._bindings}

    async def graphs(self) -> Mapping[str, int]:
        """See GraphStore.graphs."""
        versions = {name: self._rows[name].version for name in sorted(self._rows)}
        return {name: version for name, version in versions.items() if version > self._deleted_at(name)}

    async def version(self, graph: str) -> int:
        """See GraphStore.version."""
        return (await self.graphs()).get(graph, 0)

    async def contents(self) -> Mapping[str, GraphContent]:
        """See GraphStore.contents."""
        found = {name: self._rows[name].snapshot() for name in await self.graphs()}
        return {name: GraphContent(snapshot.version, size_of(snapshot)) for name, snapshot in found.items()}

    def _deleted_at(self, graph: str) -> int:
        return self._deletions[graph].version if graph in self._deletions else 0

    async def deletions(self, graphs: Sequence[str]) -> Mapping[str, GraphDeletion]:
        """See GraphStore.deletions."""
        return {graph: self._deletions[graph] for graph in graphs if graph in self._deletions}

    async def erase(self, partition: int, expected: Watermark, graph: str, limit: int) -> int:
        """See GraphStore.erase."""
        check_epoch(partition, expected, self._watermarks.get(partition, NOTHING))
        deletion = self._deletions.get(graph)
        if deletion is None or deletion.erased:
            return 0
        erased = self._ledger.forget(deletion)
        for table in (self._standings, self._verdicts, self._reports):
            erased += len(table.pop(graph, {}))
        if not erased:
            self._deletions[graph] = replace(deletion, erased=True)
        return erased

    async def standings(
        self, graph: str, doc_ids: Sequence[str], *, vectors: bool = True
    ) -> Mapping[str, StoredDocument]:
        """See GraphStore.standings. Always with vectors."""
        stored = self._standings.get(graph, {})
        return {doc_id: stored[doc_id] for doc_id in doc_ids if doc_id in stored}

    async def verdicts(self, graph: str) -> Mapping[PairKey, Verdict]:
        """See GraphStore.verdicts."""
        return dict(self._verdicts.get(graph, {}))

    async def snapshot(self, graph: str, use: SnapshotUse = SnapshotUse.EVERYTHING) -> GraphDelta:
        """See GraphStore.snapshot. Rows are in the order of their keys, with all columns for each use."""
        rows = self._rows.get(graph)
        if rows is None:
            return GraphDelta(graph, 0, snapshot=True)
        deleted = rows.version == self._deleted_at(graph)
        return GraphDelta(graph, rows.version, snapshot=True, deleted=True) if deleted else rows.snapshot()

    async def extractions(self, graph: str) -> AsyncIterator[tuple[str, bytes]]:
        """See GraphStore.extractions."""
        for doc_id, document in sorted(self._standings.get(graph, {}).items()):
            if document.extraction is not None:
                yield doc_id, document.extraction

    async def replace(self, snapshot: GraphDelta) -> None:
        """See GraphStore.replace. Every row gets that version. Raises Broken when the version would decrease."""
        known = self._rows.get(snapshot.graph)
        check_replacement(snapshot, known.version if known else 0)
        fresh = Rows(snapshot.graph)
        fresh.apply(replace(snapshot, snapshot=False))
        self._rows[snapshot.graph] = fresh

    async def reports(self, graph: str) -> Sequence[ReportRow]:
        """See GraphStore.reports. Sorted by community."""
        stored = self._reports.get(graph, {})
        return [stored[community] for community in sorted(stored)]

    async def save_reports(self, graph: str, rows: Sequence[ReportRow], gone: Sequence[int]) -> None:
        """See GraphStore.save_reports. Deletes first."""
        stored = self._reports.setdefault(graph, {})
        for community in gone:
            stored.pop(community, None)
        stored.update((row.community, row) for row in rows if row.version > self._deleted_at(graph))
