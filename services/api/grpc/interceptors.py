"""One log line and one span per gRPC call, as for HTTP: method, status, duration and caller's key.

A span continues the caller's trace (`traceparent` in the metadata), and the initial metadata of the answer name the
trace.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import grpc
import grpc.aio

from graphtide.services.access.credentials import CALLER
from graphtide.services.api.grpc.context import CallContext
from graphtide.streams.tracing import TRACE_HEADERS, Headers, SpanRole, continue_trace, trace_id

TRACE_ID = "x-trace-id"
_access = logging.getLogger("graphtide.access")


@asynccontextmanager
async def observed(call: CallContext, context: grpc.aio.ServicerContext) -> AsyncIterator[None]:
    """Log and trace the block as the call. Outermost, so that refusals are logged too."""
    started, cancelled = time.perf_counter(), False
    with continue_trace(call.method.removeprefix("/"), [_headers(call)], SpanRole.SERVER) as span:
        trace = trace_id()
        if trace:
            await context.send_initial_metadata(((TRACE_ID, trace),))
        try:
            yield
        except asyncio.CancelledError:
            cancelled = True
            raise
        finally:
            code = context.code()
            status = code.name if isinstance(code, grpc.StatusCode) else "CANCELLED" if cancelled else "OK"
            attributes = {"method": "gRPC", "path": call.method[:200], "status": status, "client": call.peer}
            _access.info("call", extra={**attributes, "ms": _ms(started), "key": CALLER.get().who.name})
            span.note(**{"rpc.method": call.method, "rpc.response.status_code": status})


def _headers(call: CallContext) -> Headers:
    return tuple((name, str(value).encode()) for name, value in call.metadata if name in TRACE_HEADERS)


def _ms(started: float) -> float:
    return round((time.perf_counter() - started) * 1000, 2)
