"""The components of an application on local views, and its limits.

`services/wiring.py` builds them for a single process, `services/cluster/roles` for a query replica.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from functools import wraps
from typing import Any, Protocol, TypeVar, cast

from graphtide.graph.retrieval.options.table import ModeOptions
from graphtide.infra.models.usage.accounting import UsageAccounting
from graphtide.infra.observability.metrics.stages import Metrics
from graphtide.services.administration.maintenance import Maintenance
from graphtide.services.health import Dependency
from graphtide.services.query.reranking import Reranking
from graphtide.services.standing.service import StandingService
from graphtide.streams.changes.change_log import ChangeLog
from graphtide.streams.errors import Broken, NotFound
from graphtide.streams.extract.pipeline import ExtractionLimits, ExtractionModels
from graphtide.streams.follow.progress import TokenWaiter
from graphtide.streams.follow.view_registry import ViewRegistry
from graphtide.streams.model_ports import Embedder, Generator, Rater
from graphtide.streams.ports import GraphStore, Ledger, Log
from graphtide.streams.scheduling.work_pool import WorkPool
from graphtide.streams.summarize.report_writer import Shelves

Operation = TypeVar("Operation", bound=Callable[..., Awaitable[Any]])


@dataclass(frozen=True, slots=True)
class Runtime:
    """The components of an application, which hide the differences between a single process and a cluster."""

    log: Log
    store: GraphStore
    ledger: Ledger
    views: ViewRegistry
    progress: TokenWaiter
    changes: ChangeLog
    maintenance: Maintenance
    embedder: Embedder
    generator: Generator
    rater: Rater | None
    metrics: Metrics
    shelves: Shelves
    models: Mapping[str, str]
    accounts: UsageAccounting
    pool: WorkPool
    """The threads of questions and look-ups, outside the event loop."""
    standing: StandingService | None = None
    """The standing questions of this process; None only where a test needs none."""
    reading: tuple[ExtractionModels, ExtractionLimits] | None = None
    """The models that previews extract documents with; None only where a test needs none."""
    reranking: Reranking | None = None
    """The reranker of questions; None without one."""
    mode_options: ModeOptions = field(default_factory=dict)
    """Default options of the modes, from the settings."""
    dependencies: tuple[Dependency, ...] = ()
    """The dependencies that the health report includes."""

    async def known(self, graph: str, after: str = "", timeout_s: float = 0.0) -> None:
        """Raise NotFound for a graph that nothing was ever published to, Broken for one that cannot be shown.

        The first record of a graph may be one that another program wrote: the token `after` is waited for, if given.
        The view of an evicted graph is loaded.
        """
        await self.views.wake(graph)
        if self.views.get(graph) is not None:
            return
        if graph in self.views.damaged:
            raise Broken(self.views.damaged[graph])
        if any((await self.ledger.counts(graph)).values()):
            return
        if not after or not await self.progress.read(graph, after, timeout_s):
            raise NotFound(f"there is no graph {graph!r}; publish a document to create it")


class _Application(Protocol):
    _runtime: Runtime


def using_graph(operation: Operation) -> Operation:
    """Decorate an operation of an application on the graph that its first argument names.

    The graph is not evicted before the operation ends.
    """

    @wraps(operation)
    async def used(self: _Application, graph: str, *args: object, **named: object) -> object:
        with self._runtime.views.in_use(graph):
            return await operation(self, graph, *args, **named)

    return cast(Operation, used)


@dataclass(frozen=True, slots=True)
class RuntimeLimits:
    """Limits beyond which requests get 429, so that accepted ones stay fast."""

    pending_revisions: int = 100_000
    running_queries: int = 64
    lookup_timeout_s: float = 30.0
    """Timeout of a look-up that uses a thread: a status, an entity, reports, counts, a digest."""
    status_wait_s: float = 1.0
    """Maximum time for which a status waits for a view that is being changed."""
