"""The Ledger port on SQLite: one row per revision, whose number is its offset in `documents`.

Invariant: triggers keep the totals by state, in the same statement that changes a row, and only unfinished revisions
are in the partial indexes; so counting costs the rows counted, not all rows ever accepted.
"""

from __future__ import annotations

import sqlite3
import sys
from collections.abc import Callable, Mapping, Sequence

from graphtide.infra.sqlite.bulk import insert
from graphtide.infra.sqlite.database import SqliteDatabase
from graphtide.infra.sqlite.graph_store import deletion, graphs
from graphtide.infra.sqlite.log import PARTITION, AppendedRecords, SqliteLog, check_partition
from graphtide.streams.checks import check_ends
from graphtide.streams.errors import Broken
from graphtide.streams.messages import DOCUMENTS, split_document_key
from graphtide.streams.ports import ConsumedRecord, LedgerEntry, Position, Record, RevisionOutcome, RevisionState

_ENTRY = (
    "name, doc_id, revision, state, reason, attempts, accepted_ms, ended_ms FROM revisions JOIN graphs USING (graph)"
)


FIRST_SURROGATE = 0xD800
LOOKUP_POSITIONS = 8
"""Maximum number of positions of a lookup."""
MAX_REMEMBERED = 100_000
"""Maximum number of accepted revisions in memory; the database knows the others."""


