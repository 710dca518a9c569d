"""Error reporting of failed gRPC calls: the status of the shared table, and the HTTP error body in trailing metadata.

The invariant: an error of the project's tree ends the call with its own status; details of a bug never reach the
caller.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import AsyncIterator

import grpc
import grpc.aio
from grpc.aio import ServicerContext

from graphtide.services.api.schema.errors import Unready, error_body, public_text, retry_after_s, status_of
from graphtide.services.api.schema.shapes import dump
from graphtide.streams.errors import GraphtideError

ERROR_KEY = "graphtide-error-bin"
RETRY_KEY = "retry-after"
NO_RETRY_KEY = "grpc-retry-pushback-ms"

_log = logging.getLogger("graphtide.grpc")


@contextlib.asynccontextmanager
async def reporting_errors(context: ServicerContext) -> AsyncIterator[None]:
    """Report the errors of the block to the caller. Cancels the call's task when the caller has disconnected."""
    try:
        try:
            yield
        except GraphtideError as error:
            await _abort(context, error)
    except grpc.aio.AbortError as end:
        _forget_frames(end)
        raise
    except grpc.aio.InternalError:  # grpcio refuses to write to a call whose caller has disconnected
        raise asyncio.CancelledError from None


async def _abort(context: ServicerContext, error: GraphtideError) -> None:
    status = status_of(error)
    if status.grpc == "INTERNAL":
        _log.error("a call failed: %s", error)
    trailing: list[tuple[str, str | bytes]] = [(ERROR_KEY, dump(error_body(error)))]
    if not isinstance(error, Unready):
        # The error is final at this process, so the client's channel must not retry it automatically.
        trailing.append((NO_RETRY_KEY, "-1"))
    wait_s = retry_after_s(error)
    if wait_s is not None:
        trailing.append((RETRY_KEY, f"{wait_s:g}"))
    await context.abort(grpc.StatusCode[status.grpc], public_text(error), tuple(trailing))


def _forget_frames(end: grpc.aio.AbortError) -> None:
    """Drop the tracebacks of `end`, and of the error that it reports, when the task of its call ends.

    grpcio keeps the exception in the call's state, and its frames refer to that state, as those of the error refer to
    the error. Without this every failed call would leave such cycles with the caller's message in them, until a full
    collection, which is rare by design.
    """

    def forget(_: object) -> None:
        reported, end.__context__, end.__traceback__ = end.__context__, None, None
        if reported is not None:
            reported.__traceback__ = None

    task = asyncio.current_task()
    if task is not None:
        task.add_done_callback(forget)
