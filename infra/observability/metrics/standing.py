"""Prometheus metrics of standing questions."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

from prometheus_client import CollectorRegistry, Counter, Histogram
from prometheus_client.core import GaugeMetricFamily
from prometheus_client.registry import Collector

from graphtide.infra.observability.metrics.stages import GraphNames


class StandingMetrics(Collector):
    """An observer of evaluations that counts for Prometheus. `counts` returns the number of questions by graph."""

    def __init__(self, registry: CollectorRegistry) -> None:
        self.counts: Callable[[], Mapping[str, int]] = dict
        self._names = GraphNames()
        self._evaluations = Counter(
            "graphtide_question_evaluations",
            "Evaluations of standing questions that a commit may have affected",
            ["graph"],
            registry=registry,
        )
        self._events = Counter(
            "graphtide_question_events", "Changes of the evidence of standing questions", ["graph"], registry=registry
        )
        self._seconds = Histogram(
            "graphtide_question_evaluation_seconds",
            "From a commit's being visible to the storage of its events, with all evaluations",
            ["graph"],
            buckets=(0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 30, 300),
            registry=registry,
        )
        registry.register(self)

    def evaluated(self, graph: str, questions: int, evaluations: int, events: int, seconds: float) -> None:
        """Count the evaluation of one version."""
        label = self._names.label(graph)
        self._evaluations.labels(label).inc(evaluations)
        self._events.labels(label).inc(events)
        self._seconds.labels(label).observe(seconds)

    def collect(self) -> Iterator[GaugeMetricFamily]:
        """Yield the number of questions of each graph."""
        family = GaugeMetricFamily("graphtide_questions", "Registered standing questions", labels=["graph"])
        totals: dict[str, int] = {}
        for graph, count in self.counts().items():
            label = self._names.label(graph)
            totals[label] = totals.get(label, 0) + count
        for label, count in totals.items():
            family.add_metric([label], count)
        yield family
