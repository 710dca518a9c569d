"""The parts that all roles have: their dependencies, tasks and health."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass

from prometheus_client import CollectorRegistry

from graphtide.infra.models.usage.accounting import UsageAccounting
from graphtide.infra.observability.metrics.stages import Metrics
from graphtide.infra.settings import Settings
from graphtide.services.application import Application, Health
from graphtide.services.cluster.backing import Backing
from graphtide.services.component_state import task_states
from graphtide.services.health import Dependency, Warming, answering, endpoints, silent, with_dependencies
from graphtide.services.model_wiring import ModelSet
from graphtide.services.process.background_tasks import LOOK_EVERY_S, look_now_and_then, start, stop
from graphtide.streams.follow.delta_follower import DeltaFollower
from graphtide.streams.follow.lag import look
from graphtide.streams.messages import DOCUMENTS

STALE_S = 10.0
"""Seconds for which a view may lack versions before its health reports it."""


@dataclass(frozen=True, slots=True)
class RoleDependencies:
    """The dependencies of the roles."""

    settings: Settings
    backing: Backing
    models: ModelSet
    accounts: UsageAccounting
    registry: CollectorRegistry
    warming: Warming = silent
    """Receives a function that describes the progress of the start."""


@dataclass(frozen=True, slots=True)
class Worker:
    """A running role: its health, and its application if it answers queries."""

    health: Callable[[], Awaitable[Health]]
    application: Application | None = None


def measured_lag(
    tools: RoleDependencies,
    metrics: Metrics,
    reads: Sequence[tuple[str, str]],
    notes: Mapping[str, str],
    every_s: float = LOOK_EVERY_S,
) -> Callable[[], Awaitable[None]]:
    """Return the task that measures the lag of the groups in `reads`, pending revisions, and stopped tasks."""
    backing = tools.backing

    async def once() -> None:
        for name, note in notes.items():
            metrics.stopped(name, bool(note))
        graphs = await backing.store.graphs()
        await look(backing.log, backing.ledger, graphs, reads, metrics)

    return lambda: look_now_and_then(once, every_s)


@asynccontextmanager
async def running_tasks(
    runs: Mapping[str, Callable[[], Awaitable[None]]], notes: dict[str, str]
) -> AsyncIterator[None]:
    """Run the tasks during the block. `notes` has the reason why each waits."""
    tasks = [start(name, run, notes) for name, run in runs.items()]
    try:
        yield
    finally:
        await stop(tasks)


def health_of(tools: RoleDependencies, notes: Mapping[str, str], *more: Dependency) -> Callable[[], Awaitable[Health]]:
    """Return the health function of a role whose tasks write these notes."""

    async def health() -> Health:
        tasks = Health(not any(notes.values()), task_states(notes))
        return await with_dependencies(tasks, [*dependencies_of(tools), *more])

    return health


def dependencies_of(tools: RoleDependencies, needed: bool = True) -> tuple[Dependency, ...]:
    """Return the dependencies: the broker, the graph database, and the model endpoints."""
    backing = tools.backing
    return (
        answering("kafka", lambda: backing.log.end(DOCUMENTS), needed),
        answering("graph database", lambda: backing.ledger.unfinished(0, 1), needed),
        *endpoints(tools.models),
    )


def freshness_of(follower: DeltaFollower) -> Dependency:
    """Return the dependency that reports views behind the store, and graphs that cannot be shown.

    Older views and other graphs still answer, so it is not needed.
    """

    async def trouble() -> str:
        if damaged := follower.damaged:
            more = f"; {len(damaged) - 1} more graphs cannot be shown" if len(damaged) > 1 else ""
            return next(iter(damaged.values())) + more
        late = {graph: lack for graph, lack in follower.behind().items() if lack[1] >= STALE_S}
        if not late:
            return ""
        graph, (versions, seconds) = max(late.items(), key=lambda item: item[1][1])
        more = f", and {len(late) - 1} more graphs are behind" if len(late) > 1 else ""
        return f"graph {graph} lacks {versions} versions, for {seconds:.0f} s{more}"

    return Dependency("views", trouble, needed=False)
