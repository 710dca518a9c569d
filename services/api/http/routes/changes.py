"""The route of the change feed: the commits of a graph as they happen."""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import aclosing
from typing import Any, cast

from fastapi import APIRouter
from starlette.requests import Request
from starlette.responses import Response

from graphtide.services.access.event_streams import EventStreams
from graphtide.services.access.gate import AccessGate
from graphtide.services.api.http.documentation.openapi import (
    GraphPath,
    encode_large,
    errors,
    graph_in,
)
from graphtide.services.api.http.event_stream import NDJSON, OPENED, SSE, StreamEvent, event_response, last_event_id
from graphtide.services.api.schema.requests.browsing import MAX_TEXT, change_query
from graphtide.services.api.schema.shapes import change_json, dump, fields_json
from graphtide.services.application import Application, Change, FeedItem, FeedProgress, GraphRows
from graphtide.services.changes.types import size_of

LARGE_ITEMS = 200
"""Items of a change from which its JSON is made in a thread."""
_EXAMPLE = 'id: v17\nevent: change\ndata: {"version": 17, "token": "v17", "documents": …}\n\n'


def change_routes(application: Application, streams: EventStreams, gate: AccessGate) -> APIRouter:
    """Routes over `application`."""
    router = APIRouter(tags=["changes"])
    content: dict[str, Any] = {
        SSE: {"schema": {"type": "string"}, "example": _EXAMPLE},
        NDJSON: {"schema": {"type": "string"}},
    }
    ok = {"description": "the changes, without end", "content": content}

    @router.get(
        "/v1/graphs/{graph}/changes",
        responses={200: ok, **errors(404, 410, 422, 429, 503, 504)},
        response_class=Response,
        openapi_extra={"parameters": [_text(*each) for each in _PARAMETERS]},
    )
    async def follow_changes(request: Request, graph: GraphPath) -> Response:
        """Follow the commits of a graph, as Server-Sent Events, or as NDJSON with `Accept: application/x-ndjson`.

        A stream resumes after the token in `after`, or in the header `Last-Event-ID`; without one it begins now.
        """
        query = change_query(request.query_params, last_event_id(request))
        found = application.changes(graph_in(request, graph), query)
        return event_response(request, _events(found), streams, gate, "changes")

    return router


_PARAMETERS = (
    ("after", "the token of a change, or of publishing: begin after it"),
    ("entity", "only changes of this entity, by its id or name"),
    ("type", "only changes of entities of this type"),
    ("prefix", "only changes by documents whose id begins with it"),
    ("follow", "`false`: end at the present version"),
    ("detail", "`rows`: with all changed rows; without `after` all rows of the graph come first"),
)


_CHOICES = {"detail": ["rows"], "follow": ["true", "false"]}


def _text(name: str, description: str) -> dict[str, Any]:
    schema: dict[str, Any] = {"type": "string", "maxLength": MAX_TEXT}
    if name in _CHOICES:
        schema = {"type": "string", "enum": _CHOICES[name]}
    return {"name": name, "in": "query", "required": False, "description": description, "schema": schema}


async def _events(items: AsyncIterator[FeedItem]) -> AsyncIterator[StreamEvent]:
    async with aclosing(cast("AsyncGenerator[FeedItem, None]", items)) as found:
        async for item in found:
            yield await _event(item)


async def _event(item: FeedItem) -> StreamEvent:
    if isinstance(item, Change):
        large = item.rows is not None or size_of(item) >= LARGE_ITEMS
        data = await encode_large(lambda: change_json(item)) if large else dump(change_json(item))
        return StreamEvent("change", data, item.token)
    if isinstance(item, GraphRows):
        data = await encode_large(lambda: fields_json(item))
        return StreamEvent("rows", data, item.token if item.part == item.parts else "")
    return StreamEvent("", b"", item.token) if isinstance(item, FeedProgress) else OPENED
