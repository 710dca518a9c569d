"""VectorStore in the database: memoised model answers, of which the least recently used are dropped.

Each type of answer has a table of its own, so that many cheap answers (vectors) do not displace few expensive ones
(extractions).

Every row has a unique number that rises with each put. Dropping all rows more than `capacity` below the newest bounds
the rows without counting them. A row that is used while in the older half of that window gets a new number at the next
put, so used rows stay. (Renewals use up numbers too: under constant reuse the memo may hold fewer rows than `capacity`,
at worst half.) A renewal lost in a crash only drops its row earlier.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path

from graphtide.infra.models.cache.keys import KEY_BYTES
from graphtide.infra.sqlite.bulk import insert, portions
from graphtide.infra.sqlite.database import SqliteDatabase
from graphtide.infra.sqlite.errors import failure

CAPACITY = 500_000


class SqliteVectorStore:
    """See `VectorStore`. Holds at most `capacity` rows in `table`, which is a constant of the code."""

    def __init__(self, database: SqliteDatabase, capacity: int = CAPACITY, table: str = "memo") -> None:
        self._database = database
        self._capacity = capacity
        self._table = table
        self._renewed: dict[bytes, None] = {}

    async def create(self) -> None:
        """Create the table if it is missing: needed for every table except "memo", before the first use."""
        await self._database.write(lambda connection: _create(connection, self._table))

    async def get_many(self, keys: Sequence[bytes]) -> Mapping[bytes, bytes]:
        """See VectorStore.get_many."""
        found, old = await self._database.read(
            lambda connection: _get(connection, self._table, keys, self._capacity // 2)
        )
        self._renewed.update(dict.fromkeys(old))
        return found

    async def put_many(self, items: Mapping[bytes, bytes]) -> None:
        """See VectorStore.put_many. Durable when it returns."""
        if not items:
            return
        renewed = [key for key in self._renewed if key not in items]
        self._renewed.clear()
        table, capacity = self._table, self._capacity
        await self._database.write(lambda connection: _put(connection, table, items, renewed, capacity))

    async def purge(self, scope: bytes, keep: Collection[bytes] = ()) -> int:
        """See VectorStore.purge. Durable when it returns. Cost: the table's keys, once."""
        return await self._database.write(lambda connection: _purge(connection, self._table, scope, keep))


class ReadOnlyMemo:
    """Read-only view of a data folder's memo. It takes no lock, so a service may be using the folder.

    A VectorStore that stores nothing. A folder without a database, or without the table, has no rows.
    """

    def __init__(self, path: Path, table: str) -> None:
        self._connection = sqlite3.connect(f"{path.resolve().as_uri()}?mode=ro", uri=True) if path.exists() else None
        self._table = table
        if self._connection is not None and not _has_table(self._connection, table):
            self.close()

    async def get_many(self, keys: Sequence[bytes]) -> Mapping[bytes, bytes]:
        """See VectorStore.get_many."""
        return {} if self._connection is None else _get(self._connection, self._table, keys, 0)[0]

    async def put_many(self, items: Mapping[bytes, bytes]) -> None:
        """Ignore the items."""

    async def purge(self, scope: bytes, keep: Collection[bytes] = ()) -> int:
        """Delete nothing."""
        return 0

    def close(self) -> None:
        if self._connection is not None:
            self._connection.close()
            self._connection = None


def _has_table(connection: sqlite3.Connection, table: str) -> bool:
    try:
        found = connection.execute("SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = ?", (table,)).fetchone()
    except sqlite3.Error as error:
        raise failure(error) from error
    return found is not None


def _create(connection: sqlite3.Connection, table: str) -> None:
    columns = "entry INTEGER PRIMARY KEY, used INTEGER NOT NULL UNIQUE, key BLOB NOT NULL UNIQUE, value BLOB NOT NULL"
    connection.execute(f"CREATE TABLE IF NOT EXISTS {table} ({columns})")


def _get(
    connection: sqlite3.Connection, table: str, keys: Sequence[bytes], half: int
) -> tuple[dict[bytes, bytes], list[bytes]]:
    """Return the values of the keys, and the keys in the older half of the window."""
    found: dict[bytes, bytes] = {}
    old: list[bytes] = []
    newest = _newest(connection, table)
    for portion in portions(keys):
        packed, block = connection.execute(_lookup(table, len(portion)), tuple(portion)).fetchone()
        at = 0
        for key_hex, length, used in json.loads(packed):
            key = bytes.fromhex(key_hex)
            found[key] = block[at : at + length]
            at += length
            if used <= newest - half:
                old.append(key)
    return found, old


def _put(
    connection: sqlite3.Connection, table: str, items: Mapping[bytes, bytes], renewed: Sequence[bytes], capacity: int
) -> None:
    newest = _newest(connection, table)
    connection.executemany(
        f"UPDATE {table} SET used = ? WHERE key = ?",  # noqa: S608 - a constant
        [(used, key) for used, key in enumerate(renewed, newest + 1)],
    )
    first = newest + len(renewed) + 1
    rows = [(used, key, value) for used, (key, value) in enumerate(items.items(), first)]
    insert(connection, f"INSERT OR REPLACE INTO {table} (used, key, value)", rows)
    oldest = first + len(rows) - 1 - capacity
    connection.execute(f"DELETE FROM {table} WHERE used <= ?", (oldest,))  # noqa: S608 - a constant


def _purge(connection: sqlite3.Connection, table: str, scope: bytes, keep: Collection[bytes]) -> int:
    """Delete by entry number: a statement that names each key could exceed SQLite's length limit."""
    kept = frozenset(keep)
    rows = connection.execute(
        f"SELECT entry, key FROM {table} WHERE substr(key, 1, ?) = ? OR length(key) <> ?",  # noqa: S608 - a constant
        (len(scope), scope, KEY_BYTES),
    )
    doomed = [(entry,) for entry, key in rows if key not in kept]
    connection.executemany(f"DELETE FROM {table} WHERE entry = ?", doomed)  # noqa: S608 - a constant
    return len(doomed)


def _newest(connection: sqlite3.Connection, table: str) -> int:
    return int(connection.execute(f"SELECT ifnull(max(used), 0) FROM {table}").fetchone()[0])  # noqa: S608 - a constant


def _lookup(table: str, size: int) -> str:
    """Return the statement that reads a portion in one step: keys and lengths as JSON, the values end to end."""
    blocks = "json_group_array(json_array(hex(key), length(value), used)), CAST(group_concat(value, '') AS BLOB)"
    return f"SELECT {blocks} FROM {table} WHERE key IN ({','.join('?' * size)})"  # noqa: S608 - question marks
