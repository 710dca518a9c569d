"""The roles of cluster processes on any backing: their tasks and their health.

The adapters and servers are elsewhere. The invariant: a role that ends has left its consumer group, saved its indexes,
and committed only finished work.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, replace
from functools import partial

from prometheus_client import CollectorRegistry

from graphtide.infra.checkpoints.folder import CheckpointFolder
from graphtide.infra.checkpoints.shared import SharedCheckpoints
from graphtide.infra.functional_predicates import load_functional_predicates
from graphtide.infra.index_folder import IndexFolder, hnsw_parameters
from graphtide.infra.models.usage.accounting import UsageAccounting
from graphtide.infra.object_store import UnusableStoreError
from graphtide.infra.observability.metrics.stages import Metrics
from graphtide.infra.observability.metrics.views import ViewGauges
from graphtide.infra.settings import Settings
from graphtide.infra.sources.decoder import DirectValues
from graphtide.services.administration.maintenance import ClusterMaintenance, drop_deleted, drop_deleted_indexes
from graphtide.services.application import Application, Health
from graphtide.services.cluster.backing import Backing
from graphtide.services.cluster.gauges import EvictionGauges, FollowerGauges, PartitionGauges
from graphtide.services.component_state import degraded, task_states
from graphtide.services.health import Dependency, Warming, answering, endpoints, silent, with_dependencies
from graphtide.services.local_application import LocalApplication
from graphtide.services.model_wiring import ModelSet, question_embedder, reranking_of
from graphtide.services.process.background_tasks import (
    LOOK_EVERY_S,
    check_now_and_then,
    judge_now_and_then,
    look_now_and_then,
    purge_nightly,
    save_now_and_then,
    start,
    stop,
)
from graphtide.services.runtime import Runtime
from graphtide.services.sources import SourceTarget, mapped_sources, source_states, source_tasks
from graphtide.services.standing.evaluation import evaluated_here
from graphtide.services.standing.history import RetainedHistory
from graphtide.services.standing.service import EventSignal, StandingService, StoredRegistrar
from graphtide.streams.changes.change_log import ChangeRetention
from graphtide.streams.changes.cluster_log import ClusterChangeLog
from graphtide.streams.changes.recent import RecentChanges
from graphtide.streams.changes.retained_deltas import RetainedDeltas
from graphtide.streams.checkpoints.view_checkpoints import ViewCheckpoints
from graphtide.streams.consolidate.stage import ConsolidateSettings, ConsolidateStage
from graphtide.streams.errors import Broken
from graphtide.streams.extract.settings import ExtractSettings
from graphtide.streams.extract.stage import ExtractStage
from graphtide.streams.follow.delta_follower import DeltaFollower
from graphtide.streams.follow.delta_records import full_records, overwritten_records
from graphtide.streams.follow.evicting_views import EvictingViews, EvictionLimits
from graphtide.streams.follow.lag import look
from graphtide.streams.follow.progress import TokenWaiter
from graphtide.streams.follow.view_registry import ViewRegistry
from graphtide.streams.messages import DELTAS, DOCUMENTS, EXTRACTIONS
from graphtide.streams.publish_changes.stage import GraphChangesStage
from graphtide.streams.standing.shared import EvaluatedViews, follow_registrations, note_progress, relay_events
from graphtide.streams.summarize.report_requests import ReportRequestPublisher
from graphtide.streams.summarize.report_writer import ReportPolicy, ReportWriter, Shelves
from graphtide.streams.summarize.stage import DebounceSettings, SummarizeStage
from graphtide.streams.summarize.summary_writer import SummaryWriter

log = logging.getLogger("graphtide")

REVISIONS_LOOK_S = 0.1
"""Poll interval of a query that waits for a token, for revisions that other processes finish."""
COMMIT_WINDOW_S = 0.2
"""Minimum time between two commits of a partition, which bounds the delay that grouping adds to a document."""
REPORTS_LOOK_S = 10.0
REPLICA_LOOK_S = 5.0
"""Poll interval of a replica for the writers' lag: longer than theirs, because there may be many replicas."""
WRITERS = ((DOCUMENTS, "extract"), (EXTRACTIONS, "consolidate"))
"""The topics and consumer groups that every document passes through."""
RECENT_BYTES = 64 << 20
"""Maximum size of a replica's change log of one graph."""
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