class SqliteLedger:
    """See Ledger."""

    def __init__(self, database: SqliteDatabase, log: SqliteLog, clock_ms: Callable[[], int]) -> None:
        self._database = database
        self._log = log
        self._clock_ms = clock_ms
        self._accepted: set[int] = set()
        """Revisions that `accept` registered and `register` has not been asked about."""

    async def accept(self, records: Sequence[Record]) -> Sequence[Position]:
        """See Ledger.accept. Raises Rejected when a key is not of the form graph|doc_id."""
        keys = [split_document_key(record.key) for record in records]

        def work(connection: sqlite3.Connection) -> AppendedRecords:
            appended = self._log.add(connection, DOCUMENTS, records)
            at = self._clock_ms()
            _register(connection, [(*key, offset, at) for key, offset in zip(keys, appended.offsets, strict=True)])
            return appended

        def committed(appended: AppendedRecords) -> None:
            if len(self._accepted) < MAX_REMEMBERED:
                self._accepted.update(appended.offsets)
            self._log.grown(DOCUMENTS, appended)

        appended = await self._database.write(work, committed)
        return [Position(PARTITION, offset) for offset in appended.offsets]

    async def register(self, delivered: Sequence[ConsumedRecord]) -> Sequence[int]:
        """See Ledger.register; the numbers are offsets. Raises Rejected when a key is not of the form graph|doc_id."""
        for consumed in delivered:
            check_partition(DOCUMENTS, consumed.position)
        rows = [
            (*split_document_key(consumed.record.key), consumed.position.offset, consumed.timestamp_ms)
            for consumed in delivered
        ]
        if not rows:
            return []
        offsets = [consumed.position.offset for consumed in delivered]
        if not self._accepted.issuperset(offsets):
            unknown: bool = await self._database.read(lambda connection: _any_unknown(connection, rows))
            if unknown:
                await self._database.write(lambda connection: _register(connection, rows))
        self._accepted.difference_update(offsets)
        return offsets

    async def start_attempt(self, graph: str, doc_id: str, revision: int) -> int:
        """See Ledger.start_attempt. Raises Broken for a revision that was never registered."""

        def work(connection: sqlite3.Connection) -> int:
            found = connection.execute(
                "UPDATE revisions SET attempts = attempts + 1 WHERE revision = ? AND doc_id = ?"
                " AND graph = (SELECT graph FROM graphs WHERE name = ?) RETURNING attempts",
                (revision, doc_id, graph),
            ).fetchall()
            if not found and deletion.covers(connection, graph, revision):
                return 0
            if not found:
                raise Broken(f"revision {revision} of document {doc_id!r} in graph {graph!r} is not in the ledger")
            return int(found[0][0])

        # A count of process deaths need not survive a power failure.
        return await self._database.write(work, synced=False)

    async def uncount_attempt(self, graph: str, doc_id: str, revision: int) -> None:
        """See Ledger.uncount_attempt."""
        await self._database.write(
            lambda connection: (
                connection.execute(
                    "UPDATE revisions SET attempts = max(0, attempts - 1) WHERE revision = ? AND doc_id = ?"
                    " AND graph = (SELECT graph FROM graphs WHERE name = ?)",
                    (revision, doc_id, graph),
                ).rowcount
            )
        )

    async def finish(self, outcomes: Sequence[RevisionOutcome]) -> None:
        """See Ledger.finish. An outcome of a revision that was never registered changes nothing."""
        check_ends(outcomes)
        if outcomes:
            await self._database.write(lambda connection: self.record(connection, outcomes))

    async def latest(self, graph: str, doc_id: str) -> LedgerEntry | None:
        """See Ledger.latest."""
        clause = "WHERE name = ? AND doc_id = ? ORDER BY revision DESC LIMIT 1"
        entries = await self._database.look_up(lambda connection: _entries(connection, clause, (graph, doc_id)))
        return entries[0] if entries else None

    async def documents(self, graph: str, after: str, prefix: str, limit: int) -> Sequence[LedgerEntry]:
        """See Ledger.documents. Ids are ordered by code point."""
        clause = (
            "WHERE revision IN (SELECT max(revision) FROM revisions WHERE doc_id > ? AND doc_id >= ? AND doc_id < ?"
            " AND graph = (SELECT graph FROM graphs WHERE name = ?) GROUP BY doc_id ORDER BY doc_id LIMIT ?)"
            " ORDER BY doc_id"
        )
        values = (after, prefix, prefix_end(prefix), graph, limit)
        return await self._database.read(lambda connection: _entries(connection, clause, values))

    async def pending(self, graph: str) -> int:
        """See Ledger.pending."""
        return await self._database.read(
            lambda connection: int(
                connection.execute(
                    "SELECT count(*) FROM revisions WHERE state = 'accepted'"
                    " AND graph = (SELECT graph FROM graphs WHERE name = ?)",
                    (graph,),
                ).fetchone()[0]
            )
        )

    async def pending_counts(self) -> Mapping[str, int]:
        """See Ledger.pending_counts."""
        clause = (
            "SELECT name, count(*) FROM revisions JOIN graphs USING (graph) WHERE state = 'accepted' GROUP BY graph"
        )
        return await self._database.read(lambda connection: dict(connection.execute(clause).fetchall()))

    async def oldest_pending(self, graph: str) -> int | None:
        """See Ledger.oldest_pending. Cost: one row."""
        clause = (
            "SELECT accepted_ms FROM revisions WHERE state = 'accepted'"
            " AND graph = (SELECT graph FROM graphs WHERE name = ?) ORDER BY revision LIMIT 1"
        )
        row = await self._database.look_up(lambda connection: connection.execute(clause, (graph,)).fetchone())
        return None if row is None else int(row[0])

    async def have_ended(self, graph: str, positions: Sequence[Position]) -> bool | None:
        """See Ledger.have_ended. Cost: the positions."""
        if any(position.partition != PARTITION for position in positions):
            return None
        read = self._database.look_up if len(positions) <= LOOKUP_POSITIONS else self._database.read
        return await read(lambda connection: _have_ended(connection, graph, positions))

    async def numbers(self, graph: str, positions: Sequence[Position]) -> Mapping[Position, int]:
        """See Ledger.numbers. A number is the offset."""
        known = [position for position in positions if await self.have_ended(graph, [position]) is not None]
        return {position: position.offset for position in known}

    async def unfinished(self, accepted_before_ms: int, limit: int) -> Sequence[LedgerEntry]:
        """See Ledger.unfinished. Cost: the entries returned."""
        clause = "WHERE state = 'accepted' AND accepted_ms < ? ORDER BY accepted_ms, revision LIMIT ?"
        return await self._database.read(lambda connection: _entries(connection, clause, (accepted_before_ms, limit)))

    async def counts(self, graph: str) -> Mapping[RevisionState, int]:
        """See Ledger.counts. Every state is included, with 0 for none. Cost: five rows."""
        rows = await self._database.look_up(
            lambda connection: connection.execute(
                "SELECT state, revisions FROM revision_totals WHERE graph = (SELECT graph FROM graphs WHERE name = ?)",
                (graph,),
            ).fetchall()
        )
        counted = dict(rows)
        return {state: counted.get(state.value, 0) for state in RevisionState}

    def record(self, connection: sqlite3.Connection, outcomes: Sequence[RevisionOutcome]) -> None:
        """Set outcomes within the caller's transaction. Checked outcomes cannot fail."""
        at = self._clock_ms()
        connection.executemany(
            "UPDATE revisions SET state = ?, reason = ?, ended_ms = ? WHERE revision = ? AND doc_id = ?"
            " AND state = 'accepted' AND graph = (SELECT graph FROM graphs WHERE name = ?)",
            [
                (outcome.state.value, outcome.reason, at, outcome.revision, outcome.doc_id, outcome.graph)
                for outcome in outcomes
            ],
        )


