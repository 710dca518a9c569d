"""The routes of chat completions: `/v1/chat/completions`, and `/v1/models`, which lists `graph/mode`."""

from __future__ import annotations

from fastapi import APIRouter
from starlette.requests import Request
from starlette.responses import Response

from graphtide.graph.retrieval.types import MODE_NAMES
from graphtide.services.access.gate import AccessGate
from graphtide.services.access.policy import Action, visible
from graphtide.services.api.chat.requests import DEFAULT_MODE, ChatRequest, graph_and_mode, read_chat
from graphtide.services.api.chat.responses import Completion
from graphtide.services.api.http.access import caller_of
from graphtide.services.api.http.bodies import JSON, content_type, parse, read_body
from graphtide.services.api.http.documentation.openapi import large_reply, reply
from graphtide.services.api.http.sse import EventStream
from graphtide.services.api.schema.errors import error_body
from graphtide.services.api.schema.limits import RequestLimits
from graphtide.services.api.schema.shapes import dump
from graphtide.services.application import Answer, AnswerChunk, Application
from graphtide.streams.errors import GraphtideError, NotFound

COMPLETIONS = "/v1/chat/completions"
MODELS = "/v1/models"


def chat_routes(application: Application, limits: RequestLimits, gate: AccessGate) -> APIRouter:
    """Routes over `application`. The graph is in the body, so each route checks the permission of the graph itself."""
    router = APIRouter(tags=["chat"])

    @router.post(COMPLETIONS, include_in_schema=False)
    async def complete(request: Request) -> Response:
        """Answer the last message of the user from the graph that the model's name means."""
        content_type(request, JSON)
        raw = await read_body(request, limits.max_body_bytes, limits)
        asked = await parse(lambda body: read_chat(body, limits), raw)
        gate.permit(caller_of(request), Action.READ, asked.graph)
        if asked.is_streamed:
            return ChatStream(asked, application)
        answer = await application.query(asked.graph, asked.question)
        return await large_reply(
            lambda: Completion(asked.model).whole(answer), sum(len(each.text) for each in answer.citations)
        )

    @router.get(MODELS, include_in_schema=False)
    async def models(request: Request) -> Response:
        """List the graphs that the caller may read, each with every mode; the default mode first."""
        names = visible(caller_of(request).who, sorted(await application.graphs()))
        modes = [DEFAULT_MODE, *sorted(set(MODE_NAMES) - {DEFAULT_MODE})]
        return reply({"object": "list", "data": [_model(f"{name}/{mode}") for name in names for mode in modes]})

    @router.get(f"{MODELS}/{{model:path}}", include_in_schema=False)
    async def model(request: Request, model: str) -> Response:
        """Return one model."""
        graph, mode = graph_and_mode(model)
        gate.permit(caller_of(request), Action.READ, graph)
        if graph not in await application.graphs() or (mode != DEFAULT_MODE and mode not in MODE_NAMES):
            raise NotFound(f"there is no model {model[:80]!r}; {MODELS} lists them")
        return reply(_model(model))

    return router


def _model(name: str) -> dict[str, object]:
    return {"id": name, "object": "model", "created": 0, "owned_by": "graphtide"}


class ChatStream(EventStream):
    """Response that sends the chunks of a streamed completion."""

    def __init__(self, asked: ChatRequest, application: Application) -> None:
        super().__init__(application.stream(asked.graph, asked.question))
        self._completion = Completion(asked.model)
        self._usage_wanted = asked.usage_wanted

    def context_event(self, answer: Answer) -> bytes:
        return self._completion.first()

    def step_event(self, step: Answer | AnswerChunk) -> bytes:
        if isinstance(step, AnswerChunk):
            return self._completion.piece(step.text)
        return self._completion.last(step, self._usage_wanted)

    def error_event(self, error: GraphtideError) -> bytes:
        return b"data: " + dump(error_body(error)) + b"\n\n"
