"""What a process depends on, and how that adds up to ready or not.

A runtime fills in its dependencies; both faces and `graphtide status` tell what comes of it. The invariants: a process
is ready exactly when every dependency that it needs is well; one it can do without is named all the same; and a check
that hangs is a dependency that is unwell, not a probe that hangs.

An embedding or language endpoint is one to do without: while it is away, publishing, looking up and questions that were
asked before still work, documents wait and lose nothing, and no other process could do better: all ask the same one.
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
from graphtide.streams.errors import GraphtideError

if TYPE_CHECKING:
    from graphtide.services.model_wiring import ModelSet

Warming = Callable[[Callable[[], str]], None]
"""Takes what says in plain words how far a start has come."""

PATIENCE_S = 2.0
LEAST_FREE_BYTES = 64 << 20
WELL = "well"
_PLAIN = frozenset({WELL, "running", "open", "draining"})


def silent(_: Callable[[], str]) -> None:
    """For a process that shows nothing until it runs."""


@dataclass(frozen=True, slots=True)
class Dependency:
    """Something outside of this process's memory. `trouble` says in plain words what is wrong, "" when nothing is."""

    name: str
    trouble: Callable[[], Awaitable[str]]
    needed: bool = True
    """Whether the process cannot do its work without it."""


async def with_dependencies(health: Health, dependencies: Sequence[Dependency]) -> Health:
    """`health` and what the dependencies say, all asked at once. Takes at most PATIENCE_S."""
    said = await asyncio.gather(*(_trouble(each) for each in dependencies))
    parts = {each.name: trouble or WELL for each, trouble in zip(dependencies, said, strict=True)}
    missing = any(trouble for each, trouble in zip(dependencies, said, strict=True) if each.needed)
    return Health(health.ready and not missing, {**health.parts, **parts})


async def _trouble(dependency: Dependency) -> str:
    try:
        async with asyncio.timeout(PATIENCE_S):
            return await dependency.trouble()
    except TimeoutError:
        return f"did not answer within {PATIENCE_S:g} s"
    except GraphtideError as error:
        return str(error)


def disk(folder: Path, least_bytes: int = LEAST_FREE_BYTES) -> Dependency:
    """Room in the data folder. Not needed for readiness: with a full disk everything can still be asked."""

    async def trouble() -> str:
        try:
            free = shutil.disk_usage(folder).free
        except OSError as error:
            return f"{folder} cannot be looked at: {error.strerror}"
        return "" if free >= least_bytes else f"{folder} has {free >> 20} MB left: make room, or publishing stops"

    return Dependency("disk", trouble, needed=False)


def answering(name: str, ask: Callable[[], Awaitable[object]], needed: bool = True) -> Dependency:
    """What is well as long as a small question to it is answered: a store by a small read, a broker by where a topic
    ends.
    """

    async def trouble() -> str:
        await ask()
        return ""

    return Dependency(name, trouble, needed)


def storage(read: Callable[[], Awaitable[object]]) -> Dependency:
    """The store of a service in one process. Needed."""
    return answering("storage", read)


def endpoint(name: str, trouble: Callable[[], str]) -> Dependency:
    """A model endpoint, by how the latest calls of it went: it is not called for a probe, which would cost money."""

    async def told() -> str:
        return trouble()

    return Dependency(name, told, needed=False)


def endpoints(models: ModelSet) -> tuple[Dependency, ...]:
    """The model endpoints that the settings name; models in the process have no trouble to tell of."""
    trouble = getattr(models.embedder, "trouble", None)
    found = [] if trouble is None else [endpoint("embedding endpoint", trouble)]
    if models.chat is not None:
        found.append(endpoint("language endpoint", models.chat.trouble))
    return tuple(found)


class Told(Protocol):
    """Whatever says how it is: an application, or a worker without one."""

    @property
    def health(self) -> Callable[[], Awaitable[Health]]: ...


async def readiness(application: Told, gate: AccessGate) -> Health:
    """What /readyz and gRPC health say. A process that is about to end says so first of all."""
    if gate.draining:
        return Health(False, {"service": "draining"})
    health = await application.health()
    refused = {f"newer {name}": problem for name, problem in gate.problems().items() if problem}
    return Health(health.ready, {**health.parts, **refused})


def in_outline(health: Health) -> Health:
    """The same without what names graphs, documents or addresses: for probes, which bring no credential."""
    parts = {name: said if said in _PLAIN else "see its log" for name, said in health.parts.items()}
    return Health(health.ready, parts)
