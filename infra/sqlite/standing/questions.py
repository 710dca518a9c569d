"""The QuestionStore port on SQLite: two tables beside the graphs, by the number of the graph.

A commit may have hundreds of events, so an event is one row, and the row of its question is not written: the state of a
question is that of its last event, if this is later than the registration.

Invariant: events of a question have consecutive numbers, and rising versions.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Collection, Sequence

from graphtide.graph.standing.types import Evidence
from graphtide.infra.sqlite.bulk import delete, insert, portions
from graphtide.infra.sqlite.database import SqliteDatabase
from graphtide.infra.sqlite.graph_store import graphs
from graphtide.infra.sqlite.standing.settled_memo import SettledMemo
from graphtide.streams.standing.records import (
    EvaluatedQuestion,
    QuestionDefinition,
    QuestionEvent,
    StoredQuestion,
    decode_event,
    decode_evidence,
    dump_evidence,
)
from graphtide.streams.standing.settling import SettledEvidence, event_of
from graphtide.streams.standing.store import EVENTS_KEPT, MAX_QUESTIONS, check_count

_SCHEMA = (
    """
CREATE TABLE IF NOT EXISTS questions (
    graph      INTEGER NOT NULL,
    id         TEXT    NOT NULL,
    definition TEXT    NOT NULL,                -- JSON
    version    INTEGER NOT NULL DEFAULT 0,      -- of the first evaluation; 0: not evaluated yet
    changed_ms INTEGER NOT NULL DEFAULT 0,
    seq        INTEGER NOT NULL DEFAULT 0,      -- of the last event before the first evaluation: a later one counts
    evidence   TEXT    NOT NULL DEFAULT '[]',   -- JSON [[doc_id, chunk_id, score], ...]
    answer     TEXT    NOT NULL DEFAULT '',
    answer_seq INTEGER NOT NULL DEFAULT 0,
    PRIMARY KEY (graph, id)
) WITHOUT ROWID
""",
    """
