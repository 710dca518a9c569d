"""The Ledger port on Neo4j or Memgraph: one node per revision, identified by its position in `documents`.

`accept` has two steps, because the log is another system: append, then register. When a process dies between the two,
extraction registers the record when it first reads it; no record is lost. `accept` assigns no number: it does not know
what else was appended to the partition. `register` assigns it, because it reads a partition's records in order.

Invariant: the transaction that finishes a revision also updates the totals, and only unfinished revisions are in the
indexes that `pending` and `unfinished` read; so counting costs the rows counted, not all rows ever accepted.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from graphtide.infra.bolt.batching.attempts import AttemptCounter
from graphtide.infra.bolt.codec import in_order, key
from graphtide.infra.bolt.cypher import graphs as graph_cypher
from graphtide.infra.bolt.cypher import revisions as revision_cypher
from graphtide.infra.bolt.database import BoltDatabase, Row, Transaction, batched, undeleted
from graphtide.infra.bolt.graph_store.deletion import covers
from graphtide.streams.checks import check_ends, other_history
from graphtide.streams.errors import Broken
from graphtide.streams.log.revisions import MAX_PARTITIONS, estimate, unnumbered
from graphtide.streams.messages import DOCUMENTS, split_document_key
from graphtide.streams.ports import ConsumedRecord, LedgerEntry, Log, Position, Record, RevisionOutcome, RevisionState

_ENTERED = ("graph", "doc_id", "partition", "position", "state", "accepted_ms")


class BoltLedger:
    """See Ledger."""

    def __init__(self, database: BoltDatabase, log: Log, clock_ms: Callable[[], int]) -> None:
        self._database = database
        self._log = log
        self._clock_ms = clock_ms
        self._attempts = AttemptCounter(database)

    async def accept(self, records: Sequence[Record]) -> Sequence[Position]:
        """See Ledger.accept. Raises Rejected when a key is not of the form graph|doc_id.

        After an error of the second step the records are accepted but not registered yet. The caller may publish again.
        """
        keys = [split_document_key(record.key) for record in records]
        if not records:
            return []
        at = self._clock_ms()
        positions = await self._log.append(DOCUMENTS, records)
        await self._register([_registered(*names, at_, at) for names, at_ in zip(keys, positions, strict=True)])
        return positions

    async def register(self, delivered: Sequence[ConsumedRecord]) -> Sequence[int]:
        """See Ledger.register, in one statement. Raises Rejected when a key is not of the form graph|doc_id."""
        partitions: dict[int, dict[str, Any]] = {}
        for consumed in unnumbered(delivered):
            position = consumed.delivered.position
            keys = split_document_key(consumed.delivered.record.key)
            row = _registered(*keys, position, consumed.delivered.timestamp_ms)
            row |= {"prefix": key(keys[0], ""), "suffix": key("", keys[1])}  # of `_key`
            batch = partitions.setdefault(position.partition, {"partition": position.partition, "rows": []})
            batch["rows"].append(
                row | {"accepted": consumed.accepted, "latest": consumed.latest, "repeat": consumed.repeat}
            )
            batch["next_offset"] = position.offset + 1
        if not partitions:
            return []
        found = await self._database.ask(revision_cypher.NUMBER, rows=list(partitions.values()), step=MAX_PARTITIONS)
        numbered = {row["place"]: row for row in found}
        await self._leave_out(delivered, numbered)
        return [_numbered(consumed, numbered[_place(consumed.position)]) for consumed in delivered]

    async def _leave_out(self, delivered: Sequence[ConsumedRecord], numbered: Mapping[str, Row]) -> None:
        """Delete the entries of revisions that the deletion of their graph covers."""
        covered = {
            place
            for consumed in delivered
            for place in [_place(consumed.position)]
            if covers(numbered[place]["deleted_before"], consumed.position.partition, consumed.position.offset)
        }
        await self._database.ask_each_key(graph_cypher.ERASE_REVISIONS, sorted(covered))

    async def _register(self, rows: Iterable[Row]) -> None:
        distinct = sorted({row["place"]: row for row in rows}.values(), key=lambda row: str(row["place"]))
        for portion in batched(distinct):
            await self._database.ask(revision_cypher.ENTER, rows=portion)

    async def start_attempt(self, graph: str, doc_id: str, revision: int) -> int:
        """See Ledger.start_attempt. Raises Broken for an unregistered revision. A lost reply may count two attempts."""
        attempts = await self._attempts.count(_key(graph, doc_id, revision))
        if attempts is not None:
            return attempts
        if await self._database.ask(graph_cypher.DELETIONS, keys=[graph]):
            return 0
        raise Broken(f"revision {revision} of document {doc_id!r} in graph {graph!r} is not in the ledger")

    async def uncount_attempt(self, graph: str, doc_id: str, revision: int) -> None:
        """See Ledger.uncount_attempt."""
        at = _key(graph, doc_id, revision)
        await self._database.ask(revision_cypher.SPARE_ATTEMPT, key=at)

    async def finish(self, outcomes: Sequence[RevisionOutcome]) -> None:
        """See Ledger.finish. An outcome of a revision that was never registered changes nothing."""
        check_ends(outcomes)
        if outcomes:
            await self._database.write(lambda tx: self.record(tx, outcomes))

    async def record(self, tx: Transaction, outcomes: Sequence[RevisionOutcome]) -> None:
        """Set outcomes within the caller's transaction, the first of each revision. Locks are taken in the order of
        keys.
        """
        first: dict[str, Row] = {}
        for outcome in outcomes:
            at = _key(outcome.graph, outcome.doc_id, outcome.revision)
            total = key(outcome.graph, outcome.state.value)
            first.setdefault(at, {"key": at, "state": outcome.state.value, "reason": outcome.reason, "total": total})
        await tx.each(revision_cypher.CONCLUDE, [first[at] for at in sorted(first)], now_ms=self._clock_ms())

    async def forget_reasons(self, documents: Sequence[tuple[str, str]]) -> None:
        """Delete the reasons of all revisions of these documents, (graph, doc_id) each."""
        keys = [key(graph, doc_id) for graph, doc_id in documents]
        await self._database.ask_each_key(revision_cypher.FORGET_REASONS, keys)

    async def latest(self, graph: str, doc_id: str) -> LedgerEntry | None:
        """See Ledger.latest. Cost: the revisions of the document."""
        found = await self._database.ask(revision_cypher.LATEST, document=key(graph, doc_id))
        live = undeleted(found, _ENTERED)
        return _entry(live[0]) if live else None

    async def documents(self, graph: str, after: str, prefix: str, limit: int) -> Sequence[LedgerEntry]:
        """See Ledger.documents. Ids are ordered as the graph database orders strings."""
        found = await self._database.ask(
            revision_cypher.LISTED_DOCUMENTS, prefix=key(graph, prefix), after=key(graph, after), limit=limit
        )
        documents = [row["document"] for row in undeleted(found, ("document",))]
        newest: dict[str, tuple[tuple[int, int], LedgerEntry]] = {}
        found = await self._database.ask(revision_cypher.REVISIONS_OF, documents=documents) if documents else []
        for row in undeleted(found, _ENTERED):
            entry, rank = _entry(row), (int(row["ordered_by"]), int(row["position"]))
            document = key(entry.graph, entry.doc_id)
            if document not in newest or newest[document][0] < rank:
                newest[document] = rank, entry
        return [newest[document][1] for document in documents if document in newest]

    async def pending(self, graph: str) -> int:
        """See Ledger.pending. Cost: the pending revisions."""
        [row] = await self._database.ask(revision_cypher.PENDING, graph=graph)
        return int(row["pending"])

    async def pending_counts(self) -> Mapping[str, int]:
        """See Ledger.pending_counts."""
        return {row["graph"]: row["pending"] for row in await self._database.ask(revision_cypher.PENDING_COUNTS)}

    async def oldest_pending(self, graph: str) -> int | None:
        """See Ledger.oldest_pending. Cost: the graph's pending revisions."""
        [row] = await self._database.ask(revision_cypher.OLDEST_PENDING, graph=graph)
        return None if row["accepted_ms"] is None else int(row["accepted_ms"])

    async def have_ended(self, graph: str, positions: Sequence[Position]) -> bool | None:
        """See Ledger.have_ended. Cost: the positions, and the graph's pending revisions for each partition."""
        places = sorted({_place(position) for position in positions})
        [row] = await self._database.ask(revision_cypher.HAS_REVISIONS, graph=graph, places=places)
        if int(row["held"]) != len(places):
            return None
        for last in positions:
            values = {"partition": last.partition, "position": last.offset}
            [row] = await self._database.ask(revision_cypher.PENDING_UP_TO, graph=graph, **values)
            if row["pending"]:
                return False
        return True

    async def numbers(self, graph: str, positions: Sequence[Position]) -> Mapping[Position, int]:
        """See Ledger.numbers."""
        places = {_place(position): position for position in positions}
        found = await self._database.ask(revision_cypher.REVISIONS_AT, graph=graph, places=sorted(places))
        return {places[row["place"]]: int(row["revision"] or 0) for row in undeleted(found, ("place",))}

    async def unfinished(self, accepted_before_ms: int, limit: int) -> Sequence[LedgerEntry]:
        """See Ledger.unfinished. Cost: the pending revisions older than the limit."""
        found = await self._database.read(
            lambda tx: tx.run(revision_cypher.UNFINISHED, before_ms=accepted_before_ms, limit=limit)
        )
        return [_entry(row) for row in undeleted(found, _ENTERED)]

    async def counts(self, graph: str) -> Mapping[RevisionState, int]:
        """See Ledger.counts. Every state is included, with 0 for none. Cost: the pending revisions, and four rows."""

        async def work(tx: Transaction) -> dict[str, int]:
            totals = {row["state"]: row["revisions"] for row in await tx.run(revision_cypher.READ_TOTALS, graph=graph)}
            [row] = await tx.run(revision_cypher.PENDING, graph=graph)
            return totals | {RevisionState.ACCEPTED.value: row["pending"]}

        counted = await self._database.read(work)
        return {state: int(counted.get(state.value, 0)) for state in RevisionState}


def _key(graph: str, doc_id: str, revision: int) -> str:
    return key(graph, revision, doc_id)


def _place(position: Position) -> str:
    return in_order(position.partition, position.offset)


def _registered(graph: str, doc_id: str, position: Position, accepted_ms: int) -> dict[str, Any]:
    return {
        "place": _place(position),
        "graph": graph,
        "doc_id": doc_id,
        "document": key(graph, doc_id),
        "partition": position.partition,
        "position": position.offset,
        "accepted_ms": accepted_ms,
        "estimate": estimate(accepted_ms, position.partition),
    }


def _numbered(consumed: ConsumedRecord, row: Row) -> int:
    wanted = key(*split_document_key(consumed.record.key))
    if row["document"] != wanted:
        raise other_history(consumed.position, consumed.record.key, row["document"])
    return int(row["revision"])


def _entry(row: Row) -> LedgerEntry:
    position = Position(row["partition"], row["position"])
    times = (row["accepted_ms"], row["ended_ms"])
    fields = (RevisionState(row["state"]), row["reason"], row["attempts"], *times, row["revision"])
    return LedgerEntry(row["graph"], row["doc_id"], position, *fields)
