"""The life cycle of one gRPC call: read the context, authorize the caller, await the message, serve, answer.

Each handler is a coroutine that reads and writes the messages, never a generator: grpcio frees a call when the
call's task ends, and its context dereferences the freed call afterwards. An abandoned generator ends after the task; a
coroutine ends within it. For the same reason a call reads everything it needs from its context before the first
`await`. A method with one request is served as a method with a stream of requests (on the wire there is no difference),
because grpcio otherwise awaits the message before it calls any code that could refuse the caller.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Coroutine
from contextlib import AbstractContextManager, aclosing, nullcontext
from typing import Any, Protocol, cast

import grpc
import grpc.aio
from google.protobuf.message import DecodeError

from graphtide.services.access.event_streams import EventStreams
from graphtide.services.access.limits.sending import SendBudget
from graphtide.services.api.grpc.context import CallContext
from graphtide.services.api.grpc.errors import reporting_errors
from graphtide.services.api.grpc.interceptors import observed
from graphtide.services.api.grpc.waiting import MessageWaits
from graphtide.services.api.schema.errors import MalformedRequest
from graphtide.streams.errors import Invalid, Retryable
from graphtide.streams.follow.load_policy import load_policy


class Admission(Protocol):
    """Admission rules for the calls of one method. Each function raises the error that the caller receives."""

    waits: MessageWaits
    quiet: bool
    """True when calls are not logged."""
    endless: EventStreams | None
    """The streams among which calls without an end are admitted; None for other calls."""

    def admit(self, call: CallContext) -> Admitted:
        """Authorize the caller by the call's metadata, before a message is awaited."""
        ...


class Admitted(Protocol):
    """One admitted call."""

    def judge(self, message: Any, number: int) -> None:
        """Authorize the call's message, the `number`-th from 1, before anything is done with it."""
        ...

    def check(self) -> None:
        """Authorize the caller of a stream again. Raises the error with which the stream ends."""
        ...

    def place(self) -> AbstractContextManager[None]:
        """Hold a place while the call is served."""
        ...


class CallHandler:
    """Server of the calls of one method. `inner` is the handler of the service itself, `parse` reads its messages."""

    def __init__(
        self, method: str, inner: Any, parse: Callable[[bytes], Any], admission: Admission, send_timeout_s: float
    ) -> None:
        self._method = method
        self._inner = inner
        self._parse = parse
        self._admission = admission
        self._send_timeout_s = send_timeout_s

    def handler(self) -> grpc.RpcMethodHandler:
        """Return the handler to register instead of `inner`."""
        codecs = (self._parse, self._inner.response_serializer)
        if self._inner.response_streaming:
            return grpc.stream_stream_rpc_method_handler(self._stream, *codecs)
        return grpc.stream_unary_rpc_method_handler(self._answer, *codecs)

    async def _answer(self, _: object, context: grpc.aio.ServicerContext) -> Any:
        """Serve a call with one answer."""
        serve = self._inner.stream_unary or self._inner.unary_unary
        return await self._serve(context, lambda request, _: serve(request, context))

    async def _stream(self, _: object, context: grpc.aio.ServicerContext) -> None:
        """Serve a call with a stream of answers."""
        serve = self._inner.stream_stream or self._inner.unary_stream

        async def write_all(request: Any, admitted: Admitted) -> None:
            streams = self._admission.endless
            if streams is not None:
                await until_closing(write_endless(request, streams), streams, admitted.check)
                return
            budget = SendBudget(self._send_timeout_s)
            async with aclosing(cast("AsyncGenerator[Any, None]", serve(request, context))) as answers:
                async for answer in answers:
                    async with budget.sending():
                        await context.write(answer)

        async def write_endless(request: Any, streams: EventStreams) -> None:
            """Write the answers, each within a time limit of its own."""
            async with aclosing(cast("AsyncGenerator[Any, None]", serve(request, context))) as answers:
                async for answer in answers:
                    async with SendBudget(self._send_timeout_s).sending():
                        await context.write(answer)
                    streams.count(self._method.rpartition("/")[2])

        await self._serve(context, write_all)

    async def _serve(self, context: grpc.aio.ServicerContext, serve: Callable[[Any, Admitted], Awaitable[Any]]) -> Any:
        """Serve the call. Errors are sent after the place is released, because a caller may read slowly."""
        call = CallContext.of(self._method, context)
        watching = nullcontext() if self._admission.quiet else observed(call, context)
        async with watching, reporting_errors(context):
            admitted = self._admission.admit(call)
            incoming = _Incoming(context, call, self._admission.waits, admitted)
            first = await incoming.first(self._inner.request_streaming)
            with admitted.place(), load_policy(call.metadata):
                return await serve(incoming.all(first) if self._inner.request_streaming else first, admitted)


async def until_closing(writing: Coroutine[Any, Any, None], streams: EventStreams, check: Callable[[], None]) -> None:
    """Await the writer of an endless stream. At intervals authorize its caller again.

    Raises the error of `check`, and Retryable when the process shuts down: the client continues at another one.
    """
    tasks = [asyncio.create_task(writing), asyncio.create_task(streams.closing.wait())]
    try:
        while not any(task.done() for task in tasks):
            await asyncio.wait(tasks, timeout=streams.heartbeat_s, return_when=asyncio.FIRST_COMPLETED)
            check()
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.wait(tasks)
    if not tasks[0].cancelled():
        tasks[0].result()
        return
    raise Retryable("this process is shutting down; resume the stream after the token of the last event", 0.0)


class _Incoming:
    """The messages of one call, each awaited for a limited time and authorized before the service receives it."""

    def __init__(
        self, context: grpc.aio.ServicerContext, call: CallContext, waits: MessageWaits, admitted: Admitted
    ) -> None:
        self._context = context
        self._call = call
        self._waits = waits
        self._admitted = admitted
        self._number = 0

    async def first(self, streamed: bool) -> Any:
        """Return the first message, EOF for an empty stream. Raises Invalid when the call needs a message."""
        message = await self._read()
        if message is grpc.aio.EOF and not streamed:
            raise Invalid("body", "the call ended without a message; send one")
        return message

    async def all(self, first: Any) -> AsyncIterator[Any]:
        """Yield `first` and all following messages."""
        message = first
        while message is not grpc.aio.EOF:
            yield message
            message = await self._read()

    async def _read(self) -> Any:
        try:
            async with self._waits.wait(self._call.peer):
                message = await self._context.read()
        except DecodeError:
            raise MalformedRequest(
                "the message is not of the method's type; generate the client from graphtide.proto"
            ) from None
        if message is not grpc.aio.EOF:
            self._number += 1
            self._admitted.judge(message, self._number)
        return message
