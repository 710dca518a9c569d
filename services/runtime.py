"""What an application that answers from its own process is made of, and how much it takes on at once.

Only the parts: `services/wiring.py` puts them together for one process, `services/cluster/roles.py` for a replica.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from graphtide.infra.models.usage.accounting import UsageAccounting
from graphtide.infra.observability.metrics.stages import Metrics
from graphtide.services.health import Dependency
from graphtide.services.maintenance import Maintenance
from graphtide.streams.errors import NotFound
from graphtide.streams.follow.progress import TokenWaiter
from graphtide.streams.follow.view_registry import ViewRegistry
from graphtide.streams.model_ports import Embedder, Generator, Rater
from graphtide.streams.ports import GraphStore, Ledger, Log
from graphtide.streams.summarize.report_writer import Shelves
from graphtide.streams.work_pool import WorkPool


@dataclass(frozen=True, slots=True)
class Runtime:
    """The parts. What differs between one process and a cluster is behind them."""

    log: Log
    store: GraphStore
    ledger: Ledger
    views: ViewRegistry
    progress: TokenWaiter
    upkeep: Maintenance
    embedder: Embedder
    generator: Generator
    rater: Rater | None
    metrics: Metrics
    shelves: Shelves
    models: Mapping[str, str]
    accounts: UsageAccounting
    pool: WorkPool
    """Where questions and look-ups work, outside the event loop."""
    dependencies: tuple[Dependency, ...] = ()
    """What is asked when somebody asks how it is."""

    async def known(self, graph: str) -> None:
        """Raise NotFound for a graph that nothing was ever published to."""
        if self.views.get(graph) is None and not any((await self.ledger.counts(graph)).values()):
            raise NotFound(f"there is no graph {graph!r}; it comes into being with its first document")


@dataclass(frozen=True, slots=True)
class RuntimeLimits:
    """What is refused for now, with 429, so that what was accepted stays quick."""

    pending_revisions: int = 100_000
    running_queries: int = 64
    lookup_timeout_s: float = 30.0
    """Of a look-up that takes a thread: a status, an entity, reports, counts, a digest."""