CREATE TABLE IF NOT EXISTS question_events (
    graph       INTEGER NOT NULL,
    id          TEXT    NOT NULL,
    seq         INTEGER NOT NULL,
    version     INTEGER NOT NULL,
    occurred_ms INTEGER NOT NULL,
    body        TEXT    NOT NULL,               -- JSON of causes and passages
    answer_due  INTEGER NOT NULL,               -- 1 while the answer is being written
    PRIMARY KEY (graph, id, seq)
) WITHOUT ROWID
""",
    "CREATE INDEX IF NOT EXISTS question_answers_due ON question_events (graph, id, seq) WHERE answer_due",
    "CREATE INDEX IF NOT EXISTS question_answers ON questions (graph, id) WHERE answer <> ''",
    "CREATE TABLE IF NOT EXISTS question_stamps (graph INTEGER PRIMARY KEY, stamp INTEGER NOT NULL)",
)
_LAST = (
    "FROM questions AS q LEFT JOIN question_events AS e ON e.graph = q.graph AND e.id = q.id AND e.seq > q.seq"
    " AND e.seq = (SELECT max(seq) FROM question_events WHERE graph = q.graph AND id = q.id) WHERE q.graph = ?"
)
"""Questions, each with its last event if there is one since its registration."""
_SETTLED = "coalesce(e.version, q.version), coalesce(e.seq, q.seq), coalesce(e.body, q.evidence)"
_STORED = (
    f"SELECT q.id, q.definition, coalesce(e.occurred_ms, q.changed_ms), q.answer, q.answer_seq, {_SETTLED} {_LAST}"
)
_DUE = "SELECT DISTINCT id FROM question_events INDEXED BY question_answers_due WHERE answer_due AND graph = ?"
_ANSWERED = "SELECT id FROM questions INDEXED BY question_answers WHERE answer <> '' AND graph = ?"
"""Named indexes: SQLite would otherwise prefer the primary key, and read every event of the graph."""


class SqliteQuestionStore:
    """See QuestionStore."""

    def __init__(self, database: SqliteDatabase, max_questions: int = MAX_QUESTIONS) -> None:
        """Create a store of at most `max_questions` questions of each graph."""
        self._database = database
        self._max_questions = max_questions
        self._memo = SettledMemo()

    async def create(self) -> None:
        """Create the tables if they are missing."""

        def work(connection: sqlite3.Connection) -> None:
            for statement in _SCHEMA:
                connection.execute(statement)

        await self._database.write(work)

    async def put(self, graph: str, definition: QuestionDefinition) -> StoredQuestion:
        """See QuestionStore.put."""

        def work(connection: sqlite3.Connection) -> StoredQuestion:
            number = graphs.number(connection, graph)
            stored = _get(connection, number, definition.id)
            if stored is not None and stored.definition == definition:
                return stored
            if stored is None:
                check_count(graph, _count(connection, graph), self._max_questions)
            self._memo.open(connection, number).pop(definition.id, None)
            connection.execute(
                "INSERT INTO questions (graph, id, definition) VALUES (?, ?, ?) ON CONFLICT DO UPDATE SET"
                " definition = excluded.definition, version = 0, evidence = '[]', answer = '', answer_seq = 0, seq = ?",
                (number, definition.id, definition.encode(), stored.seq if stored else 0),
            )
            _end_answers(connection, number, definition.id)
            return _get(connection, number, definition.id) or StoredQuestion(definition)

        return await self._database.write(work)

    async def delete(self, graph: str, question_id: str) -> bool:
        """See QuestionStore.delete."""

        def work(connection: sqlite3.Connection) -> bool:
            number = graphs.known(connection, graph)
            if number is None:
                return False
            self._memo.open(connection, number).pop(question_id, None)
            key = (number, question_id)
            connection.execute("DELETE FROM question_events WHERE graph = ? AND id = ?", key)
            return bool(connection.execute("DELETE FROM questions WHERE graph = ? AND id = ?", key).rowcount)

        return await self._database.write(work)

    async def get(self, graph: str, question_id: str) -> StoredQuestion | None:
        """See QuestionStore.get."""
        return await self._database.read(
            lambda connection: _get(connection, graphs.known(connection, graph), question_id)
        )

    async def page(self, graph: str, after: str, limit: int) -> Sequence[StoredQuestion]:
        """See QuestionStore.page."""
        query = f"{_STORED} AND q.id > ? ORDER BY q.id LIMIT ?"
        return await self._database.read(
            lambda connection: [
                _question(*row)
                for row in connection.execute(query, (graphs.known(connection, graph), after, limit)).fetchall()
            ]
        )

    async def count(self, graph: str) -> int:
        """See QuestionStore.count."""
        return await self._database.read(lambda connection: _count(connection, graph))

    async def graphs(self) -> Sequence[str]:
        """See QuestionStore.graphs."""
        query = "SELECT DISTINCT name FROM questions JOIN graphs USING (graph) ORDER BY name"
        return await self._database.read(lambda connection: [name for (name,) in connection.execute(query)])

    async def record(
        self, graph: str, version: int, at_ms: int, evaluated: Sequence[EvaluatedQuestion]
    ) -> Sequence[QuestionEvent]:
        """See QuestionStore.record."""

        def work(connection: sqlite3.Connection) -> list[QuestionEvent]:
            number = graphs.known(connection, graph)
            if number is None:
                return []
            settled = self._memo.open(connection, number)
            settled |= _get_all(
                connection, number, [row.question_id for row in evaluated if row.question_id not in settled]
            )
            first, events = list[EvaluatedQuestion](), list[QuestionEvent]()
            for each in evaluated:
                question = settled.get(each.question_id)
                if question is None or not question.admits(each, version):
                    continue
                event = event_of(question, each, version, at_ms)
                if event is None and question.version:
                    continue
                events += [] if event is None else [event]
                first += [each] if event is None else []
                seq = question.seq + (event is not None)
                settled[each.question_id] = SettledEvidence(question.definition, version, seq, each.after)
            _store_first(connection, number, version, at_ms, first)
            _store_events(connection, number, events)
            return events

        return await self._database.write(work)

    async def events(self, graph: str, question_id: str, after: int, limit: int) -> Sequence[QuestionEvent]:
        """See QuestionStore.events."""
        condition = "e.id = ? AND e.seq > ? ORDER BY e.seq LIMIT ?"
        return await self._database.read(
            lambda connection: _events(connection, graph, condition, (question_id, after, limit))
        )

    async def due_answers(self, graph: str) -> Sequence[QuestionEvent]:
        """See QuestionStore.due_answers."""
        return await self._database.read(lambda connection: _events(connection, graph, "e.answer_due", ()))

    async def answer(self, graph: str, question_id: str, seq: int, answer: str) -> None:
        """See QuestionStore.answer."""

        def work(connection: sqlite3.Connection) -> None:
            number = graphs.known(connection, graph)
            due = connection.execute(
                "UPDATE question_events SET answer_due = 0 WHERE graph = ? AND id = ? AND seq = ? AND answer_due",
                (number, question_id, seq),
            ).rowcount
            if due:
                connection.execute(
                    "UPDATE questions SET answer = ?, answer_seq = ? WHERE graph = ? AND id = ? AND NOT EXISTS"
                    " (SELECT 1 FROM question_events WHERE graph = ? AND id = ? AND seq > ?)",
                    (answer, seq, number, question_id, number, question_id, seq),
                )

        await self._database.write(work)


def _count(connection: sqlite3.Connection, name: str) -> int:
    query = "SELECT count(*) FROM questions JOIN graphs USING (graph) WHERE name = ?"
    return int(connection.execute(query, (name,)).fetchone()[0])


def _get(connection: sqlite3.Connection, graph: int | None, question_id: str) -> StoredQuestion | None:
    row = connection.execute(f"{_STORED} AND q.id = ?", (graph, question_id)).fetchone()
    return _question(*row) if row else None


def _question(  # noqa: PLR0913, PLR0917 -- the columns of the query
    id_: str, definition: str, changed_ms: int, answer: str, answer_seq: int, version: int, seq: int, stored: str
) -> StoredQuestion:
    decoded = QuestionDefinition.decode(id_, definition)
    return StoredQuestion(decoded, version, changed_ms, seq, _evidence(stored), answer, answer_seq)


def _evidence(stored: str) -> Evidence:
    """Return the evidence of a question's row, or of the body of an event."""
    found = json.loads(stored)
    return decode_evidence(found["passages"] if isinstance(found, dict) else found)


