"""The GraphStore port on SQLite: rows in tables, and a commit as one transaction with the ledger and the log.

Invariant: rows, stored documents, watermark, outcomes and notices of a commit are all stored or none is.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import AsyncIterator, Callable, Mapping, Sequence

from graphtide.graph.records import GraphDelta
from graphtide.graph.reports.rows import finding_values, findings_of
from graphtide.graph.resolution import PairKey, Verdict
from graphtide.graph.resolution.predicates.pairs import decoded
from graphtide.infra.sqlite.bulk import delete, insert
from graphtide.infra.sqlite.changes.log import SqliteChangeLog
from graphtide.infra.sqlite.database import SqliteDatabase
from graphtide.infra.sqlite.graph_store import deletion, graphs, rows, snapshot, standings
from graphtide.infra.sqlite.ledger import SqliteLedger
from graphtide.infra.sqlite.log import PARTITION, AppendedRecords, SqliteLog
from graphtide.streams.checks import check_ends, check_epoch, check_next, check_replacement, check_watermark
from graphtide.streams.messages import DELTAS
from graphtide.streams.ports import (
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

NO_WATERMARK = Watermark(0, 0)
PAGE_ROWS = 64


class SqliteGraphStore:
    """See GraphStore."""

    def __init__(
        self, database: SqliteDatabase, log: SqliteLog, ledger: SqliteLedger, changes: SqliteChangeLog
    ) -> None:
        self._database = database
        self._changes = changes
        self._log = log
        self._ledger = ledger

    async def claim(self, partition: int) -> Watermark:
        """See GraphStore.claim."""

        def work(connection: sqlite3.Connection) -> Watermark:
            connection.execute(
                "INSERT INTO watermarks VALUES (?, 1, 0) ON CONFLICT DO UPDATE SET epoch = epoch + 1", (partition,)
            )
            return _watermark(connection, partition)

        return await self._database.write(work)

    async def commit(self, commit: Commit) -> None:
        """See GraphStore.commit. Raises Broken when a delta is not the next version of its graph."""
        check_ends(commit.outcomes)
        versions = [(part.delta.graph, part.delta.version) for part in commit.graphs]

        def committed(appended: AppendedRecords) -> None:
            self._log.grown(DELTAS, appended)
            self._changes.committed(versions)

        encoded = await self._changes.encoded(commit.graphs)
        await self._database.write(lambda connection: self._commit(connection, commit, encoded), committed)

    def _commit(
        self, connection: sqlite3.Connection, commit: Commit, encoded: Sequence[bytes | None]
    ) -> AppendedRecords:
        # 1.
        check_watermark(commit, _watermark(connection, commit.partition))
        connection.execute(
            "UPDATE watermarks SET next_offset = ? WHERE partition = ?", (commit.next_offset, commit.partition)
        )
        # 2.
        for part, forward in zip(commit.graphs, encoded, strict=True):
            graph = graphs.number(connection, part.delta.graph)
            check_next(part.delta, graphs.version(connection, graph))
            if part.deletion is not None:
                deletion.delete_graph(connection, graph, part.deletion)
                continue
            old = self._changes.before(connection, graph, part)
            _write_part(connection, graph, part)
            self._changes.add(connection, graph, part, commit.outcomes, old, forward)
        # 3.
        self._ledger.record(connection, commit.outcomes)
        # 4.
        return self._log.add(connection, DELTAS, commit.notices)

    async def bindings(self, graphs: Sequence[str]) -> Mapping[str, int]:
        """See GraphStore.bindings. SQLite has one partition."""
        return {graph: PARTITION for graph in graphs if await self.version(graph)}

    async def graphs(self) -> Mapping[str, int]:
        """See GraphStore.graphs."""
        return await self._database.read(graphs.existing)

    async def version(self, graph: str) -> int:
        """See GraphStore.version."""
        return await self._database.look_up(lambda connection: graphs.existing_version(connection, graph))

    async def contents(self) -> Mapping[str, GraphContent]:
        """See GraphStore.contents. Cost: the passages: this store keeps no count, its one process has the views."""
        return await self._database.read(graphs.contents)

    async def deletions(self, graphs: Sequence[str]) -> Mapping[str, GraphDeletion]:
        """See GraphStore.deletions."""
        return await self._database.read(lambda connection: deletion.last(connection, graphs))

    async def erase(self, partition: int, expected: Watermark, graph: str, limit: int) -> int:
        """See GraphStore.erase."""

        def work(connection: sqlite3.Connection) -> int:
            check_epoch(partition, expected, _watermark(connection, partition))
            return deletion.erase(connection, graph, limit)

        return await self._database.write(work)

    async def standings(
        self, graph: str, doc_ids: Sequence[str], *, vectors: bool = True
    ) -> Mapping[str, StoredDocument]:
        """See GraphStore.standings."""
        if len(doc_ids) <= standings.LOOKUP_DOCUMENTS:
            stored = await self._database.look_up(lambda connection: standings.look_up(connection, graph, doc_ids))
            if stored is not None:
                return stored
        return await self._database.read(lambda connection: standings.read(connection, graph, doc_ids, vectors=vectors))

    async def verdicts(self, graph: str) -> Mapping[PairKey, Verdict]:
        """See GraphStore.verdicts."""
        return await self._database.read(lambda connection: _verdicts(connection, graph))

    async def snapshot(self, graph: str, use: SnapshotUse = SnapshotUse.EVERYTHING) -> GraphDelta:
        """See GraphStore.snapshot. Rows come in the order of their keys."""
        return await self._database.read(lambda connection: snapshot.read(connection, graph, use))

    async def extractions(self, graph: str) -> AsyncIterator[tuple[str, bytes]]:
        """See GraphStore.extractions. Reads page by page, so that memory stays flat."""
        last = ""
        while True:
            page = await self._database.read(lambda connection, last=last: _extractions(connection, graph, last))  # type: ignore[misc]
            for doc_id, extraction in page:
                yield doc_id, extraction
            if len(page) < PAGE_ROWS:
                return
            last = page[-1][0]

    async def replace(self, snapshot: GraphDelta) -> None:
        """See GraphStore.replace. Every row counts as new at that version. Raises Broken when the version falls."""
        version = (snapshot.graph, snapshot.version)
        await self._database.write(
            lambda connection: self._replace(connection, snapshot), lambda _: self._changes.committed([version])
        )

    async def replace_all(
        self, snapshots: Sequence[GraphDelta], notices: Sequence[Record], more: Callable[[sqlite3.Connection], None]
    ) -> None:
        """Replace the graphs as `replace` does, delete their reports, append the notices, and do `more`, in one
        transaction.
        """

        def work(connection: sqlite3.Connection) -> AppendedRecords:
            for each in snapshots:
                self._replace(connection, each)
                graph = graphs.number(connection, each.graph)
                connection.execute("DELETE FROM reports WHERE graph = ?", (graph,))
            more(connection)
            return self._log.add(connection, DELTAS, notices)

        def committed(appended: AppendedRecords) -> None:
            self._log.grown(DELTAS, appended)
            self._changes.committed([(each.graph, each.version) for each in snapshots])

        await self._database.write(work, committed)

    def _replace(self, connection: sqlite3.Connection, snapshot: GraphDelta) -> None:
        graph = graphs.number(connection, snapshot.graph)
        check_replacement(snapshot, graphs.version(connection, graph))
        rows.clear(connection, graph)
        rows.write(connection, graph, snapshot)
        graphs.set_version(connection, graph, snapshot.version)
        self._changes.add(connection, graph, GraphCommit(snapshot, {}), (), b"")

    async def reports(self, graph: str) -> Sequence[ReportRow]:
        """See GraphStore.reports. Ordered by community."""
        query = (
            "SELECT community, level, fingerprint, reports.version, title, summary, sources, findings, rating"
            " FROM reports JOIN graphs USING (graph) WHERE name = ? ORDER BY community"
        )
        rows = await self._database.read(lambda connection: connection.execute(query, (graph,)).fetchall())
        return [
            ReportRow(
                community,
                level,
                mark,
                version,
                title,
                summary,
                tuple(json.loads(sources)),
                findings_of(json.loads(found)),
                rating,
            )
            for community, level, mark, version, title, summary, sources, found, rating in rows
        ]

    async def save_reports(self, graph: str, rows: Sequence[ReportRow], gone: Sequence[int]) -> None:
        """See GraphStore.save_reports. Deletes first."""

        def work(connection: sqlite3.Connection) -> None:
            number = graphs.number(connection, graph)
            after = deletion.version(connection, number)
            delete(connection, "reports", ("graph", "community"), [(number, community) for community in gone])
            current = [_report(number, row) for row in rows if row.version > after]
            insert(connection, "INSERT OR REPLACE INTO reports", current)

        await self._database.write(work)


def _watermark(connection: sqlite3.Connection, partition: int) -> Watermark:
    row = connection.execute("SELECT epoch, next_offset FROM watermarks WHERE partition = ?", (partition,)).fetchone()
    return Watermark(*row) if row else NO_WATERMARK


def _write_part(connection: sqlite3.Connection, graph: int, part: GraphCommit) -> None:
    if part.delta.snapshot:
        rows.clear(connection, graph)
        connection.execute("DELETE FROM reports WHERE graph = ?", (graph,))
    rows.write(connection, graph, part.delta)
    graphs.set_version(connection, graph, part.delta.version)
    standings.write(connection, graph, part.standings)
    connection.executemany(
        "INSERT INTO verdicts VALUES (?, ?, ?, ?, ?, ?) ON CONFLICT DO UPDATE SET same = excluded.same",
        [(graph, *a, *b, same) for (a, b), same in part.verdicts.items()],
    )


def _verdicts(connection: sqlite3.Connection, graph: str) -> dict[PairKey, Verdict]:
    found = connection.execute(
        "SELECT a_name, a_type, b_name, b_type, same FROM verdicts"
        " WHERE graph = (SELECT graph FROM graphs WHERE name = ?)",
        (graph,),
    )
    return {((a_name, a_type), (b_name, b_type)): decoded(same) for a_name, a_type, b_name, b_type, same in found}


def _extractions(connection: sqlite3.Connection, graph: str, after: str) -> list[tuple[str, bytes]]:
    return connection.execute(
        "SELECT doc_id, extraction FROM standings WHERE graph = (SELECT graph FROM graphs WHERE name = ?)"
        " AND doc_id > ? AND extraction IS NOT NULL ORDER BY doc_id LIMIT ?",
        (graph, after, PAGE_ROWS),
    ).fetchall()


def _report(graph: int, row: ReportRow) -> tuple[object, ...]:
    columns = (row.community, row.level, row.fingerprint, row.version, row.title, row.summary)
    return graph, *columns, json.dumps(row.sources), json.dumps(finding_values(row.findings)), row.rating
