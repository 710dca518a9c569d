"""The GraphStore port on Neo4j or Memgraph: rows as nodes and relationships, and a commit as one transaction.

Invariant: watermark, rows, stored documents, verdicts, outcomes and notices of a commit are all stored or none is. A
graph's rows are read and written under the scope that its head names (see generations.py).
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, fields
from uuid import uuid4

from graphtide.graph.records import GraphDelta
from graphtide.graph.resolution import PairKey, Verdict
from graphtide.graph.resolution.predicates.pairs import decoded
from graphtide.infra.bolt.codec import digest_key, key
from graphtide.infra.bolt.cypher import documents as document_cypher
from graphtide.infra.bolt.cypher import graphs as graph_cypher
from graphtide.infra.bolt.cypher import partitions as partition_cypher
from graphtide.infra.bolt.cypher.schema import Dialect
from graphtide.infra.bolt.database import BlockingTransaction, BoltDatabase, Row, Transaction, batched, undeleted
from graphtide.infra.bolt.graph_store import content, deletion, overwritten, predicate_links, rows, snapshot
from graphtide.infra.bolt.graph_store import generations as heads
from graphtide.infra.bolt.graph_store.generations import Head, ShadowBuilds
from graphtide.infra.bolt.graph_store.outbox import BoltOutbox, numbered, put_notices
from graphtide.infra.bolt.graph_store.values import (
    bytes_of_value,
    read_findings,
    report_row,
    standing_rows,
    verdict_rows,
)
from graphtide.infra.bolt.ledger import BoltLedger
from graphtide.streams.checks import check_ends, check_epoch, check_next, check_replacement, check_watermark
from graphtide.streams.errors import GraphtideError, Retryable
from graphtide.streams.ports import (
    MAX_OVERWRITTEN,
    Commit,
    GraphCommit,
    GraphContent,
    GraphDeletion,
    Record,
    ReportRow,
    SnapshotUse,
    StoredDocument,
    Watermark,
)
from graphtide.streams.retry import outcome_of

NO_WATERMARK = Watermark(0, 0)

PAGE_ROWS = 64

OPTIMISTIC_READS = 3
"""Reads of a snapshot beside a busy writer before the snapshot locks the head and the writer waits."""


@dataclass(frozen=True, slots=True)
class _StoredWatermark:
    """State of a partition's watermark node while it is locked."""

    watermark: Watermark
    notices: int
    last_commit: str


@dataclass(slots=True)
class _Stored:
    """The notices that the last attempt of a commit stored, and the sequence up to which it deleted earlier ones."""

    relayed: int
    notices: Mapping[int, Record] = field(default_factory=dict)


