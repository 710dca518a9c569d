"""The port of the graph store: commits of a partition's writer, snapshots, and the outbox of notices.

A graph is bound permanently to the partition of `extractions` that its first commit came through. The single writer
of a graph is the holder of the latest epoch of that partition.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum, auto
from typing import TYPE_CHECKING, Protocol, TypeAlias

from graphtide.graph.reports.rows import ReportRow
from graphtide.streams.ports.ledger import RevisionOutcome
from graphtide.streams.ports.log import Position, Record

if TYPE_CHECKING:
    from graphtide.graph.records import GraphDelta
    from graphtide.graph.resolution import PairKey, Verdict


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


class SnapshotUse(Enum):
    """The purpose for which a snapshot is read. A store may leave out columns that it does not need.

    A view reads no encoded sums. A write model reads of passages the vectors alone, no evidence, and no vectors of
    statements and entities, which follow from the sums.
    """

    EVERYTHING = auto()
    VIEW = auto()
    WRITE_MODEL = auto()


@dataclass(frozen=True, slots=True)
class ContentSize:
    """A number of documents, and the UTF-8 bytes of their passages: of a graph, or a difference."""

    documents: int = 0
    text_bytes: int = 0

    def __add__(self, other: ContentSize) -> ContentSize:
        return ContentSize(self.documents + other.documents, self.text_bytes + other.text_bytes)

    def __sub__(self, other: ContentSize) -> ContentSize:
        return ContentSize(self.documents - other.documents, self.text_bytes - other.text_bytes)


@dataclass(frozen=True, slots=True)
class GraphContent:
    """The content of a graph at a version."""

    version: int
    size: ContentSize


@dataclass(frozen=True, slots=True)
class GraphCommit:
    """The part of a batch for one graph: the delta, the state of each changed document, verdicts on pairs of labels.

    A snapshot as the delta is a rebuilt graph, at the next version: it replaces all rows, every row counts as new, and
    the reports are deleted, because the community numbers are new. With a `deletion` the delta is `deleted`: after the
    commit the graph does not exist, and `erase` deletes what the deletion covers.

    `content` is the change of the graph's content, None if it is not known: the store then counts it when it is read.
    """

    delta: GraphDelta
    standings: Mapping[str, StoredDocument]
    verdicts: Mapping[PairKey, Verdict] = field(default_factory=dict)
    deletion: GraphDeletion | None = None
    content: ContentSize | None = None


Overwritten: TypeAlias = "Callable[[GraphDelta, bytes], tuple[Record, ...]]"
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
    expected: Watermark
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

        Raises Fenced when the stored watermark is not `commit.expected`, or a graph is bound to another partition.
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

    async def version(self, graph: str) -> int:
        """Return the graph's version; 0 for one that does not exist."""
        ...

    async def contents(self) -> Mapping[str, GraphContent]:
        """Return the content of each graph that exists, read without its rows where the store has kept count."""
        ...

    async def deletions(self, graphs: Sequence[str]) -> Mapping[str, GraphDeletion]:
        """Return the last deletion of these graphs; graphs that were never deleted are left out."""
        ...

    async def erase(self, partition: int, expected: Watermark, graph: str, limit: int) -> int:
        """Delete at most `limit` rows of each kind that the graph's deletion covers, in one transaction: documents,
        verdicts, reports, revisions, memoised model answers. Returns the number deleted; 0 when none is left, which
        the deletion notes as `erased`.

        Raises Fenced when the stored watermark is not `held`: only the graph's writer may erase.
        """
        ...

    async def standings(
        self, graph: str, doc_ids: Sequence[str], *, vectors: bool = True
    ) -> Mapping[str, StoredDocument]:
        """Return the stored state of these documents; documents that the graph never had are left out.

        Without `vectors`, large extractions may lack them, which are most of their bytes: decode such an extraction
        without vectors, too.
        """
        ...

    async def verdicts(self, graph: str) -> Mapping[PairKey, Verdict]:
        """Return every committed verdict on a pair of labels: like documents, verdicts are input to the graph."""
        ...

    async def snapshot(self, graph: str, use: SnapshotUse = SnapshotUse.EVERYTHING) -> GraphDelta:
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
