"""The process of the service: settings, application, HTTP and gRPC in one event loop, from start to shutdown.

`services/wiring.py` builds the application. The order is the invariant: the HTTP port is bound first, so that a second
start opens nothing; the servers report "not ready" until the application is open, and close before it.
"""

from __future__ import annotations

import asyncio
import json
import logging
import signal
import sys
from collections.abc import Callable, Mapping
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING

from graphtide.infra.observability.logging_config import configure
from graphtide.infra.private_files import make_new_files_private
from graphtide.infra.settings import Settings, SettingsError, load_settings, unknown_variables
from graphtide.services.cli.exit_codes import USAGE, CommandError
from graphtide.services.cli.terminal import tell
from graphtide.services.process.interpreter import spare_the_collector, tune_interpreter
from graphtide.services.process.servers import Parts, Servers, guard_of, listen, open_servers
from graphtide.streams.errors import GraphtideError

if TYPE_CHECKING:
    from prometheus_client import CollectorRegistry

    from graphtide.services.access.gate import AccessGate


log = logging.getLogger("graphtide")


def serve_until_stopped(given: Mapping[str, object], config: Path | None, as_json: bool) -> None:
    """Serve until SIGTERM or SIGINT. Raises CommandError when it cannot start."""
    settings = resolve_settings(given, config)
    tune_interpreter()
    try:
        with asyncio.Runner(loop_factory=loop_factory()) as runner:
            runner.run(_serve(settings, as_json))
    except GraphtideError as error:
        raise CommandError(str(error)) from error
    except asyncio.CancelledError:
        tell("graphtide: stopped by a signal before the start or the shutdown was complete")


def resolve_settings(given: Mapping[str, object], config: Path | None) -> Settings:
    """Return the settings after configuring the log with them. Raises CommandError."""
    deprecated: list[str] = []
    try:
        settings = load_settings(given, config, deprecated.append)
    except SettingsError as error:
        raise CommandError(str(error), USAGE) from error
    configure(settings)
    make_new_files_private()
    for message in deprecated:
        log.warning("%s", message)
    for name in unknown_variables():
        log.warning("unknown setting %s has no effect; correct its name (docs/settings.md)", name)
    return settings


def loop_factory() -> Callable[[], asyncio.AbstractEventLoop] | None:
    """Return uvloop's event loop factory, None if uvloop is not installed."""
    try:
        import uvloop
    except ImportError:
        return None
    return uvloop.new_event_loop


async def _serve(settings: Settings, as_json: bool) -> None:
    from graphtide.services.process.startup_proxy import StartupProxy

    _stop_at_once_on_signals()
    guard = guard_of(settings)
    with listen(settings.host, settings.port) as listener:
        registry, arriving = new_registry(settings), StartupProxy()
        registry.register(guard.gauges())
        parts = Parts(arriving.application(), settings, registry, guard)
        async with open_servers(parts, listener, calls=True) as servers:
            # In a thread, because it takes a second or two, during which probes are answered.
            wiring = await asyncio.to_thread(import_module, "graphtide.services.wiring")
            async with wiring.open_application(settings, registry, arriving.warming) as application:
                spare_the_collector()
                arriving.arrive(application)
                _end_on_signals(servers, guard.gate, settings.shutdown_delay_s)
                _announce(servers, as_json, settings.page)
                await servers.ended()
                await servers.end()
                _stop_at_once_on_signals()


def new_registry(settings: Settings) -> CollectorRegistry:
    """Return a registry with the metrics of this process; stages and servers register theirs in it."""
    from prometheus_client import CollectorRegistry, GCCollector, PlatformCollector, ProcessCollector

    from graphtide.infra.observability.metrics.legacy_names import LegacyNamesRegistry

    registry = LegacyNamesRegistry() if settings.legacy_metric_names else CollectorRegistry()
    for collector in (ProcessCollector, PlatformCollector, GCCollector):
        collector(registry=registry)
    return registry


def on_signals(act: Callable[[], object]) -> None:
    for each in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(each, act)


def _stop_at_once_on_signals() -> None:
    """Stop at once on signals: before and after serving, no request is in progress."""
    task = asyncio.current_task()
    if task is not None:
        on_signals(task.cancel)


def _end_on_signals(servers: Servers, gate: AccessGate, delay_s: float) -> None:
    """Shut down on signals: the first lets the requests in progress end, the second cancels them.

    The process reports "not ready" for `shutdown_delay_s` before it refuses requests, so that load balancers notice.
    """

    def end() -> None:
        if gate.draining or not delay_s:
            servers.leave(at_once=gate.draining)
        else:
            asyncio.get_running_loop().call_later(delay_s, servers.leave)
        gate.draining = True

    on_signals(end)


def _announce(servers: Servers, as_json: bool, has_page: bool) -> None:
    http = servers.http
    if as_json:
        line = {"http": http, "grpc": servers.grpc, "docs": f"{http}/docs", "metrics": f"{http}/metrics"}
        line |= {"page": f"{http}/"} if has_page else {}
        sys.stdout.write(json.dumps(line) + "\n")
    else:
        page = f"  page    {http}/\n" if has_page else ""
        sys.stdout.write(f"Graphtide answers at {http}\n{page}  API     {http}/docs\n  gRPC    {servers.grpc}\n")
        sys.stdout.write(f"  metrics {http}/metrics\nStop it with Ctrl-C.\n")
    sys.stdout.flush()
