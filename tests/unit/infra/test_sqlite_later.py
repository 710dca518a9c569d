"""Writes for later, and the newest records of the log in memory."""

from __future__ import annotations

import asyncio
import gc
import sqlite3
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from graphtide.infra.sqlite import SqliteBackend, database
from graphtide.infra.sqlite.reading import recent_records
from graphtide.infra.sqlite.reading.recent_records import RecentRecords
from graphtide.services.administration.maintenance import request_deletion
from graphtide.streams.errors import Broken
from graphtide.streams.messages import DOCUMENTS, EXTRACTIONS
from graphtide.streams.ports import ConsumedRecord, Position, Record

NORMAL, FULL = 1, 2
"""SQLite's numbers of the modes of a commit: without and with a wait for the disk."""


@pytest.fixture
async def backend(tmp_path: Path) -> AsyncIterator[SqliteBackend]:
    one = await SqliteBackend.open(tmp_path)
    yield one
    await one.close()


def put(name: str, value: int) -> str:
    return f"INSERT OR REPLACE INTO kept VALUES ('{name}', {value})"  # noqa: S608 - names of this file


async def kept(backend: SqliteBackend) -> list[tuple[str, int]]:
    return await backend.database.read(
        lambda connection: connection.execute("SELECT name, value FROM kept ORDER BY name").fetchall()
    )


async def create(backend: SqliteBackend) -> None:
    table = "CREATE TABLE kept (name TEXT PRIMARY KEY, value INTEGER CHECK (value < 100))"
    await backend.database.write(lambda connection: connection.execute(table).rowcount)


async def perform_later(backend: SqliteBackend) -> None:
    """Have what was left for later performed now."""
    await backend.database.alone(lambda connection: connection.execute("SELECT 1").fetchone())


async def test_later_write_waits_for_its_time_and_replaces_an_earlier_one(backend: SqliteBackend) -> None:
    """A transaction before that is spared its statements; only the last write of a key is performed."""
    await create(backend)
    for value in (1, 2, 3):
        backend.database.write_later("a", lambda connection, value=value: connection.execute(put("a", value)))  # type: ignore[misc]
    assert await backend.database.write(lambda connection: connection.execute("SELECT * FROM kept").fetchall()) == []
    await perform_later(backend)
    assert await kept(backend) == [("a", 3)]


