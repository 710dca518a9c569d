"""The reference of the Ledger port: entries by document and revision."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace

from streams.errors import Broken
from streams.memory.log import MemoryLog
from streams.messages import DOCUMENTS, split_document_key
from streams.ports import Delivered, LedgerEntry, Outcome, Position, Record, State


class MemoryLedger:
    """See Ledger."""

    def __init__(self, log: MemoryLog, clock_ms: Callable[[], int]) -> None:
        self._log = log
        self._clock_ms = clock_ms
        self._documents: dict[tuple[str, str], dict[int, LedgerEntry]] = {}

    async def accept(self, records: Sequence[Record]) -> Sequence[Position]:
        """See Ledger.accept. Raises Rejected when a key is not of the form graph|doc_id."""
        keys = [split_document_key(record.key) for record in records]
        positions = self._log.add(DOCUMENTS, records)
        at = self._clock_ms()
        for (graph, doc_id), position in zip(keys, positions, strict=True):
            self._enter(graph, doc_id, position, at)
        return positions

    async def enter(self, delivered: Sequence[Delivered]) -> None:
        """See Ledger.enter. Raises Rejected when a key is not of the form graph|doc_id."""
        keys = [split_document_key(item.record.key) for item in delivered]
        for (graph, doc_id), item in zip(keys, delivered, strict=True):
            self._enter(graph, doc_id, item.position, item.timestamp_ms)

    async def begin(self, graph: str, doc_id: str, revision: int) -> int:
        """See Ledger.begin. Raises Broken for a revision that was never entered."""
        entry = self._documents.get((graph, doc_id), {}).get(revision)
        if entry is None:
            raise Broken(f"revision {revision} of document {doc_id!r} in graph {graph!r} is not in the ledger")
        counted = replace(entry, attempts=entry.attempts + 1)
        self._documents[graph, doc_id][revision] = counted
        return counted.attempts

    async def spare(self, graph: str, doc_id: str, revision: int) -> None:
        """See Ledger.spare."""
        entry = self._documents.get((graph, doc_id), {}).get(revision)
        if entry is not None:
            self._documents[graph, doc_id][revision] = replace(entry, attempts=max(0, entry.attempts - 1))

    async def conclude(self, outcomes: Sequence[Outcome]) -> None:
        """See Ledger.conclude. An outcome of a revision that was never entered changes nothing."""
        check_ends(outcomes)
        self.record(outcomes)

    async def latest(self, graph: str, doc_id: str) -> LedgerEntry | None:
        """See Ledger.latest."""
        revisions = self._documents.get((graph, doc_id))
        return revisions[max(revisions)] if revisions else None

    async def pending(self, graph: str, up_to: Position | None = None) -> int:
        """See Ledger.pending."""
        return sum(
            up_to is None or (at.partition == up_to.partition and at.offset <= up_to.offset)
            for at in (entry.position for entry in self._of(graph) if entry.state is State.ACCEPTED)
        )

    async def unfinished(self, accepted_before_ms: int, limit: int) -> Sequence[LedgerEntry]:
        """See Ledger.unfinished."""
        entries = (entry for revisions in self._documents.values() for entry in revisions.values())
        old = [e for e in entries if e.state is State.ACCEPTED and e.accepted_ms < accepted_before_ms]
        return sorted(old, key=lambda entry: (entry.accepted_ms, entry.position))[:limit]

    async def counts(self, graph: str) -> Mapping[State, int]:
        """See Ledger.counts. Every state is there, with 0 for none."""
        counted = Counter(entry.state for entry in self._of(graph))
        return {state: counted[state] for state in State}

    def record(self, outcomes: Sequence[Outcome]) -> None:
        """What `conclude` does, in one step: the store's commit goes through it. Checked ends cannot fail."""
        at = self._clock_ms()
        for outcome in outcomes:
            revisions = self._documents.get((outcome.graph, outcome.doc_id), {})
            entry = revisions.get(outcome.revision)
            if entry is not None and entry.state is State.ACCEPTED:
                revisions[outcome.revision] = replace(entry, state=outcome.state, reason=outcome.reason, ended_ms=at)

    def _enter(self, graph: str, doc_id: str, position: Position, at: int) -> None:
        entry = LedgerEntry(graph, doc_id, position, State.ACCEPTED, "", 0, at, None)
        self._documents.setdefault((graph, doc_id), {}).setdefault(position.offset, entry)

    def _of(self, graph: str) -> Iterator[LedgerEntry]:
        for (name, _), revisions in self._documents.items():
            if name == graph:
                yield from revisions.values()


def check_ends(outcomes: Sequence[Outcome]) -> None:
    """Raise Broken when an outcome is no end."""
    for outcome in outcomes:
        if outcome.state is State.ACCEPTED:
            raise Broken(f"{outcome.state.value!r} is not an end (revision {outcome.revision} of {outcome.doc_id!r})")
