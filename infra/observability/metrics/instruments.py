"""The Prometheus instruments of the stages and of questions, by what they measure.

`stages.py` gives them their values; docs/metrics.md lists them all.
"""

from __future__ import annotations

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram

_FRESH_BUCKETS_S = (0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 30, 60, 300)
_QUERY_BUCKETS_S = (0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 30)


class DocumentMetrics:
    """The ends of revisions, their latencies, and those that are pending."""

    def __init__(self, registry: CollectorRegistry) -> None:
        self.revisions = Counter(
            "graphtide_revisions", "Document revisions that reached an end", ["graph", "state"], registry=registry
        )
        self.queryable = Histogram(
            "graphtide_event_to_queryable_seconds",
            "From accepting a revision to its being visible to questions in this process",
            ["graph"],
            buckets=_FRESH_BUCKETS_S,
            registry=registry,
        )
        self.committed = Histogram(
            "graphtide_event_to_commit_seconds",
            "From accepting a revision to its being durable in its graph",
            ["graph"],
            buckets=_FRESH_BUCKETS_S,
            registry=registry,
        )
        self.pending = Gauge(
            "graphtide_revisions_pending", "Revisions that have no end yet", ["graph"], registry=registry
        )
        self.oldest_pending_s = Gauge(
            "graphtide_oldest_pending_seconds", "Age of the oldest revision that has no end", registry=registry
        )


class StageMetrics:
    """The work of the stages that this process runs, and the lag of their consumers in all processes."""

    def __init__(self, registry: CollectorRegistry) -> None:
        self.seconds = Histogram(
            "graphtide_stage_seconds",
            "Duration of a stage's unit of work: a record of extract, a batch of the others",
            ["stage"],
            buckets=(0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 5, 30),
            registry=registry,
        )
        self.retries = Counter("graphtide_retries", "Times a stage waited to try again", ["stage"], registry=registry)
        self.lag = Gauge(
            "graphtide_consumer_lag",
            "Records of a topic that a stage has not read yet",
            ["topic", "group", "partition"],
            registry=registry,
        )
        self.members = Gauge(
            "graphtide_consumer_members",
            "Consumers that a group has, in all processes",
            ["topic", "group"],
            registry=registry,
        )
        self.stopped = Gauge(
            "graphtide_stage_stopped",
            "1 while a stage is stopped and reports the reason",
            ["stage"],
            registry=registry,
        )


class GraphMetrics:
    """The changes of graphs by their documents, and what they cost."""

    def __init__(self, registry: CollectorRegistry) -> None:
        self.forwarded = Counter(
            "graphtide_records_forwarded",
            "Records of extractions that were appended to their graph's partition from another one",
            ["graph"],
            registry=registry,
        )
        self.changes = Counter(
            "graphtide_graph_changes",
            "Rows of a graph that its documents changed: what they cost beyond themselves",
            ["graph", "kind", "change"],
            registry=registry,
        )
        self.work = Counter(
            "graphtide_kernel_work",
            "What the kernels did for documents: triangles listed, units of communities examined, links read for it",
            ["graph", "kind"],
            registry=registry,
        )


class QuestionMetrics:
    """The ends and durations of questions, and the requests that a quota refused."""

    def __init__(self, registry: CollectorRegistry) -> None:
        self.ended = Counter(
            "graphtide_queries", "Questions, by how they ended", ["graph", "mode", "status"], registry=registry
        )
        self.seconds = Histogram(
            "graphtide_query_seconds",
            "From a question's arrival to the whole answer",
            ["mode"],
            buckets=_QUERY_BUCKETS_S,
            registry=registry,
        )
        self.refusals = Counter(
            "graphtide_quota_refusals",
            "Requests that were refused because a key's graphs hold as much as it may store",
            ["quota"],
            registry=registry,
        )
