"""The routes of standing questions: register, read, list, delete, and the stream of events."""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import aclosing
from typing import Annotated, cast

from fastapi import APIRouter, Path
from starlette.requests import Request
from starlette.responses import Response

from graphtide.services.access.event_streams import EventStreams
from graphtide.services.access.gate import AccessGate
from graphtide.services.api.http.bodies import JSON, content_type, parse, read_body
from graphtide.services.api.http.documentation.openapi import (
    CURSOR,
    GraphPath,
    body_of,
    errors,
    graph_in,
    large_reply,
    reply,
    schema,
)
from graphtide.services.api.http.documentation.question_models import QuestionPageBody, StandingQuestionReply
from graphtide.services.api.http.event_stream import (
    NDJSON,
    OPENED,
    SSE,
    StreamEvent,
    event_response,
    last_event_id,
)
from graphtide.services.api.schema.limits import RequestLimits
from graphtide.services.api.schema.requests.standing import (
    QUESTION_ID,
    question_id,
    question_page,
    read_standing_question,
)
from graphtide.services.api.schema.shapes import dump, fields_json, page_json
from graphtide.services.application import Application
from graphtide.services.standing.types import DEFAULT_LIMIT, MAX_LIMIT, StandingEvent

QUESTIONS = "/v1/graphs/{graph}/questions"
QUESTION = QUESTIONS + "/{id}"
PASSAGE_CHARS = 1_000
"""Approximate size of a passage in a response."""

QuestionId = Annotated[
    str,
    Path(
        alias="id",
        description="a standing question's id",
        examples=["boiler-contract"],
        json_schema_extra={"pattern": f"^{QUESTION_ID}$"},
    ),
]
_ERRORS = errors(404, 422, 429, 503, 504)
_EXAMPLE = 'id: 1\nevent: change\ndata: {"id": "boiler-contract", "seq": 1, "version": 12, …}\n\n'


def question_routes(
    application: Application, limits: RequestLimits, streams: EventStreams, gate: AccessGate
) -> APIRouter:
    """Routes over `application`."""
    router = APIRouter(tags=["standing questions"])
    _add_registration(router, application, limits)
    _add_reads(router, application)
    _add_events(router, application, streams, gate)
    return router


def _add_registration(router: APIRouter, application: Application, limits: RequestLimits) -> None:
    @router.put(
        QUESTION,
        responses={200: {"model": StandingQuestionReply}, **errors(400, 404, 408, 413, 415, 422, 429, 503, 504)},
        openapi_extra=body_of({JSON: {"schema": schema("StandingQuestionBody")}}),
    )
    async def put_question(request: Request, graph: GraphPath, name: QuestionId) -> Response:
        """Register a standing question, or replace it. It is evaluated at once, and at every later version."""
        graph, name = graph_in(request, graph), question_id(name)
        content_type(request, JSON)
        raw = await read_body(request, limits.max_body_bytes, limits)
        definition = await parse(lambda body: read_standing_question(name, body, limits), raw)
        found = await application.put_question(graph, definition)
        return await large_reply(lambda: fields_json(found), PASSAGE_CHARS * len(found.passages))

    @router.delete(QUESTION, status_code=204, responses=_ERRORS)
    async def delete_question(request: Request, graph: GraphPath, name: QuestionId) -> Response:
        """Delete a standing question with its events. Its streams end."""
        await application.delete_question(graph_in(request, graph), question_id(name))
        return Response(status_code=204)


def _add_reads(router: APIRouter, application: Application) -> None:
    @router.get(
        QUESTIONS,
        responses={200: {"model": QuestionPageBody}, **errors(404, 422, 429, 503)},
        openapi_extra={"parameters": _PAGE},
    )
    async def list_questions(request: Request, graph: GraphPath) -> Response:
        """List the standing questions of a graph by id, with their evidence."""
        limit, cursor = question_page(request.query_params)
        found = await application.list_questions(graph_in(request, graph), limit, cursor)
        return await large_reply(
            lambda: page_json(found), PASSAGE_CHARS * sum(len(each.passages) for each in found.questions)
        )

    @router.get(QUESTION, responses={200: {"model": StandingQuestionReply}, **_ERRORS})
    async def get_question(request: Request, graph: GraphPath, name: QuestionId) -> Response:
        """Return a standing question: its evidence, its answer, its version, and when it last changed."""
        found = await application.question(graph_in(request, graph), question_id(name))
        return reply(fields_json(found))


def _add_events(router: APIRouter, application: Application, streams: EventStreams, gate: AccessGate) -> None:
    content = {SSE: {"schema": {"type": "string"}, "example": _EXAMPLE}, NDJSON: {"schema": {"type": "string"}}}

    @router.get(
        QUESTION + "/events",
        responses={200: {"content": content, "description": "the events"}, **errors(404, 410, 422, 429, 503)},
        openapi_extra={"parameters": [_AFTER]},
    )
    async def watch_question(request: Request, graph: GraphPath, name: QuestionId) -> Response:
        """Stream the changes of a question's evidence, each exactly once and in order: server-sent events, or NDJSON
        by `Accept`. Resumes after `after` or Last-Event-ID, the `seq` or `token` of an event; without it, from the
        first retained event."""
        after = last_event_id(request)
        events = application.question_events(graph_in(request, graph), question_id(name), after)
        return event_response(request, stream_events(events), streams, gate, "questions")


async def stream_events(events: AsyncIterator[StandingEvent | None]) -> AsyncIterator[StreamEvent]:
    """Yield the events of a question as those of a stream."""
    async with aclosing(cast("AsyncGenerator[StandingEvent | None, None]", events)):
        async for event in events:
            if event is None:
                yield OPENED
            else:
                yield StreamEvent("change", dump(fields_json(event)), str(event.seq))


_PAGE = [
    {
        "name": "limit",
        "in": "query",
        "description": "maximum number of questions",
        "schema": {"type": "integer", "minimum": 1, "maximum": MAX_LIMIT, "default": DEFAULT_LIMIT},
    },
    {"name": "cursor", "in": "query", "description": "the `next` of the previous page", "schema": CURSOR},
]
_AFTER = {
    "name": "after",
    "in": "query",
    "description": "the `seq` or the `token` of the last event that the reader has",
    "schema": {"type": "string", "pattern": "^(v?[0-9]{1,15})?$"},
}
