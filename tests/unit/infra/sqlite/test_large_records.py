"""A large record of the log is written and read in slices, without a copy as a value of a statement."""

from __future__ import annotations

import random
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from graphtide.infra.sqlite import log as log_module
from graphtide.infra.sqlite.connection import open_writer
from graphtide.infra.sqlite.database import SqliteDatabase
from graphtide.infra.sqlite.folder_lock import DATABASE
from graphtide.infra.sqlite.large_values import LARGE_BYTES
from graphtide.infra.sqlite.log import SqliteLog, _read, ends
from graphtide.streams.messages import EXTRACTIONS
from graphtide.streams.ports import ConsumedRecord, Record

SCHEMA_5 = """
DROP TABLE records;
CREATE TABLE records (
    key         INTEGER PRIMARY KEY,
    topic       INTEGER AS (key >> 48),
    position    INTEGER AS (key & 281474976710655),
    appended_ms INTEGER NOT NULL,
    record_key  TEXT    NOT NULL,
    headers     TEXT,
    value       BLOB
);
INSERT INTO topics VALUES (1, 'extractions', 4);
INSERT INTO records VALUES (1 << 48 | 3, 5, 'a', NULL, x'0102');
UPDATE schema_version SET version = 5;
"""
SIZES = (0, 1, LARGE_BYTES - 1, LARGE_BYTES, 2 * LARGE_BYTES + 7)


class Watched:
    """A connection that records the sizes of the values that pass through statements."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection, self.sizes = connection, [0]

    def execute(self, statement: str, values: tuple[object, ...] = ()) -> sqlite3.Cursor:
        rows = [values]
        if statement.startswith("SELECT"):
            rows += self._connection.execute(statement, values).fetchall()
        self.sizes += [len(value) for row in rows for value in row if isinstance(value, bytes)]
        return self._connection.execute(statement, values)

    def blobopen(self, *given: object, **named: object) -> object:
        return self._connection.blobopen(*given, **named)  # type: ignore[arg-type]


@pytest.mark.parametrize("size", SIZES)
async def test_records_are_read_back_whatever_their_size(tmp_path: Path, size: int) -> None:
    """Large values pass through no statement; order, keys and headers are those of the other records."""
    value = random.Random(size).randbytes(size)
    given = [Record("a", b"small"), Record("b", value, (("h", b"x"),)), Record("c", None), Record("d", value[::-1])]

    def added(connection: sqlite3.Connection) -> list[int]:
        watched = Watched(connection)
        log.add(watched, EXTRACTIONS, given)  # type: ignore[arg-type]
        return watched.sizes

    def found(connection: sqlite3.Connection) -> tuple[list[ConsumedRecord], list[int]]:
        watched = Watched(connection)
        return _read(watched, EXTRACTIONS, 0, 10), watched.sizes  # type: ignore[arg-type]

    database = await SqliteDatabase.open(tmp_path)
    try:
        log = SqliteLog(database, await database.read(ends), lambda: 7)
        written = await database.write(added)
        records, read = await database.read(found)
        assert [consumed.record for consumed in records] == given
        assert [consumed.position.offset for consumed in records] == [0, 1, 2, 3]
        assert max(written + read) < LARGE_BYTES
    finally:
        await database.close()


async def test_large_records_are_written_to_a_migrated_folder(tmp_path: Path) -> None:
    """In schema 5 the generated columns came first, and SQLite 3.40 mistook the columns of a row for one another."""
    with closing(open_writer(tmp_path / DATABASE)) as connection:
        connection.executescript(SCHEMA_5)
    database = await SqliteDatabase.open(tmp_path)
    try:
        log = SqliteLog(database, await database.read(ends), lambda: 7)
        large = Record("b", bytes(range(256)) * (LARGE_BYTES // 256))
        await log.append(EXTRACTIONS, [large])
        records = await database.read(lambda connection: _read(connection, EXTRACTIONS, 0, 10))
        assert [consumed.record for consumed in records] == [Record("a", b"\x01\x02"), large]
        assert [consumed.position.offset for consumed in records] == [3, 4]
    finally:
        await database.close()


async def test_a_read_ends_once_it_has_enough_bytes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A consumer gets every record, in reads of about READ_BYTES, and one that is larger by itself."""
    monkeypatch.setattr(log_module, "READ_BYTES", 1_000)
    sizes = [10, 600, 600, 5_000, 0, 10, 999, 1]
    given = [Record("g", bytes(size)) for size in sizes]
    database = await SqliteDatabase.open(tmp_path)
    try:
        log = SqliteLog(database, await database.read(ends), lambda: 7)
        await log.append(EXTRACTIONS, given)
        log.forget_recent()
        consumer, polls = log.reader(EXTRACTIONS, {}), list[list[Record]]()
        while sum(map(len, polls)) < len(given):
            polls.append([consumed.record for consumed in await consumer.poll(64, 5.0)])
        await consumer.close()
        assert [record for taken in polls for record in taken] == given
        assert [[len(record.value or b"") for record in taken] for taken in polls] == [
            [10, 600, 600],
            [5_000],
            [0, 10, 999],
            [1],
        ]
    finally:
        await database.close()
