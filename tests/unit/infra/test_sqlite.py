"""The SQLite adapter beyond the contract: one file, one writer, and its failures."""

from __future__ import annotations

import asyncio
import sqlite3
import subprocess
import sys
from collections.abc import AsyncIterator
from contextlib import closing
from pathlib import Path
from random import Random

import pytest

import graphtide.infra.sqlite.connection
from graphtide.graph.text.place import NO_PLACE
from graphtide.infra.sqlite import SqliteBackend, SqliteDatabase, SqliteVectorStore, memo
from graphtide.infra.sqlite.connection import SCHEMA_VERSION
from graphtide.infra.sqlite.errors import failure
from graphtide.infra.sqlite.folder_lock import DATABASE
from graphtide.streams.errors import Broken, Rejected, Retryable
from graphtide.streams.ports import (
    Commit,
    GraphCommit,
    Position,
    Record,
    ReportRow,
    RevisionOutcome,
    RevisionState,
    Watermark,
)
from tests.model.memory.rows import Rows
from tests.support.records import Walk, document_delta, plain

ROOT = Path(__file__).resolve().parents[3]
REGULAR_PAGES = 1 << 30


@pytest.fixture
async def backend(tmp_path: Path) -> AsyncIterator[SqliteBackend]:
    one = await SqliteBackend.open(tmp_path)
    yield one
    await one.close()


async def reopened(folder: Path) -> None:
    await (await SqliteBackend.open(folder)).close()


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
    [held] = await backend.store.reports("g")
    assert held == ReportRow(7, 0, "f", 3, "Title", "Summary", ())
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
    held = await first.store.claim(0)
    await first.store.commit(Commit(0, held, 1, (GraphCommit(document_delta(Random(1), 1), {}),), ()))
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


async def test_writer_groups_what_waits_and_one_failure_hurts_nobody_else(backend: SqliteBackend) -> None:
    """Many writes share few transactions; a failing one is undone alone."""
    commits: list[str] = []
    blocked = asyncio.Event()
    loop = asyncio.get_running_loop()

    def watch(connection: sqlite3.Connection) -> None:
        connection.set_trace_callback(lambda said: commits.append(said) if said == "COMMIT" else None)
        asyncio.run_coroutine_threadsafe(blocked.wait(), loop).result()

    def fail(connection: sqlite3.Connection) -> None:
        connection.execute("INSERT INTO topics (name) VALUES ('half')")
        raise Rejected("no")

    async def queue(extra: bool) -> list[object]:
        blocked.clear()
        first = asyncio.create_task(backend.database.write(watch))
        writes = [asyncio.create_task(backend.log.append("t", [Record("k", b"")])) for _ in range(50)]
        if extra:
            writes.insert(20, asyncio.create_task(backend.database.write(fail)))  # type: ignore[arg-type]
        await asyncio.sleep(0)
        blocked.set()
        await first
        return list(await asyncio.gather(*writes, return_exceptions=True))

    assert [one[0].offset for one in await queue(False)] == list(range(50))  # type: ignore[index]
    assert len(commits) <= 3
    done = await queue(True)
    assert isinstance(done.pop(20), Rejected)
    assert sorted(one[0].offset for one in done) == list(range(50, 100))  # type: ignore[index]
    assert (await backend.log.end("t"), await backend.log.end("half")) == ({0: 100}, {0: 0})
    names = await backend.database.read(lambda connection: connection.execute("SELECT name FROM topics").fetchall())
    assert names == [("t",)]


