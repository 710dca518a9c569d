"""The process of one cluster role: health and metrics from the start, the role, and an orderly shutdown.

`services/cluster` defines the roles. The order is the invariant: `/healthz` answers before anything is loaded,
`/readyz` reports ready once the role runs; on SIGTERM the process reports "not ready", finishes the work in progress,
leaves its consumer group and exits with 0.
"""

from __future__ import annotations

import asyncio
import json
import socket
import sys
from collections.abc import AsyncIterator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager, nullcontext
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING

from graphtide.infra.settings import Settings
from graphtide.services.access.gate import AccessGate
from graphtide.services.application import Health
from graphtide.services.cli.exit_codes import CommandError
from graphtide.services.cli.terminal import tell
from graphtide.services.component_state import degraded
from graphtide.services.health import readiness
from graphtide.services.process.interpreter import spare_the_collector, tune_interpreter
from graphtide.services.process.serve import loop_factory, new_registry, on_signals, resolve_settings
from graphtide.services.process.servers import Parts, Servers, guard_of, listen, open_servers
from graphtide.services.process.startup_proxy import StartupProxy
from graphtide.streams.errors import GraphtideError

if TYPE_CHECKING:
    import uvicorn
    from prometheus_client import CollectorRegistry

    from graphtide.services.cluster.roles import Worker


SERVING_ROLES = ("query", "gateway")
"""The roles that serve requests."""


def work_until_stopped(role: str, given: Mapping[str, object], config: Path | None, as_json: bool) -> None:
    """Run the role until SIGTERM or SIGINT. Raises CommandError when it cannot start."""
    settings = resolve_settings(given, config)
    tune_interpreter()
    try:
        with asyncio.Runner(loop_factory=loop_factory()) as runner:
            runner.run(_work(role, settings, as_json))
    except GraphtideError as error:
        raise CommandError(str(error)) from error
    except asyncio.CancelledError:
        tell("graphtide: stopped by a signal before the start or the shutdown was complete")


async def _work(role: str, settings: Settings, as_json: bool) -> None:
    stopped = asyncio.Event()
    task = asyncio.current_task()
    if task is not None:
        on_signals(task.cancel)
    registry, state = new_registry(settings), WorkerHealth()
    async with AsyncExitStack() as stack:
        urls = {"role": role, "metrics": await stack.enter_async_context(_observed(settings, registry, state))}
        serves = role in SERVING_ROLES
        servers = await stack.enter_async_context(_open_servers(role, settings, registry, state)) if serves else None
        wiring = await asyncio.to_thread(import_module, "graphtide.services.cluster.wiring")
        worker: Worker = await stack.enter_async_context(wiring.open_worker(role, settings, registry, state.warming))
        spare_the_collector()
        if servers is not None and worker.application is not None:
            stack.push_async_callback(servers.end)
            state.arriving.arrive(worker.application)
            urls |= {"http": servers.http} if servers.http else {"grpc": servers.grpc}
        state.worker = worker
        on_signals(stopped.set)
        _announce(urls, as_json)
        await stopped.wait()
        state.gate.draining = True
        await asyncio.sleep(settings.shutdown_delay_s)
        if task is not None:
            on_signals(task.cancel)


class WorkerHealth:
    """The health of the process: the progress of its start, then the health of its role, until it drains.

    The gate is that of its server, if it has one, so that both report the same.
    """

    def __init__(self) -> None:
        self.worker: Worker | None = None
        self.gate = AccessGate()
        self.arriving = StartupProxy()
        self.warming = self.arriving.warming

    async def health(self) -> Health:
        """See Application.health."""
        if self.worker is None:
            return Health(False, {"worker": degraded(self.arriving.progress())})
        return await readiness(self.worker, self.gate)


@asynccontextmanager
async def _observed(settings: Settings, registry: CollectorRegistry, state: WorkerHealth) -> AsyncIterator[str]:
    """Serve /healthz, /readyz and /metrics during the block; yield their URL."""
    from graphtide.services.api.http.probes import probes
    from graphtide.services.api.http.transport.server import http_server

    with listen(settings.metrics_host, settings.metrics_port, "metrics-port") as listener:
        async with _served(http_server(probes(state.health, registry), 1.0), listener):
            yield f"http://{settings.metrics_host}:{listener.getsockname()[1]}"


@asynccontextmanager
async def _open_servers(
    role: str, settings: Settings, registry: CollectorRegistry, state: WorkerHealth
) -> AsyncIterator[Servers]:
    """Open the server of a role before the role is ready: gRPC of a replica, HTTP of a gateway."""
    guard = guard_of(settings)
    state.gate = guard.gate
    registry.register(guard.gauges())
    parts = Parts(state.arriving.application(), settings, registry, guard)
    with listen(settings.host, settings.port) if role == "gateway" else nullcontext() as listener:
        async with open_servers(parts, listener, calls=role == "query") as servers:
            yield servers


@asynccontextmanager
async def _served(server: uvicorn.Server, listener: socket.socket) -> AsyncIterator[None]:
    serving = asyncio.create_task(server.serve([listener]))
    try:
        yield
    finally:
        server.should_exit = True
        await serving


def _announce(urls: Mapping[str, str], as_json: bool) -> None:
    line = json.dumps(urls) if as_json else "  ".join(f"{name} {value}" for name, value in urls.items())
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()
