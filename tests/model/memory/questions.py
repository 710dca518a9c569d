"""The reference QuestionStore, in memory: it defines the meaning of the port."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace

from graphtide.streams.standing.records import (
    EvaluatedQuestion,
    QuestionDefinition,
    QuestionEvent,
    StoredQuestion,
)
from graphtide.streams.standing.settling import SettledEvidence, event_of
from graphtide.streams.standing.store import EVENTS_KEPT, MAX_QUESTIONS, check_count

Key = tuple[str, str]


class MemoryQuestionStore:
    """See SharedQuestionStore."""

    def __init__(self, max_questions: int = MAX_QUESTIONS) -> None:
        self._max_questions = max_questions
        self._questions: dict[Key, StoredQuestion] = {}
        self._events: dict[Key, list[QuestionEvent]] = {}
        self._unsent: list[tuple[str, QuestionEvent]] = []
        self._revisions: Counter[str] = Counter()
        self._evaluated: dict[str, int] = {}

    async def put(self, graph: str, definition: QuestionDefinition) -> StoredQuestion:
        stored = self._questions.get((graph, definition.id))
        if stored is not None and stored.definition == definition:
            return stored
        if stored is None:
            check_count(graph, await self.count(graph), self._max_questions)
        fresh = StoredQuestion(definition, seq=stored.seq if stored else 0)
        self._questions[graph, definition.id] = fresh
        self._end_answers(graph, definition.id)
        self._revisions[graph] += 1
        return fresh

    async def delete(self, graph: str, question_id: str) -> bool:
        self._revisions[graph] += 1
        self._events.pop((graph, question_id), None)
        return self._questions.pop((graph, question_id), None) is not None

    async def get(self, graph: str, question_id: str) -> StoredQuestion | None:
        return self._questions.get((graph, question_id))

    async def page(self, graph: str, after: str, limit: int) -> Sequence[StoredQuestion]:
        names = sorted(name for of, name in self._questions if of == graph and name > after)
        return [self._questions[graph, name] for name in names[:limit]]

    async def count(self, graph: str) -> int:
        return sum(of == graph for of, _ in self._questions)

    async def graphs(self) -> Sequence[str]:
        return sorted({graph for graph, _ in self._questions})

    async def record(
        self, graph: str, version: int, at_ms: int, evaluated: Sequence[EvaluatedQuestion]
    ) -> Sequence[QuestionEvent]:
        made = []
        for each in evaluated:
            key = graph, each.question_id
            stored = self._questions.get(key)
            settled = SettledEvidence.of(stored) if stored else None
            if stored is None or settled is None or not settled.admits(each, version):
                continue
            event = event_of(settled, each, version, at_ms)
            if event is None and stored.version:
                continue
            seq = stored.seq + (event is not None)
            self._questions[key] = replace(
                stored, version=version, changed_ms=at_ms, seq=seq, evidence=each.after, answer=""
            )
            if event is not None:
                self._end_answers(*key)
                self._events.setdefault(key, []).append(event)
                self._events[key] = self._events[key][-EVENTS_KEPT:]
                self._unsent.append((graph, event))
                made.append(event)
        return made

    async def events(self, graph: str, question_id: str, after: int, limit: int) -> Sequence[QuestionEvent]:
        stored = self._questions.get((graph, question_id))
        found = [event for event in self._events.get((graph, question_id), ()) if event.seq > after][:limit]
        return [
            replace(each, answer=stored.answer if stored and stored.answer_seq == each.seq else "") for each in found
        ]

    async def due_answers(self, graph: str) -> Sequence[QuestionEvent]:
        histories = (events for (of, _), events in self._events.items() if of == graph)
        return [event for events in histories for event in events if event.answer_due]

    async def answer(self, graph: str, question_id: str, seq: int, answer: str) -> None:
        key, events = (graph, question_id), self._events.get((graph, question_id), [])
        if not any(event.seq == seq and event.answer_due for event in events):
            return
        self._end_answers(*key)
        if self._questions[key].seq == seq:
            self._questions[key] = replace(self._questions[key], answer=answer, answer_seq=seq)

    async def revisions(self) -> Mapping[str, int]:
        return dict(self._revisions)

    async def unsent(self, limit: int) -> Sequence[tuple[str, QuestionEvent]]:
        ready = []
        for graph, event in self._unsent:
            found = [
                each for each in await self.events(graph, event.question_id, event.seq - 1, 1) if each.seq == event.seq
            ]
            if found and not found[0].answer_due:
                ready.append((graph, found[0]))
        return ready[:limit]

    async def sent(self, events: Sequence[tuple[str, QuestionEvent]]) -> None:
        marks = {(graph, event.question_id, event.seq) for graph, event in events}
        self._unsent = [
            (graph, event) for graph, event in self._unsent if (graph, event.question_id, event.seq) not in marks
        ]

    async def evaluated(self, graph: str) -> int:
        return self._evaluated.get(graph, 0)

    async def note_evaluated(self, versions: Mapping[str, int]) -> None:
        for graph, version in versions.items():
            self._evaluated[graph] = max(version, self._evaluated.get(graph, 0))

    def _end_answers(self, graph: str, question_id: str) -> None:
        key = graph, question_id
        self._events[key] = [replace(event, answer_due=False) for event in self._events.get(key, ())]
