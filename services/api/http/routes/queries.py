"""The route of questions: one answer, or its pieces as a stream."""

from __future__ import annotations

from fastapi import APIRouter
from starlette.requests import Request
from starlette.responses import Response

from graphtide.services.api.http.access import DirectRoute
from graphtide.services.api.http.bodies import JSON, content_type, parse, read_body
from graphtide.services.api.http.documentation.openapi import GraphPath, body_of, errors, graph_in, large_reply, schema
from graphtide.services.api.http.documentation.response_models import AnswerBody
from graphtide.services.api.http.sse import EventStream
from graphtide.services.api.schema.limits import RequestLimits
from graphtide.services.api.schema.requests.questions import read_question
from graphtide.services.api.schema.shapes import answer_json
from graphtide.services.application import Application

EVENTS = "text/event-stream"

_EXAMPLE = 'event: context\ndata: {"mode": …}\n\nevent: token\ndata: {"text": "Polonium"}\n\nevent: answer\ndata: …\n\n'


def query_routes(application: Application, limits: RequestLimits) -> APIRouter:
    """Routes over `application`."""
    router = APIRouter(tags=["questions"], route_class=DirectRoute)
    ok = {"model": AnswerBody, "content": {EVENTS: {"schema": {"type": "string"}, "example": _EXAMPLE}}}

    @router.post(
        "/v1/graphs/{graph}/query",
        responses={200: ok, **errors(400, 404, 408, 410, 413, 415, 422, 429, 503, 504)},
        openapi_extra=body_of({JSON: {"schema": schema("QueryBody")}}),
    )
    async def query_graph(request: Request, graph: GraphPath) -> Response:
        """Answer a question. With `Accept: text/event-stream` the answer comes as server-sent events:
        `context` (all but the text), `token` (pieces of the text), `answer` (the whole), or `error`."""
        graph = graph_in(request, graph)
        content_type(request, JSON)
        raw = await read_body(request, limits.max_body_bytes, limits)
        ask = await parse(lambda body: read_question(body, limits), raw)
        if EVENTS in request.headers.get("accept", "").lower():
            return EventStream(application.stream(graph, ask))
        answer = await application.query(graph, ask)
        return await large_reply(
            lambda: answer_json(answer, old_names=True), sum(len(passage.text) for passage in answer.passages)
        )

    return router
