"""The route of previews: the effect that documents would have."""

from __future__ import annotations

from fastapi import APIRouter
from starlette.requests import Request
from starlette.responses import Response

from graphtide.services.api.http.bodies import JSON, content_type, parse, read_body
from graphtide.services.api.http.documentation.openapi import GraphPath, body_of, errors, graph_in, large_reply, schema
from graphtide.services.api.http.documentation.preview_models import PreviewReply
from graphtide.services.api.schema.limits import RequestLimits
from graphtide.services.api.schema.requests.preview import read_preview
from graphtide.services.api.schema.shapes import fields_json
from graphtide.services.application import Application

ITEM_CHARS = 300
"""Approximate size of an entity, a relation or a passage in a response."""


def preview_routes(application: Application, limits: RequestLimits) -> APIRouter:
    """Routes over `application`."""
    router = APIRouter(tags=["changes"])

    @router.post(
        "/v1/graphs/{graph}/preview",
        responses={200: {"model": PreviewReply}, **errors(400, 404, 408, 413, 415, 422, 429, 503, 504)},
        openapi_extra=body_of({JSON: {"schema": schema("PreviewBody")}}),
    )
    async def preview_change(request: Request, graph: GraphPath) -> Response:
        """Return the change that publishing or deleting documents would cause, and the evidence of questions before
        and after it. Nothing is written.
        """
        graph = graph_in(request, graph)
        content_type(request, JSON)
        raw = await read_body(request, limits.max_body_bytes, limits)
        asked = await parse(lambda body: read_preview(graph, body, limits), raw)
        found = await application.preview(graph, asked)
        change = found.change
        items = [*change.entities.all(), *change.relations.all()]
        size = len(items) + sum(len(each.before) + len(each.after) for each in found.questions)
        return await large_reply(lambda: fields_json(found), ITEM_CHARS * size)

    return router
