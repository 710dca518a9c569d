"""The wiring: construction of the adapters and of a running application from the settings, and its shutdown.

Start order: models, storage, views, stages. Stop order: stages stop, indexes are saved, storage is closed.
"""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import replace
from pathlib import Path

from prometheus_client import CollectorRegistry

from graphtide.graph.records import GraphDelta
from graphtide.infra.functional_predicates import load_functional_predicates
from graphtide.infra.index_folder import IndexFolder, check_indexes, hnsw_parameters
from graphtide.infra.models.usage.accounting import UsageAccounting
from graphtide.infra.models.usage.counters import Tally
from graphtide.infra.observability.metrics.endpoints import EndpointGauges
from graphtide.infra.observability.metrics.reembedding import ReembeddingGauges
from graphtide.infra.observability.metrics.stages import Metrics
from graphtide.infra.observability.metrics.views import ViewGauges
from graphtide.infra.settings import Settings
from graphtide.infra.sources.mapping import SourcesFile
from graphtide.infra.sqlite import SqliteBackend, SqliteUsageLedger
from graphtide.infra.sqlite.standing.questions import SqliteQuestionStore
from graphtide.services.access.limits.pending import PendingRevisions
from graphtide.services.administration.maintenance import EmbeddedMaintenance, drop_deleted_indexes
from graphtide.services.administration.model_change import ModelChange
from graphtide.services.administration.online_reembedding import OnlineReembedding, ReembeddingProgress, Stages
from graphtide.services.administration.purge import EmbeddedPurge
from graphtide.services.administration.reembedding import remove_scratch
from graphtide.services.application import Application
from graphtide.services.health import Dependency, Warming, disk, endpoints, silent, storage
from graphtide.services.local_application import LocalApplication
from graphtide.services.model_wiring import (
    ModelSet,
    OwnModels,
    plan,
    question_embedder,
    reranking_of,
)
from graphtide.services.process.background_tasks import (
    check_now_and_then,
    judge_now_and_then,
    look_now_and_then,
    purge_nightly,
    save_now_and_then,
    start,
    stop,
)
from graphtide.services.process.pausable_task import PausableTask
from graphtide.services.process.vector_memory import vectors_in_files
from graphtide.services.runtime import Runtime, RuntimeLimits
from graphtide.services.sources import SourceTarget, bounded_accept, kafka_source_tasks, mapped_sources, source_states
from graphtide.services.standing.evaluation import EvaluatedHere, evaluated_here
from graphtide.services.stored_models import open_stored_models
from graphtide.services.tracing import traced
from graphtide.streams.changes.change_log import ChangeRetention
from graphtide.streams.consolidate.stage import ConsolidateSettings, ConsolidateStage
from graphtide.streams.extract.settings import ExtractSettings
from graphtide.streams.extract.stage import ExtractStage
from graphtide.streams.extract.stored_vectors import live_extraction
from graphtide.streams.follow.lag import look
from graphtide.streams.follow.progress import TokenWaiter
from graphtide.streams.follow.view_registry import ViewRegistry
from graphtide.streams.messages import DELTAS, DOCUMENTS, EXTRACTIONS
from graphtide.streams.model_ports import Embedder
from graphtide.streams.ports import Ledger, RevisionState
from graphtide.streams.summarize.report_writer import ReportPolicy, ReportWriter, Shelves
from graphtide.streams.summarize.stage import SummarizeStage
from graphtide.streams.summarize.summary_writer import SummaryWriter

log = logging.getLogger("graphtide")

StageRun = Callable[[], Awaitable[None]]


