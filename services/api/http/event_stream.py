"""The writer of long-lived event streams: Server-Sent Events, or NDJSON for `Accept: application/x-ndjson`.

A source is an asynchronous iterator of `StreamEvent`s. It yields `OPENED` once its request is valid, then events as
they occur; an error that it raises before its first item becomes an ordinary error response (410 for a position that is
no longer retained), a later one an `error` event, after which the stream ends. A quiet stream gets a comment (an empty
line in NDJSON) at intervals.

The invariants: the writer requests one event at a time and sends it before it requests the next, so a reader that is
slow or absent costs one event of memory and delays no other reader; the source is closed in the task that opened it;
the stream ends when the client disconnects, the process shuts down, or the caller's credential is no longer valid.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Callable
from contextlib import aclosing
from dataclasses import dataclass
from typing import cast

from starlette.requests import Request
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from graphtide.services.access.event_streams import EventStreams
from graphtide.services.access.gate import AccessGate, network_of
from graphtide.services.access.policy import Action
from graphtide.services.api.http.access import SEAT_KEY, Seat, caller_of
from graphtide.services.api.http.errors import error_response
from graphtide.services.api.http.middleware import HEAD_KEY
from graphtide.services.api.schema.errors import error_body
from graphtide.services.api.schema.shapes import dump
from graphtide.streams.errors import GraphtideError, Invalid

SSE = "text/event-stream"
NDJSON = "application/x-ndjson"
RETRY_MS = 2000
"""Time after which a browser's EventSource reconnects."""
MAX_ID_CHARS = 8192

_HEADERS = {"cache-control": "no-cache", "x-accel-buffering": "no"}


@dataclass(frozen=True, slots=True)
class StreamEvent:
    """One event: its name, its data as JSON without line breaks, and the id from which a reader resumes after it.

    One with an id alone tells the reader a later position to resume from; NDJSON shows it as an empty line.
    """

    name: str
    data: bytes
    id: str = ""


OPENED = StreamEvent("", b"")
"""The first item of a source: its request is valid, and events will follow."""

Check = Callable[[], object]
"""Raises the error with which the stream ends when the caller may no longer read it."""


def last_event_id(request: Request, parameter: str = "after") -> str:
    """Return the position to resume after: the header Last-Event-ID, else the query parameter, else "".

    The header has precedence, because a reconnecting EventSource repeats the first URL. Raises Invalid.
    """
    given = request.headers.get("last-event-id") or request.query_params.get(parameter, "")
    if len(given) > MAX_ID_CHARS or not given.isascii() or not given.isprintable():
        raise Invalid(parameter, f"{given[:40]!r} is not a token; pass the token of an earlier event")
    return given


def event_response(
    request: Request, events: AsyncIterator[StreamEvent], streams: EventStreams, gate: AccessGate, kind: str
) -> EventStreamResponse:
    """Return the response that streams `events` to the caller of the request, who needs `read` of the path's graph.

    `kind` names the stream in metrics.
    """
    peer = str((request.scope.get("client") or ("",))[0])
    graph, headers = request.path_params.get("graph"), request.scope["headers"]

    def check() -> None:
        gate.permit(gate.identify(headers, peer), Action.READ, graph)

    name = caller_of(request).who.name or network_of(peer)
    return EventStreamResponse(events, streams, kind, name, check, NDJSON in _accepted(request))


class EventStreamResponse(Response):
    """Response that sends the events of one source; see the module."""

    def __init__(
        self,
        events: AsyncIterator[StreamEvent],
        streams: EventStreams,
        kind: str,
        caller: str = "",
        check: Check = lambda: None,
        lines: bool = False,
    ) -> None:
        super().__init__(headers=_HEADERS, media_type=NDJSON if lines else SSE)
        del self.headers["content-length"]
        self.events = cast("AsyncGenerator[StreamEvent, None]", events)
        self.streams = streams
        self.kind = kind
        self.check = check
        self.encode = _line if lines else _event
        self.heartbeat = b"\n" if lines else b": heartbeat\n\n"
        self.greeting = b"\n" if lines else b"retry: %d\n\n" % RETRY_MS
        self._caller = caller

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            with self.streams.hold(self._caller, self.kind):
                seat: Seat | None = scope.get(SEAT_KEY)
                if seat is not None:
                    seat.leave()
                await _Writing(self, send, headers_only=bool(scope.get(HEAD_KEY))).run(receive)
        except GraphtideError as error:  # no place, or an error before the first item
            await self.events.aclose()
            await error_response(error)(scope, receive, send)


class _Writing:
    """The sending of one response. One task reads the source and sends events; another sends heartbeats."""

    def __init__(self, response: EventStreamResponse, send: Send, headers_only: bool) -> None:
        self._response = response
        self._send = send
        self._headers_only = headers_only
        self._started = False
        self._sent_at = 0.0
        self._sending = asyncio.Lock()

    async def run(self, receive: Receive) -> None:
        """Send until the source ends, the client disconnects, the process shuts down, or the credential is invalid.

        Raises the error of the source or of the credential if nothing was sent yet.
        """
        writing, beating = asyncio.create_task(self._events()), asyncio.create_task(self._heartbeats())
        leaving = asyncio.create_task(_disconnected(receive))
        tasks = {writing, beating, leaving, asyncio.create_task(self._response.streams.closing.wait())}
        try:
            done, _ = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.wait(tasks)
        if leaving in done:
            return
        for task in done & {writing, beating}:
            await self._report(task.exception())
        await self._start()
        await self._send({"type": "http.response.body", "body": b"", "more_body": False})

    async def _report(self, error: BaseException | None) -> None:
        """Send a final error event. Raises the error if nothing was sent yet, or if it is none of Graphtide's."""
        if error is None:
            return
        if not self._started or not isinstance(error, GraphtideError):
            raise error
        await self._write(self._response.encode(StreamEvent("error", dump(error_body(error)))))

    async def _events(self) -> None:
        async with aclosing(self._response.events) as events:
            async for event in events:
                await self._start()
                if self._headers_only:
                    return
                if event is not OPENED:
                    await self._write(self._response.encode(event))
                    self._response.streams.count(self._response.kind)

    async def _start(self) -> None:
        if not self._started:
            self._started = True
            head = {"type": "http.response.start", "status": 200, "headers": self._response.raw_headers}
            await self._send(head)
            await self._write(self._response.greeting)

    async def _heartbeats(self) -> None:
        """Verify the credential at intervals, and send a heartbeat if nothing was sent for one interval."""
        loop, every_s = asyncio.get_running_loop(), self._response.streams.heartbeat_s
        while True:
            await asyncio.sleep(every_s)
            self._response.check()
            if self._started and loop.time() - self._sent_at >= every_s:
                await self._write(self._response.heartbeat)

    async def _write(self, data: bytes) -> None:
        async with self._sending:
            self._sent_at = asyncio.get_running_loop().time()
            await self._send({"type": "http.response.body", "body": data, "more_body": True})


async def _disconnected(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass


def _event(event: StreamEvent) -> bytes:
    ident = b"id: " + event.id.encode() + b"\n" if event.id else b""
    if not event.name:
        return ident + b"\n"
    return ident + b"event: " + event.name.encode() + b"\ndata: " + event.data + b"\n\n"


def _line(event: StreamEvent) -> bytes:
    return event.data + b"\n"


def _accepted(request: Request) -> str:
    return request.headers.get("accept", "").lower()
