"""A cluster's roles on the reference backing, each with its metrics at a port of its own, under a small load."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

from prometheus_client import CollectorRegistry, start_http_server

from graphtide.infra.models.usage.accounting import UsageAccounting
from graphtide.infra.models.usage.counters import Tally
from graphtide.infra.models.usage.memory_ledger import MemoryUsageLedger
from graphtide.infra.observability.metrics.reembedding import ReembeddingGauges
from graphtide.infra.observability.metrics.sources import SourceMetrics
from graphtide.infra.settings import Settings
from graphtide.services.application import Application
from graphtide.services.cluster.roles import ROLES, RoleDependencies
from graphtide.services.model_wiring import Memos, open_models, plan
from tests.support.memory_backing import memory_backing


@dataclass(slots=True)
class WatchedRoles:
    """The roles of the cluster. `targets` are (role, host:port) of their metrics; `replica` serves queries."""

    targets: list[tuple[str, str]]
    replica: Application


@asynccontextmanager
async def watched_roles(folder: Path) -> AsyncIterator[WatchedRoles]:
    """Yield the four roles on a log of three partitions."""
    backing = memory_backing()
    targets, replica = [], None
    async with AsyncExitStack() as stack:
        for role in ("extract", "consolidate", "summarize", "query"):
            settings, registry = Settings(data=folder / role), CollectorRegistry()
            tally, chosen = Tally(registry), plan(settings)
            accounts = UsageAccounting(MemoryUsageLedger(), chosen.rules, tally)
            models = open_models(chosen, accounts, Memos(*map(backing.memo, ("a", "b", "c"))), tally, stack)
            tools = RoleDependencies(settings, backing, models, accounts, registry)
            if role == "extract":
                SourceMetrics(registry, ["shop.public.contracts"])  # those of a mapped topic, which needs a broker
                registry.register(ReembeddingGauges(lambda: (0, 0)))  # those of a folder that is embedded again
            worker = await stack.enter_async_context(ROLES[role](tools))
            replica = worker.application or replica
            server, thread = start_http_server(0, "127.0.0.1", registry)
            stack.callback(thread.join)
            stack.callback(server.server_close)
            stack.callback(server.shutdown)
            targets.append((role, f"127.0.0.1:{server.server_port}"))
        assert replica is not None
        yield WatchedRoles(targets, replica)
