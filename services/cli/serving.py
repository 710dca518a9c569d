"""Runs the service: settings, application, HTTP and gRPC in one event loop, from start to a clean end.

Not the parts themselves: `services/wiring.py` puts the application together. The order is the invariant: the HTTP port
is taken first, so that a second start opens nothing; the application is open before the first request and closed after
the last.
"""

from __future__ import annotations

import asyncio
import contextlib
import gc
import json
import signal
import socket
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from infra.logs import configure
from infra.settings import Settings, SettingsError, load_settings
from services.cli.exits import USAGE, CommandError
from services.cli.terminal import tell
from streams.errors import GraphtideError

if TYPE_CHECKING:
    import grpc.aio
    import uvicorn
    from prometheus_client import CollectorRegistry

    from services.access.gate import Gate
    from services.access.gauges import GuardGauges
    from services.access.tls import Certificates
    from services.application import Application
    from services.protocol.limits import Limits


def serve_until_stopped(given: Mapping[str, object], config: Path | None, as_json: bool) -> None:
    """Serve until SIGTERM or SIGINT. Raises CommandError when it cannot start."""
    try:
        settings = load_settings(given, config)
    except SettingsError as error:
        raise CommandError(str(error), USAGE) from error
    configure(settings)
    try:
        with asyncio.Runner(loop_factory=loop_factory()) as runner:
            runner.run(_serve(settings, as_json))
    except GraphtideError as error:
        raise CommandError(str(error)) from error
    except asyncio.CancelledError:
        tell("graphtide: stopped before it was ready, or without waiting")


def loop_factory() -> Callable[[], asyncio.AbstractEventLoop] | None:
    """uvloop's event loop where there is one."""
    try:
        import uvloop
    except ImportError:
        return None
    return uvloop.new_event_loop


async def _serve(settings: Settings, as_json: bool) -> None:
    _stop_at_once_on_signals()
    guard = guard_of(settings)
    from services.wiring import open_application  # takes a second or two; a refusal should not

    with listen(settings.host, settings.port) as listener:
        registry = new_registry()
        registry.register(guard.gauges())
        async with open_application(settings, registry) as application:
            spare_the_collector()
            parts = Parts(application, settings, registry, guard)
            await _answer(parts, listener, as_json)


def spare_the_collector() -> None:
    """Let the garbage collector pass over the graph: its tables are long-lived and hold no cycles.

    At its defaults the collector walks them ever more often as they grow, for nothing.
    """
    gc.collect()
    gc.freeze()
    gc.set_threshold(20_000, 50, 100)


@dataclass(frozen=True, slots=True)
class Guard:
    """What stands between the network and the application."""

    gate: Gate
    tls: Certificates | None

    def gauges(self) -> GuardGauges:
        """Whether what guards is as new as its files."""
        from services.access.gauges import GuardGauges

        return GuardGauges(self.gate)


def guard_of(settings: Settings) -> Guard:
    """The guard that the settings ask for. Raises Broken."""
    from services.access.exposure import gate_of
    from services.access.tls import certificates

    gate, tls = gate_of(settings), certificates(settings)
    gate.certificates = tls
    return Guard(gate, tls)


@dataclass(frozen=True, slots=True)
class Parts:
    application: Application
    settings: Settings
    registry: CollectorRegistry
    guard: Guard


def new_registry() -> CollectorRegistry:
    """The metrics of this process; those of the stages and of HTTP join them."""
    from prometheus_client import CollectorRegistry, GCCollector, PlatformCollector, ProcessCollector

    registry = CollectorRegistry()
    for collector in (ProcessCollector, PlatformCollector, GCCollector):
        collector(registry=registry)
    return registry


