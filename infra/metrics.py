"""Prometheus metrics of the stages, in one registry. Names and units are part of what operators rely on.

Labels are bounded: `graph` by the number of graphs, `state` and `stage` by the code.
"""

from __future__ import annotations

from collections import deque

from prometheus_client import CollectorRegistry, Counter, Histogram

from streams.ports import State

LATENCIES_KEPT = 2048


class Metrics:
    """An `Observer` that counts for Prometheus, and keeps the latest event-to-queryable times for `stats`."""

    def __init__(self, registry: CollectorRegistry | None = None) -> None:
        self.registry = registry or CollectorRegistry()
        self._revisions = Counter(
            "graphtide_revisions", "Document revisions that reached an end", ["graph", "state"], registry=self.registry
        )
        self._queryable = Histogram(
            "graphtide_event_to_queryable_seconds",
            "From accepting a revision to its being visible to questions",
            ["graph"],
            buckets=(0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 30, 60, 300),
            registry=self.registry,
        )
        self._stages = Histogram(
            "graphtide_stage_seconds",
            "Duration of a stage's unit of work: a record of extract, a batch of the others",
            ["stage"],
            buckets=(0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 5, 30),
            registry=self.registry,
        )
        self._retries = Counter(
            "graphtide_retries", "Times a stage waited to try again", ["stage"], registry=self.registry
        )
        self._latest: dict[str, deque[float]] = {}

    def ended(self, graph: str, state: State) -> None:
        self._revisions.labels(graph, state.value).inc()

    def queryable(self, graph: str, seconds: float) -> None:
        self._queryable.labels(graph).observe(seconds)
        self._latest.setdefault(graph, deque(maxlen=LATENCIES_KEPT)).append(seconds)

    def worked(self, stage: str, seconds: float) -> None:
        self._stages.labels(stage).observe(seconds)

    def retried(self, stage: str) -> None:
        self._retries.labels(stage).inc()

    def event_to_queryable_ms(self, graph: str) -> dict[str, float]:
        """p50, p95 and p99 of the latest revisions since the process started; empty when there were none."""
        held = sorted(self._latest.get(graph, ()))
        if not held:
            return {}
        at = {f"p{share}": held[min(len(held) - 1, len(held) * share // 100)] for share in (50, 95, 99)}
        return {name: round(seconds * 1000, 1) for name, seconds in at.items()}