@asynccontextmanager
async def extractor(tools: RoleDependencies) -> AsyncIterator[Worker]:
    """Run the role that reads `documents` and writes `extractions`."""
    backing = tools.backing
    metrics = Metrics(tools.registry, ("extract",))
    sources = mapped_sources(tools.settings)
    settings = ExtractSettings(caps=tools.models.caps, decode=DirectValues.of(sources).decode)
    bindings = backing.store.bindings
    stage = ExtractStage(backing.log, backing.ledger, tools.models.reading, metrics, settings, bindings)
    notes: dict[str, str] = {}
    lag = _looking(tools, metrics, [(DOCUMENTS, "extract")], notes)
    target = SourceTarget(partial(backing.log.append, DOCUMENTS), backing.log)
    async with AsyncExitStack() as stack:
        await stack.enter_async_context(_tasks({"extract": lambda: backing.extraction(stage), "lag": lag}, notes))
        waiting: dict[str, str] = {}
        if sources.topics() and backing.source_consumer is not None:
            reading = source_tasks(tools.settings, sources, backing.source_consumer, target, tools.registry)
            waiting = await stack.enter_async_context(reading)
        yield Worker(_health(tools, notes, *source_states(sources.topics(), waiting)))


@asynccontextmanager
async def consolidator(tools: RoleDependencies) -> AsyncIterator[Worker]:
    """Run the role that writes the graphs of its assigned partitions and relays their deltas."""
    backing, settings = tools.backing, tools.settings
    chosen = ConsolidateSettings(
        max_write_models=settings.max_write_models,
        announce=full_records,
        outbox=backing.outbox,
        tombstones=backing.ledger,
        overwritten=overwritten_records if settings.change_retention_commits else None,
        window_s=COMMIT_WINDOW_S,
        synonyms=tools.models.judges_names,
        predicates=tools.models.judges_predicates,
    )
    metrics = Metrics(tools.registry, ("consolidate",))
    stage = ConsolidateStage(backing.log, backing.store, None, metrics, chosen)
    tools.registry.register(PartitionGauges(stage, lambda: metrics.seen))
    runs: dict[str, Callable[[], Awaitable[None]]] = {
        "consolidate": stage.run,
        "communities-check": lambda: check_now_and_then(stage),
    }
    notes: dict[str, str] = {}
    runs["lag"] = _looking(tools, metrics, [(EXTRACTIONS, "consolidate")], notes)
    if tools.models.chat is not None and tools.models.judges_names:
        from graphtide.infra.models.openai.judge import OpenAIJudge

        judge = OpenAIJudge(tools.models.chat)
        runs["pair-judge"] = lambda: judge_now_and_then(stage, judge)

    async with _tasks(runs, notes):

        async def health() -> Health:
            partitions = {**stage.maintenance, **stage.troubles}.items()
            components = task_states(notes) | {f"partition {number}": degraded(state) for number, state in partitions}
            runs_on = not any(notes.values()) and not stage.troubles
            return await with_dependencies(Health(runs_on, components), _dependencies(tools))

        yield Worker(health)


@asynccontextmanager
async def summarizer(tools: RoleDependencies) -> AsyncIterator[Worker]:
    """Run the role that follows the graphs and updates the community reports of its partitions."""
    settings, backing = tools.settings, tools.backing
    folder = settings.data / "summarize" / "indexes"
    indexes = IndexFolder(folder, hnsw_parameters(settings))
    await _drop_outdated(indexes, backing)
    views = EvaluatedViews(indexes, load_functional_predicates(settings.functional_predicates_file))
    history = RetainedHistory(RetainedDeltas(backing.log, settings.change_retention_commits), views, backing.questions)
    models = tools.models
    standing = await evaluated_here(
        backing.questions, views, models.embedder, models.generator, backing.store, tools.registry, history
    )
    standing.stage.history = history if settings.change_retention_commits else None
    views.stage = standing.stage
    async with _followed(tools, views, lambda: None) as follower:
        due = ReportPolicy(settings.report_change_threshold, settings.lazy_reports)
        writer = ReportWriter(backing.store, tools.models.reporter, due)
        metrics = Metrics(tools.registry, ("summarize",))
        tools.registry.register(ViewGauges(views.all, metrics.names))
        summarizer = tools.models.summarizer
        entities = SummaryWriter(backing.store, summarizer, due) if summarizer else None
        stage = SummarizeStage(backing.log, views, writer, metrics, DebounceSettings(trims=False), entities)
        notes: dict[str, str] = {}
        lag = _looking(tools, metrics, [(DELTAS, "summarize")], notes)
        runs = {
            "follow": follower.run,
            "summarize": stage.run,
            "lag": lag,
            "standing-registrations": lambda: follow_registrations(backing.questions, standing.stage),
            "standing-answers": standing.answers.run,
            "standing-progress": lambda: note_progress(backing.questions, standing.stage),
            "standing-topic": lambda: relay_events(backing.questions, backing.log),
        }
        if settings.purge_at:
            runs["purge"] = lambda: purge_nightly(views.purge, settings.purge_at)
        if settings.graph_changes_topic:
            runs["graph-changes"] = GraphChangesStage(backing.log, backing.store).run
        async with _tasks(runs, notes):
            yield Worker(_health(tools, notes, _freshness(follower)))