@asynccontextmanager
async def open_application(
    settings: Settings,
    registry: CollectorRegistry | None = None,
    warming: Warming = silent,
    own: OwnModels | None = None,
) -> AsyncIterator[Application]:
    """Open an application until the block ends: the embedded runtime with its stages, or, if the settings name a broker
    and a graph database, a query replica of that cluster.

    `own` models replace those of the settings. The metrics go to `registry`, and `warming` receives the progress.
    Raises Broken, before anything is changed, when the settings contradict each other, or when the data folder is in
    use, damaged, or has another embedding model.
    """
    if settings.names_cluster:
        from graphtide.services.cluster.wiring import open_replica

        async with open_replica(settings, registry, warming) as replica:
            yield replica
        return
    chosen, sources = plan(settings), mapped_sources(settings)
    async with AsyncExitStack() as stack:
        registry = registry or CollectorRegistry()
        await stack.enter_async_context(traced(settings, "serve", registry))
        warming(lambda: "opening the data folder")
        backend = await SqliteBackend.open(settings.data, retention=retention_of(settings))
        stack.push_async_callback(backend.close)
        remove_scratch(settings.data)
        await stack.enter_async_context(vectors_in_files(settings))
        tally = Tally(registry)
        accounts = UsageAccounting(await SqliteUsageLedger.open(backend.database), chosen.rules, tally)
        models, change = await open_stored_models(settings, chosen, backend, (accounts, tally), stack, own)
        views = await _views(settings, backend, warming, stack)
        due = ReportPolicy(settings.report_change_threshold, settings.lazy_reports)
        shelves = Shelves(backend.store, due)
        questions = change.questions if change else await stack.enter_async_context(question_embedder(models.embedder))
        runtime, maintenance, standing = await _runtime(backend, views, models, questions, registry, accounts, shelves)
        registry.register(EndpointGauges(models.gates()))
        registry.register(ViewGauges(views.all, runtime.metrics.names))
        dependencies = _dependencies(settings.data, backend, models)
        options, reranking = settings.default_options, reranking_of(models, settings, registry)
        runtime = replace(runtime, dependencies=dependencies, mode_options=options, reranking=reranking)
        reports = _report_stage(backend, views, models, due, runtime.metrics, maintenance)
        stages = _stages(backend, views, runtime.metrics, maintenance, standing, reports)
        stages |= _optional_stages(settings, models, maintenance)
        online = _reembedding(settings, backend, views, (maintenance, standing), change, stages) if change else None
        stack.push_async_callback(stop, [start(name, run, maintenance.notes) for name, run in stages.items()])
        if change and online:
            runtime = _started(online, change, runtime, registry, stack)
        reading = await stack.enter_async_context(_sources(settings, sources, backend, registry))
        runtime = replace(runtime, dependencies=(*runtime.dependencies, *reading))
        yield LocalApplication(runtime)


async def _views(settings: Settings, backend: SqliteBackend, warming: Warming, stack: AsyncExitStack) -> ViewRegistry:
    """Open the views of all graphs with the saved indexes. Raises Broken for indexes of another database."""
    indexes = IndexFolder(settings.data / "indexes", hnsw_parameters(settings))
    await drop_deleted_indexes(indexes, backend.store)
    check_indexes(settings.data, indexes.saved(), await backend.store.graphs())
    views = ViewRegistry(indexes, load_functional_predicates(settings.functional_predicates_file))
    stack.push_async_callback(views.close)
    warming(views.opening)
    await views.open(backend.store)
    return views


def _started(
    online: OnlineReembedding,
    change: ModelChange,
    runtime: Runtime,
    registry: CollectorRegistry,
    stack: AsyncExitStack,
) -> Runtime:
    """Start the re-embedding; the stack stops it. Returns the runtime that shows its progress."""
    registry.register(ReembeddingGauges(online.progress.figures))
    stack.push_async_callback(stop, [start("re-embedding", online.run, online.progress.failures)])
    shown = Dependency("re-embedding", online.progress.trouble, needed=False)
    return replace(runtime, models=change.names, dependencies=(*runtime.dependencies, shown))


def _report_stage(
    backend: SqliteBackend,
    views: ViewRegistry,
    models: ModelSet,
    due: ReportPolicy,
    metrics: Metrics,
    maintenance: EmbeddedMaintenance,
) -> SummarizeStage:
    writer = ReportWriter(backend.store, models.reporter, due)
    entities = SummaryWriter(backend.store, models.summarizer, due) if models.summarizer else None
    return SummarizeStage(backend.log, views, writer, metrics, entities=entities, writing=maintenance.summarizing)


def _stages(
    backend: SqliteBackend,
    views: ViewRegistry,
    metrics: Metrics,
    maintenance: EmbeddedMaintenance,
    standing: EvaluatedHere,
    reports: SummarizeStage,
) -> dict[str, StageRun]:
    """Return the stages of every service."""
    return {
        "extract": maintenance.extract.run,
        "consolidate": maintenance.consolidate.run,
        "summarize": reports.run,
        "index-snapshots": lambda: save_now_and_then(views),
        "lag": lambda: look_now_and_then(lambda: _look(backend.ledger, metrics, maintenance)),
        "communities-check": lambda: check_now_and_then(maintenance.consolidate),
        "standing-questions": standing.stage.load_all,
        "standing-answers": standing.answers.run,
    }


def _optional_stages(settings: Settings, models: ModelSet, maintenance: EmbeddedMaintenance) -> dict[str, StageRun]:
    """Return the stages that settings turn on."""
    stages: dict[str, StageRun] = {}
    if settings.purge_at:
        stages["purge"] = lambda: purge_nightly(maintenance.purge, settings.purge_at)
    if models.chat is not None and models.judges_names:
        from graphtide.infra.models.openai.judge import OpenAIJudge

        judge = OpenAIJudge(models.chat)
        stages["pair-judge"] = lambda: judge_now_and_then(maintenance.consolidate, judge)
    return stages


