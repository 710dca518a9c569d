"""Parts shared by the routes: path parameters, error responses, and OpenAPI descriptions of bodies."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Annotated, Any, TypeVar

from fastapi import Path
from starlette.convertors import Convertor, register_url_convertor
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from graphtide.services.api.http.documentation.response_models import ErrorBody
from graphtide.services.api.schema.envelope import GRAPH_NAME, ID_SCHEMA, document_id, graph_name
from graphtide.services.api.schema.requests.browsing import VERSION_PATTERN
from graphtide.services.api.schema.shapes import dump, dump_in_parts
from graphtide.services.inspection.cursors import MAX_CHARS
from graphtide.streams.errors import Invalid

T = TypeVar("T")


class DocumentIdConvertor(Convertor[str]):
    """Path convertor that matches the rest of the path. Unlike `path` it accepts line breaks, which `document_id`
    refuses.
    """

    regex = r"[\s\S]*"

    def convert(self, value: str) -> str:
        return value

    def to_string(self, value: str) -> str:
        return value


register_url_convertor("document_id", DocumentIdConvertor())

Responses = dict[int | str, dict[str, Any]]

# The patterns describe names; `envelope.py` enforces them with errors in the contract's format.
GraphPath = Annotated[
    str,
    Path(description="a graph's name", examples=["notes"], json_schema_extra={"pattern": f"^{GRAPH_NAME}$"}),
]
IdPath = Annotated[
    str,
    Path(
        alias="id",
        description="the document's id; slashes need no encoding",
        examples=["a/b.md"],
        json_schema_extra={**ID_SCHEMA},
    ),
]

AT: dict[str, Any] = {
    "name": "at",
    "in": "query",
    "required": False,
    "description": "an earlier version: its number, the token of a change, or a token of publishing",
    "schema": {"type": "string", "pattern": f"^{VERSION_PATTERN}$"},
}
CURSOR: dict[str, Any] = {"type": "string", "maxLength": MAX_CHARS, "pattern": "^[A-Za-z0-9_-]*$"}
_CAUSES = {
    400: "the body or the path is malformed",
    401: "no valid credential",
    403: "the credential does not grant this action or this graph",
    404: "the graph, document, entity or dead letter does not exist",
    410: "the listing or the position is too old, or the version is no longer retained; begin again without it",
    408: "the body did not arrive in time",
    413: "the body is larger than the service accepts",
    415: "the Content-Type or Content-Encoding is not supported",
    422: "a field is invalid; `field` names it",
    429: "too many requests, or a limit is reached; retry after Retry-After seconds",
    503: "a model endpoint or another component is unavailable; the message names it",
    504: "the answer was not ready before the deadline",
}


def errors(*statuses: int) -> Responses:
    """Return the error responses of a route, for its description."""
    return {status: {"model": ErrorBody, "description": _CAUSES[status]} for status in (401, 403, *statuses)}


def body_of(content: dict[str, Any]) -> dict[str, Any]:
    """Return the description of a request body that the route parses itself, by media type."""
    return {"requestBody": {"required": True, "content": content}}


def schema(name: str) -> dict[str, str]:
    return {"$ref": f"#/components/schemas/{name}"}


def graph_in(request: Request, graph: str) -> str:
    """Return the graph's name in the path. Raises Invalid."""
    _check_encoding(request)
    return graph_name(graph)


def document_in(request: Request, graph: str, doc_id: str) -> tuple[str, str]:
    """Return the graph's name and the document's id in the path. Raises Invalid."""
    return graph_in(request, graph), document_id(doc_id)


def _check_encoding(request: Request) -> None:
    """Raise Invalid for a path that is not UTF-8: the server replaces such bytes by U+FFFD, which changes the id."""
    if "\ufffd" in request.scope["path"] and b"%EF%BF%BD" not in request.scope.get("raw_path", b"").upper():
        raise Invalid("id", "the path is not percent-encoded UTF-8; encode it as UTF-8")


_ENCODERS = ThreadPoolExecutor(1, "graphtide-encode")
"""One thread: several would delay the event loop, with which they share the interpreter lock, and be no faster."""
SENT_BYTES = 1 << 20
"""Maximum size of a body that is sent at once."""
LARGE_CHARS = 50_000
"""Characters from which a reply is encoded in a thread, so that the event loop stays free."""


async def large_reply(body: Callable[[], object], chars: int) -> Response:
    """Return a reply with the result of `body` as JSON; `chars` is its approximate length."""
    return reply(body()) if chars < LARGE_CHARS else encoded_reply(await encode_large(body))


async def encode_large(body: Callable[[], object]) -> bytes:
    """Return the result of `body` as JSON, made in a thread."""
    return await run_encoder(lambda: dump_in_parts(body()))


async def run_encoder(work: Callable[[], T]) -> T:
    """Return the result of `work`, which makes a large reply, in the thread of all large replies."""
    return await asyncio.get_running_loop().run_in_executor(_ENCODERS, work)


def reply(body: object, status: int = 200) -> Response:
    return encoded_reply(dump(body), status)


def encoded_reply(body: bytes, status: int = 200) -> Response:
    if len(body) > SENT_BYTES:
        return _SlicedResponse(body, status, media_type="application/json")
    return Response(body, status, media_type="application/json")


class _SlicedResponse(Response):
    """A response whose body is sent in slices: the server copies what it sends in one step of the event loop."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        await send({"type": "http.response.start", "status": self.status_code, "headers": self.raw_headers})
        for start in range(0, len(self.body), SENT_BYTES):
            end = start + SENT_BYTES
            part = bytes(self.body[start:end])
            await send({"type": "http.response.body", "body": part, "more_body": end < len(self.body)})
            await asyncio.sleep(0)
