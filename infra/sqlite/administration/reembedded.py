"""Extractions with vectors of another model, beside the stored ones, until one transaction replaces these.

Invariant: the table holds records of live revisions alone, of one model. A trigger deletes the record of a document
that is edited or deleted, in the transaction of that change.
"""

from __future__ import annotations

import sqlite3
from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

from graphtide.graph.resolution import PairKey, Verdict
from graphtide.infra.sqlite.database import SqliteDatabase
from graphtide.streams.ports import GraphStore

MAX_DOCUMENTS, MAX_BYTES = 16, 4 << 20
"""Maximum documents and bytes of a batch; a larger document is a batch of its own."""
_PAGE = 16

_CREATE = (
    "CREATE TABLE IF NOT EXISTS reembedding (only INTEGER PRIMARY KEY CHECK (only = 1), model TEXT NOT NULL)",
    "CREATE TABLE IF NOT EXISTS reembedded (graph INTEGER NOT NULL, doc_id TEXT NOT NULL, revision INTEGER NOT NULL,"
    " extraction BLOB NOT NULL, PRIMARY KEY (graph, doc_id))",
    "CREATE TRIGGER IF NOT EXISTS reembedded_edited AFTER UPDATE ON standings"
    " WHEN NEW.revision <> OLD.revision OR NEW.extraction IS NULL OR NEW.graph <> OLD.graph BEGIN"
    " DELETE FROM reembedded WHERE graph = OLD.graph AND doc_id = OLD.doc_id; END",
    "CREATE TRIGGER IF NOT EXISTS reembedded_deleted AFTER DELETE ON standings BEGIN"
    " DELETE FROM reembedded WHERE graph = OLD.graph AND doc_id = OLD.doc_id; END",
)
_DROP = (
    "DROP TRIGGER IF EXISTS reembedded_edited",
    "DROP TRIGGER IF EXISTS reembedded_deleted",
    "DROP TABLE IF EXISTS reembedded",
    "DROP TABLE IF EXISTS reembedding",
)
_NEXT = (
    "SELECT standings.rowid, graphs.name, doc_id, length(standings.extraction) FROM standings JOIN graphs USING (graph)"
    " LEFT JOIN reembedded USING (graph, doc_id)"
    " WHERE standings.rowid > ? AND standings.rowid <= ? AND standings.extraction IS NOT NULL"
    " AND reembedded.doc_id IS NULL ORDER BY standings.rowid LIMIT ?"
)
_PUT = (
    "INSERT OR REPLACE INTO reembedded SELECT graph, doc_id, revision, ? FROM standings"
    " WHERE rowid = ? AND revision = ? AND extraction IS NOT NULL"
)
_SWITCH = (
    "UPDATE standings SET extraction = (SELECT extraction FROM reembedded"
    " WHERE reembedded.graph = standings.graph AND reembedded.doc_id = standings.doc_id)"
    " WHERE EXISTS (SELECT 1 FROM reembedded WHERE reembedded.graph = standings.graph"
    " AND reembedded.doc_id = standings.doc_id AND reembedded.revision = standings.revision)"
)


@dataclass(frozen=True, slots=True)
class LiveDocument:
    """A stored document: the number of its row, its graph and id, and its encoded extraction."""

    row: int
    graph: str
    doc_id: str
    extraction: bytes


class ReembeddedDocuments:
    """The table. `extractions` and `verdicts` are those of the graphs that replace the present ones."""

    def __init__(self, database: SqliteDatabase, store: GraphStore) -> None:
        self._database = database
        self._store = store

    async def prepare(self, model: str) -> None:
        """Create the table for the model, without the records of another one."""

        def work(connection: sqlite3.Connection) -> None:
            if _model(connection) != model:
                _drop(connection)
            for statement in _CREATE:
                connection.execute(statement)
            connection.execute("INSERT OR REPLACE INTO reembedding VALUES (1, ?)", (model,))

        await self._database.write(work)

    async def discard(self) -> None:
        """Delete the table, if there is one."""
        if await self._database.read(_model) is not None:
            await self._database.write(_drop)

    async def counts(self) -> tuple[int, int]:
        """Return the number of records, and of live documents."""
        done = "SELECT count(*) FROM reembedded"
        every = "SELECT count(*) FROM standings JOIN graphs USING (graph) WHERE extraction IS NOT NULL"
        return await self._database.read(
            lambda connection: (connection.execute(done).fetchone()[0], connection.execute(every).fetchone()[0])
        )

    async def last_row(self) -> int:
        """Return the last row of the present documents."""
        query = "SELECT coalesce(max(rowid), 0) FROM standings"
        return int(await self._database.read(lambda connection: connection.execute(query).fetchone()[0]))

    async def missing(self, after: int, last: int) -> Sequence[LiveDocument]:
        """Return the next documents without a record whose row is beyond `after`; none from the row `last` on."""
        return await self._database.read(lambda connection: _missing(connection, after, last))

    async def put(self, records: Mapping[int, tuple[int, bytes]]) -> None:
        """Store the records, by row, of documents that still have that revision."""
        rows = [(value, row, revision) for row, (revision, value) in records.items()]
        await self._database.write(lambda connection: connection.executemany(_PUT, rows))

    async def extractions(self, graph: str) -> AsyncIterator[tuple[str, bytes]]:
        """Yield document id and record of a graph, in the order of the ids."""
        query = (
            "SELECT doc_id, extraction FROM reembedded JOIN graphs USING (graph)"
            " WHERE name = ? AND doc_id > ? ORDER BY doc_id LIMIT ?"
        )
        last = ""
        while True:
            page = await self._database.read(partial(_rows, query, (graph, last, _PAGE)))
            for doc_id, value in page:
                yield doc_id, value
            if len(page) < _PAGE:
                return
            last = page[-1][0]

    async def verdicts(self, graph: str) -> Mapping[PairKey, Verdict]:
        """See GraphStore.verdicts."""
        return await self._store.verdicts(graph)


def switch_extractions(connection: sqlite3.Connection, log_records: Mapping[int, bytes]) -> None:
    """Replace the stored extractions by the records, and values in the log by key; delete the table.

    Part of the caller's transaction.
    """
    connection.execute(_SWITCH)
    connection.executemany(
        "UPDATE records SET value = ? WHERE key = ?", [(value, key) for key, value in log_records.items()]
    )
    _drop(connection)


def _missing(connection: sqlite3.Connection, after: int, last: int) -> list[LiveDocument]:
    found, size = list[LiveDocument](), 0
    for row, graph, doc_id, length in connection.execute(_NEXT, (after, last, MAX_DOCUMENTS)).fetchall():
        size += length
        if found and size > MAX_BYTES:
            break
        [value] = connection.execute("SELECT extraction FROM standings WHERE rowid = ?", (row,)).fetchone()
        found.append(LiveDocument(row, graph, doc_id, value))
    return found


def _rows(query: str, parameters: tuple[str, str, int], connection: sqlite3.Connection) -> list[tuple[str, bytes]]:
    return connection.execute(query, parameters).fetchall()


def _model(connection: sqlite3.Connection) -> str | None:
    if not connection.execute("SELECT 1 FROM sqlite_schema WHERE name = 'reembedding'").fetchone():
        return None
    row = connection.execute("SELECT model FROM reembedding").fetchone()
    return str(row[0]) if row else ""


def _drop(connection: sqlite3.Connection) -> None:
    for statement in _DROP:
        connection.execute(statement)
