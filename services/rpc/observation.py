"""One log line and one span of each gRPC call, as HTTP has: its name, how it ended, how long it took, whose key.

Not metrics. A span goes on with the caller's (`traceparent` in the metadata), and the initial metadata of the answer
name the trace.
"""

from __future__ import annotations

import logging
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import aclosing, asynccontextmanager
from typing import Any

import grpc
import grpc.aio

from services.access.credentials import CALLER
from services.rpc.access import HEALTH, peer_address, wrapped
from streams.tracing import TRACE_HEADERS, Headers, Kind, received, trace_id

TRACE_ID = "x-trace-id"
_access = logging.getLogger("graphtide.access")


class Observation(grpc.aio.ServerInterceptor):  # type: ignore[misc]
    """Stands outermost, so that refusals are seen, too. Probes are not worth a line each."""

    async def intercept_service(
        self, continuation: Callable[[Any], Awaitable[Any]], handler_call_details: grpc.HandlerCallDetails
    ) -> Any:
        handler, method = await continuation(handler_call_details), str(handler_call_details.method)
        if handler is None or method.startswith(HEALTH):
            return handler
        inner = handler.unary_unary or handler.stream_unary or handler.unary_stream or handler.stream_stream

        async def answer(request: Any, context: grpc.aio.ServicerContext) -> Any:
            async with _noted(method, context):
                return await inner(request, context)

        async def pieces(request: Any, context: grpc.aio.ServicerContext) -> AsyncIterator[Any]:
            async with _noted(method, context), aclosing(inner(request, context)) as found:
                async for piece in found:
                    yield piece

        return wrapped(handler, answer, pieces)


@asynccontextmanager
async def _noted(method: str, context: grpc.aio.ServicerContext) -> AsyncIterator[None]:
    started = time.perf_counter()
    with received(method.removeprefix("/"), [_headers(context)], Kind.SERVER) as span:
        trace = trace_id()
        if trace:
            await context.send_initial_metadata(((TRACE_ID, trace),))
        try:
            yield
        finally:
            code = context.code()
            status = code.name if isinstance(code, grpc.StatusCode) else "OK" if not code else str(code)
            told = {"method": "gRPC", "path": method[:200], "status": status, "client": peer_address(context.peer())}
            _access.info("call", extra={**told, "ms": _ms(started), "key": CALLER.get().who.name})
            span.note(**{"rpc.method": method, "rpc.response.status_code": status})


def _headers(context: grpc.aio.ServicerContext) -> Headers:
    metadata = context.invocation_metadata() or ()
    return tuple((name, str(value).encode()) for name, value in metadata if name in TRACE_HEADERS)


def _ms(started: float) -> float:
    return round((time.perf_counter() - started) * 1000, 2)
