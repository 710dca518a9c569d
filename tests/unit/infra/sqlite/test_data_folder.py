"""The data folder: opened by one process, its schema brought up to date, damage and full disks reported."""

from __future__ import annotations

import asyncio
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path
from random import Random

import pytest

from graphtide.graph.text.place import NO_PLACE
from graphtide.infra.sqlite import SqliteBackend
from graphtide.infra.sqlite.connection import SCHEMA_VERSION, open_reader, open_writer
from graphtide.infra.sqlite.errors import failure
from graphtide.infra.sqlite.folder_lock import DATABASE
from graphtide.infra.sqlite.reading.readers import THREADS
from graphtide.streams.errors import Broken, Rejected, Retryable
from graphtide.streams.ports import (
    Commit,
    GraphCommit,
    Position,
    Record,
    ReportRow,
)
from tests.support.records import document_delta

ROOT = Path(__file__).resolve().parents[3]
REGULAR_PAGES = 1 << 30


async def reopened(folder: Path) -> None:
    await (await SqliteBackend.open(folder)).close()


def test_connections_of_a_service_hold_few_pages(tmp_path: Path) -> None:
    """The page caches of the writer, the reading threads and the event loop have at most 4 MiB together."""
    with closing(open_writer(tmp_path / DATABASE)) as writer, closing(open_reader(tmp_path / DATABASE)) as reader:
        sizes = [-int(each.execute("PRAGMA cache_size").fetchone()[0]) for each in (writer, reader)]
    assert 0 < sizes[0] + sizes[1] * (THREADS + 1) <= 4 * 1024


async def test_file_is_in_wal_mode_and_fully_synchronous(backend: SqliteBackend, tmp_path: Path) -> None:
    """The file has its documented name, and the settings under which returned appends survive a power cut."""

    def pragmas(connection: sqlite3.Connection) -> list[object]:
        return [connection.execute(f"PRAGMA {name}").fetchone()[0] for name in ("journal_mode", "synchronous")]

    assert await backend.database.write(pragmas) == ["wal", 2]
    assert backend.database.path == tmp_path / DATABASE


async def test_folder_is_refused_when_another_process_holds_it(backend: SqliteBackend, tmp_path: Path) -> None:
    """The message names the folder and the holder; a second holder in the process is refused as well."""
    script = (
        "import asyncio, sys; from pathlib import Path; from graphtide.infra.sqlite import SqliteBackend\n"
        "asyncio.run(SqliteBackend.open(Path(sys.argv[1])))"
    )
    other = await asyncio.create_subprocess_exec(
        sys.executable, "-c", script, str(tmp_path), cwd=ROOT, stderr=subprocess.PIPE
    )
    _, complaint = await other.communicate()
    assert other.returncode == 1 and b"Broken: the data folder" in complaint and b"in use by process" in complaint
    with pytest.raises(Broken, match="in use by process"):
        await SqliteBackend.open(tmp_path)


async def test_folder_can_be_opened_again_when_it_was_closed(tmp_path: Path) -> None:
    """Offsets and positions of groups continue after a restart, also after everything was trimmed."""
    first = await SqliteBackend.open(tmp_path)
    await first.log.append("t", [Record("k", b"1"), Record("k", b"2")])
    await first.log.consumer("t", "g").commit(Position(0, 0))
    await first.log.trim("t", Position(0, 1))
    await first.close()
    await first.close()
    second = await SqliteBackend.open(tmp_path)
    assert [one.record.value for one in await second.log.consumer("t", "g").poll(5, 0)] == [b"2"]
    await second.log.trim("t", Position(0, 2))
    assert await second.log.append("t", [Record("k", b"3")]) == [Position(0, 2)]
    await second.close()
    with pytest.raises(Broken, match="closed"):
        await second.log.append("t", [Record("k", b"4")])


async def test_file_of_the_first_schema_is_brought_up_to_date(tmp_path: Path) -> None:
    """Reports get their findings and ratings, chunks their titles and places; existing rows are kept."""
    await reopened(tmp_path)
    with closing(sqlite3.connect(tmp_path / DATABASE)) as connection, connection:
        connection.executescript(
            "ALTER TABLE reports DROP COLUMN findings; ALTER TABLE reports DROP COLUMN rating;"
            "ALTER TABLE chunks DROP COLUMN title; ALTER TABLE chunks DROP COLUMN description;"
            "ALTER TABLE chunks DROP COLUMN place;"
            "DROP TRIGGER revision_moves; DROP TABLE deletions;"
            "INSERT INTO graphs (graph, name, version) VALUES (1, 'g', 1);"
            "INSERT INTO chunks VALUES (4294967303, 'd#0', 'd', 0, 1, 'Text.', x'003c');"
            "INSERT INTO reports VALUES (1, 7, 0, 'f', 3, 'Title', 'Summary', '[]');"
            "UPDATE schema_version SET version = 1"
        )
    backend = await SqliteBackend.open(tmp_path)
    [report] = await backend.store.reports("g")
    assert report == ReportRow(7, 0, "f", 3, "Title", "Summary", ())
    [chunk] = (await backend.store.snapshot("g")).chunks
    assert (chunk.chunk, chunk.text, chunk.title, chunk.description, chunk.place) == (7, "Text.", "", "", NO_PLACE)
    await backend.close()
    with closing(sqlite3.connect(tmp_path / DATABASE)) as connection:
        assert connection.execute("SELECT version FROM schema_version").fetchall() == [(SCHEMA_VERSION,)]


