"""The role that follows the graphs and updates the community reports of its partitions."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

from graphtide.infra.functional_predicates import load_functional_predicates
from graphtide.infra.index_folder import IndexFolder, hnsw_parameters
from graphtide.infra.observability.metrics.stages import Metrics
from graphtide.infra.observability.metrics.views import ViewGauges
from graphtide.services.cluster.gauges import FollowerGauges
from graphtide.services.cluster.roles.checkpoints import drop_outdated
from graphtide.services.cluster.roles.role import (
    RoleDependencies,
    Worker,
    freshness_of,
    health_of,
    measured_lag,
    running_tasks,
)
from graphtide.services.process.background_tasks import purge_nightly
from graphtide.services.standing.evaluation import evaluated_here
from graphtide.services.standing.history import RetainedHistory
from graphtide.streams.changes.retained_deltas import RetainedDeltas
from graphtide.streams.follow.delta_follower import DeltaFollower
from graphtide.streams.follow.view_registry import ViewRegistry
from graphtide.streams.messages import DELTAS
from graphtide.streams.publish_changes.stage import GraphChangesStage
from graphtide.streams.standing.shared import EvaluatedViews, follow_registrations, note_progress, relay_events
from graphtide.streams.summarize.report_writer import ReportPolicy, ReportWriter
from graphtide.streams.summarize.stage import DebounceSettings, SummarizeStage
from graphtide.streams.summarize.summary_writer import SummaryWriter


@asynccontextmanager
async def summarizer(tools: RoleDependencies) -> AsyncIterator[Worker]:
    """Run the role that follows the graphs and updates the community reports of its partitions."""
    settings, backing = tools.settings, tools.backing
    folder = settings.data / "summarize" / "indexes"
    indexes = IndexFolder(folder, hnsw_parameters(settings))
    await drop_outdated(indexes, backing)
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
        lag = measured_lag(tools, metrics, [(DELTAS, "summarize")], notes)
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
        async with running_tasks(runs, notes):
            yield Worker(health_of(tools, notes, freshness_of(follower)))


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
