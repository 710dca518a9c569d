"""The standing questions of the in-memory Application: registered, and never changed by a commit."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping

from graphtide.graph.retrieval.options.fields import options_json
from graphtide.services.standing.types import (
    QuestionDefinition,
    QuestionPage,
    StandingEvent,
    StandingQuestion,
    check_mode,
)
from graphtide.streams.errors import NotFound
from graphtide.streams.standing.records import filters_json


class InMemoryStandingQuestions:
    """See StandingQuestions. `events` are those of every question."""

    _version: dict[str, int]

    def __init__(self) -> None:
        self.questions: dict[tuple[str, str], StandingQuestion] = {}
        self.events: list[StandingEvent] = []

    async def _pass(self) -> None:
        raise NotImplementedError

    def _known(self, graph: str) -> str:
        raise NotImplementedError

    async def put_question(self, graph: str, definition: QuestionDefinition) -> StandingQuestion:
        await self._pass()
        check_mode(definition.mode)
        version, filters = self._version[self._known(graph)], filters_json(definition.filters)
        options = options_json(definition.options)
        asked = (definition.id, definition.question, definition.mode, definition.top_k)
        made = StandingQuestion(
            *asked, version, version, "2026-01-01T00:00:00.000Z", 0, (), definition.answer, "", filters, options
        )
        self.questions[graph, definition.id] = made
        return made

    async def question(self, graph: str, question_id: str) -> StandingQuestion:
        await self._pass()
        if (self._known(graph), question_id) not in self.questions:
            raise NotFound(f"graph {graph} has no question {question_id}")
        return self.questions[graph, question_id]

    async def delete_question(self, graph: str, question_id: str) -> None:
        await self.question(graph, question_id)
        del self.questions[graph, question_id]

    async def list_questions(self, graph: str, limit: int, cursor: str) -> QuestionPage:
        await self._pass()
        self._known(graph)
        stored: Mapping[str, StandingQuestion] = {
            name: each for (of, name), each in self.questions.items() if of == graph
        }
        return QuestionPage(tuple(stored[name] for name in sorted(stored))[:limit], "")

    async def question_events(self, graph: str, question_id: str, after: str) -> AsyncIterator[StandingEvent | None]:
        await self.question(graph, question_id)
        yield None
        for event in self.events:
            yield event
