"""The metrics and the spans of committed batches."""

from __future__ import annotations

from graphtide.streams.consolidate.batches import STAGE, ConsolidationBatch
from graphtide.streams.follow.freshness import seconds_since
from graphtide.streams.observer import Observer
from graphtide.streams.tracing import inject, record_span


def report(batch: ConsolidationBatch, seconds: float, observer: Observer, queryable: bool) -> None:
    """Report an applied batch; `queryable`: the followers of this process have applied it."""
    observer.worked(STAGE, seconds)
    for part in batch.parts:
        observer.changed(part.delta)
    for graph, work in batch.kernel_work.items():
        observer.kernel_worked(graph, work)
    for outcome in batch.outcomes:
        observer.ended(outcome.graph, outcome.state)
    if queryable:
        for graph, times in batch.accepted_ms().items():
            for accepted_ms in times:
                observer.queryable(graph, seconds_since(accepted_ms))


def report_commit(batch: ConsolidationBatch, observer: Observer) -> None:
    """Report the time from acceptance to the commit of each revision."""
    for graph, times in batch.accepted_ms().items():
        for accepted_ms in times:
            observer.committed(graph, seconds_since(accepted_ms))


def trace_revisions(batch: ConsolidationBatch, since_ns: int) -> None:
    """Add a span to the trace of each revision's document: the span of the batch itself is in one trace only."""
    ours = inject()
    for outcome in batch.outcomes if ours else ():
        parents = [batch.record_headers.get((outcome.graph, outcome.doc_id, outcome.revision), ()), ours]
        attributes = {"graph": outcome.graph, "doc_id": outcome.doc_id, "state": outcome.state.value}
        record_span("apply", parents, since_ns, revision=outcome.revision, **attributes)
