"""The standing questions of a process without graphs: forwarded to a query replica."""

from __future__ import annotations

from collections.abc import AsyncIterator

import grpc
import grpc.aio

from graphtide.graph.retrieval.options.fields import options_json
from graphtide.services.api.grpc.decoding import value_of
from graphtide.services.api.schema import graphtide_pb2 as pb
from graphtide.services.api.schema.calls import GraphtideStub
from graphtide.services.cluster.calls import call, error_raised, open_stream
from graphtide.services.standing.types import QuestionDefinition, QuestionPage, StandingEvent, StandingQuestion
from graphtide.streams.standing.records import filters_json


class RemoteStandingQuestions:
    """See StandingQuestions. The application that inherits it supplies the stub."""

    @property
    def _stub(self) -> GraphtideStub:
        raise NotImplementedError

    async def put_question(self, graph: str, definition: QuestionDefinition) -> StandingQuestion:
        """See StandingQuestions.put_question."""
        return value_of(StandingQuestion, await call(self._stub.PutQuestion, _request(graph, definition)))

    async def question(self, graph: str, question_id: str) -> StandingQuestion:
        """See StandingQuestions.question."""
        found = await call(self._stub.GetQuestion, pb.QuestionRef(graph=graph, id=question_id))
        return value_of(StandingQuestion, found)

    async def delete_question(self, graph: str, question_id: str) -> None:
        """See StandingQuestions.delete_question."""
        await call(self._stub.DeleteQuestion, pb.QuestionRef(graph=graph, id=question_id))

    async def list_questions(self, graph: str, limit: int, cursor: str) -> QuestionPage:
        """See StandingQuestions.list_questions."""
        request = pb.QuestionQuery(graph=graph, limit=limit, cursor=cursor)
        return value_of(QuestionPage, await call(self._stub.ListQuestions, request))

    async def question_events(self, graph: str, question_id: str, after: str) -> AsyncIterator[StandingEvent | None]:
        """See StandingQuestions.question_events."""
        request = pb.WatchRequest(graph=graph, id=question_id, after=after)
        events, event = await open_stream(self._stub.WatchQuestion, request, None)
        try:
            while event is not grpc.aio.EOF:
                yield value_of(StandingEvent, event) if event.seq else None
                event = await events.read()
        except grpc.aio.AioRpcError as error:
            raise error_raised(error) from error
        finally:
            events.cancel()


def _request(graph: str, definition: QuestionDefinition) -> pb.StandingQuestionRequest:
    filters = filters_json(definition.filters)
    return pb.StandingQuestionRequest(
        graph=graph,
        id=definition.id,
        question=definition.question,
        mode=definition.mode,
        top_k=definition.top_k,
        filters=filters or None,
        answer=definition.answer,
        options=options_json(definition.options) or None,
    )