class BoltStore:
    """See GraphStore. `outbox` holds its notices until a relay sends them."""

    def __init__(self, database: BoltDatabase, ledger: BoltLedger, clock_ms: Callable[[], int]) -> None:
        self.outbox = BoltOutbox(database)
        self._database = database
        self._ledger = ledger
        self._builds = ShadowBuilds(database, clock_ms)

    async def sweep(self) -> None:
        """Delete what rebuilds of dead processes left behind. Called when a process starts."""
        await self._builds.sweep()

    async def claim(self, partition: int) -> Watermark:
        """See GraphStore.claim. If an answer is lost the epoch may rise by two."""
        [row] = await self._database.ask(partition_cypher.CLAIM, partition=partition)
        self.outbox.claimed(partition)
        return Watermark(row["epoch"], row["next_offset"])

    async def commit(self, commit: Commit) -> None:
        """See GraphStore.commit. Raises Broken when a delta is not the next version of its graph.

        A rebuilt graph of the commit is written before the transaction, where no reader sees it; the transaction only
        switches to it.
        """
        check_ends(commit.outcomes)
        token = uuid4().hex
        builds: dict[int, str] = {}
        stored = _Stored(self.outbox.relayed(commit.partition))
        try:
            for number, part in enumerate(commit.graphs):
                if part.delta.snapshot and part.deletion is None:
                    await self._check(commit, part)
                    builds[number] = await self._builds.write(part.delta)
            await self._database.write(
                lambda tx: self._commit(tx, commit, token, builds, stored),
                lambda: self._settled(commit.partition, token),
            )
        except BaseException:
            self.outbox.failed(commit.partition)
            for number, fresh in builds.items():
                await self._abandon(fresh, commit.graphs[number].delta.graph)
            raise
        self.outbox.committed(commit.partition, stored.notices, stored.relayed)
        if builds:
            await self._sweep_if_it_can()

    async def _commit(
        self, tx: Transaction, commit: Commit, token: str, builds: Mapping[int, str], stored: _Stored
    ) -> bool:
        # 1.
        announced = await _advance(tx, commit, token)
        notices = list(commit.notices)
        # 2.
        for number, part in enumerate(commit.graphs):
            notices += await self._write_part(tx, commit, part, builds.get(number))
        # 3.
        await self._ledger.record(tx, commit.outcomes)
        # 4.
        stored.notices = numbered(announced, notices)
        await put_notices(tx, commit.partition, stored.notices, stored.relayed)
        return True

    async def _settled(self, partition: int, token: str) -> bool | None:
        """Return whether a commit of unknown outcome happened: the watermark then has its token. Waits for a running
        commit.
        """
        stored = await self._database.read(lambda tx: _hold_watermark(tx, partition))
        return True if stored.last_commit == token else None

    async def _check(self, commit: Commit, part: GraphCommit) -> None:
        """Raise early if the commit would be refused, before a graph is written in vain."""

        async def work(tx: Transaction) -> None:
            check_watermark(commit, (await _hold_watermark(tx, commit.partition)).watermark)
            check_next(part.delta, (await _head(tx, part.delta.graph)).version)

        await self._database.read(work)

    async def _write_part(
        self, tx: Transaction, commit: Commit, part: GraphCommit, fresh: str | None
    ) -> tuple[Record, ...]:
        """Write the part of one graph; return the notices of the rows that it overwrote."""
        graph, delta = part.delta.graph, part.delta
        notices: tuple[Record, ...] = ()
        if part.deletion is not None:
            await deletion.delete_graph(tx, commit, part, part.deletion)
            return notices
        if fresh is None:
            scope = await heads.next_version(tx, part, commit)
            if commit.overwritten is not None:
                notices = commit.overwritten(delta, await overwritten.read(tx, scope, delta))
            await rows.write(tx, scope, delta)
        else:
            head = await heads.lock_head(tx, graph)
            await heads.bind(tx, graph, commit)
            check_next(delta, head.version)
            await self._builds.switch(tx, fresh, delta, head)
            await tx.run(document_cypher.CLEAR_REPORTS, graph=graph)
        await predicate_links.write(tx, delta)
        await tx.each(document_cypher.PUT_STANDINGS, standing_rows(graph, part.standings), graph=graph)
        await tx.each(document_cypher.PUT_VERDICTS, verdict_rows(graph, part.verdicts), graph=graph)
        return notices

    async def bindings(self, graphs: Sequence[str]) -> Mapping[str, int]:
        """See GraphStore.bindings."""
        found = await self._database.ask_each_key(graph_cypher.BINDINGS, list(dict.fromkeys(graphs)))
        return {row["name"]: row["partition"] for row in found}

    async def graphs(self) -> Mapping[str, int]:
        """See GraphStore.graphs."""
        found = await self._database.ask(graph_cypher.GRAPHS)
        return {row["name"]: row["version"] for row in found}

    async def version(self, graph: str) -> int:
        """See GraphStore.version."""
        found = await self._database.ask(graph_cypher.VERSION, graph=graph)
        return int(found[0]["version"]) if found else 0

    async def contents(self) -> Mapping[str, GraphContent]:
        """See GraphStore.contents: one statement. Graphs of earlier releases, whose head has no count, are counted."""
        return await content.read(self._database)

    async def deletions(self, graphs: Sequence[str]) -> Mapping[str, GraphDeletion]:
        """See GraphStore.deletions."""
        found = await self._database.ask_each_key(graph_cypher.DELETIONS, list(dict.fromkeys(graphs)))
        return {row["name"]: deletion.read(row) for row in found}

    async def erase(self, partition: int, expected: Watermark, graph: str, limit: int) -> int:
        """See GraphStore.erase. Rows of dead scopes are swept first, in transactions of their own."""
        known = (await self.deletions([graph])).get(graph)
        if known is None or known.erased:
            return 0
        await self._builds.sweep()

        async def work(tx: Transaction) -> int:
            check_epoch(partition, expected, (await _hold_watermark(tx, partition)).watermark)
            return await deletion.erase(tx, known, limit)

        return await self._database.write(work)

    async def deleted_graphs(self) -> Sequence[str]:
        """Return the names of graphs that were deleted and not published again."""
        return [row["name"] for row in await self._database.ask(graph_cypher.DELETED_GRAPHS)]

    async def standings(
        self, graph: str, doc_ids: Sequence[str], *, vectors: bool = True
    ) -> Mapping[str, StoredDocument]:
        """See GraphStore.standings. Always with vectors."""
        keys = list(dict.fromkeys(key(graph, doc_id) for doc_id in doc_ids))
        found = await self._database.ask_each_key(document_cypher.READ_STANDINGS, keys)
        rows = undeleted(found, ("doc_id", "revision"))
        stored = {row["doc_id"]: StoredDocument(row["revision"], bytes_of_value(row["extraction"])) for row in rows}
        return {doc_id: stored[doc_id] for doc_id in doc_ids if doc_id in stored}

    async def verdicts(self, graph: str) -> Mapping[PairKey, Verdict]:
        """See GraphStore.verdicts."""
        found = await self._database.read(lambda tx: tx.run(document_cypher.READ_VERDICTS, graph=graph))
        rows = undeleted(found, ("a_name", "a_type", "b_name", "b_type", "same"))
        return {
            ((row["a_name"], row["a_type"]), (row["b_name"], row["b_type"])): decoded(int(row["same"])) for row in rows
        }

    async def forget_verdicts(self, graph: str, pairs: Sequence[PairKey]) -> None:
        """Delete these verdicts, each a pair of (name, type)."""
        await self._database.ask_each_key(
            document_cypher.DELETE_VERDICTS, [digest_key(graph, *a, *b) for a, b in pairs]
        )

    async def snapshot(self, graph: str, use: SnapshotUse = SnapshotUse.EVERYTHING) -> GraphDelta:
        """See GraphStore.snapshot. Rows come in the order of their keys, with all columns for each use.

        Memgraph reads one state by itself. Neo4j reads what is committed at each moment, so the version is read before
        and after, both times under the head's lock, which a commit holds until all its rows are visible. If the version
        changed, all rows are read again; after a few attempts they are read under the lock, for which the writer waits.
        """
        if self._database.dialect is Dialect.MEMGRAPH:
            return await self._database.read_in_thread(lambda tx: _read_all(tx, graph, graph_cypher.READ_HEAD))
        for _ in range(OPTIMISTIC_READS):
            before = await self._database.read(lambda tx: _head(tx, graph))
            found = await outcome_of(
                self._database.read_in_thread(lambda tx, before=before: _rows(tx, graph, before))  # type: ignore[misc]
            )
            # A row that a commit deletes while it is read may have lost properties, so its error counts only when the
            # version did not change.
            if isinstance(found, Exception) and not isinstance(found, TypeError | ValueError):
                raise found
            if await self._database.read(lambda tx: _head(tx, graph)) == before:
                if isinstance(found, Exception):
                    raise found
                return found
        return await self._database.read_in_thread(lambda tx: _read_all(tx, graph, graph_cypher.HOLD_KNOWN_HEAD))

    async def extractions(self, graph: str) -> AsyncIterator[tuple[str, bytes]]:
        """See GraphStore.extractions. Memory: the ids, and a page of extractions."""
        found = await self._database.read(lambda tx: tx.run(document_cypher.LIVE_DOCUMENTS, graph=graph))
        doc_ids = sorted(row["doc_id"] for row in undeleted(found, ("doc_id",)))
        for page in batched(doc_ids, PAGE_ROWS):
            for doc_id, standing in (await self.standings(graph, page)).items():
                if standing.extraction is not None:
                    yield doc_id, standing.extraction

    async def replace(self, snapshot: GraphDelta) -> None:
        """See GraphStore.replace. Every row counts as new at that version. Raises Broken when the version falls.

        The previous graph is complete until the switch, which is one small transaction.
        """
        graph = snapshot.graph
        check_replacement(snapshot, (await self._database.read(lambda tx: _head(tx, graph))).version)
        fresh = await self._builds.write(snapshot)

        async def switch(tx: Transaction) -> bool:
            head = await heads.lock_head(tx, graph)
            if head.scope == fresh:  # done already, by an attempt whose answer was lost
                return True
            check_replacement(snapshot, head.version)
            await self._builds.switch(tx, fresh, snapshot, head)
            await predicate_links.write(tx, snapshot)
            return True

        try:
            await self._database.write(switch)
        except BaseException:
            await self._abandon(fresh, graph)
            raise
        await self._sweep_if_it_can()

    async def _abandon(self, fresh: str, graph: str) -> None:
        with suppress(GraphtideError):  # the caller gets the error that made the build useless
            await self._builds.abandon(fresh, graph)

    async def _sweep_if_it_can(self) -> None:
        with suppress(Retryable):  # the switch is done; a starting process deletes the rest
            await self._builds.sweep()

    async def reports(self, graph: str) -> Sequence[ReportRow]:
        """See GraphStore.reports. Ordered by community."""
        found = await self._database.read(lambda tx: tx.run(document_cypher.READ_REPORTS, graph=graph))
        return [
            ReportRow(**{**row, "sources": tuple(row["sources"]), "findings": read_findings(row["findings"])})
            for row in undeleted(found, [each.name for each in fields(ReportRow)])
        ]

    async def save_reports(self, graph: str, rows: Sequence[ReportRow], gone: Sequence[int]) -> None:
        """See GraphStore.save_reports. Deletes first."""

        async def work(tx: Transaction) -> None:
            head = await _head(tx, graph)
            written = [report_row(graph, head.scope, row) for row in rows if row.version > (head.deleted_version or 0)]
            await tx.each_key(document_cypher.DELETE_REPORTS, [key(graph, community) for community in gone])
            await tx.each(document_cypher.PUT_REPORTS, written, graph=graph)
            await tx.each(document_cypher.LINK_REPORTS, [{name: row[name] for name in _LINK} for row in written])

        await self._database.write(work)


