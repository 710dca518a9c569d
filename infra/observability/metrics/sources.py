"""Prometheus metrics of the records of other systems' topics. `topic` is bounded by the mappings."""

from __future__ import annotations

from collections.abc import Iterable

from prometheus_client import CollectorRegistry, Counter

from graphtide.streams.sources.types import SourceOutcome


class SourceMetrics:
    """A SourceObserver that counts for Prometheus. The counters of all topics start at 0."""

    def __init__(self, registry: CollectorRegistry, topics: Iterable[str]) -> None:
        self._records = Counter(
            "graphtide_source_records",
            "Records of other systems' topics, by their outcome",
            ["topic", "outcome"],
            registry=registry,
        )
        for topic in topics:
            for outcome in SourceOutcome:
                self._records.labels(topic, outcome.value)

    def ended(self, topic: str, outcome: SourceOutcome, count: int = 1) -> None:
        """See SourceObserver.ended."""
        self._records.labels(topic, outcome.value).inc(count)