def prefix_end(prefix: str) -> str | bytes:
    """Return a bound above every text that begins with the prefix, in SQLite's order of texts.

    Without a prefix it is a blob: SQLite orders every text below every blob.
    """
    for place in range(len(prefix) - 1, -1, -1):
        successor = ord(prefix[place]) + 1
        if successor <= sys.maxunicode:
            return prefix[:place] + chr(0xE000 if successor == FIRST_SURROGATE else successor)
    return b""


def _register(connection: sqlite3.Connection, rows: Sequence[tuple[str, str, int, int]]) -> None:
    numbers = {graph: graphs.number(connection, graph) for graph in {row[0] for row in rows}}
    first = {graph: deletion.first_revision(connection, number) for graph, number in numbers.items()}
    insert(
        connection,
        "INSERT OR IGNORE INTO revisions (state, graph, doc_id, revision, accepted_ms)",
        [
            ("accepted", numbers[graph], doc_id, offset, at)
            for graph, doc_id, offset, at in rows
            if offset >= first[graph]
        ],
    )


def _have_ended(connection: sqlite3.Connection, name: str, positions: Sequence[Position]) -> bool | None:
    graph = graphs.known(connection, name)
    query = "SELECT 1 FROM revisions WHERE revision = ? AND graph = ?"
    if not all(connection.execute(query, (position.offset, graph)).fetchone() for position in positions):
        return None
    first = "SELECT min(revision) FROM revisions WHERE state = 'accepted' AND graph = ?"
    (pending,) = connection.execute(first, (graph,)).fetchone()
    return pending is None or pending > max(position.offset for position in positions)


def _any_unknown(connection: sqlite3.Connection, rows: Sequence[tuple[str, str, int, int]]) -> bool:
    """Return whether a revision is missing: after `accept` none is, and nothing needs to be written."""
    offsets = [row[2] for row in rows]
    found = connection.execute(
        "SELECT revision FROM revisions WHERE revision BETWEEN ? AND ?", (min(offsets), max(offsets))
    ).fetchall()
    return not {revision for (revision,) in found}.issuperset(offsets)


def _entries(connection: sqlite3.Connection, clause: str, values: tuple[object, ...]) -> list[LedgerEntry]:
    return [
        LedgerEntry(
            name,
            doc_id,
            Position(PARTITION, revision),
            RevisionState(state),
            reason,
            attempts,
            accepted_ms,
            ended_ms,
            revision,
        )
        for name, doc_id, revision, state, reason, attempts, accepted_ms, ended_ms in connection.execute(
            f"SELECT {_ENTRY} {clause}",
            values,
        ).fetchall()
    ]
