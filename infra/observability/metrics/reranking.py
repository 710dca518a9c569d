"""Prometheus metrics of the reranker."""

from __future__ import annotations

from prometheus_client import CollectorRegistry, Counter, Histogram

OUTCOMES = ("reranked", "failed")


class RerankMetrics:
    """Counts of questions whose passages went to the reranker, and its time."""

    def __init__(self, registry: CollectorRegistry) -> None:
        self._questions = Counter(
            "graphtide_reranks", "Questions whose passages went to the reranker", ["outcome"], registry=registry
        )
        self._seconds = Histogram(
            "graphtide_rerank_seconds",
            "Duration of a call of the reranker, failed ones included",
            buckets=(0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10),
            registry=registry,
        )
        for outcome in OUTCOMES:
            self._questions.labels(outcome)

    def called(self, outcome: str, seconds: float) -> None:
        """Count one call. `outcome` is one of OUTCOMES."""
        self._questions.labels(outcome).inc()
        self._seconds.observe(seconds)