def _get_all(connection: sqlite3.Connection, graph: int, ids: Sequence[str]) -> dict[str, SettledEvidence]:
    found: dict[str, SettledEvidence] = {}
    for portion in portions(ids):
        query = f"SELECT q.id, q.definition, {_SETTLED} {_LAST} AND q.id IN ({','.join('?' * len(portion))})"
        for id_, definition, version, seq, stored in connection.execute(query, (graph, *portion)).fetchall():
            found[id_] = SettledEvidence(definition, version, seq, _evidence(stored))
    return found


def _store_first(
    connection: sqlite3.Connection, graph: int, version: int, at_ms: int, first: Sequence[EvaluatedQuestion]
) -> None:
    insert(
        connection,
        "INSERT INTO questions (graph, id, definition, version, changed_ms, evidence)",
        [(graph, each.question_id, "", version, at_ms, dump_evidence(each.after)) for each in first],
        " ON CONFLICT DO UPDATE SET version = excluded.version, changed_ms = excluded.changed_ms,"
        " evidence = excluded.evidence, answer = ''",
    )


def _store_events(connection: sqlite3.Connection, graph: int, events: Sequence[QuestionEvent]) -> None:
    if not events:
        return
    _end_answers_of(connection, graph, {event.question_id for event in events})
    insert(
        connection,
        "INSERT INTO question_events (graph, id, seq, version, occurred_ms, body, answer_due)",
        [(graph, e.question_id, e.seq, e.version, e.occurred_ms, e.encode(), e.answer_due) for e in events],
    )
    old = [(graph, event.question_id, event.seq - EVENTS_KEPT) for event in events if event.seq > EVENTS_KEPT]
    delete(connection, "question_events", ("graph", "id", "seq"), old)


def _end_answers_of(connection: sqlite3.Connection, graph: int, ids: Collection[str]) -> None:
    """Delete the answers of earlier events, and show those whose answers were not written in time."""
    due = connection.execute(_DUE, (graph,))
    for (question_id,) in due.fetchall():
        if question_id in ids:
            _end_answers(connection, graph, question_id)
    answered = connection.execute(_ANSWERED, (graph,))
    for (question_id,) in answered.fetchall():
        if question_id in ids:
            key = (graph, question_id)
            connection.execute("UPDATE questions SET answer = '' WHERE graph = ? AND id = ?", key)


def _end_answers(connection: sqlite3.Connection, graph: int, question_id: str) -> None:
    """Show the earlier events without the answers that were not written in time."""
    connection.execute(
        "UPDATE question_events INDEXED BY question_answers_due SET answer_due = 0"
        " WHERE answer_due AND graph = ? AND id = ?",
        (graph, question_id),
    )


def _events(
    connection: sqlite3.Connection, name: str, condition: str, values: tuple[object, ...]
) -> list[QuestionEvent]:
    query = (
        "SELECT e.id, e.seq, e.version, e.occurred_ms, e.body,"  # noqa: S608 - constants of this module
        " iif(q.answer_seq = e.seq, q.answer, ''), e.answer_due"
        " FROM question_events AS e JOIN questions AS q USING (graph, id) WHERE e.graph = ? AND " + condition
    )
    return [decode_event(*row) for row in connection.execute(query, (graphs.known(connection, name), *values))]
