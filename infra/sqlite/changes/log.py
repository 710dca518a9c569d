"""The ChangeLog port on SQLite: one row per commit, written in the commit's own transaction.

Invariant: the rows of a graph have consecutive versions. Each commit deletes at most `TRIMMED` rows beyond the
retention, so its cost does not depend on how many are retained.
"""

from __future__ import annotations

import asyncio
import json
import sqlite3
from collections.abc import Callable, Mapping, Sequence

from graphtide.infra.sqlite.arrivals import Arrivals
from graphtide.infra.sqlite.changes import revision_index
from graphtide.infra.sqlite.changes.overwritten import overwritten
from graphtide.infra.sqlite.database import SqliteDatabase
from graphtide.infra.sqlite.graph_store import graphs
from graphtide.infra.sqlite.graph_store.graphs import KEY_SHIFT
from graphtide.streams.changes.change_log import LARGE_ROWS, ChangeRecord, ChangeRetention, encode_forward
from graphtide.streams.changes.changed_document import ChangedDocument
from graphtide.streams.ports import GraphCommit, RevisionOutcome

TRIMMED = 8
READ_BYTES = 4 << 20
"""Size after which a read returns no further record."""
WAIT_S = 3600.0

_SCHEMA = """
CREATE TABLE IF NOT EXISTS changes (
    key          INTEGER PRIMARY KEY,           -- graph << 32 | version
    committed_ms INTEGER NOT NULL,
    documents    TEXT    NOT NULL,              -- JSON [[doc_id, revision, state], ...]
    replaced     INTEGER NOT NULL,              -- 1: the graph was rebuilt
    total_bytes  INTEGER NOT NULL,              -- of the graph's records up to this one
    forward      BLOB    NOT NULL,
    old          BLOB    NOT NULL
)
"""


class SqliteChangeLog:
    """See ChangeLog. Writes happen in the transactions of the graph store."""

    def __init__(self, database: SqliteDatabase, clock_ms: Callable[[], int], retention: ChangeRetention) -> None:
        self._database = database
        self._clock_ms = clock_ms
        self._retention = retention
        self._arrivals = Arrivals()
        self._newest: dict[str, int] = {}

    async def create(self) -> None:
        """Create the table if it is missing."""

        def work(connection: sqlite3.Connection) -> None:
            connection.execute(_SCHEMA)
            revision_index.create(connection)

        await self._database.write(work)

    async def encoded(self, parts: Sequence[GraphCommit]) -> Sequence[bytes | None]:
        """Return the encoded deltas of the parts for `add`, large ones alone: encoded in a thread before the
        transaction, during which all other writes of the process wait.
        """
        return [await asyncio.to_thread(encode_forward, part.delta) if self._is_large(part) else None for part in parts]

    def _is_large(self, part: GraphCommit) -> bool:
        return bool(self._retention.commits) and not part.delta.snapshot and part.delta.changed_rows >= LARGE_ROWS

    # -- in the graph store's transaction ------------------------------------------------------------------------------

    def before(self, connection: sqlite3.Connection, graph: int, part: GraphCommit) -> bytes:
        """Return the rows that the commit is about to overwrite; nothing for a rebuilt graph. Call before writing."""
        return b"" if part.delta.snapshot or not self._retention.commits else overwritten(connection, graph, part.delta)

    def add(
        self,
        connection: sqlite3.Connection,
        graph: int,
        part: GraphCommit,
        outcomes: Sequence[RevisionOutcome],
        old: bytes,
        encoded: bytes | None = None,
    ) -> None:
        """Add the record of a commit, and delete records beyond the retention. `encoded`: see the method."""
        delta = part.delta
        if not self._retention.commits:
            return
        forward = b"" if delta.snapshot else encode_forward(delta) if encoded is None else encoded
        documents = [(each.doc_id, each.revision, each.state) for each in outcomes if each.graph == delta.graph]
        base, at = graph << KEY_SHIFT, self._clock_ms()
        previous = connection.execute(
            "SELECT total_bytes FROM changes WHERE key = ?", (base | (delta.version - 1),)
        ).fetchone()
        if previous is None or delta.snapshot:  # what is retained does not lead to this commit
            self.clear(connection, graph)
        total = (previous[0] if previous else 0) + len(forward) + len(old)
        connection.execute(
            "INSERT INTO changes VALUES (?, ?, ?, ?, ?, ?, ?)",
            (base | delta.version, at, json.dumps(documents), delta.snapshot, total, forward, old),
        )
        revision_index.add(connection, graph, delta.version, (revision for _, revision, _ in documents))
        self._trim(connection, base, delta.version, total, at)

    def _trim(self, connection: sqlite3.Connection, base: int, version: int, total: int, now_ms: int) -> None:
        limit = self._retention
        oldest = connection.execute(
            "SELECT key, committed_ms, total_bytes FROM changes WHERE key > ? AND key < ? ORDER BY key LIMIT ?",
            (base, base | version, TRIMMED),
        ).fetchall()
        last = 0
        for key, committed_ms, total_bytes in oldest:
            late = now_ms - committed_ms > 1000 * limit.age_s or total - total_bytes >= limit.size_bytes
            if not late and key > (base | version) - limit.commits:
                break
            last = key
        if last:
            connection.execute("DELETE FROM changes WHERE key > ? AND key <= ?", (base, last))
            revision_index.trim(connection, base >> KEY_SHIFT, last - base)

    @staticmethod
    def clear(connection: sqlite3.Connection, graph: int) -> None:
        """Delete all records of a graph."""
        base = graph << KEY_SHIFT
        connection.execute("DELETE FROM changes WHERE key BETWEEN ? AND ?", (base, base | 0xFFFFFFFF))
        revision_index.clear(connection, graph)

    def committed(self, versions: Sequence[tuple[str, int]]) -> None:
        """Wake the readers of these graphs. Call in the event loop, once the commit is durable."""
        for graph, version in versions:
            self._newest[graph] = version
            self._arrivals.announce(graph)

    # -- see ChangeLog -------------------------------------------------------------------------------------------------

    async def first(self, graph: str) -> int:
        """See ChangeLog.first."""
        return (await self._database.look_up(lambda connection: _bounds(connection, graph)))[0]

    async def last(self, graph: str) -> int:
        """See ChangeLog.last."""
        return (await self._database.look_up(lambda connection: _bounds(connection, graph)))[1]

    async def retains(self, graph: str, version: int) -> bool:
        """See ChangeLog.retains."""
        first, last = await self._database.look_up(lambda connection: _bounds(connection, graph))
        return first <= version <= last

    async def read(self, graph: str, after: int, limit: int) -> Sequence[ChangeRecord]:
        """See ChangeLog.read."""
        return await self._database.read(lambda connection: _read(connection, graph, after, limit))

    async def version_of(self, graph: str, until: Mapping[int, int]) -> int:
        """See ChangeLog.version_of."""
        return await self._database.read(lambda connection: _version_of(connection, graph, until))

    async def wait(self, graph: str, version: int) -> None:
        """See ChangeLog.wait."""
        if self._newest.get(graph, 0) <= version:
            await self._arrivals.wait(graph, WAIT_S)


