"""Runs the service: settings, application, HTTP and gRPC in one event loop, from start to a clean end.

Not the parts themselves: `services/wiring.py` puts the application together. The order is the invariant: the HTTP port
is taken first, so that a second start opens nothing; the faces say "not ready" until the application is open, and are
closed before it.
"""

from __future__ import annotations

import asyncio
import gc
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
from graphtide.services.process.servers import Parts, Servers, faced, guard_of, listen
from graphtide.streams.errors import GraphtideError

if TYPE_CHECKING:
    from prometheus_client import CollectorRegistry

    from graphtide.services.access.gate import AccessGate


log = logging.getLogger("graphtide")


def serve_until_stopped(given: Mapping[str, object], config: Path | None, as_json: bool) -> None:
    """Serve until SIGTERM or SIGINT. Raises CommandError when it cannot start."""
    settings = settled(given, config)
    try:
        with asyncio.Runner(loop_factory=loop_factory()) as runner:
            runner.run(_serve(settings, as_json))
    except GraphtideError as error:
        raise CommandError(str(error)) from error
    except asyncio.CancelledError:
        tell("graphtide: stopped before it was ready, or without waiting")


def settled(given: Mapping[str, object], config: Path | None) -> Settings:
    """The settings, with the log as they want it. Raises CommandError."""
    try:
        settings = load_settings(given, config)
    except SettingsError as error:
        raise CommandError(str(error), USAGE) from error
    configure(settings)
    make_new_files_private()
    for name in unknown_variables():
        log.warning("%s is no setting, and has no effect; is it misspelt?", name)
    return settings


def loop_factory() -> Callable[[], asyncio.AbstractEventLoop] | None:
    """uvloop's event loop where there is one."""
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
        registry, arriving = new_registry(), StartupProxy()
        registry.register(guard.gauges())
        async with faced(Parts(arriving.application(), settings, registry, guard), listener, calls=True) as faces:
            # In a thread, for it takes a second or two, in which probes are answered.
            wiring = await asyncio.to_thread(import_module, "graphtide.services.wiring")
            async with wiring.open_application(settings, registry, arriving.warming) as application:
                spare_the_collector()
                arriving.arrive(application)
                _end_on_signals(faces, guard.gate, settings.drain_s)
                _announce(faces, as_json)
                await faces.ended()
                await faces.end()
                _stop_at_once_on_signals()


def spare_the_collector() -> None:
    """Let the garbage collector pass over the graph: its tables are long-lived and hold no cycles.

    At its defaults the collector walks them ever more often as they grow, for nothing.
    """
    gc.collect()
    gc.freeze()
    gc.set_threshold(20_000, 50, 100)


def new_registry() -> CollectorRegistry:
    """The metrics of this process; those of the stages and of HTTP join them."""
    from prometheus_client import CollectorRegistry, GCCollector, PlatformCollector, ProcessCollector

    registry = CollectorRegistry()
    for collector in (ProcessCollector, PlatformCollector, GCCollector):
        collector(registry=registry)
    return registry


def on_signals(act: Callable[[], object]) -> None:
    for each in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(each, act)


def _stop_at_once_on_signals() -> None:
    """While nothing is served yet, or any more, there is nobody to wait for."""
    task = asyncio.current_task()
    if task is not None:
        on_signals(task.cancel)


def _end_on_signals(faces: Servers, gate: AccessGate, drain_s: float) -> None:
    """The first signal lets the requests in progress end, the second does not.

    Between saying "not ready" and taking no more there are `drain_s`: whoever sends requests here has to hear of it.
    """

    def end() -> None:
        if gate.draining or not drain_s:
            faces.leave(at_once=gate.draining)
        else:
            asyncio.get_running_loop().call_later(drain_s, faces.leave)
        gate.draining = True

    on_signals(end)


def _announce(faces: Servers, as_json: bool) -> None:
    http = faces.http
    if as_json:
        line = {"http": http, "grpc": faces.grpc, "docs": f"{http}/docs", "metrics": f"{http}/metrics"}
        sys.stdout.write(json.dumps(line) + "\n")
    else:
        sys.stdout.write(f"Graphtide answers at {http}\n  API     {http}/docs\n  gRPC    {faces.grpc}\n")
        sys.stdout.write(f"  metrics {http}/metrics\nStop it with Ctrl-C.\n")
    sys.stdout.flush()
