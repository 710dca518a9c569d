"""The role that reads `documents` and writes `extractions`."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from functools import partial

from graphtide.infra.observability.metrics.stages import Metrics
from graphtide.infra.sources.decoder import DirectValues
from graphtide.services.cluster.roles.role import (
    RoleDependencies,
    Worker,
    health_of,
    measured_lag,
    running_tasks,
)
from graphtide.services.sources import SourceTarget, mapped_sources, source_states, source_tasks
from graphtide.streams.extract.settings import ExtractSettings
from graphtide.streams.extract.stage import ExtractStage
from graphtide.streams.messages import DOCUMENTS


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
    lag = measured_lag(tools, metrics, [(DOCUMENTS, "extract")], notes)
    target = SourceTarget(partial(backing.log.append, DOCUMENTS), backing.log)
    async with AsyncExitStack() as stack:
        await stack.enter_async_context(
            running_tasks({"extract": lambda: backing.extraction(stage), "lag": lag}, notes)
        )
        waiting: dict[str, str] = {}
        if sources.topics() and backing.source_consumer is not None:
            reading = source_tasks(tools.settings, sources, backing.source_consumer, target, tools.registry)
            waiting = await stack.enter_async_context(reading)
        yield Worker(health_of(tools, notes, *source_states(sources.topics(), waiting)))
