"""The dependencies of a process, and its readiness derived from them.

A runtime supplies its dependencies; HTTP, gRPC and `graphtide status` report the result. The invariants: a process is
ready exactly when every needed dependency is well; an optional one is reported too; and a check that hangs makes its
dependency unwell, and never blocks the probe.

An embedding or language endpoint is optional: while it is unreachable, publishing, look-ups and questions with a cached
vector still work, documents wait and lose nothing, and no other process could do better, because all call the same one.
"""

from __future__ import annotations

import asyncio
import shutil
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from graphtide.services.access.gate import AccessGate
from graphtide.services.application import Health
from graphtide.services.component_state import DRAINING, WELL, Condition, degraded
from graphtide.streams.errors import GraphtideError

if TYPE_CHECKING:
    from graphtide.services.model_wiring import ModelSet

Warming = Callable[[Callable[[], str]], None]
"""Receives a function that describes the progress of a start in plain words."""

TIMEOUT_S = 2.0
MIN_FREE_BYTES = 64 << 20


def silent(_: Callable[[], str]) -> None:
    """Ignore the progress of a start."""


@dataclass(frozen=True, slots=True)
class Dependency:
    """A resource outside of this process. `trouble` describes a problem in plain words, "" without one."""

    name: str
    trouble: Callable[[], Awaitable[str]]
    needed: bool = True
    """True when the process cannot work without it."""


async def with_dependencies(health: Health, dependencies: Sequence[Dependency]) -> Health:
    """Return `health` combined with the dependencies, checked concurrently in at most TIMEOUT_S."""
    troubles = await asyncio.gather(*(_trouble(each) for each in dependencies))
    states = [degraded(trouble) if trouble else WELL for trouble in troubles]
    components = {each.name: state for each, state in zip(dependencies, states, strict=True)}
    missing = any(not components[each.name].is_healthy for each in dependencies if each.needed)
    return Health(health.ready and not missing, {**health.components, **components})


async def _trouble(dependency: Dependency) -> str:
    try:
        async with asyncio.timeout(TIMEOUT_S):
            return await dependency.trouble()
    except TimeoutError:
        return f"did not answer within {TIMEOUT_S:g} s"
    except GraphtideError as error:
        return str(error)


def disk(folder: Path, min_bytes: int = MIN_FREE_BYTES) -> Dependency:
    """Return the dependency on free disk space. It is optional: queries still work with a full disk."""

    async def trouble() -> str:
        try:
            free = shutil.disk_usage(folder).free
        except OSError as error:
            return f"{folder} cannot be read: {error.strerror}"
        return (
            "" if free >= min_bytes else f"{folder} has {free >> 20} MB of free space: free more, or publishing stops"
        )

    return Dependency("disk", trouble, needed=False)


def answering(name: str, ask: Callable[[], Awaitable[object]], needed: bool = True) -> Dependency:
    """Return a dependency that is well while it answers a small request: a read of a store, a topic's end offset of a
    broker.
    """

    async def trouble() -> str:
        await ask()
        return ""

    return Dependency(name, trouble, needed)


def storage(read: Callable[[], Awaitable[object]]) -> Dependency:
    """Return the needed dependency on the store of a single-process service."""
    return answering("storage", read)


def endpoint(name: str, trouble: Callable[[], str]) -> Dependency:
    """Return the dependency on a model endpoint, from the results of its latest calls: a probe makes no paid call."""

    async def reported() -> str:
        return trouble()

    return Dependency(name, reported, needed=False)


def endpoints(models: ModelSet) -> tuple[Dependency, ...]:
    """Return the dependencies on the model endpoints in the settings; models in the process have none."""
    trouble = getattr(models.embedder, "trouble", None)
    found = [] if trouble is None else [endpoint("embedding endpoint", trouble)]
    if models.chat is not None:
        found.append(endpoint("language endpoint", models.chat.trouble))
    return tuple(found)


class HasHealth(Protocol):
    """A source of health: an application, or a worker without one."""

    @property
    def health(self) -> Callable[[], Awaitable[Health]]: ...


async def readiness(application: HasHealth, gate: AccessGate) -> Health:
    """Return the health that /readyz and gRPC report. A process that shuts down reports only that."""
    if gate.draining:
        return Health(False, {"service": DRAINING})
    health = await application.health()
    refused = {f"newer {name}": degraded(problem) for name, problem in gate.problems().items() if problem}
    return Health(health.ready, {**health.components, **refused})


def in_outline(health: Health) -> Health:
    """Return the health without names of graphs, documents or addresses, for probes without a credential."""
    outline = degraded("see its log")
    components = health.components.items()
    return Health(
        health.ready,
        {name: outline if state.condition is Condition.DEGRADED else state for name, state in components},
    )
