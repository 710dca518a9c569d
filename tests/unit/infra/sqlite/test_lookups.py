"""Lookups: short reads in the event loop, which neither block it for long nor wait for a writer."""

from __future__ import annotations

import sqlite3
import threading
from pathlib import Path
from random import Random

import pytest

from graphtide.infra.sqlite import SqliteBackend
from graphtide.infra.sqlite.database import SqliteDatabase
from graphtide.infra.sqlite.graph_store.standings import LOOKUP_BYTES, LOOKUP_DOCUMENTS
from graphtide.infra.sqlite.reading import readers
from graphtide.streams.errors import Broken
from graphtide.streams.ports import Commit, GraphCommit, Position, Record, StoredDocument
from graphtide.streams.scheduling.inline_budget import InlineBudget
from tests.support.records import Walk


def thread_of(_: sqlite3.Connection) -> str:
    return threading.current_thread().name


async def test_lookup_runs_in_the_event_loop_until_its_iteration_has_no_time_left(tmp_path: Path) -> None:
    """The next iteration has time again. A read always runs in a thread."""
    database = await SqliteDatabase.open(tmp_path)
    try:
        ours = threading.current_thread().name
        database._readers._inline = InlineBudget(limit_s=1e-9)
        threads = [await database.look_up(thread_of) for _ in range(4)]
        assert threads[::2] == [ours, ours] and ours not in threads[1::2]
        assert await database.read(thread_of) != ours
    finally:
        await database.close()
    with pytest.raises(Broken, match="closed"):
        await database.look_up(thread_of)


async def test_lookup_sees_the_state_before_a_transaction_that_is_under_way(tmp_path: Path) -> None:
    """It waits for no writer, and sees what was committed after the transaction has ended."""
    backend = await SqliteBackend.open(tmp_path)
    writing, end = threading.Event(), threading.Event()
    try:
        [first] = await backend.ledger.accept([Record("g|a", b"")])

        def slow(connection: sqlite3.Connection) -> None:
            connection.execute("UPDATE revisions SET state = 'applied'")
            writing.set()
            assert end.wait(60)

        backend.database.write_later("slow", slow)
        backend.database._flush()
        assert writing.wait(60)
        assert await backend.ledger.have_ended("g", [first]) is False
        end.set()
        await backend.database.write(lambda _: None)
        assert await backend.ledger.have_ended("g", [first]) is True
    finally:
        end.set()
        await backend.close()


async def test_lookup_that_fails_is_repeated_in_a_thread(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A busy database is waited for in a thread; what fails there, too, is an error of our own."""
    database = await SqliteDatabase.open(tmp_path)
    ours, threads = threading.current_thread().name, list[str]()

    def busy_here(connection: sqlite3.Connection) -> str:
        threads.append(thread_of(connection))
        if threads[-1] == ours:
            raise sqlite3.OperationalError("database is locked")
        return threads[-1]

    def broken(connection: sqlite3.Connection) -> None:
        connection.execute("SELECT * FROM missing")

    try:
        assert await database.look_up(busy_here) == threads[1] != ours
        with pytest.raises(Broken, match="missing"):
            await database.look_up(broken)
    finally:
        await database.close()


@pytest.mark.parametrize(("size", "count"), [(LOOKUP_BYTES, 1), (1, LOOKUP_DOCUMENTS + 1), (1, LOOKUP_DOCUMENTS)])
async def test_standings_that_are_large_or_many_are_read_in_a_thread(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, size: int, count: int
) -> None:
    """The result is the same, in the order of the question; missing documents are left out."""
    backend = await SqliteBackend.open(tmp_path)
    try:
        documents = {f"d{number}": StoredDocument(number, b"x" * size) for number in range(count)}
        watermark = await backend.store.claim(0)
        part = GraphCommit(Walk(Random(5)).delta(), documents)
        await backend.store.commit(Commit(0, watermark, 1, (part,), ()))
        reads: list[object] = []
        read = readers.Readers.read

        async def counted(self: readers.Readers, work: readers.Work[object]) -> object:
            reads.append(work)
            return await read(self, work)

        monkeypatch.setattr(readers.Readers, "read", counted)
        asked = sorted(documents, reverse=True)
        assert await backend.store.standings("g", asked) == {doc_id: documents[doc_id] for doc_id in asked}
        assert bool(reads) == (size >= LOOKUP_BYTES or count > LOOKUP_DOCUMENTS)
    finally:
        await backend.close()


async def test_token_of_many_positions_is_looked_up_in_a_thread(tmp_path: Path) -> None:
    """The answer is the same."""
    backend = await SqliteBackend.open(tmp_path)
    try:
        positions = await backend.ledger.accept([Record(f"g|d{number}", b"") for number in range(20)])
        assert await backend.ledger.have_ended("g", positions) is False
        assert await backend.ledger.have_ended("g", [*positions, Position(0, 20)]) is None
    finally:
        await backend.close()
