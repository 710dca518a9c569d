"""The role that writes the graphs of its assigned partitions and relays their deltas."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager

from graphtide.infra.observability.metrics.stages import Metrics
from graphtide.services.application import Health
from graphtide.services.cluster.gauges import PartitionGauges
from graphtide.services.cluster.roles.checkpoints import sweep_now_and_then, write_model_checkpoints
from graphtide.services.cluster.roles.role import (
    RoleDependencies,
    Worker,
    dependencies_of,
    measured_lag,
    running_tasks,
)
from graphtide.services.component_state import degraded, task_states
from graphtide.services.health import with_dependencies
from graphtide.services.process.background_tasks import check_now_and_then, judge_now_and_then
from graphtide.streams.consolidate.stage import ConsolidateSettings, ConsolidateStage
from graphtide.streams.follow.delta_records import full_records, overwritten_records
from graphtide.streams.messages import EXTRACTIONS

COMMIT_WINDOW_S = 0.2
"""Minimum time between two commits of a partition, which bounds the delay that grouping adds to a document."""


@asynccontextmanager
async def consolidator(tools: RoleDependencies) -> AsyncIterator[Worker]:
    """Run the role that writes the graphs of its assigned partitions and relays their deltas."""
    backing, settings = tools.backing, tools.settings
    checkpoints = await write_model_checkpoints(tools)
    chosen = ConsolidateSettings(
        max_write_models=settings.max_write_models,
        announce=full_records,
        outbox=backing.outbox,
        tombstones=backing.ledger,
        overwritten=overwritten_records if settings.change_retention_commits else None,
        checkpoints=checkpoints,
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
    if checkpoints is not None:
        runs["write-models"] = lambda: sweep_now_and_then(checkpoints, backing.store)
    notes: dict[str, str] = {}
    runs["lag"] = measured_lag(tools, metrics, [(EXTRACTIONS, "consolidate")], notes)
    if tools.models.chat is not None and tools.models.judges_names:
        from graphtide.infra.models.openai.judge import OpenAIJudge

        judge = OpenAIJudge(tools.models.chat)
        runs["pair-judge"] = lambda: judge_now_and_then(stage, judge)

    async with running_tasks(runs, notes):

        async def health() -> Health:
            partitions = {**stage.maintenance, **stage.troubles}.items()
            components = task_states(notes) | {f"partition {number}": degraded(state) for number, state in partitions}
            runs_on = not any(notes.values()) and not stage.troubles
            return await with_dependencies(Health(runs_on, components), dependencies_of(tools))

        yield Worker(health)
