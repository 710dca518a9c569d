"""The calls of standing questions, each one a translation to and from the application port."""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import aclosing
from typing import cast

from grpc.aio import ServicerContext

from graphtide.services.api.grpc.conversion import message_of, parameters, request_value
from graphtide.services.api.schema import graphtide_pb2 as pb
from graphtide.services.api.schema.envelope import graph_name
from graphtide.services.api.schema.limits import RequestLimits
from graphtide.services.api.schema.requests.standing import question_id, question_page, standing_question_of
from graphtide.services.api.schema.shapes import fields_json
from graphtide.services.application import Application
from graphtide.services.standing.types import StandingEvent


class QuestionCalls:
    """The calls of standing questions. The servicer that inherits them supplies the application and the limits."""

    _application: Application
    _limits: RequestLimits

    async def PutQuestion(  # noqa: N802
        self, request: pb.StandingQuestionRequest, context: ServicerContext
    ) -> pb.StandingQuestion:
        value = request_value(request)
        value.pop("id", None)
        definition = standing_question_of(question_id(request.id), value, self._limits)
        found = await self._application.put_question(graph_name(request.graph), definition)
        return message_of(pb.StandingQuestion, fields_json(found))

    async def GetQuestion(self, request: pb.QuestionRef, context: ServicerContext) -> pb.StandingQuestion:  # noqa: N802
        found = await self._application.question(graph_name(request.graph), question_id(request.id))
        return message_of(pb.StandingQuestion, fields_json(found))

    async def DeleteQuestion(  # noqa: N802
        self, request: pb.QuestionRef, context: ServicerContext
    ) -> pb.QuestionDeleted:
        await self._application.delete_question(graph_name(request.graph), question_id(request.id))
        return pb.QuestionDeleted()

    async def ListQuestions(self, request: pb.QuestionQuery, context: ServicerContext) -> pb.QuestionPage:  # noqa: N802
        limit, cursor = question_page(parameters(request))
        found = await self._application.list_questions(graph_name(request.graph), limit, cursor)
        return message_of(pb.QuestionPage, fields_json(found))

    async def WatchQuestion(  # noqa: N802
        self, request: pb.WatchRequest, context: ServicerContext
    ) -> AsyncIterator[pb.QuestionEvent]:
        name = question_id(request.id)
        events = self._application.question_events(graph_name(request.graph), name, request.after)
        async with aclosing(cast("AsyncGenerator[StandingEvent | None, None]", events)):
            async for event in events:
                yield pb.QuestionEvent() if event is None else message_of(pb.QuestionEvent, fields_json(event))
