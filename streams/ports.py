"""The ports of the stages: the log of records, the ledger of revisions, the store of graphs.

Each port has an in-memory reference in `tests/model/memory` that defines its meaning, and every adapter passes the
contract suite in `tests/contract`. Adapters raise only the errors of `streams/errors.py`.

A revision number orders the revisions of one document. Where `documents` always has one partition, it is the offset
of the record; otherwise see `streams/log/revisions.py`. A record is identified by its position, never by its number.

A graph is bound permanently to the partition of `extractions` that its first commit came through. The single writer
of a graph is the holder of the latest epoch of that partition.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Protocol

from graphtide.graph.records import GraphDelta
from graphtide.graph.reports.cache import ReportFinding as ReportFinding  # noqa: PLC0414 - re-exported for adapters
from graphtide.graph.reports.cache import ReportRow as ReportRow  # noqa: PLC0414 - re-exported for adapters
from graphtide.graph.resolution import PairKey


@dataclass(frozen=True, slots=True)
class Record:
    """A record to append to a topic. `value` None is a tombstone; `partition` None lets the key decide."""

    key: str
    value: bytes | None
    headers: tuple[tuple[str, bytes], ...] = ()
    partition: int | None = None


@dataclass(frozen=True, slots=True, order=True)
class Position:
    partition: int
    offset: int


@dataclass(frozen=True, slots=True)
class ConsumedRecord:
    """A record that was read: its position, and when it was appended (milliseconds since the epoch)."""

    position: Position
    timestamp_ms: int
    record: Record


class Consumer(Protocol):
    """One reader of one topic. Not shared between tasks.

    The consumers of a group share the topic's partitions. A partition can be reassigned to another consumer at any
    time, and only `poll` shows that to the caller: a poll that finds `assigned` changed returns at once, empty. So no
    record of a new partition is delivered before the caller could read `assigned` and `seek`. A retained partition
    continues from its place; a newly assigned one starts after what the group committed.
    """

    def assigned(self) -> frozenset[int]:
        """Return the partitions assigned to this consumer, as of the last poll. Backends of one process: always all."""
        ...

    async def poll(
        self, limit: int, timeout_s: float, among: Collection[int] | None = None
    ) -> Sequence[ConsumedRecord]:
        """Return up to `limit` records, in order within each partition, each delivered once since the last `seek`.

        Waits up to `timeout_s` for the first one. Returns an empty sequence after that, and at once when `assigned`
        has changed since the previous poll. `among` names the partitions to read; the others keep their place, and an
        empty collection makes the poll only wait. A cancelled poll may have taken records: `seek` to read them again.
        """
        ...

    async def commit(self, position: Position) -> None:
        """Commit everything up to and including `position` in its partition: a restart resumes after it.

        For a partition that is no longer assigned, nothing is committed: its new consumer does that.
        """
        ...

    async def seek(self, position: Position) -> None:
        """Make the next poll of that partition start AT `position.offset`. A partition not assigned is ignored."""
        ...

    async def close(self) -> None: ...


class Log(Protocol):
    """Durable, ordered, partitioned topics. A record that `append` has returned for survives kill -9."""

    async def append(self, topic: str, records: Sequence[Record]) -> Sequence[Position]:
        """Append all or none, in order. Offsets of a partition rise by one from 0 and are never used twice.

        Raises Rejected for a record that names a partition which the topic does not have.
        """
        ...

    def consumer(self, topic: str, group: str) -> Consumer:
        """Return a reader that resumes after what `group` committed, or at the start."""
        ...

    def reader(self, topic: str, offsets: Mapping[int, int]) -> Consumer:
        """Return a reader of every partition, from the given offsets (the start where none is given), of no group.

        It shares no partition with other readers, and its commits are not stored. For followers and look-ups.
        """
        ...

    async def start(self, topic: str) -> Mapping[int, int]:
        """Return the offset of the first retained record of each partition; its end where none is retained."""
        ...

    async def end(self, topic: str) -> Mapping[int, int]:
        """Return the next offset of each partition."""
        ...

    async def committed(self, topic: str, group: str) -> Mapping[int, int]:
        """Return the offset at which the group would resume in each partition; 0 where it committed nothing."""
        ...

    async def members(self, topic: str, group: str) -> int:
        """Return the number of consumers of the topic that the group has now, in all processes."""
        ...

    async def trim(self, topic: str, before: Position) -> None:
        """Allow the log to delete the records of the partition before `before`, now or later. Offsets do not change."""
        ...


class RevisionState(StrEnum):
    """The state of a revision. All but ACCEPTED are final, and a revision has exactly one final state."""

    ACCEPTED = "accepted"
    APPLIED = "applied"
    SUPERSEDED = "superseded"
    DELETED = "deleted"
    FAILED = "failed"


@dataclass(frozen=True, slots=True)
class RevisionOutcome:
    """The final state of one revision. `reason` explains a failure."""

    graph: str
    doc_id: str
    revision: int
    state: RevisionState
    reason: str = ""


@dataclass(frozen=True, slots=True)
class LedgerEntry:
    """One revision in the ledger. `attempts` counts the starts of its extraction, across crashes.

    `revision` is 0 until `enter` has numbered the revision.
    """

    graph: str
    doc_id: str
    position: Position
    state: RevisionState
    reason: str
    attempts: int
    accepted_ms: int
    ended_ms: int | None
    revision: int


class Ledger(Protocol):
    """Every accepted revision, its number and its outcome.

    Numbers and outcomes are final: a position keeps its number, and a second outcome for a revision is ignored.
    """

    async def accept(self, records: Sequence[Record]) -> Sequence[Position]:
        """Append the records to `documents` and enter them as ACCEPTED, in one durable step: all or none."""
        ...

    async def enter(self, delivered: Sequence[ConsumedRecord]) -> Sequence[int]:
        """Enter the revisions that reached `documents` without `accept`, and number those that have no number.

        Returns the number of each. The caller must have entered every earlier record of their partitions, or enter it
        now. Raises Broken for a position that is known under another key: log and ledger have different histories.
        A record that the deletion of its graph covers gets a number and no entry.
        """
        ...

    async def begin(self, graph: str, doc_id: str, revision: int) -> int:
        """Count an attempt at extraction, durably, before it starts. Returns the new number of attempts.

        Returns 0 for a revision that the deletion of its graph covers. Raises Broken for one that was never entered.
        """
        ...

    async def uncount_attempt(self, graph: str, doc_id: str, revision: int) -> None:
        """Subtract one attempt that waits instead of having failed. Never below 0; unknown revisions are ignored."""
        ...

    async def finish(self, outcomes: Sequence[RevisionOutcome]) -> None:
        """Record outcomes reached outside a graph commit (FAILED by the extract stage)."""
        ...

    async def latest(self, graph: str, doc_id: str) -> LedgerEntry | None:
        """Return the newest revision of a document, in any state. One without a number is ordered by acceptance."""
        ...

    async def documents(self, graph: str, after: str, prefix: str, limit: int) -> Sequence[LedgerEntry]:
        """Return the newest revision, in any state, of the first `limit` documents whose id is above `after`.

        In the order of ids, which is the adapter's own but fixed, of ids that begin with `prefix`. Cost: the revisions
        of the documents returned.
        """
        ...

    async def pending(self, graph: str, up_to: Position | None = None) -> int:
        """Return the number of the graph's ACCEPTED revisions, at or before `up_to` in its partition."""
        ...

    async def oldest_pending(self, graph: str) -> int | None:
        """Return when the graph's oldest ACCEPTED revision was accepted (milliseconds since the epoch); None without
        one. Where there is one partition, the oldest is the first in its order.
        """
        ...

    async def has_revisions(self, graph: str, positions: Sequence[Position]) -> bool:
        """Return whether every position holds a revision of the graph. Cost: the positions."""
        ...

    async def numbers(self, graph: str, positions: Sequence[Position]) -> Mapping[Position, int]:
        """Return the numbers of the graph's revisions at these positions; 0 before `enter` has numbered one."""
        ...

    async def unfinished(self, accepted_before_ms: int, limit: int) -> Sequence[LedgerEntry]:
        """Return at most `limit` ACCEPTED revisions older than that, oldest first, for the sweeper."""
        ...

    async def counts(self, graph: str) -> Mapping[RevisionState, int]:
        """Return the number of revisions by state."""
        ...


