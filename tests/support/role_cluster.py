"""The roles of a cluster in one process, on a broker and a store in memory."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

from prometheus_client import CollectorRegistry

from graphtide.graph.records import DocumentInfo as Info
from graphtide.infra.models.usage.accounting import UsageAccounting
from graphtide.infra.models.usage.counters import Tally
from graphtide.infra.models.usage.memory_ledger import MemoryUsageLedger
from graphtide.infra.settings import Settings
from graphtide.services.application import Application, QueryRequest
from graphtide.services.cluster.backing import Backing, check_model
from graphtide.services.cluster.remote_application import RemoteApplication
from graphtide.services.cluster.roles import ROLES, RoleDependencies, Worker
from graphtide.services.health import Warming
from graphtide.services.model_wiring import Memos, open_models, plan
from graphtide.streams.messages import DocumentMessage, metadata_pairs
from tests.support.memory_backing import memory_backing
from tests.support.serving import grpc_service

TEXTS = {
    "curie": "Marie Curie discovered polonium in Paris. Marie Curie discovered radium with Pierre Curie.",
    "pierre": "Pierre Curie married Marie Curie in Sceaux. Pierre Curie studied piezoelectricity.",
    "lab": "The Radium Institute employs Irene Curie. Irene Curie studied polonium.",
}


def document(doc_id: str, text: str, graph: str = "g") -> DocumentMessage:
    info = Info(title=doc_id, metadata=metadata_pairs({"year": 1911, "share": 0.5, "ids": [2**53 - 1]}))
    return DocumentMessage(graph, doc_id, text, info)


@dataclass
class Cluster:
    """A broker and a store, and the processes on it."""

    backing: Backing
    folder: Path
    stack: AsyncExitStack
    registries: dict[str, CollectorRegistry] = field(default_factory=dict)
    """The metrics of each process, by its name."""
    idle_graph_s: float = 0.0
    """The setting of the processes that start from now on."""

    async def start(
        self, role: str, name: str, stack: AsyncExitStack | None = None, warming: Warming = lambda _: None
    ) -> Worker:
        """Start a process of that role, with a data folder by its name."""
        settings = Settings(data=self.folder / name, idle_graph_s=self.idle_graph_s)
        registry, stack = CollectorRegistry(), stack or self.stack
        self.registries[name] = registry
        tally = Tally(registry)
        chosen = plan(settings)
        accounts = UsageAccounting(MemoryUsageLedger(), chosen.rules, tally)
        models = open_models(chosen, accounts, Memos(*map(self.backing.memo, ("a", "b"))), tally, stack)
        await check_model(self.backing, models.embedder.name)
        tools = RoleDependencies(settings, self.backing, models, accounts, registry, warming)
        return await stack.enter_async_context(ROLES[role](tools))

    async def replica(self, name: str) -> Application:
        worker = await self.start("query", name)
        assert worker.application is not None
        return worker.application

    async def gateway(self, behind: Application) -> RemoteApplication:
        """Yield a gateway to this replica."""
        channel = await self.stack.enter_async_context(grpc_service(behind))
        return RemoteApplication(lambda: channel)


@asynccontextmanager
async def opened(
    folder: Path, roles: Sequence[str] = ("extract", "consolidate", "summarize")
) -> AsyncIterator[Cluster]:
    """Yield a backing of three partitions, and its writers."""
    backing = memory_backing()
    async with AsyncExitStack() as stack:
        cluster = Cluster(backing, folder, stack)
        for role in roles:
            await cluster.start(role, role)
        yield cluster


def after(token: str) -> QueryRequest:
    return QueryRequest("Who discovered polonium?", after=token, generate=False, timeout_s=30)
