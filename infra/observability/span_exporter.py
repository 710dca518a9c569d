"""Export of spans: a bounded queue, a sending thread, and a count of each outcome.

`infra/observability/tracing.py` makes the spans. Invariants: ending a span never waits; a slow or unreachable collector
costs spans and nothing else, is logged once, and every lost span is counted.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from threading import Lock
from typing import Protocol

from opentelemetry.context import Context
from opentelemetry.sdk.trace import ReadableSpan, Span, SpanProcessor
from opentelemetry.sdk.trace.export import BatchSpanProcessor, SpanExporter, SpanExportResult
from prometheus_client import CollectorRegistry, Counter

log = logging.getLogger("graphtide")

QUEUED = 8192
"""Maximum number of waiting spans, those being sent included; further ones are dropped."""
BATCH_SIZE = 512
SEND_EVERY_S = 1.0


class SpanOutcomes:
    """Counts of the spans of this process by outcome."""

    def __init__(self, registry: CollectorRegistry) -> None:
        count = Counter("graphtide_spans", "Recorded spans by what became of them", ["outcome"], registry=registry)
        self.sent = count.labels("sent")
        self.refused = count.labels("refused")
        self.overflowed = count.labels("overflowed")


class BoundedSpanExporter(SpanProcessor):
    """Receiver of ended spans, which it passes to the exporter in batches.

    The library's own queue drops spans without a countable event, so it is never filled.
    """

    def __init__(self, exporter: SpanExporter, outcomes: SpanOutcomes) -> None:
        self._outcomes = outcomes
        self._turn = Lock()
        self._waiting = 0
        self._failing = False
        self._batches = BatchSpanProcessor(
            _Watched(exporter, self._taken),
            max_queue_size=QUEUED,
            schedule_delay_millis=SEND_EVERY_S * 1000,
            max_export_batch_size=BATCH_SIZE,
        )

    def on_start(self, span: Span, parent_context: Context | None = None) -> None:
        """See SpanProcessor."""

    def on_end(self, span: ReadableSpan) -> None:
        """See SpanProcessor. Cost: a lock that is held for an addition."""
        if span.context is None or not span.context.trace_flags.sampled:
            return
        with self._turn:
            full = self._waiting >= QUEUED
            self._waiting += not full
        if full:
            self._outcomes.overflowed.inc()
            self._note(failed=True)
        else:
            self._batches.on_end(span)

    def shutdown(self) -> None:
        """See SpanProcessor. Waiting spans are sent, or dropped and counted."""
        self._batches.shutdown()  # type: ignore[no-untyped-call]

    def force_flush(self, timeout_millis: int = 30_000) -> bool:
        """See SpanProcessor."""
        return self._batches.force_flush(timeout_millis)

    def _taken(self, count: int, *, failed: bool) -> None:
        (self._outcomes.refused if failed else self._outcomes.sent).inc(count)
        with self._turn:
            self._waiting -= count
        self._note(failed=failed)

    def _note(self, *, failed: bool) -> None:
        """Log once that spans are not accepted, and once that they are again."""
        with self._turn:
            before, self._failing = self._failing, failed
        if failed and not before:
            log.warning("the trace collector does not accept spans, or too slowly; they are dropped until it does")
        elif before and not failed:
            log.info("the trace collector accepts spans again")


class _Ended(Protocol):
    def __call__(self, count: int, *, failed: bool) -> None: ...


class _Watched(SpanExporter):
    """The exporter, with a callback for the outcome of each batch."""

    def __init__(self, exporter: SpanExporter, ended: _Ended) -> None:
        self._exporter = exporter
        self._ended = ended

    def export(self, spans: Sequence[ReadableSpan]) -> SpanExportResult:
        """See SpanExporter.export."""
        result = SpanExportResult.FAILURE
        try:
            result = self._exporter.export(spans)
        finally:
            self._ended(len(spans), failed=result is not SpanExportResult.SUCCESS)
        return result

    def shutdown(self) -> None:
        """See SpanExporter.shutdown."""
        self._exporter.shutdown()
