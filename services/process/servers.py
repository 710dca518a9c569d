"""The HTTP and gRPC servers of a process over one application: start and orderly shutdown.

The invariants: when one server cannot be opened, none stays open; `end` lets the requests in progress finish, once, and
leaving the block without it cancels them.
"""

from __future__ import annotations

import asyncio
import contextlib
import socket
from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from graphtide.infra.settings import Settings
from graphtide.services.cli.exit_codes import CommandError
from graphtide.services.process.descriptor_watch import DescriptorWatch

if TYPE_CHECKING:
    import grpc.aio
    import uvicorn
    from prometheus_client import CollectorRegistry

    from graphtide.services.access.event_streams import EventStreams
    from graphtide.services.access.gate import AccessGate
    from graphtide.services.access.gauges import GuardGauges
    from graphtide.services.access.tls import Certificates
    from graphtide.services.api.schema.limits import RequestLimits
    from graphtide.services.application import Application


@dataclass(frozen=True, slots=True)
class Guard:
    """The protection of the servers: access gate and TLS certificates."""

    gate: AccessGate
    tls: Certificates | None

    def gauges(self) -> GuardGauges:
        """Return the gauges of security files whose newest version is not in use."""
        from graphtide.services.access.gauges import GuardGauges

        return GuardGauges(self.gate)


def guard_of(settings: Settings) -> Guard:
    """Return the guard that the settings configure. Raises Broken."""
    from graphtide.services.access.bind_policy import gate_of
    from graphtide.services.access.tls import certificates

    gate, tls = gate_of(settings), certificates(settings)
    gate.certificates = tls
    return Guard(gate, tls)


@dataclass(frozen=True, slots=True)
class Parts:
    application: Application
    settings: Settings
    registry: CollectorRegistry
    guard: Guard


class Servers:
    """The open servers; created by `open_servers`. `http` and `grpc` are their addresses, "" without the server."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._server: uvicorn.Server | None = None
        self._serving: asyncio.Task[None] | None = None
        self._calls: grpc.aio.Server | None = None
        self._streams: EventStreams | None = None
        self.http = ""
        self.grpc = ""

    async def open(self, parts: Parts, listener: socket.socket | None, calls: bool) -> None:
        """Start the servers. Raises CommandError when gRPC's address cannot be bound."""
        from graphtide.services.access.event_streams import EventStreams
        from graphtide.services.api.schema.limits import RequestLimits

        limits = RequestLimits.of(self._settings)
        self._streams = EventStreams(limits.max_event_streams, limits.max_event_streams_per_caller, parts.registry)
        if calls:
            from graphtide.services.api.grpc.server import create_server

            server = create_server(parts.application, limits, parts.guard.gate, None, self._streams)
            self.grpc = f"{self._settings.host}:{_bind(server, self._settings, parts.guard.tls)}"
            await server.start()
            self._calls = server
        if listener is not None:
            self.http = _url(parts, listener.getsockname()[1])
            self._server = _http_server(parts, limits, self._streams)
            self._serving = asyncio.create_task(self._server.serve([listener]))

    def leave(self, at_once: bool = False) -> None:
        """Stop accepting HTTP requests and end event streams; `ended` returns once the requests in progress are done,
        or at once.
        """
        if self._streams is not None:
            self._streams.close()
        if self._server is not None:
            self._server.force_exit = at_once
            self._server.should_exit = True

    async def ended(self) -> None:
        """Return when the HTTP server has ended."""
        if self._serving is not None:
            await self._serving

    async def end(self, at_once: bool = False) -> None:
        """Stop accepting requests; return when those in progress are done or cancelled."""
        calls, self._calls = self._calls, None
        self.leave(at_once)
        await self.ended()
        if calls is not None:
            await calls.stop(None if at_once else self._settings.shutdown_timeout_s)


@contextlib.asynccontextmanager
async def open_servers(parts: Parts, listener: socket.socket | None, *, calls: bool) -> AsyncIterator[Servers]:
    """Serve HTTP on the listening socket, if there is one, and gRPC if `calls`, during the block."""
    servers = Servers(parts.settings)
    watch = asyncio.create_task(DescriptorWatch().run(), name="descriptors")
    try:
        await servers.open(parts, listener, calls)
        yield servers
    finally:
        await servers.end(at_once=True)
        watch.cancel()
        await asyncio.wait([watch])


def listen(host: str, port: int, option: str = "port") -> socket.socket:
    """Return a listening TCP socket. Raises CommandError, naming the option, when the address cannot be bound.

    The protocol is set explicitly: asyncio sets TCP_NODELAY only on connections of a socket with protocol TCP, and
    without it every response waits 40 ms for the caller's delayed acknowledgement.
    """
    try:
        family, kind, _, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        listener = socket.socket(family, kind, socket.IPPROTO_TCP)
    except OSError as error:
        raise _taken(host, port, option, error.strerror or str(error)) from error
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind(address)
        listener.listen(512)
    except OSError as error:
        listener.close()
        raise _taken(host, port, option, error.strerror or str(error)) from error
    return listener


def _http_server(parts: Parts, limits: RequestLimits, streams: EventStreams) -> uvicorn.Server:
    from graphtide.infra.sources.decoder import DirectValues
    from graphtide.infra.sources.mapping import load_sources
    from graphtide.services.access.bind_policy import is_loopback
    from graphtide.services.api.http.app import create_app
    from graphtide.services.api.http.transport.cross_origin import allow_origins
    from graphtide.services.api.http.transport.server import http_server

    values = DirectValues.of(load_sources(parts.settings.sources_file, parts.settings.sources))
    app = create_app(parts.application, limits, parts.registry, parts.guard.gate, streams, parts.settings.page, values)
    settings, tls = parts.settings, parts.guard.tls
    allow_origins(app, settings.cors_origins)
    app.state.loopback_names_only = is_loopback(settings.host) and not settings.allow_unauthenticated
    context = None if tls is None else tls.context
    return http_server(app, settings.shutdown_timeout_s, settings.trusted_proxies, context)


def _bind(server: grpc.aio.Server, settings: Settings, tls: Certificates | None) -> int:
    host, port = settings.host, settings.grpc_port
    address = f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
    try:
        if tls is None:
            return int(server.add_insecure_port(address))
        return int(server.add_secure_port(address, tls.grpc_credentials()))
    except RuntimeError as error:
        raise _taken(host, port, "grpc-port", "the address is in use or does not belong to this machine") from error


def _taken(host: str, port: int, option: str, cause: str) -> CommandError:
    return CommandError(f"cannot listen on {host}:{port} ({cause}); choose another with --{option}, 0 for any")


def _url(parts: Parts, port: int) -> str:
    scheme, host = "https" if parts.guard.tls else "http", parts.settings.host
    return f"{scheme}://[{host}]:{port}" if ":" in host else f"{scheme}://{host}:{port}"
