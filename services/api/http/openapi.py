"""What the routes share: path parameters, error responses, and how a body is described to OpenAPI."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Annotated, Any

from fastapi import Path
from starlette.convertors import Convertor, register_url_convertor
from starlette.requests import Request
from starlette.responses import Response

from graphtide.services.api.http.response_models import ErrorBody
from graphtide.services.api.schema.envelope import GRAPH_NAME, ID_SCHEMA, document_id, graph_name
from graphtide.services.api.schema.shapes import dump, dump_in_parts
from graphtide.streams.errors import Invalid


class DocumentIdConvertor(Convertor[str]):
    """All that follows in the path. Unlike `path` it takes line breaks too, for `document_id` to refuse by name."""

    regex = r"[\s\S]*"

    def convert(self, value: str) -> str:
        return value

    def to_string(self, value: str) -> str:
        return value


register_url_convertor("document_id", DocumentIdConvertor())

Responses = dict[int | str, dict[str, Any]]

# What names look like is described, not enforced here: `envelope.py` judges, and says what is wrong in our own shape.
GraphPath = Annotated[
    str,
    Path(description="a graph's name", examples=["notes"], json_schema_extra={"pattern": f"^{GRAPH_NAME}$"}),
]
IdPath = Annotated[
    str,
    Path(alias="id", description="slashes may stay as they are", examples=["a/b.md"], json_schema_extra={**ID_SCHEMA}),
]

_CAUSES = {
    400: "the body, or the path, is not what it says it is",
    401: "no valid credential",
    403: "the credential was not given this action, or this graph",
    404: "there is no such graph or document",
    408: "the body did not arrive in time",
    413: "the body is larger than the service accepts",
    415: "the Content-Type or Content-Encoding is not one that the service reads",
    422: "a field is wrong; `field` names it",
    429: "too much at once; come back after Retry-After seconds",
    503: "a model endpoint, or another part, is away; the message names it",
    504: "the answer was not ready before the deadline",
}


def errors(*statuses: int) -> Responses:
    """The error responses of a route, for its description."""
    return {status: {"model": ErrorBody, "description": _CAUSES[status]} for status in (401, 403, *statuses)}


def body_of(content: dict[str, Any]) -> dict[str, Any]:
    """The description of a request body that the route parses itself, by media type."""
    return {"requestBody": {"required": True, "content": content}}


def schema(name: str) -> dict[str, str]:
    return {"$ref": f"#/components/schemas/{name}"}


def graph_in(request: Request, graph: str) -> str:
    """The graph's name in the path. Raises Invalid."""
    _check_encoding(request)
    return graph_name(graph)


def document_in(request: Request, graph: str, doc_id: str) -> tuple[str, str]:
    """The graph's name and the document's id in the path. Raises Invalid."""
    return graph_in(request, graph), document_id(doc_id)


def _check_encoding(request: Request) -> None:
    """The server replaces what is not UTF-8 by U+FFFD; an id must be what was sent, or nothing."""
    if "\ufffd" in request.scope["path"] and b"%EF%BF%BD" not in request.scope.get("raw_path", b"").upper():
        raise Invalid("id", "the path is not percent-encoded UTF-8")


LARGE_CHARS = 50_000
"""Text of a reply from which it is encoded in a thread, so that the event loop stays free."""


async def large_reply(encode: Callable[[], object], chars: int) -> Response:
    """Reply with what `encode` returns, as JSON; `chars` is about how much text that is."""
    if chars < LARGE_CHARS:
        return reply(encode())
    return Response(await asyncio.to_thread(lambda: dump_in_parts(encode())), media_type="application/json")


def reply(body: object, status: int = 200) -> Response:
    return Response(dump(body), status, media_type="application/json")