@dataclass(frozen=True, slots=True)
class StoredDocument:
    """The stored state of a document: its last revision, and its encoded `ExtractionMessage` (None: deleted)."""

    revision: int
    extraction: bytes | None


@dataclass(frozen=True, slots=True)
class GraphDeletion:
    """The last deletion of a graph. It covers the revisions before `before`, an offset for each partition of
    `documents`: they are never applied. `version` is that of the commit that deleted the graph; `erased` is True once
    nothing is left to erase, and no later version is committed before that.
    """

    graph: str
    before: Mapping[int, int]
    version: int = 0
    erased: bool = False

    def covers(self, position: Position) -> bool:
        """Return True if the record at the position was accepted before the deletion."""
        return position.offset < self.before.get(position.partition, 0)

    def includes(self, other: GraphDeletion) -> bool:
        """Return True if this deletion covers every revision that the other one covers."""
        return all(self.before.get(partition, 0) >= offset for partition, offset in other.before.items())

    def joined(self, other: GraphDeletion | None) -> GraphDeletion:
        """Return the deletion that covers what either covers, at this one's version."""
        earlier = other.before if other else {}
        both = {number: max(earlier.get(number, 0), self.before.get(number, 0)) for number in {*earlier, *self.before}}
        return GraphDeletion(self.graph, both, self.version)


@dataclass(frozen=True, slots=True)
class Watermark:
    """The committed progress in a partition of `extractions`. Only the holder of the latest epoch may commit."""

    epoch: int
    next_offset: int


