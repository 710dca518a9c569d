"""Prometheus metrics of the stages and of questions, in one registry. docs/metrics.md lists them all.

Operators rely on names and units. Labels are bounded: `graph` by MAX_GRAPHS, beyond which graphs are counted together
as "other"; `state`, `stage`, `mode` and `status` by the code.

A counter starts at 0 before its first increment, so that `increase()` sees that step: those of a stage with the
process, those of a graph when the process first sees it, those of a mode with its first question.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from prometheus_client import CollectorRegistry

from graphtide.graph.consolidation import KernelWork
from graphtide.graph.records import GraphDelta
from graphtide.infra.observability.metrics.instruments import (
    DocumentMetrics,
    GraphMetrics,
    QuestionMetrics,
    StageMetrics,
)
from graphtide.infra.observability.metrics.readers import StreamReaders
from graphtide.streams.errors import (
    Broken,
    BudgetExceeded,
    DeadlineExceeded,
    GraphtideError,
    Invalid,
    NotFound,
    Overloaded,
    Rejected,
    Retryable,
)
from graphtide.streams.ports import RevisionState

LATENCIES_KEPT = 2048
MAX_GRAPHS = 200
OTHER = "other"
CHANGES = ("chunk", "label", "relation", "entity", "edge", "same-as")
WORK = ("triangles", "community-units", "community-links")
ENDS = tuple(state.value for state in RevisionState if state is not RevisionState.ACCEPTED)
QUOTAS = ("documents", "bytes", "graphs")
_ERRORS = (Broken, DeadlineExceeded, BudgetExceeded, Invalid, NotFound, Overloaded, Rejected, Retryable)
STATUSES = ("answered", "broken-off", *(kind.__name__ for kind in _ERRORS))
"""The possible outcomes of a question."""


class GraphNames:
    """The graphs with a label of their own: the first that are seen."""

    def __init__(self, limit: int = MAX_GRAPHS) -> None:
        self._limit = limit
        self._known: set[str] = set()

    def label(self, graph: str) -> str:
        if graph in self._known:
            return graph
        if len(self._known) >= self._limit:
            return OTHER
        self._known.add(graph)
        return graph


class Metrics:
    """An `Observer` that counts for Prometheus, and keeps the latest event-to-queryable times for `stats`.

    `stages` are those that the process runs.
    """

    def __init__(self, registry: CollectorRegistry | None = None, stages: Sequence[str] = ()) -> None:
        self.registry = registry or CollectorRegistry()
        self.names = GraphNames()
        self.readers = StreamReaders()
        self.registry.register(self.readers)
        self._runs = frozenset(stages)
        self._seen: set[str] = set()
        self._asked: set[tuple[str, str]] = set()
        self._documents = DocumentMetrics(self.registry)
        self._stages = StageMetrics(self.registry)
        self._graphs = GraphMetrics(self.registry)
        self._questions = QuestionMetrics(self.registry)
        for quota in QUOTAS:
            self._questions.refusals.labels(quota)
        self._latest: dict[str, deque[float]] = {}
        for stage in stages:
            self._stages.retries.labels(stage)
            self._stages.seconds.labels(stage)
            self._stages.stopped.labels(stage).set(0)

    @property
    def seen(self) -> frozenset[str]:
        """Return the labels of the graphs that this process has seen."""
        return frozenset(self._seen)

    def _graph(self, graph: str) -> str:
        """Return the graph's label; at first sight start its counters at 0."""
        name = self.names.label(graph)
        if name not in self._seen:
            self._seen.add(name)
            self._begin(name)
        return name

    def _begin(self, name: str) -> None:
        if self._runs & {"extract", "consolidate"}:
            for state in ENDS:
                self._documents.revisions.labels(name, state)
        if "consolidate" in self._runs:
            self._graphs.forwarded.labels(name)
            for kind in CHANGES:
                for change in ("written", "removed"):
                    self._graphs.changes.labels(name, kind, change)
            for kind in WORK:
                self._graphs.work.labels(name, kind)

    def ended(self, graph: str, state: RevisionState) -> None:
        self._documents.revisions.labels(self._graph(graph), state.value).inc()

    def committed(self, graph: str, seconds: float) -> None:
        self._documents.committed.labels(self._graph(graph)).observe(seconds)

    def queryable(self, graph: str, seconds: float) -> None:
        name = self._graph(graph)
        self._documents.queryable.labels(name).observe(seconds)
        self._latest.setdefault(name, deque(maxlen=LATENCIES_KEPT)).append(seconds)

    def worked(self, stage: str, seconds: float) -> None:
        self._stages.seconds.labels(stage).observe(seconds)

    def forwarded(self, graph: str) -> None:
        self._graphs.forwarded.labels(self._graph(graph)).inc()

    def retried(self, stage: str) -> None:
        self._stages.retries.labels(stage).inc()

    def changed(self, delta: GraphDelta) -> None:
        """Count the rows of a committed delta by kind. Cost: a handful of additions."""
        gone, name = delta.gone, self._graph(delta.graph)
        for kind, written, removed in (
            ("chunk", delta.chunks, gone.chunks),
            ("label", delta.labels, gone.labels),
            ("relation", delta.statements, gone.statements),
            ("entity", delta.entities, gone.entities),
            ("edge", delta.edges, gone.edges),
            ("same-as", delta.same_as, gone.same_as),
        ):
            self._graphs.changes.labels(name, kind, "written").inc(len(written))
            self._graphs.changes.labels(name, kind, "removed").inc(len(removed))

    def kernel_worked(self, graph: str, work: KernelWork) -> None:
        name = self._graph(graph)
        self._graphs.work.labels(name, "triangles").inc(work.triangles)
        self._graphs.work.labels(name, "community-units").inc(work.community_units)
        self._graphs.work.labels(name, "community-links").inc(work.community_links)

    @contextmanager
    def asking(self, graph: str, mode: str) -> Iterator[None]:
        """Count and time a question. `mode` must be an existing one."""
        name = self._graph(graph)
        if (name, mode) not in self._asked:
            self._asked.add((name, mode))
            for status in STATUSES:
                self._questions.ended.labels(name, mode, status)
        started, status = time.perf_counter(), "broken-off"
        try:
            yield
            status = "answered"
        except GraphtideError as error:
            status = type(error).__name__
            raise
        finally:
            self._questions.ended.labels(name, mode, status).inc()
            self._questions.seconds.labels(mode).observe(time.perf_counter() - started)

    def waiting(self, graph: str, revisions: int) -> None:
        self._documents.pending.labels(self._graph(graph)).set(revisions)

    def oldest_pending(self, seconds: float) -> None:
        self._documents.oldest_pending_s.set(seconds)

    def behind(self, topic: str, group: str, partition: int, records: int) -> None:
        self._stages.lag.labels(topic, group, str(partition)).set(records)

    def members(self, topic: str, group: str, count: int) -> None:
        self._stages.members.labels(topic, group).set(count)

    def stopped(self, stage: str, is_stopped: bool) -> None:
        self._stages.stopped.labels(stage).set(int(is_stopped))

    def over_quota(self, quota: str) -> None:
        """Count a request that one of QUOTAS refused."""
        self._questions.refusals.labels(quota).inc()

    def event_to_queryable_ms(self, graph: str) -> dict[str, float]:
        """Return p50, p95 and p99 of the latest revisions since the process started; empty without any."""
        latencies = sorted(self._latest.get(graph, ()))
        if not latencies:
            return {}
        at = {f"p{share}": latencies[min(len(latencies) - 1, len(latencies) * share // 100)] for share in (50, 95, 99)}
        return {name: round(seconds * 1000, 1) for name, seconds in at.items()}