_LINK = ("key", "community_key")


async def _hold_watermark(tx: Transaction, partition: int) -> _StoredWatermark:
    found = await tx.run(partition_cypher.HOLD_WATERMARK, partition=partition)
    if not found:
        return _StoredWatermark(NO_WATERMARK, 0, "")
    [row] = found
    return _StoredWatermark(Watermark(row["epoch"], row["next_offset"]), row["notices"], row["last_commit"] or "")


async def _advance(tx: Transaction, commit: Commit, token: str) -> int:
    """Compare and set the watermark; return the partition's notice count before the commit. Raises Fenced."""
    values = {
        "epoch": commit.expected.epoch,
        "held_offset": commit.expected.next_offset,
        "next_offset": commit.next_offset,
    }
    announced = len(commit.notices) + (MAX_OVERWRITTEN * len(commit.graphs) if commit.overwritten else 0)
    found = await tx.run(
        partition_cypher.ADVANCE, partition=commit.partition, announced=announced, last_commit=token, **values
    )
    if found:
        check_watermark(commit, commit.expected)  # watermark equal to the commit's: check that the advance is possible
        return int(found[0]["notices"]) - announced
    stored = await _hold_watermark(tx, commit.partition)
    check_watermark(commit, stored.watermark)
    return stored.notices


async def _head(tx: Transaction, graph: str) -> Head:
    """Return the graph's head after waiting for its lock; version 0 for an unknown graph."""
    return _head_of(await tx.run(graph_cypher.HOLD_KNOWN_HEAD, graph=graph))


def _head_of(found: Sequence[Row]) -> Head:
    return Head(**found[0]) if found else Head("", 0, 0, None)


def _read_all(tx: BlockingTransaction, graph: str, head: str) -> GraphDelta:
    """Read head and rows in one transaction; `head` is the statement that reads the head, with its lock or without."""
    return _rows(tx, graph, _head_of(tx.run(head, graph=graph)))


def _rows(tx: BlockingTransaction, graph: str, head: Head) -> GraphDelta:
    if not head.version:
        return GraphDelta(graph, 0, snapshot=True)
    if head.version == head.deleted_version:
        return GraphDelta(graph, head.version, snapshot=True, deleted=True)
    return snapshot.read(tx, head.scope, graph, head.version, head.next_community)
