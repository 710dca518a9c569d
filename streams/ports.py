"""The ports of the stages: the log that carries records, the ledger of revisions, the store that holds graphs.

Each port has an in-memory reference in `streams/memory` that defines its meaning, and every adapter passes the
contract suite in `tests/contract`. Adapters raise only the errors of `streams/errors.py`.

A revision is a number that orders the revisions of one document. Where `documents` has one partition for ever, it is
the record's offset; elsewhere see `streams/revisions.py`. A record is identified by its position, never by its number.

A graph is bound to the partition of `extractions` that its first commit came through, for ever. The single writer of a
graph is the holder of the latest epoch of that partition.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Protocol

from graphtide.graph.records import GraphDelta
from graphtide.graph.reports.cache import ReportFinding as ReportFinding  # noqa: PLC0414 - re-exported for adapters
from graphtide.graph.reports.cache import ReportRow as ReportRow  # noqa: PLC0414 - likewise
from graphtide.graph.resolution import PairKey


@dataclass(frozen=True, slots=True)
class Record:
    """What is appended to a topic. `value` None is a tombstone; `partition` None leaves the choice to the key."""

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
    """A record as it is read back: where it stands, and when it was appended (milliseconds since the epoch)."""

    position: Position
    timestamp_ms: int
    record: Record


class Consumer(Protocol):
    """One reader of one topic. Not shared between tasks.

    The consumers of a group share the topic's partitions. A partition that a consumer holds can go to another one at
    any time, and only `poll` lets the caller see it: a poll that finds `assigned` changed returns at once, empty.
    So nothing of a partition is delivered before the caller had the chance to look, and to `seek`. A partition that
    stays goes on where it was; one that is gained anew starts after what the group committed.
    """

    def assigned(self) -> frozenset[int]:
        """The partitions that this consumer holds, as of the last poll. Backends of one process: all, always."""
        ...

    async def poll(
        self, limit: int, timeout_s: float, among: Collection[int] | None = None
    ) -> Sequence[ConsumedRecord]:
        """Up to `limit` records, in order within each partition, each delivered once since the last `seek`.

        Waits up to `timeout_s` for the first one; returns an empty sequence after that, and at once when `assigned`
        has changed: until the next poll, that is. `among` names the partitions to read; the others keep their place,
        and with none it only waits. Cancelled, it may have taken records: `seek` to have them again.
        """
        ...

    async def commit(self, position: Position) -> None:
        """Everything up to and including `position` in its partition is done: a restart resumes after it.

        Of a partition that is not held any more, nothing is committed: that is for its new holder to do.
        """
        ...

    async def seek(self, position: Position) -> None:
        """The next poll of that partition starts AT `position.offset`. A partition that is not held is passed over."""
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
        """A reader that resumes after what `group` committed, or at the start."""
        ...

    def reader(self, topic: str, offsets: Mapping[int, int]) -> Consumer:
        """A reader of every partition, from the given offsets (the start where none is given), of no group.

        It shares nothing with anybody: what it commits is nowhere. For followers, and for looking something up.
        """
        ...

    async def start(self, topic: str) -> Mapping[int, int]:
        """The offset of the first record of each partition that is still there; its end where none is."""
        ...

    async def end(self, topic: str) -> Mapping[int, int]:
        """The next offset of each partition."""
        ...

    async def committed(self, topic: str, group: str) -> Mapping[int, int]:
        """Where the group would go on in each partition; 0 where it committed nothing."""
        ...

    async def members(self, topic: str, group: str) -> int:
        """How many consumers of the topic the group has now, in all processes."""
        ...

    async def trim(self, topic: str, before: Position) -> None:
        """Records of the partition in front of `before` may be forgotten, now or later. Offsets stay as they are."""
        ...


class RevisionState(StrEnum):
    """Where a revision stands. All but ACCEPTED are ends, and a revision has exactly one end."""

    ACCEPTED = "accepted"
    APPLIED = "applied"
    SUPERSEDED = "superseded"
    DELETED = "deleted"
    FAILED = "failed"


@dataclass(frozen=True, slots=True)
class RevisionOutcome:
    """The end of one revision. `reason` says why when it failed."""

    graph: str
    doc_id: str
    revision: int
    state: RevisionState
    reason: str = ""


@dataclass(frozen=True, slots=True)
class LedgerEntry:
    """One revision in the ledger. `attempts` counts starts of its extraction, over crashes too.

    `revision` is 0 as long as the revision has no number: until `enter` has seen it.
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
    """Every accepted revision, its number and its end.

    Numbers and ends are final: a position keeps its number, and a second outcome for a revision is ignored.
    """

    async def accept(self, records: Sequence[Record]) -> Sequence[Position]:
        """Append the records to `documents` and enter them as ACCEPTED: one durable step, all or none."""
        ...

    async def enter(self, delivered: Sequence[ConsumedRecord]) -> Sequence[int]:
        """Enter the revisions that reached `documents` without `accept`, and number those that have no number.

        Returns the number of each. The caller has entered every earlier record of their partitions before, or enters
        it now. Raises Broken for a position that is known under another key: log and ledger are not of one history.
        """
        ...

    async def begin(self, graph: str, doc_id: str, revision: int) -> int:
        """Count an attempt at extraction, durably, before it starts; returns how many there are now."""
        ...

    async def uncount_attempt(self, graph: str, doc_id: str, revision: int) -> None:
        """Take one counted attempt back: it did not fail, it waits. Never below 0; unknown ones are passed over."""
        ...

    async def finish(self, outcomes: Sequence[RevisionOutcome]) -> None:
        """Record ends reached outside a graph commit (FAILED by the extract stage)."""
        ...

    async def latest(self, graph: str, doc_id: str) -> LedgerEntry | None:
        """The newest revision of a document, whatever its state. One without a number counts by its acceptance."""
        ...

    async def pending(self, graph: str, up_to: Position | None = None) -> int:
        """How many revisions of the graph have no end yet, of those at or before `up_to` in its partition."""
        ...

    async def unfinished(self, accepted_before_ms: int, limit: int) -> Sequence[LedgerEntry]:
        """ACCEPTED revisions older than that, oldest first: what the sweeper looks at."""
        ...

    async def counts(self, graph: str) -> Mapping[RevisionState, int]:
        """Revisions by state."""
        ...


