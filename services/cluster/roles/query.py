"""The role that follows the graphs and answers queries from them."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import replace

from graphtide.infra.checkpoints.folder import CheckpointFolder
from graphtide.infra.functional_predicates import load_functional_predicates
from graphtide.infra.index_folder import IndexFolder, hnsw_parameters
from graphtide.infra.observability.metrics.stages import Metrics
from graphtide.infra.observability.metrics.views import ViewGauges
from graphtide.infra.settings import Settings
from graphtide.services.administration.maintenance import ClusterMaintenance
from graphtide.services.cluster.gauges import EvictionGauges, FollowerGauges
from graphtide.services.cluster.roles.checkpoints import drop_outdated, shared_checkpoints
from graphtide.services.cluster.roles.role import (
    RoleDependencies,
    Worker,
    dependencies_of,
    freshness_of,
    measured_lag,
)
from graphtide.services.local_application import LocalApplication
from graphtide.services.model_wiring import question_embedder, reranking_of
from graphtide.services.process.background_tasks import purge_nightly, save_now_and_then, start, stop
from graphtide.services.runtime import Runtime
from graphtide.services.standing.service import EventSignal, StandingService, StoredRegistrar
from graphtide.streams.changes.change_log import ChangeRetention
from graphtide.streams.changes.cluster_log import ClusterChangeLog
from graphtide.streams.changes.recent import RecentChanges
from graphtide.streams.changes.retained_deltas import RetainedDeltas
from graphtide.streams.checkpoints.view_checkpoints import ViewCheckpoints
from graphtide.streams.follow.delta_follower import DeltaFollower
from graphtide.streams.follow.evicting_views import EvictingViews, EvictionLimits
from graphtide.streams.follow.progress import TokenWaiter
from graphtide.streams.follow.view_registry import ViewRegistry
from graphtide.streams.messages import DOCUMENTS, EXTRACTIONS
from graphtide.streams.summarize.report_requests import ReportRequestPublisher
from graphtide.streams.summarize.report_writer import ReportPolicy, Shelves

REVISIONS_LOOK_S = 0.1
"""Poll interval of a query that waits for a token, for revisions that other processes finish."""
REPORTS_LOOK_S = 10.0
REPLICA_LOOK_S = 5.0
"""Poll interval of a replica for the writers' lag: longer than theirs, because there may be many replicas."""
WRITERS = ((DOCUMENTS, "extract"), (EXTRACTIONS, "consolidate"))
"""The topics and consumer groups that every document passes through."""
RECENT_BYTES = 64 << 20
"""Maximum size of a replica's change log of one graph."""


@asynccontextmanager
async def replica(tools: RoleDependencies) -> AsyncIterator[Worker]:
    """Run the role that follows the graphs and answers queries from them."""
    settings, backing = tools.settings, tools.backing
    folder = settings.data / "indexes"
    indexes = IndexFolder(folder, hnsw_parameters(settings))
    await drop_outdated(indexes, backing)
    shared = await shared_checkpoints(tools)
    checkpoints = ViewCheckpoints(CheckpointFolder(folder, shared))
    predicates = load_functional_predicates(settings.functional_predicates_file)
    views = ViewRegistry(indexes, predicates, checkpoints)
    if settings.idle_graph_s or settings.max_loaded_bytes:
        limits = EvictionLimits(settings.idle_graph_s, settings.max_loaded_bytes)
        views = EvictingViews(indexes, backing.store, limits, predicates, checkpoints=checkpoints)
    views.recorder = recent = RecentChanges(views, backing.ledger, _retention(settings))
    retained = RetainedDeltas(backing.log, settings.change_retention_commits)
    changes = ClusterChangeLog(recent, retained, backing.store, backing.outbox)
    progress = TokenWaiter(backing.ledger, backing.store, views, REVISIONS_LOOK_S)
    notes: dict[str, str] = {}

    async def purge() -> int:
        await changes.clear()
        return await views.purge()

    maintenance = ClusterMaintenance(backing.log, views, notes, purger=purge)
    metrics = Metrics(tools.registry)
    follower = DeltaFollower(
        backing.log, backing.store, views, progress.moved, maintenance.replied, metrics.queryable, purge
    )
    async with AsyncExitStack() as stack:
        stack.push_async_callback(views.close)
        tools.warming(views.opening)
        await follower.start()
        tools.registry.register(FollowerGauges(follower))
        tools.registry.register(EvictionGauges(views))
        runs: dict[str, Callable[[], Awaitable[None]]] = {
            "follow": follower.run,
            "index-snapshots": lambda: save_now_and_then(views),
            # A replica reports missing extractors and consolidators, which cannot report their own absence.
            "lag": measured_lag(tools, metrics, WRITERS, notes, REPLICA_LOOK_S),
        }
        if settings.purge_at:
            runs["purge"] = lambda: purge_nightly(purge, settings.purge_at)
        if settings.lazy_reports:
            runs["wishes"] = ReportRequestPublisher(backing.log, views).run
        stack.push_async_callback(stop, [start(name, run, notes) for name, run in runs.items()])
        # It answers from its views while broker or database are unreachable, so it is ready without them.
        depends = (*dependencies_of(tools, needed=False), freshness_of(follower))
        questions = await stack.enter_async_context(question_embedder(tools.models.embedder))
        runtime = _runtime(tools, views, (progress, changes), maintenance, metrics)
        runtime = replace(runtime, embedder=questions, dependencies=depends)
        tools.registry.register(ViewGauges(views.all, metrics.names))
        application = LocalApplication(runtime)
        yield Worker(application.health, application)


def _retention(settings: Settings) -> ChangeRetention:
    """Return the limits of a replica's change logs, which are in memory."""
    max_bytes = min(settings.change_retention_bytes, RECENT_BYTES)
    return ChangeRetention(settings.change_retention_commits, 3600 * settings.change_retention_hours, max_bytes)


def _runtime(
    tools: RoleDependencies,
    views: ViewRegistry,
    following: tuple[TokenWaiter, ClusterChangeLog],
    maintenance: ClusterMaintenance,
    metrics: Metrics,
) -> Runtime:
    backing, models = tools.backing, tools.models
    progress, changes = following
    return Runtime(
        log=backing.log,
        store=backing.store,
        ledger=backing.ledger,
        views=views,
        progress=progress,
        changes=changes,
        maintenance=maintenance,
        embedder=models.embedder,
        generator=models.generator,
        rater=models.rater,
        metrics=metrics,
        shelves=Shelves(backing.store, ReportPolicy(tools.settings.report_change_threshold), every_s=REPORTS_LOOK_S),
        standing=StandingService(
            backing.questions, StoredRegistrar(backing.questions), EventSignal(), REVISIONS_LOOK_S
        ),
        models=models.names,
        reading=(models.reading, models.caps),
        accounts=tools.accounts,
        pool=models.asking,
        mode_options=tools.settings.default_options,
        reranking=reranking_of(models, tools.settings, tools.registry),
    )
