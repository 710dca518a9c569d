"""The port of the ledger: the state, the attempts and the outcome of each revision.

A revision number orders the revisions of one document. Where `documents` always has one partition, it is the offset
of the record; otherwise see `streams/log/revisions.py`. A record is identified by its position, never by its number.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Protocol

from graphtide.streams.ports.log import ConsumedRecord, Position, Record


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

    `revision` is 0 until `register` has numbered the revision.
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
        """Append the records to `documents` and register them as ACCEPTED, in one durable step: all or none."""
        ...

    async def register(self, delivered: Sequence[ConsumedRecord]) -> Sequence[int]:
        """Register the revisions that reached `documents` without `accept`, and number those that have no number.

        Returns the number of each. The caller must have registered every earlier record of their partitions, or do so
        now. Raises Broken for a position that is known under another key: log and ledger have different histories.
        A record that the deletion of its graph covers gets a number and no entry.
        """
        ...

    async def start_attempt(self, graph: str, doc_id: str, revision: int) -> int:
        """Count an attempt at extraction, durably, before it starts. Returns the new number of attempts.

        Returns 0 for a revision that the deletion of its graph covers. Raises Broken for one that was never registered.
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

    async def pending(self, graph: str) -> int:
        """Return the number of the graph's ACCEPTED revisions. Cost: that number."""
        ...

    async def pending_counts(self) -> Mapping[str, int]:
        """Return the number of ACCEPTED revisions of each graph that has any. Cost: the pending revisions."""
        ...

    async def oldest_pending(self, graph: str) -> int | None:
        """Return when the graph's oldest ACCEPTED revision was accepted (milliseconds since the epoch); None without
        one. Where there is one partition, the oldest is the first in its order.
        """
        ...

    async def have_ended(self, graph: str, positions: Sequence[Position]) -> bool | None:
        """Return whether the graph has no ACCEPTED revision at or before each position in its partition.

        None when a position holds no revision of the graph.
        """
        ...

    async def numbers(self, graph: str, positions: Sequence[Position]) -> Mapping[Position, int]:
        """Return the numbers of the graph's revisions at these positions; 0 before `register` has numbered one."""
        ...

    async def unfinished(self, accepted_before_ms: int, limit: int) -> Sequence[LedgerEntry]:
        """Return at most `limit` ACCEPTED revisions older than that, oldest first, for the sweeper."""
        ...

    async def counts(self, graph: str) -> Mapping[RevisionState, int]:
        """Return the number of revisions by state."""
        ...