def _bounds(connection: sqlite3.Connection, name: str) -> tuple[int, int]:
    graph = graphs.known(connection, name)
    if graph is None:
        return 0, 0
    version, base = graphs.version(connection, graph), graph << KEY_SHIFT
    first, last = connection.execute(
        "SELECT (SELECT min(key) FROM changes WHERE key BETWEEN ?1 AND ?2),"
        " (SELECT max(key) FROM changes WHERE key BETWEEN ?1 AND ?2)",
        (base, base | 0xFFFFFFFF),
    ).fetchone()
    if first is None or last - base != version:  # an earlier release of Graphtide wrote the newest commits
        return version, version
    return first - base - 1, version


def _read(connection: sqlite3.Connection, name: str, after: int, limit: int) -> list[ChangeRecord]:
    graph = graphs.known(connection, name)
    if graph is None:
        return []
    base, size = graph << KEY_SHIFT, 0
    found = connection.execute(
        "SELECT key, committed_ms, documents, forward, old, replaced FROM changes"
        " WHERE key > ? AND key <= ? ORDER BY key LIMIT ?",
        (base | after, base | 0xFFFFFFFF, limit),
    )
    records: list[ChangeRecord] = []
    for key, committed_ms, documents, forward, old, replaced in found:
        listed = tuple(ChangedDocument(*each) for each in json.loads(documents))
        records.append(ChangeRecord(name, key - base, committed_ms, listed, forward, old, bool(replaced)))
        size += len(forward) + len(old)
        if size > READ_BYTES:
            break
    return records


def _version_of(connection: sqlite3.Connection, name: str, until: Mapping[int, int]) -> int:
    graph = graphs.known(connection, name)
    found = revision_index.find(connection, graph, until) if graph is not None else 0
    return found if found > _bounds(connection, name)[0] else 0
