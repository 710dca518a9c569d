"""Storage of events of standing questions: its cost, and events that earlier versions stored."""

from __future__ import annotations

import sqlite3
from collections.abc import AsyncIterator
from contextlib import closing
from pathlib import Path

import pytest

from graphtide.graph.standing.types import Evidence, EvidencePassage
from graphtide.infra.sqlite import SqliteBackend
from graphtide.infra.sqlite.standing import settled_memo
from graphtide.infra.sqlite.standing.questions import SqliteQuestionStore
from graphtide.infra.sqlite.standing.settled_memo import SettledMemo
from graphtide.streams.errors import GraphtideError
from graphtide.streams.standing.records import Cause, EvaluatedQuestion, QuestionDefinition, decode_event

QUESTIONS = 64
STEPS_COUNTED = 10


@pytest.fixture
async def backend(tmp_path: Path) -> AsyncIterator[SqliteBackend]:
    """Yield an empty database."""
    made = await SqliteBackend.open(tmp_path)
    yield made
    await made.close()


def passages(*ids: str) -> Evidence:
    return tuple(EvidencePassage(id_.partition("#")[0], id_, 0.1 + place / 3) for place, id_ in enumerate(ids))


async def record(store: SqliteQuestionStore, version: int, count: int) -> None:
    """Store an event of so many questions."""
    rows = [EvaluatedQuestion(f"q{n}", passages(f"d{version}#0"), (Cause("d", version),)) for n in range(count)]
    assert len(await store.record("g", version, 0, rows)) == count


async def steps_of_record(backend: SqliteBackend, store: SqliteQuestionStore, version: int) -> int:
    """Return the portions of SQLite's instructions that storing eight events takes."""
    steps = 0

    def count() -> int:
        nonlocal steps
        steps += 1
        return 0

    def watch(connection: sqlite3.Connection, watched: bool) -> None:
        connection.set_progress_handler(count if watched else None, STEPS_COUNTED)

    await backend.database.write(lambda connection: watch(connection, True))
    await record(store, version, 8)
    await backend.database.write(lambda connection: watch(connection, False))
    return steps


async def test_storing_events_costs_the_same_whatever_was_stored_before(backend: SqliteBackend) -> None:
    """A commit reads the last events of its questions, and no other."""
    store = SqliteQuestionStore(backend.database)
    await store.create()
    for number in range(QUESTIONS):
        await store.put("g", QuestionDefinition(f"q{number}", "Who?"))
    await store.record("g", 1, 0, [EvaluatedQuestion(f"q{n}", passages("a#0"), None) for n in range(QUESTIONS)])
    for version in (2, 3):
        await record(store, version, QUESTIONS)
    few = await steps_of_record(backend, store, 4)
    for version in range(5, 45):
        await record(store, version, QUESTIONS)
    assert await steps_of_record(backend, store, 45) < 1.2 * few


async def test_state_of_a_question_is_that_of_its_last_event_in_every_reading(backend: SqliteBackend) -> None:
    """A page, a single question and the events agree, also where another process of the same folder stored them."""
    store = SqliteQuestionStore(backend.database)
    await store.create()
    for name in ("a", "b"):
        await store.put("g", QuestionDefinition(name, "Who?"))
    await store.record("g", 1, 5, [EvaluatedQuestion(name, passages("x#0"), None) for name in ("a", "b")])
    [event] = await store.record("g", 2, 6, [EvaluatedQuestion("b", passages("y#0", "x#0"), ())])
    other = SqliteQuestionStore(backend.database)
    assert await other.record("g", 3, 7, [EvaluatedQuestion("b", passages("y#0", "x#0"), ())]) == []
    a, b = await other.page("g", "", 10)
    assert (a.version, a.seq, a.changed_ms, a.evidence) == (1, 0, 5, passages("x#0"))
    assert (b.version, b.seq, b.changed_ms, b.evidence) == (2, 1, 6, event.passages)
    assert await other.get("g", "b") == b
    assert await other.events("g", "b", 0, 10) == [event]


async def test_event_of_a_transaction_that_was_rolled_back_is_found_again(backend: SqliteBackend) -> None:
    """A store forgets its memory of a write that failed, and of a question that another store has changed."""
    store, other = SqliteQuestionStore(backend.database), SqliteQuestionStore(backend.database)
    await store.create()
    await store.put("g", QuestionDefinition("q", "Who?"))
    await store.record("g", 1, 0, [EvaluatedQuestion("q", passages("x#0"), None)])
    evaluated = EvaluatedQuestion("q", passages("y#0"), ())

    def refuse(connection: sqlite3.Connection) -> None:
        connection.execute(
            "CREATE TEMP TRIGGER refused BEFORE INSERT ON question_events BEGIN SELECT RAISE(ABORT, 'refused'); END"
        )

    await backend.database.write(refuse)
    with pytest.raises(GraphtideError):
        await store.record("g", 2, 0, [evaluated])
    await backend.database.write(lambda connection: connection.execute("DROP TRIGGER refused") and None)
    assert len(await store.record("g", 2, 0, [evaluated])) == 1
    assert await store.record("g", 3, 0, [evaluated]) == []
    assert len(await other.record("g", 3, 0, [EvaluatedQuestion("q", passages("z#0"), ())])) == 1
    [event] = await store.record("g", 4, 0, [evaluated])
    assert (event.seq, event.left) == (3, passages("z#0"))


def test_event_of_an_earlier_version_is_read() -> None:
    """Bodies used to hold the entered passages in full."""
    body = (
        '{"entered":[["d","d#1",0.5]],"left":[["e","e#0",0.25]],"passages":[["c","c#0",0.75],["d","d#1",0.5]],'
        '"causes":[["d",7]]}'
    )
    event = decode_event("q", 3, 9, 1000, body, "", False)
    assert event.entered == (EvidencePassage("d", "d#1", 0.5),) == event.passages[1:]
    assert event.left == (EvidencePassage("e", "e#0", 0.25),)
    assert event.causes == (Cause("d", 7),)
    assert decode_event("q", 3, 9, 1000, event.encode(), "", False) == event
    assert len(event.encode()) <= len(body)


def test_states_in_memory_are_of_a_bounded_number_of_graphs(monkeypatch: pytest.MonkeyPatch) -> None:
    """Graphs whose questions were all deleted hold no state, and would otherwise be held for ever."""
    monkeypatch.setattr(settled_memo, "GRAPHS", 3)
    memo = SettledMemo()
    with closing(sqlite3.connect(":memory:")) as connection:
        connection.execute("CREATE TABLE question_stamps (graph INTEGER PRIMARY KEY, stamp INTEGER NOT NULL)")
        for graph in range(20):
            memo.open(connection, graph)
            assert len(memo._settled) <= 4
