"""The way of spans out of the process: a bounded queue, a thread that sends, and a count of what became of each.

Not what a span is (`infra/observability/tracing.py`). The invariants: ending a span never waits; a collector that is
slow or away
costs spans and nothing else, is spoken of once, and every span that it cost is counted.
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
"""Spans that wait at most, those under way included; what comes beyond them is dropped."""
AT_ONCE = 512
SEND_EVERY_S = 1.0


class Fates:
    """What became of the spans of this process."""

    def __init__(self, registry: CollectorRegistry) -> None:
        count = Counter("graphtide_spans", "Recorded spans by what became of them", ["fate"], registry=registry)
        self.sent = count.labels("sent")
        self.refused = count.labels("refused")
        self.overflowed = count.labels("overflowed")


class BoundedSpanExporter(SpanProcessor):
    """Takes spans as they end, and hands them on in batches to the exporter.

    The library's own queue drops without a word that can be counted, so it is never let run over.
    """

    def __init__(self, exporter: SpanExporter, fates: Fates) -> None:
        self._fates = fates
        self._turn = Lock()
        self._waiting = 0
        self._away = False
        self._batches = BatchSpanProcessor(
            _Watched(exporter, self._taken),
            max_queue_size=QUEUED,
            schedule_delay_millis=SEND_EVERY_S * 1000,
            max_export_batch_size=AT_ONCE,
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
            self._fates.overflowed.inc()
            self._tell(away=True)
        else:
            self._batches.on_end(span)

    def shutdown(self) -> None:
        """See SpanProcessor. What waits is sent, or is not."""
        self._batches.shutdown()  # type: ignore[no-untyped-call]

    def force_flush(self, timeout_millis: int = 30_000) -> bool:
        """See SpanProcessor."""
        return self._batches.force_flush(timeout_millis)

    def _taken(self, count: int, *, away: bool) -> None:
        (self._fates.refused if away else self._fates.sent).inc(count)
        with self._turn:
            self._waiting -= count
        self._tell(away=away)

    def _tell(self, *, away: bool) -> None:
        """Once that spans are not taken, and once that they are again."""
        with self._turn:
            before, self._away = self._away, away
        if away and not before:
            log.warning("the collector of traces takes no spans, or too slowly; they are dropped until it does")
        elif before and not away:
            log.info("the collector of traces takes spans again")


class _Ended(Protocol):
    def __call__(self, count: int, *, away: bool) -> None: ...


class _Watched(SpanExporter):
    """The exporter, and somebody who hears how each batch ended."""

    def __init__(self, exporter: SpanExporter, ended: _Ended) -> None:
        self._exporter = exporter
        self._ended = ended

    def export(self, spans: Sequence[ReadableSpan]) -> SpanExportResult:
        """See SpanExporter.export."""
        result = SpanExportResult.FAILURE
        try:
            result = self._exporter.export(spans)
        finally:
            self._ended(len(spans), away=result is not SpanExportResult.SUCCESS)
        return result

    def shutdown(self) -> None:
        """See SpanExporter.shutdown."""
        self._exporter.shutdown()
