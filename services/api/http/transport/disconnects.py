"""Cancellation of reading requests whose client disconnects before the response begins.

A preview, a report or an answer may take seconds to compute, and a client that has disconnected does not receive it.
The invariants: a request that may change anything is never cancelled; once a response has begun, the route alone
decides (an event stream listens for the disconnect itself). Cost: one task for each reading request.
"""

from __future__ import annotations

import asyncio
from typing import cast

from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from graphtide.services.access.policy import Action
from graphtide.services.api.http.access import action_of

CLIENT_CLOSED_REQUEST = 499
"""The status, in metrics and in the log, of a request whose client disconnected; nginx uses the same."""

_BODY_HEADERS = frozenset({b"content-length", b"transfer-encoding"})


class DisconnectCancellation:
    """ASGI middleware around the routes, inside access control: a cancelled request releases its place."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http" and _may_be_reading(scope):
            await _WatchedRequest(self._app, receive, send).serve(scope)
        else:
            await self._app(scope, receive, send)


def _may_be_reading(scope: Scope) -> bool:
    """Return whether the request may change nothing. A GET with a body is excluded: no route reads it."""
    if not scope["path"].startswith("/v1/"):
        return False
    if scope["method"] == "GET":
        return not any(name in _BODY_HEADERS for name, _ in scope["headers"])
    return bool(scope["method"] == "POST")


class _WatchedRequest:
    """One request, and the task that waits for its disconnect once its body has arrived, if it only reads."""

    def __init__(self, app: ASGIApp, receive: Receive, send: Send) -> None:
        self._app, self._receive, self._send = app, receive, send
        self._watching: asyncio.Task[None] | None = None
        self._has_begun = self._is_cancelled = False

    async def serve(self, scope: Scope) -> None:
        """Run the route. After a disconnect cancel it, and report the status 499 to metrics and the log."""
        self._scope = scope
        route = self._route = cast("asyncio.Task[None]", asyncio.current_task())
        if scope["method"] == "GET":
            self._watching = asyncio.create_task(self._watch())
        try:
            await self._app(scope, self._next_message, self._respond)
        except asyncio.CancelledError:
            if not self._is_cancelled or route.uncancel():  # the server cancelled the request, too
                raise
            if not self._has_begun:
                await Response(status_code=CLIENT_CLOSED_REQUEST)(scope, self._receive, self._send)
        finally:
            if self._watching is not None:
                self._watching.cancel()
                self._watching = None  # its exception refers to this object

    async def _next_message(self) -> Message:
        """Return the next part of the body, then the disconnect when it happens."""
        if self._watching is not None:
            await asyncio.wait((self._watching,))
            return {"type": "http.disconnect"}
        message = await self._receive()
        if message["type"] == "http.request" and not message.get("more_body", False) and self._is_reading():
            self._watching = asyncio.create_task(self._watch())
        return message

    def _is_reading(self) -> bool:
        """Return whether the route, which has begun, needs the permission to read alone."""
        template = str(getattr(self._scope.get("route"), "path", ""))
        return action_of(self._scope["method"], template) is Action.READ

    async def _watch(self) -> None:
        while (await self._receive())["type"] != "http.disconnect":
            pass
        if not self._has_begun:
            self._is_cancelled = True
            self._route.cancel()

    async def _respond(self, message: Message) -> None:
        self._has_begun = True
        await self._send(message)
