"""The SQLite backend beyond the ports: groups of writes, snapshots, and the cost of statements."""

from __future__ import annotations

import asyncio
import sqlite3
from contextlib import closing
from pathlib import Path
from random import Random

import pytest

import graphtide.infra.sqlite.connection
from graphtide.infra.sqlite import SqliteBackend, SqliteDatabase, SqliteVectorStore, memo
from graphtide.infra.sqlite.folder_lock import DATABASE
from graphtide.streams.errors import Broken, Rejected
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


async def test_writer_groups_what_waits_and_one_failure_hurts_nobody_else(backend: SqliteBackend) -> None:
    """Many writes share few transactions; a failing one is undone alone."""
    commits: list[str] = []
    blocked = asyncio.Event()
    loop = asyncio.get_running_loop()

    def watch(connection: sqlite3.Connection) -> None:
        connection.set_trace_callback(lambda statement: commits.append(statement) if statement == "COMMIT" else None)
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
    watermark = await backend.store.claim(0)
    for version in range(1, 301):
        delta = document_delta(rng, version, dimensions=4)
        fold.apply(delta)
        other = document_delta(rng, version, "h", dimensions=4)
        parts = tuple(GraphCommit(one, {}) for one in (delta, other))
        await backend.store.commit(Commit(0, watermark, version, parts, ()))
        watermark = Watermark(watermark.epoch, version)
    snapshot = await backend.store.snapshot("g")
    assert min(len(snapshot.edges), len(snapshot.mentions), len(snapshot.statements), len(snapshot.labels)) > 1024
    assert plain(snapshot) == plain(fold.snapshot())


async def test_statement_vector_is_stored_once_when_its_sum_ends_with_it(backend: SqliteBackend) -> None:
    """In the most frequent case the vector is stored once; the row comes back complete."""
    watermark = await backend.store.claim(0)
    await backend.store.commit(Commit(0, watermark, 1, (GraphCommit(document_delta(Random(1), 1), {}),), ()))
    query = "SELECT count(*), count(vector) FROM statements"
    assert await backend.database.read(lambda connection: connection.execute(query).fetchone()) == (11, 0)


async def test_relations_can_be_read_with_a_shell(backend: SqliteBackend) -> None:
    """The view names graph, subject, predicate and object."""
    watermark = await backend.store.claim(0)
    delta = document_delta(Random(1), 1)
    await backend.store.commit(Commit(0, watermark, 1, (GraphCommit(delta, {}),), ()))
    query = "SELECT graph, subject, predicate, object, weight FROM relations WHERE statement = ?"
    row = delta.statements[0]
    found = await backend.database.read(lambda c: c.execute(query, (row.statement,)).fetchall())
    assert found == [("g", f"Label {row.subject}", "is known for", f"Label {row.object}", 1.0)]


async def test_no_statement_reads_a_whole_table(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every query of the ports uses an index, so its cost does not grow with the stored rows."""
    asked: set[str] = set()
    connect = graphtide.infra.sqlite.connection._connect

    def traced(path: Path, *sizes: int) -> sqlite3.Connection:
        connection = connect(path, *sizes)
        connection.set_trace_callback(asked.add)
        return connection

    backend = await SqliteBackend.open(tmp_path)
    await backend.close()
    monkeypatch.setattr(graphtide.infra.sqlite.connection, "_connect", traced)
    backend = await SqliteBackend.open(tmp_path)
    rng, store, ledger = Random(2), backend.store, backend.ledger
    walk, watermark = Walk(rng), await store.claim(0)
    await ledger.accept([Record(f"g|d{i}", b"") for i in range(12)])
    for step in range(12):
        outcome = RevisionOutcome("g", f"d{step}", step, RevisionState.APPLIED)
        await store.commit(Commit(0, watermark, step + 1, (walk.commit(step),), (outcome,), (Record("g", b""),)))
        watermark = Watermark(watermark.epoch, step + 1)
    await store.snapshot("g")
    await store.standings("g", [f"d{i}" for i in range(75)])
    assert [one async for one in store.extractions("g")]
    await store.save_reports("g", [ReportRow(i, 0, "", 1, "", "", ()) for i in range(9)], range(10))
    await store.reports("g")
    consumer = backend.log.consumer("documents", "x")
    await ledger.register(await consumer.poll(5, 0))
    await consumer.commit(Position(0, 3))
    await backend.log.trim("documents", Position(0, 2))
    await ledger.start_attempt("g", "d1", 1)
    await ledger.latest("g", "d1")
    await asyncio.gather(ledger.pending("g"), ledger.have_ended("g", [Position(0, 4)]), store.version("g"))
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