@asynccontextmanager
async def replica(tools: RoleDependencies) -> AsyncIterator[Worker]:
    """Run the role that follows the graphs and answers queries from them."""
    settings, backing = tools.settings, tools.backing
    folder = settings.data / "indexes"
    indexes = IndexFolder(folder, hnsw_parameters(settings))
    await _drop_outdated(indexes, backing)
    shared = await _shared_checkpoints(tools)
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
            "lag": _looking(tools, metrics, WRITERS, notes, REPLICA_LOOK_S),
        }
        if settings.purge_at:
            runs["purge"] = lambda: purge_nightly(purge, settings.purge_at)
        if settings.lazy_reports:
            runs["wishes"] = ReportRequestPublisher(backing.log, views).run
        stack.push_async_callback(stop, [start(name, run, notes) for name, run in runs.items()])
        # It answers from its views while broker or database are unreachable, so it is ready without them.
        depends = (*_dependencies(tools, needed=False), _freshness(follower))
        questions = await stack.enter_async_context(question_embedder(tools.models.embedder))
        runtime = _runtime(tools, views, (progress, changes), maintenance, metrics)
        runtime = replace(runtime, embedder=questions, dependencies=depends)
        tools.registry.register(ViewGauges(views.all, metrics.names))
        application = LocalApplication(runtime)
        yield Worker(application.health, application)


async def _drop_outdated(indexes: IndexFolder, backing: Backing) -> None:
    """Delete what was saved of deleted graphs, and before the graph database was restored."""
    if history := await backing.history():
        await asyncio.to_thread(indexes.adopt, history)
    await drop_deleted_indexes(indexes, backing.store)


async def _shared_checkpoints(tools: RoleDependencies) -> SharedCheckpoints | None:
    """Open the place of shared checkpoints, if the settings name one, and delete the copies of deleted graphs in it."""
    url, backing = tools.settings.checkpoints_url, tools.backing
    if not url:
        return None
    try:
        shared = await asyncio.to_thread(SharedCheckpoints, url, await backing.history())
    except UnusableStoreError as error:
        raise Broken(f"GRAPHTIDE_CHECKPOINTS_URL cannot be used: {error}") from error
    except OSError as error:
        log.warning("checkpoints are not shared: %s", error)
        return None
    await drop_deleted(await asyncio.to_thread(shared.graphs), shared.delete, backing.store)
    return shared


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


@asynccontextmanager
async def _followed(
    tools: RoleDependencies, views: ViewRegistry, moved: Callable[[], None]
) -> AsyncIterator[DeltaFollower]:
    """Fill the views with every graph of the store, and yield the follower that keeps them current while it runs."""
    follower = DeltaFollower(tools.backing.log, tools.backing.store, views, moved, purged=views.purge)
    try:
        tools.warming(views.opening)
        await follower.start()
        tools.registry.register(FollowerGauges(follower))
        yield follower
    finally:
        await views.close()


def _looking(
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
async def _tasks(runs: Mapping[str, Callable[[], Awaitable[None]]], notes: dict[str, str]) -> AsyncIterator[None]:
    tasks = [start(name, run, notes) for name, run in runs.items()]
    try:
        yield
    finally:
        await stop(tasks)


def _health(tools: RoleDependencies, notes: Mapping[str, str], *more: Dependency) -> Callable[[], Awaitable[Health]]:
    """Return the health function of a role whose tasks write these notes."""

    async def health() -> Health:
        tasks = Health(not any(notes.values()), task_states(notes))
        return await with_dependencies(tasks, [*_dependencies(tools), *more])

    return health


def _dependencies(tools: RoleDependencies, needed: bool = True) -> tuple[Dependency, ...]:
    """Return the dependencies: the broker, the graph database, and the model endpoints."""
    backing = tools.backing
    return (
        answering("kafka", lambda: backing.log.end(DOCUMENTS), needed),
        answering("graph database", lambda: backing.ledger.unfinished(0, 1), needed),
        *endpoints(tools.models),
    )


def _freshness(follower: DeltaFollower) -> Dependency:
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


ROLES = {"extract": extractor, "consolidate": consolidator, "summarize": summarizer, "query": replica}
"""The roles with a backing. (The gateway uses query replicas instead: `remote_application.py`.)"""
