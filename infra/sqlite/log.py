"""The Log port on SQLite: topics of one partition, records by topic and offset.

Invariant: `topics.next_offset` moves in the transaction that appends and is never lowered, so an offset is never
reused, even after a trim or restart. The ends are also kept in memory: a consumer that has read everything waits
without touching the database. So are the newest records, the first untrimmed offsets and the positions of groups:
trims and positions reach the file with a later transaction, and a restart after a crash reads what they cover again.
Large values are written and read in slices (`infra/sqlite/large_values.py`).
"""

from __future__ import annotations

import asyncio
import base64
import json
import sqlite3
from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from typing import Any

from graphtide.infra.sqlite import large_values
from graphtide.infra.sqlite.arrivals import Arrivals
from graphtide.infra.sqlite.bulk import insert
from graphtide.infra.sqlite.connection import drop_large_value
from graphtide.infra.sqlite.database import SqliteDatabase
from graphtide.infra.sqlite.large_values import LARGE_BYTES, is_large
from graphtide.infra.sqlite.reading.recent_records import RecentRecords
from graphtide.streams.consolidate.maintenance_requests import REQUEST
from graphtide.streams.errors import Broken, Rejected
from graphtide.streams.messages import DELTAS, DOCUMENTS, EXTRACTIONS
from graphtide.streams.ports import ConsumedRecord, Position, Record

PARTITION = 0
TOPIC_SHIFT = 48
_TABLE, _VALUE = "records", "value"
_COLUMNS = f"key, appended_ms, record_key, headers, {_VALUE}"


@dataclass(frozen=True, slots=True)
class AppendedRecords:
    """The records that a transaction appends to a topic, and their offsets."""

    offsets: range
    records: Sequence[ConsumedRecord]


READ_BYTES = 4 << 20
"""Values from which a read ends: 64 extractions of large documents have 200 MB."""
_RECENT = (DOCUMENTS, EXTRACTIONS, DELTAS)
_FROM = (
    "FROM topics JOIN records"
    " ON records.key >= (topics.topic << 48 | ?) AND records.key < (topics.topic + 1 << 48)"
    " WHERE name = ? ORDER BY records.key LIMIT ?"
)
"""The records of a topic from an offset on: parameters are the offset, the topic and the number of records."""


