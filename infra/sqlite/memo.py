"""A VectorStore in the database: vectors of texts embedded before, the least recently used of which go first.

Every row holds a number that rises with each put; numbers are unique, so dropping all that are `capacity` behind the
newest bounds the rows without ever counting them. A row that is used while in the older half of that window gets a
new number at the next put, so what is in use stays. (Renewals use up numbers too: under constant reuse the memo may
hold fewer rows than `capacity`, at worst half.) A number lost in a crash costs nothing but an earlier end.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Mapping, Sequence

from infra.sqlite.database import Database
from infra.sqlite.many import insert, portions

CAPACITY = 500_000


class SqliteVectorStore:
    """See infra.models.memo.VectorStore. At most `capacity` rows."""

    def __init__(self, database: Database, capacity: int = CAPACITY) -> None:
        self._database = database
        self._capacity = capacity
        self._renewed: dict[bytes, None] = {}

    async def get_many(self, keys: Sequence[bytes]) -> Mapping[bytes, bytes]:
        """See VectorStore.get_many."""
        found, old = await self._database.read(lambda connection: _get(connection, keys, self._capacity // 2))
        self._renewed.update(dict.fromkeys(old))
        return found

    async def put_many(self, items: Mapping[bytes, bytes]) -> None:
        """See VectorStore.put_many. Durable when it returns."""
        if not items:
            return
        renewed = [key for key in self._renewed if key not in items]
        self._renewed.clear()
        await self._database.write(lambda connection: _put(connection, items, renewed, self._capacity))


def _get(connection: sqlite3.Connection, keys: Sequence[bytes], half: int) -> tuple[dict[bytes, bytes], list[bytes]]:
    """What is known of the keys, and which of those stand in the older half."""
    found: dict[bytes, bytes] = {}
    old: list[bytes] = []
    newest = _newest(connection)
    for portion in portions(keys):
        packed, block = connection.execute(_lookup(len(portion)), tuple(portion)).fetchone()
        at = 0
        for key_hex, length, used in json.loads(packed):
            key = bytes.fromhex(key_hex)
            found[key] = block[at : at + length]
            at += length
            if used <= newest - half:
                old.append(key)
    return found, old


def _put(connection: sqlite3.Connection, items: Mapping[bytes, bytes], renewed: Sequence[bytes], capacity: int) -> None:
    newest = _newest(connection)
    connection.executemany(
        "UPDATE memo SET used = ? WHERE key = ?", [(used, key) for used, key in enumerate(renewed, newest + 1)]
    )
    first = newest + len(renewed) + 1
    rows = [(used, key, value) for used, (key, value) in enumerate(items.items(), first)]
    insert(connection, "INSERT OR REPLACE INTO memo (used, key, value)", rows)
    connection.execute("DELETE FROM memo WHERE used <= ?", (first + len(rows) - 1 - capacity,))


def _newest(connection: sqlite3.Connection) -> int:
    return int(connection.execute("SELECT ifnull(max(used), 0) FROM memo").fetchone()[0])


def _lookup(size: int) -> str:
    """One step for a whole portion: keys and lengths as JSON, the values end to end."""
    blocks = "json_group_array(json_array(hex(key), length(value), used)), CAST(group_concat(value, '') AS BLOB)"
    return f"SELECT {blocks} FROM memo WHERE key IN ({','.join('?' * size)})"  # noqa: S608 - question marks
