"""Pacing of requests: of many that arrive together, a few begin in each pass of the event loop.

A request costs one to three milliseconds of the event loop before its first wait. A hundred that begin in one pass
would delay probes, and everything else, by all of their costs together. Invariants: requests begin in the order of
their arrival; one that arrives alone begins at once; probes do not queue; a request that the server refused before its
turn does not begin.
"""

from __future__ import annotations

import asyncio
from collections import deque

from starlette.types import ASGIApp, Receive, Scope, Send

from graphtide.services.api.http.access import OPEN
from graphtide.services.api.http.transport.header_limits import REFUSED_KEY

REQUESTS_A_PASS = 4


class RequestPacing:
    """The outermost ASGI middleware: at most REQUESTS_A_PASS requests begin in one pass of the event loop."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app
        self._begun = 0
        self._waiting: deque[asyncio.Future[None]] = deque()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http" and scope["path"] not in OPEN:
            await self._turn()
            if REFUSED_KEY in scope:
                return
        await self._app(scope, receive, send)

    async def _turn(self) -> None:
        """Return when this request may begin."""
        loop = asyncio.get_running_loop()
        if not self._begun and not self._waiting:
            loop.call_soon(self._next_pass)
        if self._begun < REQUESTS_A_PASS and not self._waiting:
            self._begun += 1
            return
        turn = loop.create_future()
        self._waiting.append(turn)
        await turn

    def _next_pass(self) -> None:
        self._begun = 0
        while self._waiting and self._begun < REQUESTS_A_PASS:
            turn = self._waiting.popleft()
            if not turn.done():
                turn.set_result(None)
                self._begun += 1
        if self._begun:
            asyncio.get_running_loop().call_soon(self._next_pass)