async def test_newer_schema_is_refused(tmp_path: Path) -> None:
    """The message names both schemas, and the file is unchanged."""
    await reopened(tmp_path)
    with closing(sqlite3.connect(tmp_path / DATABASE)) as connection, connection:
        connection.execute("UPDATE schema_version SET version = 99")
    with pytest.raises(Broken, match=f"schema 99.*reads schema {SCHEMA_VERSION}"):
        await SqliteBackend.open(tmp_path)


async def test_database_of_another_program_is_refused(tmp_path: Path) -> None:
    """A foreign file is refused, unchanged."""
    with closing(sqlite3.connect(tmp_path / DATABASE)) as connection, connection:
        connection.execute("CREATE TABLE theirs (x)")
    with pytest.raises(Broken, match="another program"):
        await SqliteBackend.open(tmp_path)


async def test_damaged_beginning_is_refused(tmp_path: Path) -> None:
    """A file that is not a database is Broken, named in the error, and the lock is released."""
    await reopened(tmp_path)
    path = tmp_path / DATABASE
    path.write_bytes(b"garbage " * 512 + path.read_bytes()[4096:])
    for _ in range(2):
        with pytest.raises(Broken, match=f"{DATABASE}.*not a database"):
            await SqliteBackend.open(tmp_path)


async def test_damaged_page_is_reported_when_it_is_read(tmp_path: Path) -> None:
    """Each attempt raises Broken with a clear message, not the driver's exception: the previous one holds nothing."""
    first = await SqliteBackend.open(tmp_path)
    watermark = await first.store.claim(0)
    await first.store.commit(Commit(0, watermark, 1, (GraphCommit(document_delta(Random(1), 1), {}),), ()))
    await first.close()
    path = tmp_path / DATABASE
    data = bytearray(path.read_bytes())
    data[4096 * 4 :] = b"\xff" * (len(data) - 4096 * 4)
    path.write_bytes(data)
    for _ in range(2):
        with pytest.raises(Broken, match="damaged"):
            second = await SqliteBackend.open(tmp_path)
            try:
                await second.store.snapshot("g")
            finally:
                await second.close()


async def test_unusable_folder_is_refused(tmp_path: Path) -> None:
    """A file in the place of the folder is Broken."""
    (tmp_path / "file").write_text("")
    with pytest.raises(Broken, match="cannot be used"):
        await SqliteBackend.open(tmp_path / "file")


async def test_full_disk_is_retryable_and_the_service_goes_on_when_there_is_space(tmp_path: Path) -> None:
    """Nothing of the failed append is stored; reading works meanwhile; afterwards the same append succeeds."""
    backend = await SqliteBackend.open(tmp_path, max_pages=120)
    small, large = Record("g|small", b"x"), Record("g|large", b"x" * 400_000)
    await backend.ledger.accept([small])
    with pytest.raises(Retryable, match="full"):
        await backend.ledger.accept([small, large])
    done = await asyncio.gather(
        *(backend.ledger.accept([record]) for record in (small, large, small)), return_exceptions=True
    )
    assert [type(one) for one in done] == [list, Retryable, list]
    assert [one.record for one in await backend.log.consumer("documents", "x").poll(9, 0)] == [small] * 3
    assert await backend.ledger.pending("g") == 3
    await backend.database.write(lambda connection: connection.execute(f"PRAGMA max_page_count = {REGULAR_PAGES}"))
    assert await backend.ledger.accept([large]) == [Position(0, 3)]
    await backend.close()


async def test_locked_database_is_retryable(backend: SqliteBackend, tmp_path: Path) -> None:
    """A user's shell with a write lock delays a write; it does not fail it."""
    await backend.database.write(lambda connection: connection.execute("SELECT 1"))
    shell = sqlite3.connect(tmp_path / DATABASE, isolation_level=None)
    shell.execute("BEGIN IMMEDIATE")
    backend.database._writer.execute("PRAGMA busy_timeout = 10")
    with pytest.raises(Retryable, match="locked"):
        await backend.log.append("t", [Record("k", b"1")])
    shell.execute("ROLLBACK")
    shell.close()
    assert await backend.log.append("t", [Record("k", b"1")]) == [Position(0, 0)]


def test_failure_is_broken_when_the_error_is_of_no_known_kind() -> None:
    """An unknown error is Broken; known kinds map to their action."""
    cases = {
        sqlite3.SQLITE_FULL: Retryable,
        sqlite3.SQLITE_BUSY: Retryable,
        sqlite3.SQLITE_IOERR_FSYNC: Broken,
        4874: Retryable,
        sqlite3.SQLITE_CORRUPT: Broken,
        sqlite3.SQLITE_TOOBIG: Rejected,
        sqlite3.SQLITE_MISUSE: Broken,
    }
    for code, expected in cases.items():
        error = sqlite3.OperationalError("what it said")
        error.sqlite_errorcode = code
        assert type(failure(error)) is expected and "what it said" in str(failure(error))
    assert type(failure(sqlite3.ProgrammingError("closed"))) is Broken
