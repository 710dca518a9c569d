"""The QuestionStore port on Neo4j or Memgraph: a node for each question and for each event.

Invariant: events of a question have consecutive numbers, and rising versions; a question is locked before it is
compared, so that two evaluating processes store an event once.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from graphtide.infra.bolt.codec import SCOPE_MARK, from_json, in_order, key
from graphtide.infra.bolt.cypher import questions as cypher
from graphtide.infra.bolt.database import BoltDatabase, Row, Transaction, undeleted
from graphtide.streams.standing.records import (
    EvaluatedQuestion,
    QuestionDefinition,
    QuestionEvent,
    StoredQuestion,
    decode_event,
    decode_evidence,
    encode_evidence,
)
from graphtide.streams.standing.settling import SettledEvidence, event_of
from graphtide.streams.standing.store import EVENTS_KEPT, MAX_QUESTIONS, check_count

COUNTERS = "questions" + SCOPE_MARK
"""Beginning of the names of the counters of registrations, one for each graph."""
EVALUATED = "evaluated" + SCOPE_MARK
"""Beginning of the names of the versions up to which graphs are evaluated."""
_STORED = ("id", "definition", "version", "changed_ms", "seq", "evidence", "answer", "answer_seq")
_RECORDED = ("graph", "id", "seq", "version", "occurred_ms", "body", "answer", "answer_due")
NO_EVIDENCE = from_json(encode_evidence(()))


class BoltQuestionStore:
    """See SharedQuestionStore."""

    def __init__(self, database: BoltDatabase, max_questions: int = MAX_QUESTIONS) -> None:
        """Create a store of at most `max_questions` questions of each graph."""
        self._database = database
        self._max_questions = max_questions

    async def put(self, graph: str, definition: QuestionDefinition) -> StoredQuestion:
        """See QuestionStore.put."""

        async def work(tx: Transaction) -> StoredQuestion:
            locked = await _locked(tx, [key(graph, definition.id)])
            if locked and locked[0].definition == definition:
                return locked[0]
            await tx.run(cypher.COUNT_QUESTIONS, name=COUNTERS + graph)  # its lock orders registrations in parallel
            if not locked:
                [found] = await tx.run(cypher.COUNT_OF_QUESTIONS, prefix=key(graph, ""))
                check_count(graph, int(found["total"]), self._max_questions)
            values = {"key": key(graph, definition.id), "graph": graph, "id": definition.id, "evidence": NO_EVIDENCE}
            [row] = await tx.run(cypher.PUT_QUESTION, **values, definition=definition.encode())
            await tx.run(cypher.END_ANSWERS, prefix=key(graph, definition.id, ""))
            return _question(row)

        return await self._database.write(work)

    async def delete(self, graph: str, question_id: str) -> bool:
        """See QuestionStore.delete."""

        async def work(tx: Transaction) -> bool:
            await tx.run(cypher.DELETE_EVENTS, prefix=key(graph, question_id, ""))
            [row] = await tx.run(cypher.DELETE_QUESTION, key=key(graph, question_id))
            await tx.run(cypher.COUNT_QUESTIONS, name=COUNTERS + graph)
            return bool(row["deleted"])

        return await self._database.write(work)

    async def get(self, graph: str, question_id: str) -> StoredQuestion | None:
        """See QuestionStore.get."""
        rows = await self._database.ask(cypher.GET_QUESTION, key=key(graph, question_id))
        live = undeleted(rows, _STORED)
        return _question(live[0]) if live else None

    async def page(self, graph: str, after: str, limit: int) -> Sequence[StoredQuestion]:
        """See QuestionStore.page."""
        bounds = {"prefix": key(graph, ""), "after": key(graph, after), "limit": limit}
        rows = await self._database.ask(cypher.LIST_QUESTIONS, **bounds)
        return [_question(row) for row in undeleted(rows, _STORED)]

    async def count(self, graph: str) -> int:
        """See QuestionStore.count."""
        [row] = await self._database.ask(cypher.COUNT_OF_QUESTIONS, prefix=key(graph, ""))
        return int(row["total"])

    async def graphs(self) -> Sequence[str]:
        """See QuestionStore.graphs."""
        rows = await self._database.ask(cypher.GRAPHS_WITH_QUESTIONS)
        return [row["graph"] for row in undeleted(rows, ("graph",))]

    async def record(
        self, graph: str, version: int, at_ms: int, evaluated: Sequence[EvaluatedQuestion]
    ) -> Sequence[QuestionEvent]:
        """See QuestionStore.record."""

        async def work(tx: Transaction) -> list[QuestionEvent]:
            locked = await _locked(tx, [key(graph, each.question_id) for each in evaluated])
            settled = {each.definition.id: SettledEvidence.of(each) for each in locked}
            rows, made = [], []
            for each in evaluated:
                question = settled.get(each.question_id)
                if question is None or not question.admits(each, version):
                    continue
                event = event_of(question, each, version, at_ms)
                if event is None and question.version:
                    continue
                rows.append(_evaluated(graph, each, version, at_ms, question.seq + (event is not None)))
                made += [event] if event is not None else []
            await tx.each(cypher.SET_EVIDENCE, rows)
            for event in made:
                await tx.run(cypher.END_ANSWERS, prefix=key(graph, event.question_id, ""))
            await tx.each(cypher.ADD_EVENTS, [_event_row(graph, event) for event in made])
            await tx.each_key(
                cypher.DELETE_EVENT, [_event_key(graph, e.question_id, e.seq - EVENTS_KEPT) for e in made]
            )
            return made

        return await self._database.write(work)

    async def events(self, graph: str, question_id: str, after: int, limit: int) -> Sequence[QuestionEvent]:
        """See QuestionStore.events."""
        bounds = {"prefix": key(graph, question_id, ""), "after": _event_key(graph, question_id, after), "limit": limit}
        rows = await self._database.ask(cypher.READ_EVENTS, question=key(graph, question_id), **bounds)
        return [_event(row) for row in undeleted(rows, _RECORDED)]

    async def due_answers(self, graph: str) -> Sequence[QuestionEvent]:
        """See QuestionStore.due_answers."""
        rows = await self._database.ask(cypher.DUE_ANSWERS, graph=graph)
        return [_event(row) for row in undeleted(rows, _RECORDED)]

    async def answer(self, graph: str, question_id: str, seq: int, answer: str) -> None:
        """See QuestionStore.answer."""
        values = {"key": key(graph, question_id), "event": _event_key(graph, question_id, seq), "seq": seq}
        await self._database.ask(cypher.PUT_ANSWER, **values, answer=answer)

    async def revisions(self) -> Mapping[str, int]:
        """See SharedQuestionStore.revisions."""
        rows = await self._database.ask(cypher.QUESTION_COUNTS, prefix=COUNTERS)
        return {row["name"].removeprefix(COUNTERS): row["value"] for row in rows}

    async def unsent(self, limit: int) -> Sequence[tuple[str, QuestionEvent]]:
        """See SharedQuestionStore.unsent."""
        rows = await self._database.ask(cypher.UNSENT_EVENTS, limit=limit)
        return [(row["graph"], _event(row)) for row in undeleted(rows, _RECORDED)]

    async def sent(self, events: Sequence[tuple[str, QuestionEvent]]) -> None:
        """See SharedQuestionStore.sent."""
        keys = [_event_key(graph, event.question_id, event.seq) for graph, event in events]
        await self._database.ask_each_key(cypher.MARK_EVENTS_SENT, keys)

    async def evaluated(self, graph: str) -> int:
        """See SharedQuestionStore.evaluated."""
        rows = await self._database.ask(cypher.READ_COUNTER, name=EVALUATED + graph)
        return int(rows[0]["value"]) if rows else 0

    async def note_evaluated(self, versions: Mapping[str, int]) -> None:
        """See SharedQuestionStore.note_evaluated."""
        rows = [{"name": EVALUATED + graph, "value": version} for graph, version in versions.items()]
        await self._database.write(lambda tx: tx.each(cypher.RAISE_COUNTERS, rows))


async def _locked(tx: Transaction, keys: Sequence[str]) -> list[StoredQuestion]:
    return [_question(row) for row in await tx.each_key(cypher.LOCK_QUESTIONS, sorted(keys))]


def _question(row: Row) -> StoredQuestion:
    definition = QuestionDefinition.decode(row["id"], row["definition"])
    evidence = decode_evidence(json.loads(row["evidence"]))
    return StoredQuestion(
        definition, row["version"], row["changed_ms"], row["seq"], evidence, row["answer"], row["answer_seq"]
    )


def _event_key(graph: str, question_id: str, seq: int) -> str:
    return key(graph, question_id, in_order(max(seq, 0)))


def _evaluated(graph: str, each: EvaluatedQuestion, version: int, at_ms: int, seq: int) -> dict[str, Any]:
    evidence = from_json(encode_evidence(each.after))
    place = key(graph, each.question_id)
    return {"key": place, "version": version, "changed_ms": at_ms, "seq": seq, "evidence": evidence}


def _event_row(graph: str, event: QuestionEvent) -> dict[str, Any]:
    return {
        "key": _event_key(graph, event.question_id, event.seq),
        "question": key(graph, event.question_id),
        "graph": graph,
        "id": event.question_id,
        "seq": event.seq,
        "version": event.version,
        "occurred_ms": event.occurred_ms,
        "body": event.encode(),
        "answer_due": event.answer_due,
    }


def _event(row: Row) -> QuestionEvent:
    return decode_event(
        row["id"], row["seq"], row["version"], row["occurred_ms"], row["body"], row["answer"], row["answer_due"]
    )
