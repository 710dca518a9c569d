"""Calls to a query replica on behalf of the caller, and the errors that they raise here."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from typing import Any, TypeVar

import grpc
import grpc.aio
from google.protobuf.message import Message

from graphtide.services.access.credentials import forwarded_metadata
from graphtide.services.api.grpc.errors import ERROR_KEY, RETRY_KEY
from graphtide.services.api.schema.errors import error_of
from graphtide.services.cluster.graph_routing import Attempt, attempts
from graphtide.streams.errors import DeadlineExceeded, GraphtideError, NotLoaded, Overloaded, Retryable
from graphtide.streams.tracing import inject

T = TypeVar("T")
TIMEOUT_S = 60.0


async def within(waiting: Awaitable[T], timeout_s: float | None) -> T:
    """Return the awaited value. Raises DeadlineExceeded."""
    try:
        async with asyncio.timeout(timeout_s):
            return await waiting
    except TimeoutError as error:
        raise DeadlineExceeded("the query replica did not answer in time; try again, or raise the timeout") from error


def call_metadata() -> tuple[tuple[str, str], ...]:
    """Return the call metadata: the caller's credential and the trace."""
    return (*forwarded_metadata(), *((name, value.decode()) for name, value in inject()))


async def call(method: Callable[..., Awaitable[T]], request: object, timeout_s: float = TIMEOUT_S) -> T:
    """Return the reply of a call on behalf of the current caller. Raises the error that the replica raised.

    A call on a graph is made at a replica that has the graph in memory, see graph_routing.py.
    """
    until = time.monotonic() + timeout_s
    for attempt in attempts() if isinstance(request, Message) else [None]:
        metadata = (*call_metadata(), *(attempt.metadata if attempt else ()))
        try:
            return await method(request, timeout=max(0.0, until - time.monotonic()), metadata=metadata)
        except grpc.aio.AioRpcError as error:
            _continue_after(error, attempt)
    raise AssertionError("the last attempt returns or raises")


async def open_stream(method: Callable[..., Any], request: Message, timeout_s: float | None) -> tuple[Any, Any]:
    """Return a call with a stream of replies, and its first reply or EOF. The caller reads the rest, and cancels it.

    `timeout_s` bounds the wait for the first reply. Otherwise like `call`.
    """
    until = None if timeout_s is None else time.monotonic() + timeout_s
    for attempt in attempts():
        stream = method(request, metadata=(*call_metadata(), *attempt.metadata))
        try:
            left_s = None if until is None else max(0.0, until - time.monotonic())
            return stream, await within(stream.read(), left_s)
        except grpc.aio.AioRpcError as error:
            _continue_after(error, attempt)
        except BaseException:
            stream.cancel()
            raise
    raise AssertionError("the last attempt returns or raises")


def _continue_after(error: grpc.aio.AioRpcError, attempt: Attempt | None) -> None:
    """Return if the next attempt of the call is due. Raises the error that the replica raised otherwise."""
    raised = error_raised(error)
    if attempt is None or attempt.is_last or not isinstance(raised, NotLoaded):
        raise raised from error


def error_raised(error: grpc.aio.AioRpcError) -> GraphtideError:
    """Return the error that the replica raised, or one for the gRPC status without it."""
    trailing = dict(error.trailing_metadata() or ())
    body = trailing.get(ERROR_KEY)
    if isinstance(body, bytes):
        wait = trailing.get(RETRY_KEY)
        return error_of(body, float(wait) if wait else None)
    code = error.code()
    if code is grpc.StatusCode.DEADLINE_EXCEEDED:
        return DeadlineExceeded("the query replica did not answer in time; try again, or raise the timeout")
    if code is grpc.StatusCode.RESOURCE_EXHAUSTED:
        return Overloaded("the query replica is busy; try again later")
    if code in (grpc.StatusCode.UNAVAILABLE, grpc.StatusCode.CANCELLED):
        return Retryable("no query replica answers; try again later", 2.0)
    return GraphtideError(f"a query replica failed: {code.name}; see its log")
