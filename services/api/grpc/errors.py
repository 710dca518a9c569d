"""How a failed call ends: the status of the one table, and the HTTP error body in the trailing metadata.

The invariant: an error of ours ends the call with its own status; nothing of a bug's inside reaches the caller.
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
async def told_to(context: ServicerContext) -> AsyncIterator[None]:
    """Tell the caller what the block raises. Cancels the call's task when the caller has left."""
    try:
        try:
            yield
        except GraphtideError as error:
            await _abort(context, error)
    except grpc.aio.InternalError:  # grpcio refuses to write to a call that the caller has left
        raise asyncio.CancelledError from None


async def _abort(context: ServicerContext, error: GraphtideError) -> None:
    status = status_of(error)
    if status.grpc == "INTERNAL":
        _log.error("a call failed: %s", error)
    trailing: list[tuple[str, str | bytes]] = [(ERROR_KEY, dump(error_body(error)))]
    if not isinstance(error, Unready):
        # The process that made this error has decided what is to be done, so a client is not to try again by itself.
        trailing.append((NO_RETRY_KEY, "-1"))
    wait_s = retry_after_s(error)
    if wait_s is not None:
        trailing.append((RETRY_KEY, f"{wait_s:g}"))
    await context.abort(grpc.StatusCode[status.grpc], public_text(error), tuple(trailing))
