"""Construction of the standing questions of a process that evaluates them itself."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from prometheus_client import CollectorRegistry

from graphtide.graph.records import GraphDelta
from graphtide.infra.observability.metrics.standing import StandingMetrics
from graphtide.services.standing.answers import AnswerWriter
from graphtide.services.standing.service import EventSignal, StandingService
from graphtide.streams.changes.change_log import ChangeReader
from graphtide.streams.follow.view_registry import ViewRegistry
from graphtide.streams.model_ports import Embedder, Generator
from graphtide.streams.ports import GraphStore
from graphtide.streams.standing.records import Cause
from graphtide.streams.standing.replay import causes_of as caused_by
from graphtide.streams.standing.stage import StandingStage
from graphtide.streams.standing.store import QuestionStore

POLL_S = 30.0
"""Interval at which readers of events look although nothing woke them."""


@dataclass(frozen=True, slots=True)
class EvaluatedHere:
    """The stage, the writer of answers, and the service for callers."""

    stage: StandingStage
    answers: AnswerWriter
    service: StandingService


async def evaluated_here(
    store: QuestionStore,
    views: ViewRegistry,
    embedder: Embedder,
    generator: Generator,
    graphs: GraphStore,
    registry: CollectorRegistry,
    changes: ChangeReader | None = None,
) -> EvaluatedHere:
    """Return the components; the graphs that have questions are known, and not evaluated yet."""
    signal = EventSignal()
    answers = AnswerWriter(store, views, generator, signal)
    metrics = StandingMetrics(registry)
    stage = StandingStage(store, views, embedder, causes_of(graphs, changes), metrics, answers.recorded)
    metrics.counts = stage.counts
    await stage.open()
    return EvaluatedHere(stage, answers, StandingService(store, stage, signal, POLL_S))


def causes_of(
    graphs: GraphStore, changes: ChangeReader | None
) -> Callable[[str, int, GraphDelta | None], Awaitable[tuple[Cause, ...]]]:
    """Return the function that names the revisions that a commit applied; after a restart by the change log."""

    async def causes(graph: str, version: int, delta: GraphDelta | None) -> tuple[Cause, ...]:
        if delta is None or delta.snapshot:
            records = await changes.read(graph, version - 1, 1) if changes else ()
            return next((caused_by(record) for record in records if record.version == version), ())
        deleted = [doc_id for doc_id in delta.gone.documents if doc_id not in {row.doc_id for row in delta.documents}]
        stored = await graphs.standings(graph, deleted)
        found = {row.doc_id: row.revision for row in delta.documents}
        found |= {doc_id: document.revision for doc_id, document in stored.items()}
        return tuple(Cause(doc_id, revision) for doc_id, revision in sorted(found.items()))

    return causes
