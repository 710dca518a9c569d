"""The reference of the Ledger port: entries by position, and the positions of a document by revision.

With `by_time`, `register` assigns the numbers of `streams/log/revisions.py`; otherwise numbers are offsets, which
`accept` assigns, too.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace

from graphtide.streams.checks import check_ends, other_history
from graphtide.streams.errors import Broken
from graphtide.streams.log.revisions import PartitionClock, estimate, number, unnumbered
from graphtide.streams.messages import DOCUMENTS, document_key, split_document_key
from graphtide.streams.ports import (
    ConsumedRecord,
    GraphDeletion,
    LedgerEntry,
    Position,
    Record,
    RevisionOutcome,
    RevisionState,
)
from tests.model.memory.log import MemoryLog


class MemoryLedger:
    """The in-memory Ledger."""

    def __init__(self, log: MemoryLog, clock_ms: Callable[[], int], by_time: bool = False) -> None:
        self._log = log
        self._clock_ms = clock_ms
        self._by_time = by_time
        self._entries: dict[Position, LedgerEntry] = {}
        self._revisions: dict[tuple[str, str, int], Position] = {}
        self._documents: dict[tuple[str, str], list[Position]] = {}
        self._clocks: dict[int, PartitionClock] = {}
        self._deletions: dict[str, GraphDeletion] = {}

    async def accept(self, records: Sequence[Record]) -> Sequence[Position]:
        """See Ledger.accept. Raises Rejected when a key is not of the form graph|doc_id."""
        keys = [split_document_key(record.key) for record in records]
        positions = self._log.add(DOCUMENTS, records)
        at = self._clock_ms()
        for (graph, doc_id), position in zip(keys, positions, strict=True):
            self._register(graph, doc_id, position, at)
            if graph in self._deletions:
                self.forget(self._deletions[graph])
        return positions

    async def register(self, delivered: Sequence[ConsumedRecord]) -> Sequence[int]:
        """See Ledger.register. Raises Rejected when a key is not of the form graph|doc_id."""
        keys = [split_document_key(item.record.key) for item in delivered]
        for key, item in zip(keys, delivered, strict=True):
            known = self._entries.get(item.position)
            if known is not None and (known.graph, known.doc_id) != key:
                raise other_history(item.position, item.record.key, document_key(known.graph, known.doc_id))
        for (graph, doc_id), item in zip(keys, delivered, strict=True):
            self._register(graph, doc_id, item.position, item.timestamp_ms)
        if self._by_time:
            self._number(delivered)
        numbers = [self._entries[item.position].revision for item in delivered]
        for deletion in list(self._deletions.values()):
            self.forget(deletion)
        return numbers

    def _number(self, delivered: Sequence[ConsumedRecord]) -> None:
        before, after = dict(self._clocks), dict(self._clocks)
        for record in unnumbered(delivered):
            position = record.delivered.position
            clock = before.get(position.partition, PartitionClock())
            reached = after.get(position.partition, PartitionClock())
            time = record.time(clock) if self._entries[position].revision == 0 else 0
            if time:
                self._assign(position, number(time, position.partition))
            next_offset = max(reached.next_offset, position.offset + 1)
            after[position.partition] = PartitionClock(max(reached.time, time), next_offset)
        self._clocks = after

    def _assign(self, position: Position, revision: int) -> None:
        entry = self._entries[position]
        self._entries[position] = replace(entry, revision=revision)
        self._revisions[entry.graph, entry.doc_id, revision] = position

    async def start_attempt(self, graph: str, doc_id: str, revision: int) -> int:
        """See Ledger.start_attempt. Raises Broken for a revision that was never registered."""
        position = self._revisions.get((graph, doc_id, revision))
        if position is None and graph in self._deletions:
            return 0
        if position is None:
            raise Broken(f"revision {revision} of document {doc_id!r} in graph {graph!r} is not in the ledger")
        counted = replace(self._entries[position], attempts=self._entries[position].attempts + 1)
        self._entries[position] = counted
        return counted.attempts

    async def uncount_attempt(self, graph: str, doc_id: str, revision: int) -> None:
        """See Ledger.uncount_attempt."""
        position = self._revisions.get((graph, doc_id, revision))
        if position is not None:
            entry = self._entries[position]
            self._entries[position] = replace(entry, attempts=max(0, entry.attempts - 1))

    async def finish(self, outcomes: Sequence[RevisionOutcome]) -> None:
        """See Ledger.finish. An outcome of a revision that was never registered changes nothing."""
        check_ends(outcomes)
        self.record(outcomes)

    async def latest(self, graph: str, doc_id: str) -> LedgerEntry | None:
        """See Ledger.latest."""
        entries = [self._entries[position] for position in self._documents.get((graph, doc_id), ())]
        return max(entries, key=self._order, default=None)

    async def documents(self, graph: str, after: str, prefix: str, limit: int) -> Sequence[LedgerEntry]:
        """See Ledger.documents. Ids are ordered by code point."""
        ids = sorted(
            doc_id for of, doc_id in self._documents if of == graph and doc_id > after and doc_id.startswith(prefix)
        )
        found = [await self.latest(graph, doc_id) for doc_id in ids[:limit]]
        return [entry for entry in found if entry is not None]

    def _order(self, entry: LedgerEntry) -> tuple[int, Position]:
        if entry.revision or not self._by_time:
            return entry.revision, entry.position
        return estimate(entry.accepted_ms, entry.position.partition), entry.position

    async def pending(self, graph: str) -> int:
        """See Ledger.pending."""
        return sum(entry.state is RevisionState.ACCEPTED for entry in self._of(graph))

    async def pending_counts(self) -> Mapping[str, int]:
        """See Ledger.pending_counts."""
        return Counter(each.graph for each in self._entries.values() if each.state is RevisionState.ACCEPTED)

    async def oldest_pending(self, graph: str) -> int | None:
        """See Ledger.oldest_pending."""
        pending = [entry for entry in self._of(graph) if entry.state is RevisionState.ACCEPTED]
        if not self._by_time:
            return min(pending, key=lambda entry: entry.position).accepted_ms if pending else None
        return min((entry.accepted_ms for entry in pending), default=None)

    async def have_ended(self, graph: str, positions: Sequence[Position]) -> bool | None:
        """See Ledger.have_ended."""
        found = (self._entries.get(position) for position in positions)
        if not all(entry is not None and entry.graph == graph for entry in found):
            return None
        pending = [entry.position for entry in self._of(graph) if entry.state is RevisionState.ACCEPTED]
        return not any(
            at.partition == last.partition and at.offset <= last.offset for at in pending for last in positions
        )

    async def numbers(self, graph: str, positions: Sequence[Position]) -> Mapping[Position, int]:
        """See Ledger.numbers."""
        found = {position: self._entries.get(position) for position in positions}
        return {place: entry.revision for place, entry in found.items() if entry is not None and entry.graph == graph}

    async def unfinished(self, accepted_before_ms: int, limit: int) -> Sequence[LedgerEntry]:
        """See Ledger.unfinished."""
        old = [
            e
            for e in self._entries.values()
            if e.state is RevisionState.ACCEPTED and e.accepted_ms < accepted_before_ms
        ]
        return sorted(old, key=lambda entry: (entry.accepted_ms, entry.position))[:limit]

    async def counts(self, graph: str) -> Mapping[RevisionState, int]:
        """See Ledger.counts. Every state is included, with 0 for none."""
        counted = Counter(entry.state for entry in self._of(graph))
        return {state: counted[state] for state in RevisionState}

    def record(self, outcomes: Sequence[RevisionOutcome]) -> None:
        """Record outcomes in one step, for `finish` and the store's commit. Validated outcomes cannot fail."""
        at = self._clock_ms()
        for outcome in outcomes:
            position = self._revisions.get((outcome.graph, outcome.doc_id, outcome.revision))
            if position is not None and self._entries[position].state is RevisionState.ACCEPTED:
                ended = replace(self._entries[position], state=outcome.state, reason=outcome.reason, ended_ms=at)
                self._entries[position] = ended

    def forget(self, deletion: GraphDeletion) -> int:
        """Forget the revisions that the deletion covers, now and later. Returns their number."""
        self._deletions[deletion.graph] = deletion
        gone = [entry for entry in self._of(deletion.graph) if deletion.covers(entry.position)]
        for entry in gone:
            del self._entries[entry.position]
            self._revisions.pop((entry.graph, entry.doc_id, entry.revision), None)
            positions = self._documents[entry.graph, entry.doc_id]
            positions.remove(entry.position)
            if not positions:
                del self._documents[entry.graph, entry.doc_id]
        return len(gone)

    def _register(self, graph: str, doc_id: str, position: Position, at: int) -> None:
        if position in self._entries:
            return
        self._entries[position] = LedgerEntry(graph, doc_id, position, RevisionState.ACCEPTED, "", 0, at, None, 0)
        self._documents.setdefault((graph, doc_id), []).append(position)
        if not self._by_time:
            self._assign(position, position.offset)

    def _of(self, graph: str) -> Iterator[LedgerEntry]:
        return (entry for entry in self._entries.values() if entry.graph == graph)
