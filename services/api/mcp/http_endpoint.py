"""The endpoint /mcp: Streamable HTTP without sessions, so any replica behind a gateway answers any request.

The invariants: a body is read within the limits of every other route, and its values are counted before the SDK
validates them in the event loop; a page of another site cannot call the endpoint, because browsers send Origin, and
only pages of this machine and of `cors_origins` are admitted.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from starlette.requests import Request
from starlette.responses import Response
from starlette.types import Message, Receive, Scope, Send

from graphtide.services.access.credentials import CALLER
from graphtide.services.access.event_streams import EventStreams
from graphtide.services.access.gate import network_of
from graphtide.services.api.http.access import SEAT_KEY, Seat, caller_of
from graphtide.services.api.http.bodies import read_body
from graphtide.services.api.http.errors import error_response
from graphtide.services.api.http.transport.origins import check_origin
from graphtide.services.api.mcp.session import AgentSession
from graphtide.services.api.schema.limits import RequestLimits
from graphtide.services.api.schema.requests.json_structure import check_value_count
from graphtide.services.api.schema.shapes import dump
from graphtide.services.application import Application
from graphtide.services.sdk.embedded import EmbeddedDatabase
from graphtide.streams.errors import GraphtideError

if TYPE_CHECKING:
    from mcp.server.lowlevel.server import Server

PATH = "/mcp"
METHODS = ("GET", "POST", "DELETE")
_MISSING = "MCP needs the extra mcp; install it on the service's machine: pip install 'graphtide[mcp]'"


class McpEndpoint:
    """ASGI application at /mcp over `application`; the caller of a request is that of its credential."""

    def __init__(self, application: Application, limits: RequestLimits, streams: EventStreams) -> None:
        self._streams = streams
        self._session = AgentSession(EmbeddedDatabase(application, limits), lambda: CALLER.get().who)
        self._limits = limits
        self._server: Server[Any] | None = None

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if find_spec("mcp") is None:
            missing = {"error": {"code": "not_installed", "message": _MISSING}}
            await Response(dump(missing), 501, media_type="application/json")(scope, receive, send)
            return
        request = Request(scope, receive)
        try:
            _check_origin(request)
            body = await read_body(request, self._limits.max_body_bytes, self._limits)
            check_value_count(body, self._limits.max_question_values)
            with self._place(request):
                whole = _Completed(send)
                await self._serve(await self._loaded(), scope, _replayed(body, receive, self._streams), whole)
                await whole.complete()
        except GraphtideError as error:
            await error_response(error)(scope, receive, send)

    async def _loaded(self) -> Server[Any]:
        if self._server is None:  # importing the SDK takes a second, which the event loop must not lose
            module = await asyncio.to_thread(import_module, "graphtide.services.api.mcp.server")
            self._server = self._server or module.create_server(self._session)
        return self._server

    @contextmanager
    def _place(self, request: Request) -> Iterator[None]:
        """Hold a place of event streams, instead of one of requests, for a stream that the client opens (GET)."""
        if request.method != "GET":
            yield
            return
        name = caller_of(request).who.name or network_of((request.scope.get("client") or ("",))[0])
        with self._streams.hold(name, "mcp"):
            seat: Seat | None = request.scope.get(SEAT_KEY)
            if seat is not None:
                seat.leave()
            yield

    async def _serve(self, server: Server[Any], scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request. The tools run in its task group, and so as its caller."""
        from mcp.server.streamable_http_manager import StreamableHTTPSessionManager

        manager = StreamableHTTPSessionManager(
            server, stateless=True, max_request_body_size=self._limits.max_body_bytes + 1
        )
        async with manager.run():
            await manager.handle_request(scope, receive, send)


class _Completed:
    """A sender that can complete a response: the SDK leaves a stream incomplete when the process shuts down."""

    def __init__(self, send: Send) -> None:
        self._send = send
        self._is_open = False

    async def __call__(self, message: Message) -> None:
        self._is_open = message["type"] == "http.response.start" or bool(message.get("more_body", False))
        await self._send(message)

    async def complete(self) -> None:
        if self._is_open:
            await self._send({"type": "http.response.body", "body": b"", "more_body": False})


def _check_origin(request: Request) -> None:
    """Raise Forbidden for a page of another site, also one whose name was bound to this address (DNS rebinding).

    Pages of the setting `cors_origins` are admitted.
    """
    allowed: frozenset[str] = getattr(request.app.state, "cors_origins", frozenset())
    check_origin(request.headers.get("origin"), allowed, PATH)


def _replayed(body: bytes, receive: Receive, streams: EventStreams) -> Receive:
    """Return a receiver that gives the body, which has been read, and then the end: of the client or the process."""
    messages: list[Message] = [{"type": "http.request", "body": body, "more_body": False}]

    async def replay() -> Message:
        if messages:
            return messages.pop()
        waits = asyncio.ensure_future(receive()), asyncio.ensure_future(streams.closing.wait())
        try:
            await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED)
            return waits[0].result() if waits[0].done() else {"type": "http.disconnect"}
        finally:
            for wait in waits:
                wait.cancel()

    return replay