@dataclass(frozen=True, slots=True)
class StoredDocument:
    """What a graph holds of a document: its last revision, and its encoded `ExtractionMessage` (None: deleted)."""

    revision: int
    extraction: bytes | None


@dataclass(frozen=True, slots=True)
class Watermark:
    """A partition of `extractions` as its writer last left it. The holder of the latest epoch alone may commit."""

    epoch: int
    next_offset: int


@dataclass(frozen=True, slots=True)
class GraphCommit:
    """One graph's part of a batch: the delta, the standing of each document it touched, verdicts on pairs of labels.

    A snapshot as the delta is a rebuilt graph, at the next version: it takes the place of all rows, every row counts as
    new, and the reports go, because communities mean something else now.
    """

    delta: GraphDelta
    standings: Mapping[str, StoredDocument]
    verdicts: Mapping[PairKey, bool] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Commit:
    """One batch of one partition: applied whole or not at all.

    1. compare-and-set of the watermark: `held` must be what the store has; it becomes `next_offset`
    2. the rows of every delta, the standings, the verdicts
    3. the outcomes, in the ledger
    4. the notices, in `deltas`, or in the outbox where the store has one
    """

    partition: int
    held: Watermark
    next_offset: int
    graphs: tuple[GraphCommit, ...]
    outcomes: tuple[RevisionOutcome, ...]
    notices: tuple[Record, ...] = ()


class Outbox(Protocol):
    """The notices of commits that are not in `deltas` yet: where store and log are two systems.

    A commit puts its notices here in its own transaction; a relay appends them to `deltas` and says so.
    """

    async def waiting(self, partition: int, limit: int) -> Sequence[tuple[int, Record]]:
        """The first `limit` notices of the partition's commits, in order, numbered by rising numbers."""
        ...

    async def sent(self, partition: int, up_to: int) -> None:
        """The notices up to and including that number are in `deltas`: they may be forgotten."""
        ...


class GraphStore(Protocol):
    """Where graphs last: rows by version, standings by document, one watermark a partition."""

    async def claim(self, partition: int) -> Watermark:
        """Raise the partition's epoch by one and return what its watermark is now: the caller is the writer."""
        ...

    async def commit(self, commit: Commit) -> None:
        """Apply the commit in one transaction, and bind graphs without a binding to its partition.

        Raises Fenced when the watermark is not the one it holds, or when a graph is bound to another partition.
        """
        ...

    async def bindings(self, graphs: Sequence[str]) -> Mapping[str, int]:
        """The partition of `extractions` that each of these graphs is bound to; graphs without one are left out."""
        ...

    async def graphs(self) -> Mapping[str, int]:
        """The graphs that exist (a graph exists from its first commit), with their versions."""
        ...

    async def standings(self, graph: str, doc_ids: Sequence[str]) -> Mapping[str, StoredDocument]:
        """What the graph holds of these documents; documents it never had are left out."""
        ...

    async def verdicts(self, graph: str) -> Mapping[PairKey, bool]:
        """Every verdict on a pair of labels that was ever committed: like documents, they are input to the graph."""
        ...

    async def snapshot(self, graph: str) -> GraphDelta:
        """Every row of the graph, as one delta from nothing, at one version. An unknown graph: version 0, no rows."""
        ...

    def extractions(self, graph: str) -> AsyncIterator[tuple[str, bytes]]:
        """(doc_id, encoded ExtractionMessage) of every live document, by doc_id: what a rebuild is made from."""
        ...

    async def replace(self, snapshot: GraphDelta) -> None:
        """Put a rebuilt graph in the place of the one that stands, at the version the snapshot names."""
        ...

    async def reports(self, graph: str) -> Sequence[ReportRow]: ...

    async def save_reports(self, graph: str, rows: Sequence[ReportRow], gone: Sequence[int]) -> None:
        """Store reports by community, and drop those of the communities in `gone`."""
        ...
