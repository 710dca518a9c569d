"""A streamed answer as server-sent events: `context`, then `token`s, then `answer`, or `error` at any point.

`Application.stream` produces the answer. The invariant: the stream of the application is closed in the task that
opened it, as soon as it ends, fails, or the client disconnects.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import aclosing
from typing import cast

from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from graphtide.services.api.http.errors import error_response
from graphtide.services.api.schema.errors import error_body
from graphtide.services.api.schema.shapes import answer_json, context_json, dump
from graphtide.services.application import Answer, AnswerChunk
from graphtide.streams.errors import GraphtideError

_HEADERS = {"cache-control": "no-cache", "x-accel-buffering": "no"}


class EventStream(Response):
    """Response that sends `steps` as events. An error before the first step becomes an ordinary error response."""

    def __init__(self, steps: AsyncIterator[Answer | AnswerChunk]) -> None:
        super().__init__(headers=_HEADERS, media_type="text/event-stream")
        del self.headers["content-length"]
        self._steps = cast("AsyncGenerator[Answer | AnswerChunk, None]", steps)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        sending = asyncio.create_task(self._send_all(scope, receive, send))
        leaving = asyncio.create_task(_client_left(receive))
        try:
            await asyncio.wait((sending, leaving), return_when=asyncio.FIRST_COMPLETED)
        finally:
            left = not sending.done()
            for task in (sending, leaving):
                task.cancel()
            await asyncio.wait((sending, leaving))
        if not left:
            sending.result()

    async def _send_all(self, scope: Scope, receive: Receive, send: Send) -> None:
        async with aclosing(self._steps):
            try:
                step = await anext(self._steps)
            except GraphtideError as error:
                await error_response(error)(scope, receive, send)
                return
            await send({"type": "http.response.start", "status": self.status_code, "headers": self.raw_headers})
            await _send(send, self.context_event(cast(Answer, step)))
            try:
                async for step in self._steps:
                    await _send(send, self.step_event(step))
            except GraphtideError as error:
                await _send(send, self.error_event(error))
        await send({"type": "http.response.body", "body": b"", "more_body": False})

    def context_event(self, answer: Answer) -> bytes:
        """Return the first event of a stream."""
        return _event("context", context_json(answer, old_names=True))

    def step_event(self, step: Answer | AnswerChunk) -> bytes:
        """Return the event of a later step: a piece, or the whole answer at the end."""
        if isinstance(step, AnswerChunk):
            return _event("token", {"text": step.text})
        return _event("answer", answer_json(step, old_names=True))

    def error_event(self, error: GraphtideError) -> bytes:
        """Return the event of an error after the first event."""
        return _event("error", error_body(error))


async def _client_left(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass


async def _send(send: Send, event: bytes) -> None:
    await send({"type": "http.response.body", "body": event, "more_body": True})


def _event(name: str, data: dict[str, object]) -> bytes:
    return b"event: " + name.encode() + b"\ndata: " + dump(data) + b"\n\n"
