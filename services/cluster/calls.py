"""Calls to a query replica on behalf of the caller, and the errors that they raise here."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import TypeVar

import grpc
import grpc.aio

from graphtide.services.access.credentials import forwarded_metadata
from graphtide.services.api.grpc.errors import ERROR_KEY, RETRY_KEY
from graphtide.services.api.schema.errors import error_of
from graphtide.streams.errors import DeadlineExceeded, GraphtideError, Overloaded, Retryable
from graphtide.streams.tracing import inject

T = TypeVar("T")
TIMEOUT_S = 60.0


async def within(waiting: Awaitable[T], timeout_s: float) -> T:
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
    """Return the reply of a call on behalf of the current caller. Raises the error that the replica raised."""
    try:
        return await method(request, timeout=timeout_s, metadata=call_metadata())
    except grpc.aio.AioRpcError as error:
        raise error_raised(error) from error


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
