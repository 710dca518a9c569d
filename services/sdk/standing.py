"""Standing questions of a graph of this process, for the Python interface, and their blocking twin."""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator, Callable, Mapping
from contextlib import aclosing
from typing import Any, cast

from graphtide.services.api.schema.limits import RequestLimits
from graphtide.services.api.schema.requests.standing import question_id, question_page, standing_question_of
from graphtide.services.application import Application, Filters
from graphtide.services.sdk import interface
from graphtide.services.sdk.bulk import plain_json
from graphtide.services.sdk.calls.blocking_calls import BlockingCalls, blocking, blocking_stream
from graphtide.services.sdk.calls.open_calls import OpenCalls, calls_of_database
from graphtide.services.sdk.questions import filters_value
from graphtide.services.standing.types import QuestionPage, StandingEvent, StandingQuestion


def question_value(
    question: str, mode: str, top_k: int, filters: Filters | None, as_of: str, answer: bool
) -> dict[str, Any]:
    """Return a question as HTTP receives it. Raises Invalid for filters that are none."""
    body: dict[str, Any] = {
        "question": question,
        "mode": mode,
        "top_k": plain_json(top_k),
        "filters": filters_value(filters),
    }
    return body | ({"as_of": as_of} if as_of else {}) | ({"answer": True} if answer else {})


def given_options(options: Mapping[str, object] | None) -> dict[str, Any]:
    """Return the options of a question as a field of its body."""
    return {} if options is None else {"options": plain_json(options)}


@calls_of_database
class EmbeddedQuestions:
    """See `graphtide.services.sdk.interface.Questions`."""

    def __init__(self, graph: str, application: Application, limits: RequestLimits, calls: OpenCalls) -> None:
        self._graph = graph
        self._application = application
        self._limits = limits
        self._calls = calls

    async def put(
        self,
        id: str,  # noqa: A002 - the name of the field
        question: str,
        *,
        mode: str = "local",
        top_k: int = 5,
        filters: Filters | None = None,
        as_of: str = "",
        answer: bool = False,
        options: Mapping[str, object] | None = None,
    ) -> StandingQuestion:
        """See Questions.put."""
        body = question_value(question, mode, top_k, filters, as_of, answer) | given_options(options)
        definition = standing_question_of(question_id(id), body, self._limits)
        return await self._application.put_question(self._graph, definition)

    async def get(self, id: str) -> StandingQuestion:  # noqa: A002 - the name of the field
        """See Questions.get."""
        return await self._application.question(self._graph, question_id(id))

    async def delete(self, id: str) -> None:  # noqa: A002 - the name of the field
        """See Questions.delete."""
        await self._application.delete_question(self._graph, question_id(id))

    async def list(self, *, limit: int = 100, cursor: str = "") -> QuestionPage:
        """See Questions.list."""
        page = question_page({"limit": str(limit)} | ({"cursor": cursor} if cursor else {}))
        return await self._application.list_questions(self._graph, *page)

    async def watch(self, id: str, *, after: str | int = "") -> AsyncIterator[StandingEvent]:  # noqa: A002
        """See Questions.watch."""
        events = self._application.question_events(self._graph, question_id(id), "" if after is None else str(after))
        async with aclosing(cast("AsyncGenerator[StandingEvent | None, None]", events)):
            async for event in events:
                if event is not None:
                    yield event


class BlockingQuestions:
    """The standing questions of a graph. Every method is that of `graphtide.Questions`, and blocks until it is done."""

    def __init__(self, calls: BlockingCalls, questions: Callable[[], interface.Questions]) -> None:
        self._calls = calls
        self._questions = questions

    @property
    def _twin(self) -> interface.Questions:
        return self._questions()

    put = blocking(interface.Questions.put)
    get = blocking(interface.Questions.get)
    delete = blocking(interface.Questions.delete)
    list = blocking(interface.Questions.list)
    watch = blocking_stream(interface.Questions.watch)