@dataclass(frozen=True, slots=True)
class GraphCommit:
    """The part of a batch for one graph: the delta, the state of each changed document, verdicts on pairs of labels.

    A snapshot as the delta is a rebuilt graph, at the next version: it replaces all rows, every row counts as new, and
    the reports are deleted, because the community numbers are new. With a `deletion` the delta is `deleted`: after the
    commit the graph does not exist, and `erase` deletes what the deletion covers.
    """

    delta: GraphDelta
    standings: Mapping[str, StoredDocument]
    verdicts: Mapping[PairKey, bool] = field(default_factory=dict)
    deletion: GraphDeletion | None = None


Overwritten = Callable[[GraphDelta, bytes], tuple[Record, ...]]
"""Makes the notices of the rows that a delta overwrote (`streams/changes/old_rows.py`), at most MAX_OVERWRITTEN."""
MAX_OVERWRITTEN = 1_000


@dataclass(frozen=True, slots=True)
class Commit:
    """One batch of one partition: applied whole or not at all.

    1. compare-and-set of the watermark: the stored one must equal `held`; it advances to `next_offset`
    2. the rows of every delta, the document states, the verdicts
    3. the outcomes, in the ledger
    4. the notices, in `deltas`, or in the outbox where the store has one

    With `overwritten` the store reads, before 2., the rows that each delta of a graph that is not rebuilt overwrites,
    and adds the records that the function makes of them, encoded, to the notices.
    """

    partition: int
    held: Watermark
    next_offset: int
    graphs: tuple[GraphCommit, ...]
    outcomes: tuple[RevisionOutcome, ...]
    notices: tuple[Record, ...] = ()
    overwritten: Overwritten | None = None


class Outbox(Protocol):
    """Transactional outbox of the notices that are not in `deltas` yet, where store and log are two systems.

    A commit writes its notices here in its own transaction; a relay appends them to `deltas` and marks them as sent.
    """

    async def waiting(self, partition: int, limit: int) -> Sequence[tuple[int, Record]]:
        """Return the first `limit` unsent notices of the partition, in order, with ascending numbers."""
        ...

    async def sent(self, partition: int, up_to: int) -> None:
        """Mark the notices up to and including that number as appended to `deltas`: they may be deleted.

        The mark may be lost with the process until `settle`; a successor then relays those notices again.
        """
        ...

    async def settle(self, partition: int) -> None:
        """Delete the notices that are marked as sent. Called while the partition is idle: a commit does it, too."""
        ...


class GraphStore(Protocol):
    """Durable storage of graphs: rows by version, states by document, one watermark per partition."""

    async def claim(self, partition: int) -> Watermark:
        """Raise the partition's epoch by one and return its watermark: the caller is now the writer."""
        ...

    async def commit(self, commit: Commit) -> None:
        """Apply the commit in one transaction, and bind graphs without a binding to its partition.

        Raises Fenced when the stored watermark is not `commit.held`, or a graph is bound to another partition.
        """
        ...

    async def bindings(self, graphs: Sequence[str]) -> Mapping[str, int]:
        """Return the partition of `extractions` that each graph is bound to; graphs without a binding are left out."""
        ...

    async def graphs(self) -> Mapping[str, int]:
        """Return the graphs that exist, with their versions. A graph exists from its first commit to its deletion; the
        versions of a graph published again after a deletion continue those before.
        """
        ...

    async def deletions(self, graphs: Sequence[str]) -> Mapping[str, GraphDeletion]:
        """Return the last deletion of these graphs; graphs that were never deleted are left out."""
        ...

    async def erase(self, partition: int, held: Watermark, graph: str, limit: int) -> int:
        """Delete at most `limit` rows of each kind that the graph's deletion covers, in one transaction: documents,
        verdicts, reports, revisions, memoised model answers. Returns the number deleted; 0 when none is left, which
        the deletion notes as `erased`.

        Raises Fenced when the stored watermark is not `held`: only the graph's writer may erase.
        """
        ...

    async def standings(self, graph: str, doc_ids: Sequence[str]) -> Mapping[str, StoredDocument]:
        """Return the stored state of these documents; documents that the graph never had are left out."""
        ...

    async def verdicts(self, graph: str) -> Mapping[PairKey, bool]:
        """Return every committed verdict on a pair of labels: like documents, verdicts are input to the graph."""
        ...

    async def snapshot(self, graph: str) -> GraphDelta:
        """Return every row of the graph as one delta, at one version. An unknown graph has version 0 and no rows."""
        ...

    def extractions(self, graph: str) -> AsyncIterator[tuple[str, bytes]]:
        """Yield (doc_id, encoded ExtractionMessage) of every live document, by doc_id: the input of a rebuild."""
        ...

    async def replace(self, snapshot: GraphDelta) -> None:
        """Replace the stored graph by a rebuilt one, at the version of the snapshot."""
        ...

    async def reports(self, graph: str) -> Sequence[ReportRow]: ...

    async def save_reports(self, graph: str, rows: Sequence[ReportRow], gone: Sequence[int]) -> None:
        """Store reports by community, and delete those of the communities in `gone`.

        Reports on versions up to the graph's deletion are ignored.
        """
        ...
