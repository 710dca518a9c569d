"""The embedded runtime's storage: one data folder, opened as Log, Ledger and GraphStore over one database."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from graphtide.infra.sqlite.changes.log import SqliteChangeLog
from graphtide.infra.sqlite.database import SqliteDatabase
from graphtide.infra.sqlite.graph_store.store import SqliteGraphStore
from graphtide.infra.sqlite.ledger import SqliteLedger
from graphtide.infra.sqlite.log import SqliteLog, ends
from graphtide.streams.changes.change_log import ChangeRetention
from graphtide.streams.clock import now_ms
from graphtide.streams.errors import GraphtideError


class SqliteBackend:
    """The storage adapters over one database file. Made by `open`, in the event loop that uses it, and ended by
    `close`.

    `clock_ms` dates records and ledger entries.
    """

    def __init__(
        self, database: SqliteDatabase, log: SqliteLog, clock_ms: Callable[[], int], retention: ChangeRetention
    ) -> None:
        self.database = database
        self.log = log
        self.ledger = SqliteLedger(database, log, clock_ms)
        self.changes = SqliteChangeLog(database, clock_ms, retention)
        self.store = SqliteGraphStore(database, log, self.ledger, self.changes)

    @classmethod
    async def open(
        cls,
        folder: Path,
        clock_ms: Callable[[], int] = now_ms,
        max_pages: int | None = None,
        retention: ChangeRetention | None = None,
    ) -> SqliteBackend:
        """Open the data folder, or create it. `max_pages` bounds the file, for tests of a full disk; `retention` the
        change logs.

        Raises Broken when another process uses it, or its file is damaged, foreign or of a newer schema.
        """
        database = await SqliteDatabase.open(folder, max_pages)
        try:
            log = SqliteLog(database, await database.read(ends), clock_ms)
            opened = cls(database, log, clock_ms, retention or ChangeRetention())
            await opened.changes.create()
        except GraphtideError:
            await database.close()
            raise
        return opened

    async def close(self) -> None:
        """Finish pending writes, and release the folder."""
        await self.database.close()