async def test_later_write_is_performed_in_time_without_another_write(
    backend: SqliteBackend, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its own timer begins a transaction, which need not wait for the disk."""
    await create(backend)
    monkeypatch.setattr(database, "LATER_S", 0.0)
    done = asyncio.Event()
    loop = asyncio.get_running_loop()
    modes: list[int] = []

    def work(connection: sqlite3.Connection) -> None:
        modes.append(synchronous(connection))
        loop.call_soon_threadsafe(done.set)

    backend.database.write_later("a", work)
    async with asyncio.timeout(30):
        await done.wait()
    assert modes == [NORMAL]


def synchronous(connection: sqlite3.Connection) -> int:
    return int(connection.execute("PRAGMA synchronous").fetchone()[0])


async def test_commit_waits_for_the_disk_if_one_of_its_writes_does(backend: SqliteBackend) -> None:
    """A write without that need is made durable by those it shares the transaction with, and by the next one."""
    both = (backend.database.write(synchronous, synced=False), backend.database.write(synchronous))
    assert (await asyncio.gather(*both))[1] == FULL
    assert await backend.database.write(synchronous, synced=False) == NORMAL
    assert await backend.database.write(synchronous) == FULL


async def test_only_attempts_and_extractions_do_not_wait_for_the_disk(
    backend: SqliteBackend, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Accepting, commits and requests of maintenance do: nothing else would repeat them after a power failure."""
    synced: list[bool] = []
    write = backend.database.write

    async def noted(work: Any, committed: Any = None, **options: bool) -> Any:
        synced.append(options.get("synced", True))
        return await write(work, committed, **options)

    monkeypatch.setattr(backend.database, "write", noted)
    await backend.ledger.accept([Record("g|a", b"1")])
    await backend.ledger.start_attempt("g", "a", 0)
    await backend.log.append(EXTRACTIONS, [Record("g", b"{}")])
    await request_deletion(backend.log, "g")
    await backend.store.claim(0)
    await backend.log.append(DOCUMENTS, [Record("g|b", b"1")])
    assert synced == [True, False, False, True, True, True]


async def test_later_write_is_performed_when_the_database_closes(tmp_path: Path) -> None:
    """Without another transaction it is not lost by a regular end."""
    first = await SqliteBackend.open(tmp_path)
    await create(first)
    first.database.write_later("a", lambda connection: connection.execute(put("a", 1)))
    await first.close()
    second = await SqliteBackend.open(tmp_path)
    assert await kept(second) == [("a", 1)]
    await second.close()


async def test_later_write_precedes_a_write_alone(backend: SqliteBackend) -> None:
    """A statement between two transactions sees what was written for later before it."""
    await create(backend)
    backend.database.write_later("a", lambda connection: connection.execute(put("a", 1)))
    rows = await backend.database.alone(lambda connection: connection.execute("SELECT value FROM kept").fetchall())
    assert rows == [(1,)]


async def test_failing_later_write_affects_no_other_and_is_repeated(backend: SqliteBackend) -> None:
    """It is performed once it can succeed."""
    await create(backend)
    backend.database.write_later("bad", lambda connection: connection.execute(put("bad", 100)))
    backend.database.write_later("good", lambda connection: connection.execute(put("good", 1)))
    await perform_later(backend)
    await backend.database.write(lambda connection: connection.execute(put("own", 2)).rowcount)
    assert await kept(backend) == [("good", 1), ("own", 2)]

    def unbind(connection: sqlite3.Connection) -> None:
        connection.execute("ALTER TABLE kept RENAME TO old")
        connection.execute("CREATE TABLE kept AS SELECT * FROM old")

    await backend.database.write(unbind)
    await backend.database.write(lambda connection: connection.execute(put("own", 3)).rowcount)
    assert ("bad", 100) in await kept(backend)


async def test_consumer_reads_the_same_records_from_memory_and_from_the_file(tmp_path: Path) -> None:
    """Headers, tombstones and times are equal; trimmed records are in neither."""
    first = await SqliteBackend.open(tmp_path, lambda: 7)
    records = [Record("g|a", b"1", (("h", b"\x00x"),)), Record("g|a", None), Record("g|\u00e9", b"", partition=0)]
    await first.log.append(DOCUMENTS, records)
    consumer = first.log.consumer(DOCUMENTS, "g")
    polled = await consumer.poll(9, 1)
    await first.log.trim(DOCUMENTS, Position(0, 1))
    assert [one.position.offset for one in await first.log.reader(DOCUMENTS, {}).poll(9, 1)] == [1, 2]
    await first.close()
    second = await SqliteBackend.open(tmp_path, lambda: 8)
    assert list(await second.log.reader(DOCUMENTS, {}).poll(9, 1)) == list(polled)[1:]
    await second.close()


async def test_records_of_failed_transactions_are_not_kept_in_memory(backend: SqliteBackend) -> None:
    """Appends that wait together fail together at COMMIT, as on a full disk; what follows begins at other offsets."""
    lost = b"a record that is not stored"
    for statement in (
        "PRAGMA foreign_keys = ON",
        "CREATE TABLE parent (name INTEGER PRIMARY KEY)",
        "CREATE TABLE child (name INTEGER REFERENCES parent DEFERRABLE INITIALLY DEFERRED)",
        "CREATE TRIGGER refused AFTER INSERT ON records BEGIN INSERT INTO child VALUES (1); END",
    ):
        await backend.database.alone(lambda connection, statement=statement: connection.execute(statement))  # type: ignore[misc]
    together = [backend.log.append(DOCUMENTS, [Record("g|a", lost)]) for _ in range(4)]
    failures = await asyncio.gather(*together, return_exceptions=True)
    assert {type(failure) for failure in failures} == {Broken}
    del failures, together
    await backend.database.alone(lambda connection: connection.execute("DROP TRIGGER refused"))
    [first, *_] = await backend.log.append(DOCUMENTS, [Record("g|a", b"1")] * 9)
    assert first.offset == 0
    gc.collect()
    assert not [each for each in gc.get_objects() if isinstance(each, ConsumedRecord) and each.record.value == lost]


def consumed(offset: int, size: int = 1) -> ConsumedRecord:
    return ConsumedRecord(Position(0, offset), 0, Record("k", b"x" * size))


def test_recent_records_are_bounded_and_consecutive(monkeypatch: pytest.MonkeyPatch) -> None:
    """The oldest leave first; a gap or a record above the limit leaves none of those before it."""
    monkeypatch.setattr(recent_records, "MAX_RECORDS", 3)
    monkeypatch.setattr(recent_records, "MAX_BYTES", 100)
    recent = RecentRecords(["t"])
    recent.add("t", [consumed(offset) for offset in range(5)])
    recent.add("other", [consumed(0)])
    assert recent.read("t", 1, 9) is None and recent.read("t", 5, 9) is None and recent.read("other", 0, 9) is None
    assert [one.position.offset for one in recent.read("t", 3, 9) or ()] == [3, 4]
    recent.trim("t", 4)
    assert recent.read("t", 3, 9) is None and recent.read("t", 4, 9) == [consumed(4)]
    recent.add("t", [consumed(9)])
    assert recent.read("t", 4, 9) is None and recent.read("t", 9, 9) == [consumed(9)]
    recent.add("t", [consumed(10, 100)])
    assert recent.read("t", 9, 9) is None and recent.read("t", 10, 9) is None