class SqliteLog:
    """See Log. `ends` is the content of `topics` at the moment of opening."""

    def __init__(self, database: SqliteDatabase, ends: Mapping[str, int], clock_ms: Callable[[], int]) -> None:
        self._database = database
        self._ends = dict(ends)
        self._clock_ms = clock_ms
        self._members: Counter[tuple[str, str]] = Counter()
        self._trimmed: dict[str, int] = {}
        self._positions: dict[tuple[str, str], int] = {}
        self.recent = RecentRecords(_RECENT)
        self.arrivals = Arrivals()

    async def append(self, topic: str, records: Sequence[Record]) -> Sequence[Position]:
        """See Log.append. Extractions survive a power failure once a later write does: a commit of theirs, or the
        position of their documents, which would otherwise be read again.
        """
        appended = await self._database.write(
            lambda connection: self.add(connection, topic, records),
            lambda appended: self.grown(topic, appended),
            synced=topic != EXTRACTIONS or any(name == REQUEST for record in records for name, _ in record.headers),
        )
        return [Position(PARTITION, offset) for offset in appended.offsets]

    def consumer(self, topic: str, group: str) -> SqliteConsumer:
        """See Log.consumer."""
        self._members[topic, group] += 1
        return SqliteConsumer(self, topic, group)

    def reader(self, topic: str, offsets: Mapping[int, int]) -> SqliteConsumer:
        """See Log.reader."""
        return SqliteConsumer(self, topic, None, offsets.get(PARTITION, 0))

    async def start(self, topic: str) -> Mapping[int, int]:
        """See Log.start."""
        end = self.next_offset(topic)
        trimmed = self._trimmed.get(topic, 0)
        first = await self._database.look_up(lambda connection: _first(connection, topic, trimmed))
        return {PARTITION: end if first is None else first}

    async def end(self, topic: str) -> Mapping[int, int]:
        """See Log.end."""
        return {PARTITION: self.next_offset(topic)}

    async def committed(self, topic: str, group: str) -> Mapping[int, int]:
        """See Log.committed."""
        return {PARTITION: await self.position(topic, group)}

    async def members(self, topic: str, group: str) -> int:
        """See Log.members. All consumers are in this process."""
        return self._members[topic, group]

    def left(self, topic: str, group: str) -> None:
        """Count a closed consumer of the group."""
        self._members[topic, group] -= 1

    async def trim(self, topic: str, before: Position) -> None:
        """See Log.trim."""
        check_partition(topic, before)
        first = min(before.offset, self.next_offset(topic))
        if first > self._trimmed.get(topic, 0):
            self._trimmed[topic] = first
            self.recent.trim(topic, first)
            self._database.write_later(("trim", topic), lambda connection: _trim(connection, topic, first))

    async def position(self, topic: str, group: str) -> int:
        """Return the offset at which the group resumes."""
        committed = self._positions.get((topic, group))
        if committed is None:
            committed = await self._database.look_up(lambda connection: _committed(connection, topic, group))
        return committed

    def keep(self, topic: str, group: str, next_offset: int) -> None:
        """Set the offset at which the group resumes."""
        self._positions[topic, group] = next_offset
        self._database.write_later(
            ("position", topic, group), lambda connection: _keep(connection, topic, group, next_offset)
        )

    async def read(self, topic: str, start: int, limit: int) -> list[ConsumedRecord]:
        """Return up to `limit` untrimmed records from offset `start` on, fewer once they have READ_BYTES."""
        first = max(start, self._trimmed.get(topic, 0))
        recent = self.recent.read(topic, first, limit)
        if recent is not None:
            await asyncio.sleep(0)  # a reader yields to other tasks
            return recent
        return await self._database.read(lambda connection: _read(connection, topic, first, limit))

    def add(self, connection: sqlite3.Connection, topic: str, records: Sequence[Record]) -> AppendedRecords:
        """Append within the caller's transaction; the caller passes the result to `grown` once it is durable."""
        if not records:
            return AppendedRecords(range(0), ())
        if any(record.partition not in (None, PARTITION) for record in records):
            raise Rejected(f"a record names a partition, but topic {topic!r} has only one: leave it out")
        number, end = _reserve(connection, topic, len(records))
        first, at = end - len(records), self._clock_ms()
        rows = [
            (number << TOPIC_SHIFT | offset, at, record.key, _headers_out(record.headers), record.value)
            for offset, record in enumerate(records, first)
        ]
        small = [row for row in rows if not is_large(row[-1])]
        insert(connection, f"INSERT INTO {_TABLE} ({_COLUMNS})", small)
        for *fields, value in rows:
            if value is not None and is_large(value):
                _insert_large(connection, fields, value)
        drop_large_value(connection, sum(len(row[-1] or b"") for row in small))
        appended = [
            ConsumedRecord(Position(PARTITION, offset), at, replace(record, partition=None))
            for offset, record in enumerate(records, first)
        ]
        return AppendedRecords(range(first, end), appended)

    def grown(self, topic: str, appended: AppendedRecords) -> None:
        """Publish the new records of the topic to consumers, in the event loop."""
        if appended.offsets:
            self._ends[topic] = appended.offsets.stop
            self.recent.add(topic, appended.records)
            self.arrivals.announce(topic)

    def forget_recent(self) -> None:
        """Read records from the database again: their values were replaced."""
        self.recent = RecentRecords(_RECENT)

    def next_offset(self, topic: str) -> int:
        return self._ends.get(topic, 0)


class SqliteConsumer:
    """See Consumer. A consumer without a group starts at `start`."""

    def __init__(self, log: SqliteLog, topic: str, group: str | None, start: int | None = None) -> None:
        self._log = log
        self._topic = topic
        self._group = group
        self._next = start
        self._closed = group is None

    def assigned(self) -> frozenset[int]:
        """See Consumer.assigned."""
        return frozenset((PARTITION,))

    async def poll(
        self, limit: int, timeout_s: float, among: Collection[int] | None = None
    ) -> Sequence[ConsumedRecord]:
        """See Consumer.poll."""
        if among is not None and PARTITION not in among:
            await asyncio.sleep(timeout_s)
            return []
        loop = asyncio.get_running_loop()
        deadline = loop.time() + timeout_s
        if self._next is None:
            self._next = await self._log.position(self._topic, self._group or "")
        while True:
            taken = await self._take(self._next, limit)
            if taken:
                self._next = taken[-1].position.offset + 1
            left = deadline - loop.time()
            if taken or left <= 0:
                return taken
            if self._log.next_offset(self._topic) <= self._next:
                await self._log.arrivals.wait(self._topic, left)

    async def commit(self, position: Position) -> None:
        """See Consumer.commit."""
        check_partition(self._topic, position)
        if self._group is not None:
            self._log.keep(self._topic, self._group, position.offset + 1)

    async def seek(self, position: Position) -> None:
        """See Consumer.seek."""
        check_partition(self._topic, position)
        self._next = position.offset

    async def close(self) -> None:
        """Leave the group."""
        if not self._closed:
            self._closed = True
            self._log.left(self._topic, self._group or "")

    async def _take(self, start: int, limit: int) -> list[ConsumedRecord]:
        end = self._log.next_offset(self._topic)
        if end <= start:
            return []
        taken = await self._log.read(self._topic, start, limit)
        if not taken:
            self._next = end  # all of it was trimmed
        return taken