def _reembedding(
    settings: Settings,
    backend: SqliteBackend,
    views: ViewRegistry,
    running: tuple[EmbeddedMaintenance, EvaluatedHere],
    change: ModelChange,
    stages: dict[str, StageRun],
) -> OnlineReembedding:
    """Return the re-embedding; the stages that it ends for the switch are replaced by ones that can be paused."""
    maintenance, standing = running
    extract, consolidate = PausableTask(stages["extract"]), PausableTask(stages["consolidate"])
    stages |= {"extract": extract.run, "consolidate": consolidate.run}
    return OnlineReembedding(
        settings.data,
        backend,
        views,
        maintenance,
        Stages(extract, consolidate, standing.stage),
        change.documents,
        change.models.reading.pool,
        ReembeddingProgress(change.old, change.documents.name),
        change.switch,
    )


@asynccontextmanager
async def _sources(
    settings: Settings, file: SourcesFile, backend: SqliteBackend, registry: CollectorRegistry
) -> AsyncIterator[Sequence[Dependency]]:
    """Read the topics of the sources file during the block. Yields their health."""
    if not file.topics():
        yield ()
        return
    pending = PendingRevisions(backend.ledger, RuntimeLimits().pending_revisions)
    target = SourceTarget(bounded_accept(backend.ledger.accept, pending), backend.log)
    async with kafka_source_tasks(settings, file, target, registry) as waiting:
        yield source_states(file.topics(), waiting)


def retention_of(settings: Settings) -> ChangeRetention:
    """Return the limits of the change logs."""
    hours, max_bytes = settings.change_retention_hours, settings.change_retention_bytes
    return ChangeRetention(settings.change_retention_commits, 3600 * hours, max_bytes)


async def _look(ledger: Ledger, metrics: Metrics, maintenance: EmbeddedMaintenance) -> None:
    for stage, reason in maintenance.stopped.items():  # first: a store that fails stops stages, too
        metrics.stopped(stage, bool(reason))
    groups = ((DOCUMENTS, "extract"), (EXTRACTIONS, "consolidate"), (DELTAS, "summarize"))
    await look(maintenance.log, ledger, maintenance.views.versions(), groups, metrics)


def _dependencies(folder: Path, backend: SqliteBackend, models: ModelSet) -> tuple[Dependency, ...]:
    """Return the dependencies of a single-process service: its file, the disk, and the endpoints in the settings."""
    return (storage(lambda: backend.ledger.unfinished(0, 1)), disk(folder), *endpoints(models))


async def _runtime(
    backend: SqliteBackend,
    views: ViewRegistry,
    models: ModelSet,
    questions: Embedder,
    registry: CollectorRegistry,
    accounts: UsageAccounting,
    shelves: Shelves,
) -> tuple[Runtime, EmbeddedMaintenance, EvaluatedHere]:
    progress = TokenWaiter(backend.ledger, backend.store, views)
    metrics = Announcing(registry, progress)
    store = SqliteQuestionStore(backend.database)
    await store.create()
    standing = await evaluated_here(store, views, questions, models.generator, backend.store, registry, backend.changes)

    async def follow(delta: GraphDelta) -> None:
        await standing.stage.load(delta.graph)
        await views.follow(delta)
        progress.moved()
        await standing.stage.committed(delta)

    maintenance = _maintenance(backend, views, models, progress, metrics, follow)
    runtime = Runtime(
        log=backend.log,
        store=backend.store,
        ledger=backend.ledger,
        views=views,
        progress=progress,
        changes=backend.changes,
        maintenance=maintenance,
        embedder=questions,
        generator=models.generator,
        rater=models.rater,
        metrics=metrics,
        shelves=shelves,
        models=models.names,
        accounts=accounts,
        pool=models.asking,
        standing=standing.service,
        reading=(models.reading, models.caps),
    )
    return runtime, maintenance, standing


def _maintenance(
    backend: SqliteBackend,
    views: ViewRegistry,
    models: ModelSet,
    progress: TokenWaiter,
    metrics: Metrics,
    follow: Callable[[GraphDelta], Awaitable[None]],
) -> EmbeddedMaintenance:
    """Return the maintenance, with the stages that it pauses; `follow` receives each committed delta."""
    chosen = ConsolidateSettings(synonyms=models.judges_names, predicates=models.judges_predicates)
    consolidate = ConsolidateStage(backend.log, backend.store, follow, metrics, chosen, views.get, views.expect)
    purger = EmbeddedPurge(backend.database, backend.store, views, models.reading, models.memos, consolidate.paused)
    stored = live_extraction(backend.store, views.has_document)
    limits = ExtractSettings(caps=models.caps)
    extract = ExtractStage(backend.log, backend.ledger, models.reading, metrics, limits, stored=stored)
    return EmbeddedMaintenance(backend.log, backend.store, views, progress, extract, consolidate, {}, purger.run)


class Announcing(Metrics):
    """Metrics that also wake waiters for a revision when it ends or has to wait."""

    def __init__(self, registry: CollectorRegistry | None, progress: TokenWaiter) -> None:
        super().__init__(registry, ("extract", "consolidate", "summarize"))
        self._progress = progress

    def ended(self, graph: str, state: RevisionState) -> None:
        super().ended(graph, state)
        self._progress.moved()

    def retried(self, stage: str) -> None:
        super().retried(stage)
        self._progress.moved()
