"""The standing questions of an application on the views of this process."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import aclosing
from functools import partial

from graphtide.graph.view import LiveView
from graphtide.infra.observability.metrics.readers import QUESTIONS
from graphtide.services.runtime import Runtime, using_graph
from graphtide.services.standing.service import StandingService, with_default_options
from graphtide.services.standing.types import (
    QuestionDefinition,
    QuestionPage,
    StandingEvent,
    StandingQuestion,
    check_mode,
)
from graphtide.streams.errors import NotFound, Overloaded


class LocalStandingQuestions:
    """See StandingQuestions. The application that inherits it supplies the runtime."""

    _runtime: Runtime

    async def _view(self, graph: str) -> LiveView:
        raise NotImplementedError

    @property
    def _standing(self) -> StandingService:
        service = self._runtime.standing
        if service is None:
            raise Overloaded("this process has no standing questions")
        return service

    @using_graph
    async def put_question(self, graph: str, definition: QuestionDefinition) -> StandingQuestion:
        """See StandingQuestions.put_question."""
        check_mode(definition.mode)
        definition = with_default_options(definition, self._runtime.mode_options)
        view = await self._view(graph)
        return self._standing.shown(graph, await self._standing.registrar.put(graph, definition), view)

    @using_graph
    async def question(self, graph: str, question_id: str) -> StandingQuestion:
        """See StandingQuestions.question."""
        await self._runtime.known(graph)
        await self._standing.registrar.caught_up(graph)
        stored = await self._standing.read(graph, question_id)
        return self._standing.shown(graph, stored, self._runtime.views.get(graph))

    async def delete_question(self, graph: str, question_id: str) -> None:
        """See StandingQuestions.delete_question."""
        await self._runtime.known(graph)
        if not await self._standing.registrar.delete(graph, question_id):
            raise NotFound(f"graph {graph!r} has no question {question_id!r}")
        self._standing.signal.recorded()

    @using_graph
    async def list_questions(self, graph: str, limit: int, cursor: str) -> QuestionPage:
        """See StandingQuestions.list_questions."""
        await self._runtime.known(graph)
        await self._standing.registrar.caught_up(graph)
        return await self._standing.page(graph, limit, cursor, self._runtime.views.get(graph))

    async def question_events(self, graph: str, question_id: str, after: str) -> AsyncIterator[StandingEvent | None]:
        """See StandingQuestions.question_events."""
        views = self._runtime.views
        with views.in_use(graph):
            await self._runtime.known(graph)
            async with aclosing(self._recorded_events(graph, question_id, after)) as events:  # type: ignore[type-var]
                async for event in events:
                    yield event

    async def _recorded_events(self, graph: str, question_id: str, after: str) -> AsyncIterator[StandingEvent | None]:
        before, views = await self._deleted_at(graph), self._runtime.views
        with self._runtime.metrics.readers.reading(QUESTIONS, partial(views.version, graph)) as reader:
            found = self._standing.events(graph, question_id, after, views.get(graph), reader)
            async with aclosing(found) as events:  # type: ignore[type-var]
                async for event in events:
                    yield event
        if await self._deleted_at(graph) != before:
            raise NotFound(f"graph {graph!r} was deleted, and with it question {question_id!r}")

    async def _deleted_at(self, graph: str) -> int:
        """Return the version of the graph's last deletion, 0 without one."""
        known = (await self._runtime.store.deletions([graph])).get(graph)
        return known.version if known else 0
