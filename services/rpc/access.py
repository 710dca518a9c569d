"""Asks the gate before a call reaches the service: the same gate and the same policy as HTTP.

What a call needs is said below by its name, and a call that is not named needs the most. Health is open to probes, and
says ready or not, no more. Reflection describes an interface that is public, but is asked by people with a credential:
it needs one, of any kind. The invariant: of a stream of documents each one is judged before anything is done with it.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import aclosing
from typing import Any
from urllib.parse import unquote

import grpc
import grpc.aio

from services.access.credentials import Caller
from services.access.gate import Gate
from services.access.policy import EVERY_GRAPH, Action
from services.protocol.statuses import TooLarge
from services.rpc.batching import BATCH_DOCUMENTS
from services.rpc.failures import told_to

OURS = "/graphtide.v1.Graphtide/"
HEALTH = "/grpc.health.v1.Health/"
LISTING = "ListGraphs"

_ACTIONS = {
    "Publish": Action.WRITE,
    "PublishStream": Action.WRITE,
    "PublishAll": Action.WRITE,
    "Delete": Action.WRITE,
    "GetDocument": Action.READ,
    "RelatedDocuments": Action.READ,
    "Query": Action.READ,
    "QueryStream": Action.READ,
    "GetEntity": Action.READ,
    "Reports": Action.READ,
    "Stats": Action.READ,
    "Digest": Action.READ,
    LISTING: Action.READ,
    "ListDeadLetters": Action.READ,
    "GetDeadLetter": Action.READ,
    "RetryDeadLetter": Action.WRITE,
    "DropDeadLetter": Action.WRITE,
}


def action_of(name: str) -> Action:
    """What a call of our service needs, by its name. Pure."""
    return _ACTIONS.get(name, Action.ADMIN)


class Access(grpc.aio.ServerInterceptor):  # type: ignore[misc]
    """Stands around every call but those of health."""

    def __init__(self, gate: Gate) -> None:
        self._gate = gate

    async def intercept_service(
        self, continuation: Callable[[Any], Awaitable[Any]], handler_call_details: grpc.HandlerCallDetails
    ) -> Any:
        handler, method = await continuation(handler_call_details), str(handler_call_details.method)
        if handler is None or method.startswith(HEALTH):
            return handler
        guarded = _Guarded(self._gate, method, handler)
        return wrapped(handler, guarded.answer, guarded.pieces)


def wrapped(handler: Any, answer: Callable[..., Any], pieces: Callable[..., Any]) -> Any:
    """A handler like `handler`, with `answer` or `pieces` in its place."""
    codecs = (handler.request_deserializer, handler.response_serializer)
    if handler.request_streaming:
        if handler.response_streaming:
            return grpc.stream_stream_rpc_method_handler(pieces, *codecs)
        return grpc.stream_unary_rpc_method_handler(answer, *codecs)
    if handler.response_streaming:
        return grpc.unary_stream_rpc_method_handler(pieces, *codecs)
    return grpc.unary_unary_rpc_method_handler(answer, *codecs)


class _Guarded:
    """One method's handler, behind the gate."""

    def __init__(self, gate: Gate, method: str, handler: Any) -> None:
        self._gate = gate
        self._name = method.removeprefix(OURS) if method.startswith(OURS) else ""
        self._streamed = bool(handler.request_streaming)
        self._answer = handler.stream_unary or handler.unary_unary
        self._pieces = handler.stream_stream or handler.unary_stream

    async def answer(self, request: Any, context: grpc.aio.ServicerContext) -> Any:
        """A call with one answer."""
        async with told_to(context):
            caller = self._admitted(context)
            seen = self._seen(caller, request)
            place = self._gate.place(caller)
        with place:
            return await self._answer(seen, context)

    async def pieces(self, request: Any, context: grpc.aio.ServicerContext) -> AsyncIterator[Any]:
        """A call with a stream of answers."""
        async with told_to(context):
            caller = self._admitted(context)
            seen = self._seen(caller, request)
            place = self._gate.place(caller)
        with place:
            async with aclosing(self._pieces(seen, context)) as pieces:
                async for piece in pieces:
                    yield piece

    def _admitted(self, context: grpc.aio.ServicerContext) -> Caller:
        caller = self._gate.identify(context.invocation_metadata() or (), peer_address(context.peer()))
        self._gate.charge(caller)
        return caller

    def _seen(self, caller: Caller, request: Any) -> Any:
        """The request, judged; a stream of them is judged as it is read."""
        if self._streamed:
            return self._stream(caller, request)
        self._judge(caller, request)
        return request

    async def _stream(self, caller: Caller, requests: AsyncIterator[Any]) -> AsyncIterator[Any]:
        number = 0
        async for request in requests:
            number += 1
            if self._name and number % BATCH_DOCUMENTS == 0:  # as many documents as one request over HTTP would hold
                self._gate.charge(caller)
            self._judge(caller, request)
            yield request

    def _judge(self, caller: Caller, request: Any) -> None:
        if not self._name:
            return
        graph = getattr(request, "graph", None if self._name == LISTING else EVERY_GRAPH)
        self._gate.permit(caller, action_of(self._name), graph)
        most = caller.who.allowance.max_body_bytes
        if most and request.ByteSize() > most:
            raise TooLarge(f"the request has more than the {most} bytes that {caller.who.name} may send; split it")


def peer_address(peer: str) -> str:
    """The address in what gRPC calls a peer, such as ipv4:10.0.0.1:55000 or ipv6:%5B::1%5D:55000."""
    kind, _, rest = peer.partition(":")
    return unquote(rest).rpartition(":")[0].strip("[]") if kind in ("ipv4", "ipv6") else peer