async def _answer(parts: Parts, listener: socket.socket, as_json: bool) -> None:
    from services.protocol.limits import Limits
    from services.rpc.server import create_server

    settings = parts.settings
    limits = Limits.of(settings)
    grpc_server = create_server(parts.application, limits, parts.guard.gate)
    grpc_port = bind_grpc(grpc_server, settings, parts.guard.tls)
    http_server = new_http_server(parts, limits)
    await grpc_server.start()
    _end_on_signals(http_server, parts.guard.gate, settings.drain_s)
    serving = asyncio.create_task(http_server.serve([listener]))
    _announce(url_of(parts, listener.getsockname()[1]), f"{settings.host}:{grpc_port}", as_json)
    await serving
    await grpc_server.stop(settings.shutdown_timeout_s)
    _stop_at_once_on_signals()


def new_http_server(parts: Parts, limits: Limits) -> uvicorn.Server:
    import uvicorn

    from services.http.app import create_app
    from services.http.heads import BoundedHeads

    app = create_app(parts.application, limits, parts.registry, parts.guard.gate)
    graceful_s = max(1, round(parts.settings.shutdown_timeout_s))
    tls = parts.guard.tls
    return uvicorn.Server(
        uvicorn.Config(
            app,
            http=BoundedHeads,
            log_config=None,
            access_log=False,
            lifespan="off",
            timeout_graceful_shutdown=graceful_s,
            ssl_context_factory=None if tls is None else lambda *_: tls.context(),
        )
    )


def on_signals(act: Callable[[], object]) -> None:
    for each in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(each, act)


def _stop_at_once_on_signals() -> None:
    """While nothing is served yet, or any more, there is nobody to wait for."""
    task = asyncio.current_task()
    if task is not None:
        on_signals(task.cancel)


def _end_on_signals(server: uvicorn.Server, gate: Gate, drain_s: float) -> None:
    """The first signal lets the requests in progress end, the second does not.

    Between saying "not ready" and taking no more there are `drain_s`: whoever sends requests here has to hear of it.
    """

    def leave() -> None:
        server.should_exit = True

    def end() -> None:
        server.force_exit = gate.draining
        if gate.draining or not drain_s:
            leave()
        else:
            asyncio.get_running_loop().call_later(drain_s, leave)
        gate.draining = True

    server.capture_signals = contextlib.nullcontext  # type: ignore[method-assign, assignment]
    on_signals(end)


def listen(host: str, port: int, option: str = "port") -> socket.socket:
    """A listening TCP socket. Raises CommandError, naming the option, when the address cannot be had.

    The protocol is named, not left to be the default: asyncio only sets TCP_NODELAY on connections of a socket that
    says it is TCP, and without it every answer waits 40 ms for the caller's delayed acknowledgement.
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


def bind_grpc(server: grpc.aio.Server, settings: Settings, tls: Certificates | None) -> int:
    host, port = settings.host, settings.grpc_port
    address = f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
    try:
        if tls is None:
            return int(server.add_insecure_port(address))
        return int(server.add_secure_port(address, tls.grpc_credentials()))
    except RuntimeError as error:
        raise _taken(host, port, "grpc-port", "the address is taken or not ours") from error


def _taken(host: str, port: int, option: str, cause: str) -> CommandError:
    return CommandError(f"cannot listen on {host}:{port} ({cause}); choose another with --{option}, 0 for any")


def _announce(http_url: str, grpc_address: str, as_json: bool) -> None:
    if as_json:
        line = {"http": http_url, "grpc": grpc_address, "docs": f"{http_url}/docs", "metrics": f"{http_url}/metrics"}
        sys.stdout.write(json.dumps(line) + "\n")
    else:
        sys.stdout.write(f"Graphtide answers at {http_url}\n  API     {http_url}/docs\n  gRPC    {grpc_address}\n")
        sys.stdout.write(f"  metrics {http_url}/metrics\nStop it with Ctrl-C.\n")
    sys.stdout.flush()


def url_of(parts: Parts, port: int) -> str:
    scheme, host = "https" if parts.guard.tls else "http", parts.settings.host
    return f"{scheme}://[{host}]:{port}" if ":" in host else f"{scheme}://{host}:{port}"
