"""A client of the Python package for tests, whose waits are recorded."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator
from typing import Any

from graphtide.services.sdk.interface import Database
from graphtide.services.sdk.remote.database import RemoteDatabase
from graphtide.services.sdk.remote.retries import RetryPolicy
from graphtide.services.sdk.remote.transport import Transport
from tests.support.scripted_server import reply

FAST = RetryPolicy(retries=3)
RECEIPT = reply(202, '{"token": "0:1"}')
SSE = "text/event-stream"
CONTEXT = {"citations": [], "passages": [], "subgraph": {"nodes": [], "edges": []}, "version": 1, "mode": "local"}
CONTEXT |= {"usage": {"llm_calls": 0, "prompt_tokens": 0, "completion_tokens": 0}}


@contextlib.asynccontextmanager
async def client(url: str, waits: list[float] | None = None, **options: Any) -> AsyncIterator[Database]:
    """Yield a client whose waits are recorded instead of waited for."""
    pauses = waits if waits is not None else []

    async def sleep(seconds: float) -> None:
        pauses.append(seconds)

    transport = Transport(url, **{"policy": FAST, "sleep": sleep, **options})
    try:
        yield RemoteDatabase(transport)
    finally:
        await transport.aclose()
