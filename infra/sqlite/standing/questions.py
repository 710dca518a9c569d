"""The QuestionStore port on SQLite: two tables beside the graphs, by the number of the graph.

Invariant: events of a question have consecutive numbers, and rising versions.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Sequence
from dataclasses import dataclass

from graphtide.graph.standing.types import Evidence
from graphtide.infra.sqlite.bulk import delete, insert, portions
from graphtide.infra.sqlite.database import SqliteDatabase
from graphtide.infra.sqlite.graph_store import graphs
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
    version    INTEGER NOT NULL DEFAULT 0,      -- of the last event or of the registration; 0: not evaluated yet
    changed_ms INTEGER NOT NULL DEFAULT 0,
    seq        INTEGER NOT NULL DEFAULT 0,      -- of the last event
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
)
_COLUMNS = "id, definition, version, changed_ms, seq, evidence, answer, answer_seq"


class SqliteQuestionStore:
    """See QuestionStore."""

    def __init__(self, database: SqliteDatabase, most: int = MAX_QUESTIONS) -> None:
        """Create a store of at most `most` questions of each graph."""
        self._database = database
        self._most = most

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
            held = _get(connection, number, definition.id)
            if held is not None and held.definition == definition:
                return held
            if held is None:
                check_count(graph, _count(connection, graph), self._most)
            connection.execute(
                "INSERT INTO questions (graph, id, definition) VALUES (?, ?, ?) ON CONFLICT DO UPDATE SET"
                " definition = excluded.definition, version = 0, evidence = '[]', answer = '', answer_seq = 0",
                (number, definition.id, definition.encode()),
            )
            _end_answers(connection, number, definition.id)
            return _get(connection, number, definition.id) or StoredQuestion(definition)

        return await self._database.write(work)

    async def delete(self, graph: str, question_id: str) -> bool:
        """See QuestionStore.delete."""

        def work(connection: sqlite3.Connection) -> bool:
            number = graphs.known(connection, graph)
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
        query = f"SELECT {_COLUMNS} FROM questions WHERE graph = ? AND id > ? ORDER BY id LIMIT ?"  # noqa: S608 - constants
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
            held = _get_all(connection, number, [each.question_id for each in evaluated])
            found = ((held.get(each.question_id), each) for each in evaluated)
            settled = [_settled(question, each, version, at_ms) for question, each in found if question is not None]
            rows = [row for row in settled if row is not None]
            _store(connection, number, version, at_ms, rows)
            return [row.event for row in rows if row.event is not None]

        return await self._database.write(work)

    async def events(self, graph: str, question_id: str, after: int, limit: int) -> Sequence[QuestionEvent]:
        """See QuestionStore.events."""
        condition = "e.id = ? AND e.seq > ? ORDER BY e.seq LIMIT ?"
        return await self._database.read(
            lambda connection: _events(connection, graph, condition, (question_id, after, limit))
        )

    async def due_answers(self, graph: str) -> Sequence[QuestionEvent]:
        """See QuestionStore.due_answers."""
        return await self._database.read(lambda connection: _events(connection, graph, "e.answer_due = 1", ()))

    async def answer(self, graph: str, question_id: str, seq: int, answer: str) -> None:
        """See QuestionStore.answer."""

        def work(connection: sqlite3.Connection) -> None:
            number = graphs.known(connection, graph)
            due = connection.execute(
                "UPDATE question_events SET answer_due = 0 WHERE graph = ? AND id = ? AND seq = ? AND answer_due = 1",
                (number, question_id, seq),
            ).rowcount
            if due:
                connection.execute(
                    "UPDATE questions SET answer = ?, answer_seq = seq WHERE graph = ? AND id = ? AND seq = ?",
                    (answer, number, question_id, seq),
                )

        await self._database.write(work)


def _count(connection: sqlite3.Connection, name: str) -> int:
    query = "SELECT count(*) FROM questions JOIN graphs USING (graph) WHERE name = ?"
    return int(connection.execute(query, (name,)).fetchone()[0])


def _get(connection: sqlite3.Connection, graph: int | None, question_id: str) -> StoredQuestion | None:
    query = f"SELECT {_COLUMNS} FROM questions WHERE graph = ? AND id = ?"  # noqa: S608 - constants of this module
    row = connection.execute(query, (graph, question_id)).fetchone()
    return _question(*row) if row else None


def _question(  # noqa: PLR0913, PLR0917 -- the columns of the table
    id_: str, definition: str, version: int, changed_ms: int, seq: int, evidence: str, answer: str, answer_seq: int
) -> StoredQuestion:
    held: Evidence = decode_evidence(json.loads(evidence))
    decoded = QuestionDefinition.decode(id_, definition)
    return StoredQuestion(decoded, version, changed_ms, seq, held, answer, answer_seq)


def _get_all(connection: sqlite3.Connection, graph: int, ids: Sequence[str]) -> dict[str, SettledEvidence]:
    found: dict[str, SettledEvidence] = {}
    for portion in portions(ids):
        query = (
            "SELECT id, definition, version, seq, evidence FROM questions"  # noqa: S608 - only placeholders are added
            f" WHERE graph = ? AND id IN ({','.join('?' * len(portion))})"
        )
        for id_, definition, version, seq, evidence in connection.execute(query, (graph, *portion)).fetchall():
            found[id_] = SettledEvidence(definition, version, seq, decode_evidence(json.loads(evidence)))
    return found


@dataclass(frozen=True, slots=True)
class _Settled:
    """The evidence of a question to store, with its event if it is one."""

    question_id: str
    seq: int
    evidence: str
    event: QuestionEvent | None


def _settled(held: SettledEvidence, each: EvaluatedQuestion, version: int, at_ms: int) -> _Settled | None:
    if not held.admits(each, version):
        return None
    event = event_of(held, each, version, at_ms)
    if event is None and held.version:
        return None
    return _Settled(each.question_id, held.seq + (event is not None), dump_evidence(each.after), event)


def _store(connection: sqlite3.Connection, graph: int, version: int, at_ms: int, rows: Sequence[_Settled]) -> None:
    insert(
        connection,
        "INSERT INTO questions (graph, id, definition, version, changed_ms, seq, evidence)",
        [(graph, row.question_id, "", version, at_ms, row.seq, row.evidence) for row in rows],
        " ON CONFLICT DO UPDATE SET version = excluded.version, changed_ms = excluded.changed_ms, seq = excluded.seq,"
        " evidence = excluded.evidence, answer = ''",
    )
    due = connection.execute("SELECT DISTINCT id FROM question_events WHERE graph = ? AND answer_due = 1", (graph,))
    ids = {row.question_id for row in rows if row.event is not None}
    for (question_id,) in due.fetchall():
        if question_id in ids:
            _end_answers(connection, graph, question_id)
    events = [(row.event, row.evidence) for row in rows if row.event is not None]
    insert(
        connection,
        "INSERT INTO question_events (graph, id, seq, version, occurred_ms, body, answer_due)",
        [(graph, e.question_id, e.seq, e.version, e.occurred_ms, e.encode(found), e.answer_due) for e, found in events],
    )
    old = [(graph, event.question_id, event.seq - EVENTS_KEPT) for event, _ in events if event.seq > EVENTS_KEPT]
    delete(connection, "question_events", ("graph", "id", "seq"), old)


def _end_answers(connection: sqlite3.Connection, graph: int, question_id: str) -> None:
    """Show the earlier events without the answers that were not written in time."""
    connection.execute(
        "UPDATE question_events SET answer_due = 0 WHERE graph = ? AND id = ? AND answer_due = 1", (graph, question_id)
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
