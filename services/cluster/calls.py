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
from graphtide.services.api.schema import graphtide_pb2 as pb
from graphtide.services.api.schema.errors import error_of
from graphtide.services.cluster.graph_routing import Attempt, attempts
from graphtide.streams.errors import DeadlineExceeded, GraphtideError, NotLoaded, Overloaded, Retryable
from graphtide.streams.tracing import inject

T = TypeVar("T")
TIMEOUT_S = 60.0
UNREACHABLE_WAITS_S = (0.5, 1.0, 2.0)
"""Waits before a question is asked again that no replica answered. gRPC's own attempts are within a second, but while
replicas restart one after the other on a busy machine, all of them can meet one that is ending or starting.
"""
pause = asyncio.sleep


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
    until, waits = time.monotonic() + timeout_s, _waits(request)
    for attempt in attempts() if isinstance(request, Message) else [None]:
        metadata = (*call_metadata(), *(attempt.metadata if attempt else ()))
        while True:
            try:
                return await method(request, timeout=max(0.0, until - time.monotonic()), metadata=metadata)
            except grpc.aio.AioRpcError as error:
                if not await _waited(error, waits, until):
                    _continue_after(error, attempt)
                    break
    raise AssertionError("the last attempt returns or raises")


async def open_stream(method: Callable[..., Any], request: Message, timeout_s: float | None) -> tuple[Any, Any]:
    """Return a call with a stream of replies, and its first reply or EOF. The caller reads the rest, and cancels it.

    `timeout_s` bounds the wait for the first reply. Otherwise like `call`.
    """
    until, waits = None if timeout_s is None else time.monotonic() + timeout_s, _waits(request)
    for attempt in attempts():
        while True:
            stream = method(request, metadata=(*call_metadata(), *attempt.metadata))
            try:
                left_s = None if until is None else max(0.0, until - time.monotonic())
                return stream, await within(stream.read(), left_s)
            except grpc.aio.AioRpcError as error:
                if not await _waited(error, waits, until):
                    _continue_after(error, attempt)
                    break
            except BaseException:
                stream.cancel()
                raise
    raise AssertionError("the last attempt returns or raises")


def _waits(request: object) -> list[float]:
    """Return the waits between the calls of a request that no replica answers, the first one last: only a question is
    repeated, which changes nothing.
    """
    return list(reversed(UNREACHABLE_WAITS_S)) if isinstance(request, pb.QueryRequest) else []


async def _waited(error: grpc.aio.AioRpcError, waits: list[float], until: float | None) -> bool:
    """Wait, and return True, if no replica answered and the call is due again before `until`."""
    if not waits or not _is_unreachable(error):
        return False
    wait_s = waits.pop()
    if until is not None and time.monotonic() + wait_s >= until:
        return False
    await pause(wait_s)
    return True


def _is_unreachable(error: grpc.aio.AioRpcError) -> bool:
    """Return True for a call that ended without an answer of a replica."""
    is_own = isinstance(dict(error.trailing_metadata() or ()).get(ERROR_KEY), bytes)
    return not is_own and error.code() in (grpc.StatusCode.UNAVAILABLE, grpc.StatusCode.CANCELLED)


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
    if _is_unreachable(error):
        return Retryable("no query replica answers; try again later", 2.0)
    return GraphtideError(f"a query replica failed: {code.name}; see its log")