def ends(connection: sqlite3.Connection) -> dict[str, int]:
    """Return the next offset of every topic."""
    return dict(connection.execute("SELECT name, next_offset FROM topics").fetchall())


def _committed(connection: sqlite3.Connection, topic: str, group: str) -> int:
    row = connection.execute(
        "SELECT consumer_positions.next_offset FROM consumer_positions JOIN topics USING (topic)"
        " WHERE name = ? AND consumer_group = ?",
        (topic, group),
    ).fetchone()
    return int(row[0]) if row else 0


def _keep(connection: sqlite3.Connection, topic: str, group: str, next_offset: int) -> None:
    number, _ = _reserve(connection, topic, 0)
    connection.execute("INSERT OR REPLACE INTO consumer_positions VALUES (?, ?, ?)", (number, group, next_offset))


def check_partition(topic: str, position: Position) -> None:
    """Raise Broken for any partition except the only one."""
    if position.partition != PARTITION:
        raise Broken(f"topic {topic!r} has no partition {position.partition}")


def _reserve(connection: sqlite3.Connection, topic: str, count: int) -> tuple[int, int]:
    """Return the topic's number, and its end after `count` more offsets; naming a topic the first time creates it."""
    advance = "UPDATE topics SET next_offset = next_offset + ? WHERE name = ? RETURNING topic, next_offset"
    rows = connection.execute(advance, (count, topic)).fetchall()
    if not rows:
        connection.execute("INSERT INTO topics (name) VALUES (?)", (topic,))
        rows = connection.execute(advance, (count, topic)).fetchall()
    return rows[0][0], rows[0][1]


def _first(connection: sqlite3.Connection, topic: str, start: int) -> int | None:
    """Return the first offset from `start` on that has a record. Reads no value: one may have hundreds of megabytes."""
    row = connection.execute(f"SELECT position {_FROM}", (start, topic, 1)).fetchone()
    return None if row is None else int(row[0])


def _read(connection: sqlite3.Connection, topic: str, start: int, limit: int) -> list[ConsumedRecord]:
    large = f"length(value) >= {LARGE_BYTES}"
    columns = f"position, appended_ms, record_key, headers, iif({large}, NULL, value), iif({large}, key, NULL)"
    found, size = list[ConsumedRecord](), 0
    with closing(connection.execute(f"SELECT {columns} {_FROM}", (start, topic, limit))) as rows:
        for offset, at, key, headers, small, row in rows:
            value = small if row is None else large_values.read(connection, _TABLE, _VALUE, row)
            record = Record(key, value, _headers_in(headers) if headers else ())
            found.append(ConsumedRecord(Position(PARTITION, offset), at, record))
            if (size := size + len(value or b"")) >= READ_BYTES:
                break
    return found


def _insert_large(connection: sqlite3.Connection, fields: Sequence[Any], value: bytes) -> None:
    """Insert a record of a large value; the first of its other fields is its key."""
    reserved = f"INSERT INTO {_TABLE} ({_COLUMNS}) VALUES (?, ?, ?, ?, zeroblob(?))"  # noqa: S608 - constants
    connection.execute(reserved, (*fields, len(value)))
    large_values.fill(connection, _TABLE, _VALUE, fields[0], value)


def _trim(connection: sqlite3.Connection, topic: str, before: int) -> None:
    connection.execute(
        "DELETE FROM records WHERE key >= (SELECT topic << 48 FROM topics WHERE name = ?)"
        " AND key < (SELECT topic << 48 | min(?, next_offset) FROM topics WHERE name = ?)",
        (topic, before, topic),
    )


def _headers_out(headers: Sequence[tuple[str, bytes]]) -> str | None:
    if not headers:
        return None
    return json.dumps([[name, base64.b64encode(value).decode()] for name, value in headers], ensure_ascii=False)


def _headers_in(text: str) -> tuple[tuple[str, bytes], ...]:
    return tuple((name, base64.b64decode(value)) for name, value in json.loads(text))