async def test_mistake_in_a_write_reaches_its_caller_and_not_the_writer(backend: SqliteBackend) -> None:
    """A bug raises the caller's exception unchanged; a bad statement is Broken; the next write works."""
    with pytest.raises(ZeroDivisionError):
        await backend.database.write(lambda _: 1 // 0)
    with pytest.raises(Broken, match="no such table"):
        await backend.database.write(lambda connection: connection.execute("SELECT * FROM nowhere"))
    with pytest.raises(Broken, match="no such table"):
        await backend.database.read(lambda connection: connection.execute("SELECT * FROM nowhere"))
    assert await backend.log.append("t", [Record("k", b"1")]) == [Position(0, 0)]


async def test_consumers_wake_when_the_appender_was_cancelled(backend: SqliteBackend) -> None:
    """The record of a cancelled append may be stored; if it is, readers receive it."""
    waiting = asyncio.create_task(backend.log.consumer("t", "g").poll(1, 250))
    appending = asyncio.create_task(backend.log.append("t", [Record("k", b"1")]))
    await asyncio.sleep(0)
    appending.cancel()
    with pytest.raises(asyncio.CancelledError):
        await appending
    await backend.log.append("u", [Record("k", b"1")])
    assert [one.position.offset for one in await waiting] == [0]


async def test_close_finishes_what_is_queued(tmp_path: Path) -> None:
    """Writes handed over before `close` are durable and answered."""
    backend = await SqliteBackend.open(tmp_path)
    writes = [asyncio.create_task(backend.log.append("t", [Record("k", b"")])) for _ in range(20)]
    await asyncio.sleep(0)
    await backend.close()
    assert len(await asyncio.gather(*writes)) == 20
    again = await SqliteBackend.open(tmp_path)
    assert await again.log.end("t") == {0: 20}
    await again.close()


@pytest.mark.thorough
async def test_snapshot_is_whole_when_it_spans_many_blocks(backend: SqliteBackend) -> None:
    """Fill a graph with thousands of rows of every type, beside another graph with adjacent keys."""
    rng, fold = Random(8), Rows("g")
    held = await backend.store.claim(0)
    for version in range(1, 301):
        delta = document_delta(rng, version, dimensions=4)
        fold.apply(delta)
        other = document_delta(rng, version, "h", dimensions=4)
        parts = tuple(GraphCommit(one, {}) for one in (delta, other))
        await backend.store.commit(Commit(0, held, version, parts, ()))
        held = Watermark(held.epoch, version)
    snapshot = await backend.store.snapshot("g")
    assert min(len(snapshot.edges), len(snapshot.mentions), len(snapshot.statements), len(snapshot.labels)) > 1024
    assert plain(snapshot) == plain(fold.snapshot())


async def test_statement_vector_is_stored_once_when_its_sum_ends_with_it(backend: SqliteBackend) -> None:
    """In the most frequent case the vector is stored once; the row comes back complete."""
    held = await backend.store.claim(0)
    await backend.store.commit(Commit(0, held, 1, (GraphCommit(document_delta(Random(1), 1), {}),), ()))
    query = "SELECT count(*), count(vector) FROM statements"
    assert await backend.database.read(lambda connection: connection.execute(query).fetchone()) == (11, 0)


async def test_relations_can_be_read_with_a_shell(backend: SqliteBackend) -> None:
    """The view names graph, subject, predicate and object."""
    held = await backend.store.claim(0)
    delta = document_delta(Random(1), 1)
    await backend.store.commit(Commit(0, held, 1, (GraphCommit(delta, {}),), ()))
    query = "SELECT graph, subject, predicate, object, weight FROM relations WHERE statement = ?"
    row = delta.statements[0]
    found = await backend.database.read(lambda c: c.execute(query, (row.statement,)).fetchall())
    assert found == [("g", f"Label {row.subject}", "is known for", f"Label {row.object}", 1.0)]


async def test_no_statement_reads_a_whole_table(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every query of the ports uses an index, so its cost does not grow with the stored rows."""
    asked: set[str] = set()
    connect = graphtide.infra.sqlite.connection._connect

    def traced(path: Path, cache_kib: int) -> sqlite3.Connection:
        connection = connect(path, cache_kib)
        connection.set_trace_callback(asked.add)
        return connection

    backend = await SqliteBackend.open(tmp_path)
    await backend.close()
    monkeypatch.setattr(graphtide.infra.sqlite.connection, "_connect", traced)
    backend = await SqliteBackend.open(tmp_path)
    rng, store, ledger = Random(2), backend.store, backend.ledger
    walk, held = Walk(rng), await store.claim(0)
    await ledger.accept([Record(f"g|d{i}", b"") for i in range(12)])
    for step in range(12):
        outcome = RevisionOutcome("g", f"d{step}", step, RevisionState.APPLIED)
        await store.commit(Commit(0, held, step + 1, (walk.commit(step),), (outcome,), (Record("g", b""),)))
        held = Watermark(held.epoch, step + 1)
    await store.snapshot("g")
    await store.standings("g", [f"d{i}" for i in range(75)])
    assert [one async for one in store.extractions("g")]
    await store.save_reports("g", [ReportRow(i, 0, "", 1, "", "", ()) for i in range(9)], range(10))
    await store.reports("g")
    consumer = backend.log.consumer("documents", "x")
    await ledger.enter(await consumer.poll(5, 0))
    await consumer.commit(Position(0, 3))
    await backend.log.trim("documents", Position(0, 2))
    await ledger.begin("g", "d1", 1)
    await ledger.latest("g", "d1")
    await ledger.pending("g", Position(0, 4))
    await ledger.unfinished(5_000, 9)
    await ledger.oldest_pending("g")
    await ledger.counts("g")
    memory = SqliteVectorStore(backend.database, 2)
    await memory.put_many({b"%d" % i: b"" for i in range(9)})
    await memory.get_many([b"8", b"7"])
    await memory.put_many({b"x": b""})
    await backend.close()
    small = ("topics", "graphs", "schema_version", "sqlite_master", "(subquery-1)", "k")  # k: keys of a statement
    with closing(sqlite3.connect(tmp_path / DATABASE)) as connection, connection:
        for statement in sorted(asked):
            if not statement.startswith(("SELECT", "INSERT", "UPDATE", "DELETE")):
                continue
            plan = connection.execute(f"EXPLAIN QUERY PLAN {statement}").fetchall()
            steps = [row[3] for row in plan if "CONSTANT" not in row[3]]
            scans = [step for step in steps if step.startswith("SCAN ") and step.split()[1] not in small]
            partial = [step for step in steps if step.endswith("(graph=?)") and statement.startswith("DELETE")]
            if statement.startswith("DELETE FROM change_revisions"):  # with the records of a history that begins anew
                partial.clear()
            wide = [step for step in steps if "standings" in step and step.endswith("(graph=?)")]
            assert not scans + partial + wide and "TEMP B-TREE" not in str(steps), (statement[:300], steps)
    assert len(asked) > 100


async def test_memo_keeps_what_was_used_last_when_it_is_full(tmp_path: Path) -> None:
    """The memo never has more rows than the bound, always has the newest, and keeps used rows longer than
    unused ones.
    """
    database = await SqliteDatabase.open(tmp_path)
    store = SqliteVectorStore(database, capacity=100)
    used = {b"used": b"\0vector"}
    await store.put_many(used)
    for i in range(0, 400, 20):
        assert await store.get_many([b"used", b"never"]) == used
        fresh = {b"%d" % (i + j): b"%d" % j * (j % 3) for j in range(20)}
        await store.put_many(fresh)
        assert await store.get_many(list(fresh)) == fresh
    rows = await database.read(lambda connection: connection.execute("SELECT count(*) FROM memo").fetchone()[0])
    assert 50 <= rows <= 100
    await store.put_many({b"399": b"again"})
    await store.put_many({})
    assert await store.get_many([b"399", b"0"]) == {b"399": b"again"} and await store.get_many([]) == {}
    await database.close()
    assert memo.CAPACITY > 100
