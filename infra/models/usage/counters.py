"""Prometheus counters of model calls and their cost. Labels are bounded: by the graphs, and by the code.

The ledger lasts (`streams/usage.py`); these start at 0, those of a graph when its first call is reserved.
"""

from __future__ import annotations

from prometheus_client import CollectorRegistry, Counter

from graphtide.infra.observability.metrics.stages import GraphNames
from graphtide.streams.usage import ModelUsage

REASONS = ("blank", "date", "duplicate", "evidence", "length", "shape", "gleaning", "report", "summary")
"""The reasons why a part of a model's answer is left out."""


class Tally:
    """Counters of calls, tokens and money, and of the items kept and left out of answers."""

    def __init__(self, registry: CollectorRegistry | None = None) -> None:
        registry = registry or CollectorRegistry()
        whose = ["graph", "stage"]
        self._calls = Counter("graphtide_llm_calls", "Calls of models that were paid for", whose, registry=registry)
        self._tokens = Counter("graphtide_llm_tokens", "Tokens sent and received", [*whose, "kind"], registry=registry)
        self._cost = Counter("graphtide_llm_cost", "Money, in the currency of the prices", whose, registry=registry)
        self._paused = Counter(
            "graphtide_budget_paused", "Times a graph's budget was found used up", ["graph"], registry=registry
        )
        self._remembered = Counter(
            "graphtide_extraction_cache_hits", "Extractions that needed no call: asked before", registry=registry
        )
        self._dropped = Counter(
            "graphtide_extraction_items_dropped",
            "Parts of extractions that were left out, by why",
            ["reason"],
            registry=registry,
        )
        for reason in REASONS:
            self._dropped.labels(reason)
        self._names = GraphNames()
        self._begun: set[tuple[str, str]] = set()

    def begin(self, graph: str, stage: str) -> None:
        """Start the counters of a graph's stage at 0, at first sight: before its first call."""
        graph = self._names.label(graph)
        if (graph, stage) in self._begun:
            return
        self._begun.add((graph, stage))
        self._paused.labels(graph)
        self._calls.labels(graph, stage)
        self._cost.labels(graph, stage)
        for kind in ("prompt", "completion"):
            self._tokens.labels(graph, stage, kind)

    def called(self, graph: str, stage: str, spent: ModelUsage) -> None:
        """Count a settled call."""
        graph = self._names.label(graph)
        self._calls.labels(graph, stage).inc(spent.calls)
        self._tokens.labels(graph, stage, "prompt").inc(spent.prompt_tokens)
        self._tokens.labels(graph, stage, "completion").inc(spent.completion_tokens)
        self._cost.labels(graph, stage).inc(spent.cost)

    def paused(self, graph: str) -> None:
        """Count a graph whose budget is exhausted."""
        self._paused.labels(self._names.label(graph)).inc()

    def remembered(self) -> None:
        self._remembered.inc()

    def dropped(self, reason: str, count: int = 1) -> None:
        self._dropped.labels(reason).inc(count)
