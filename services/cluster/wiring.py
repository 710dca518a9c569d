"""The wiring of a cluster's processes: construction of their adapters; a part of `services/wiring.py`.

Start order: broker, store, models, role. Stop order: the role leaves its consumer group and saves its indexes; store;
broker.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from itertools import count
from typing import TypeVar

from prometheus_client import CollectorRegistry

from graphtide.infra.bolt.address import BoltAddress
from graphtide.infra.kafka.address import kafka_address
from graphtide.infra.models.limits.shared_rate import SharedRate
from graphtide.infra.models.usage.accounting import UsageAccounting
from graphtide.infra.models.usage.counters import Tally
from graphtide.infra.observability.metrics.endpoints import EndpointGauges
from graphtide.infra.settings import Settings
from graphtide.services.application import Application
from graphtide.services.cluster.backing import Backing, check_model
from graphtide.services.cluster.roles import ROLES, RoleDependencies, Worker, replica
from graphtide.services.cluster.settings_check import check_cluster
from graphtide.services.health import Warming, silent
from graphtide.services.model_wiring import Memos, open_models, plan
from graphtide.services.process.background_tasks import start, stop
from graphtide.services.process.vector_memory import vectors_in_files
from graphtide.services.tracing import traced
from graphtide.streams.errors import Broken, Retryable
from graphtide.streams.extract.stage import ExtractStage
from graphtide.streams.messages import DOCUMENTS
from graphtide.streams.retry import Backoff

log = logging.getLogger("graphtide")

T = TypeVar("T")
TIMEOUT_S = 60.0
MEMOS = ("embeddings", "extractions", "reports")


@asynccontextmanager
async def open_replica(
    settings: Settings, registry: CollectorRegistry | None = None, warming: Warming = silent
) -> AsyncIterator[Application]:
    """Open a query replica, which answers from graphs that other processes write, and accepts documents for them."""
    registry = registry or CollectorRegistry()
    async with (
        traced(settings, "query", registry),
        _tools(settings, registry, warming) as tools,
        vectors_in_files(settings),
        replica(tools) as worker,
    ):
        if worker.application is None:
            raise Broken("the query role has no application; this is a bug")
        yield worker.application


@asynccontextmanager
async def open_worker(
    role: str, settings: Settings, registry: CollectorRegistry, warming: Warming = silent
) -> AsyncIterator[Worker]:
    """Open a process of that role; `warming` receives a description of its progress.

    Raises Broken when the settings contradict each other, Retryable when a server stays unreachable.
    """
    if role == "gateway":
        from graphtide.services.cluster.remote_application import RemoteApplication

        if not settings.query_target:
            raise Broken(
                "a gateway needs GRAPHTIDE_QUERY_TARGET, the address of the query replicas, such as dns:///query:50051"
            )
        check_cluster(settings)
        async with traced(settings, role, registry), RemoteApplication.open(settings) as application:
            yield Worker(application.health, application)
        return
    async with (
        traced(settings, role, registry),
        _tools(settings, registry, warming) as tools,
        vectors_in_files(settings),
        ROLES[role](tools) as worker,
    ):
        yield worker


@asynccontextmanager
async def _tools(
    settings: Settings, registry: CollectorRegistry, warming: Warming = silent
) -> AsyncIterator[RoleDependencies]:
    if not settings.kafka or not settings.bolt:
        raise Broken(
            "a cluster needs both GRAPHTIDE_KAFKA (bootstrap servers) and GRAPHTIDE_BOLT (the graph database): set"
            " both, or neither for the embedded runtime"
        )
    check_cluster(settings)
    chosen = plan(settings)
    async with AsyncExitStack() as stack:
        warming(lambda: "waiting for the graph database and Kafka")
        backing = await open_backing(settings, stack)
        tally = Tally(registry)
        accounts = UsageAccounting(backing.spending, chosen.rules, tally)
        models = open_models(chosen, accounts, Memos(*(backing.memo(name) for name in MEMOS)), tally, stack)
        registry.register(EndpointGauges(models.gates()))
        if backing.peers is not None and models.gates():
            share = SharedRate(models.gates(), backing.peers)
            await _patiently(share.look)  # before the first call, so that the remaining rate is shared too
            stack.push_async_callback(stop, [start("rate-share", share.run, {})])
        await check_model(backing, models.embedder.name)
        yield RoleDependencies(settings, backing, models, accounts, registry, warming)


def bolt_address(settings: Settings) -> BoltAddress:
    """Return the address of the graph database in the settings."""
    password = settings.bolt_password.get_secret_value()
    return BoltAddress(settings.bolt, settings.bolt_user, password, settings.bolt_database, settings.bolt_ca_file)


async def _patiently(attempt: Callable[[], Awaitable[T]]) -> T:
    """Return the result of the attempt, repeated for TIMEOUT_S while it raises Retryable."""
    backoff, loop = Backoff(longest_s=2.0), asyncio.get_running_loop()
    until = loop.time() + TIMEOUT_S
    for number in count():
        try:
            return await attempt()
        except Retryable as error:
            if loop.time() > until:
                raise
            log.warning("start is waiting and retries: %s", error)
            await asyncio.sleep(backoff.wait_s(number, error))
    raise AssertionError("count() does not end")


async def open_backing(settings: Settings, stack: AsyncExitStack) -> Backing:
    """Open the broker and the graph database of the settings. Raises Retryable when one stays unreachable.

    It waits up to TIMEOUT_S for each, because processes and servers of a cluster start in any order.
    """
    from graphtide.infra.bolt import BoltBackend, BoltUsageLedger
    from graphtide.infra.faust.worker import WorkerSettings, run_extraction
    from graphtide.infra.kafka.log import KafkaLog, KafkaTuning

    address = kafka_address(settings)
    broker = KafkaLog(address, KafkaTuning(session_timeout_s=settings.kafka_session_timeout_s))
    stack.push_async_callback(broker.close)
    backend = await _patiently(lambda: BoltBackend.open(bolt_address(settings), broker))
    await _patiently(lambda: broker.end(DOCUMENTS))
    stack.push_async_callback(backend.close)
    spending = await BoltUsageLedger.open(backend.database)
    stack.push_async_callback(spending.close)

    async def extraction(stage: ExtractStage) -> None:
        worker = WorkerSettings(settings.kafka_session_timeout_s, folder=settings.data / "faust")
        await run_extraction(address, stage, broker, backend.ledger, worker)

    return Backing(
        broker,
        backend.ledger,
        backend.store,
        backend.store.outbox,
        backend.vectors,
        extraction,
        spending,
        backend.questions,
        spending.peers(),
        broker.source_consumer,
        backend.history,
    )
