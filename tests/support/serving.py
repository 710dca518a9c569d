"""Applications served on real sockets for the duration of a test."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator
from pathlib import Path

import grpc.aio
import pytest
from starlette.types import ASGIApp

from graphtide.infra.settings import Settings
from graphtide.services.access.gate import AccessGate
from graphtide.services.api.grpc.server import ConnectionLimits, create_server
from graphtide.services.api.http.transport.server import http_server
from graphtide.services.api.schema.limits import RequestLimits
from graphtide.services.application import Application
from graphtide.services.process.servers import listen
from tests.support.application import InMemoryApplication

KINDS = ("memory", "embedded")


@contextlib.asynccontextmanager
async def opened(kind: str, folder: Path) -> AsyncIterator[Application]:
    """Yield the in-memory application, or the real one with its data in `folder`."""
    if kind == "memory":
        yield InMemoryApplication()
        return
    wiring = pytest.importorskip("graphtide.services.wiring")
    async with wiring.open_application(Settings(data=folder)) as application:
        yield application


@contextlib.asynccontextmanager
async def http_service(app: ASGIApp, trusted_proxies: str = "") -> AsyncIterator[str]:
    """Yield the URL of `app`, served by uvicorn in this event loop."""
    listener = listen("127.0.0.1", 0)
    server = http_server(app, 5, trusted_proxies)
    serving = asyncio.create_task(server.serve([listener]))
    try:
        yield f"http://127.0.0.1:{listener.getsockname()[1]}"
    finally:
        server.should_exit = True
        await serving


@contextlib.asynccontextmanager
async def grpc_address(
    application: Application,
    limits: RequestLimits | None = None,
    gate: AccessGate | None = None,
    connections: ConnectionLimits | None = None,
) -> AsyncIterator[str]:
    """Yield the address of the gRPC service over `application`."""
    server = create_server(application, limits, gate, connections)
    port = server.add_insecure_port("127.0.0.1:0")
    await server.start()
    try:
        yield f"127.0.0.1:{port}"
    finally:
        await server.stop(5)


@contextlib.asynccontextmanager
async def grpc_service(
    application: Application, limits: RequestLimits | None = None, gate: AccessGate | None = None
) -> AsyncIterator[grpc.aio.Channel]:
    """Yield a channel to the gRPC service over `application`."""
    async with grpc_address(application, limits, gate) as address, grpc.aio.insecure_channel(address) as channel:
        yield channel


@contextlib.asynccontextmanager
async def grpc_server(
    application: Application, limits: RequestLimits | None = None, gate: AccessGate | None = None
) -> AsyncIterator[int]:
    """Yield the port of the gRPC service over `application`."""
    async with grpc_address(application, limits, gate) as address:
        yield int(address.rpartition(":")[2])
