"""Content of the dashboards: every panel with its description, PromQL, unit and legend.

`$graph` is selected at the top of a dashboard; `$__rate_interval` is Grafana's window for rates.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Panel:
    """A panel. `about` explains its meaning and when to act; `unit` is one of Grafana's."""

    title: str
    about: str
    queries: tuple[tuple[str, str], ...]
    """(PromQL, legend) of each line."""
    unit: str = "short"
    kind: str = "timeseries"


@dataclass(frozen=True, slots=True)
class Dashboard:
    name: str
    title: str
    panels: tuple[Panel, ...]


def _one(title: str, about: str, expr: str, legend: str, unit: str = "short", kind: str = "timeseries") -> Panel:
    return Panel(title, about, ((expr, legend),), unit, kind)


def _quantiles(buckets: str, by: str, legend: str) -> tuple[tuple[str, str], ...]:
    """Return p50, p95 and p99 of a histogram."""
    rate = f"sum by (le{by}) (rate({buckets}[$__rate_interval]))"
    return tuple((f"histogram_quantile({share}, {rate})", f"p{share * 100:.0f}{legend}") for share in (0.5, 0.95, 0.99))


_FRESH = 'graphtide_event_to_queryable_seconds_bucket{graph=~"$graph"}'
_ENDED = 'graphtide_revisions_total{graph=~"$graph"}'

OVERVIEW = Dashboard(
    "overview",
    "Graphtide: overview",
    (
        _one("Processes up", "All of them, or one is gone.", "sum(up)", "up", kind="stat"),
        _one(
            "Documents in graphs",
            "Live documents, as the replicas see them.",
            'sum(max by (graph) (graphtide_graph_rows{kind="documents",graph=~"$graph"}))',
            "documents",
            kind="stat",
        ),
        _one(
            "Documents waiting",
            "Accepted and without an end. Back to 0 after a burst; a plateau means something is stuck.",
            'sum(max by (graph) (graphtide_revisions_pending{graph=~"$graph"}))',
            "waiting",
            kind="stat",
        ),
        _one(
            "Oldest waiting",
            "The age of the document that has waited longest.",
            "max(graphtide_oldest_pending_seconds)",
            "age",
            "s",
            "stat",
        ),
        _one(
            "Spans not sent",
            "Recorded spans that the collector of traces did not take; nothing without otlp_endpoint.",
            'sum by (outcome) (rate(graphtide_spans_total{outcome!="sent"}[$__rate_interval]))',
            "{{outcome}}",
            "ops",
        ),
        Panel(
            "Freshness",
            "From accepting a document until questions see it, at every process that answers. The objective is 5 s for"
            " 99 %.",
            _quantiles(_FRESH, "", ""),
            "s",
        ),
        _one(
            "Documents by end",
            "What becomes of documents. Failed ones are in the dead letters: graphtide dlq list.",
            f"sum by (state) (rate({_ENDED}[$__rate_interval]))",
            "{{state}}",
            "ops",
        ),
        _one(
            "Questions",
            "By how they end: anything but answered and broken-off is an error that a caller saw.",
            'sum by (status) (rate(graphtide_queries_total{graph=~"$graph"}[$__rate_interval]))',
            "{{status}}",
            "reqps",
        ),
        Panel(
            "Question latency",
            "All modes together, the answer included.",
            _quantiles("graphtide_query_seconds_bucket", "", ""),
            "s",
        ),
        _one(
            "Stages that stopped",
            "1 while a stage waits for something and says what: graphtide status.",
            "max by (stage) (graphtide_stage_stopped)",
            "{{stage}}",
        ),
    ),
)

INGESTION = Dashboard(
    "ingestion",
    "Graphtide: ingestion",
    (
        _one(
            "Lag",
            "Records of each topic that its stage has not read. The one that grows is the bottleneck.",
            "sum by (topic, group) (max by (topic, group, partition) (graphtide_consumer_lag))",
            "{{group}} behind {{topic}}",
        ),
        _one(
            "Consumers",
            "How many processes read each topic for a stage. At 0 documents are accepted and wait.",
            "max by (topic, group) (graphtide_consumer_members)",
            "{{group}} of {{topic}}",
        ),
        _one(
            "Documents waiting by graph",
            "A graph alone with a high line waits for its budget or for its one writer.",
            'max by (graph) (graphtide_revisions_pending{graph=~"$graph"})',
            "{{graph}}",
        ),
        Panel(
            "Work of a stage",
            "How long a unit of work takes: a record of extract, a batch of the others.",
            _quantiles("graphtide_stage_seconds_bucket", ", stage", " {{stage}}"),
            "s",
        ),
        _one(
            "Units of work",
            "How many of them a second.",
            "sum by (stage) (rate(graphtide_stage_seconds_count[$__rate_interval]))",
            "{{stage}}",
            "ops",
        ),
        _one(
            "Busy",
            "Seconds a second that each stage works; near the number of its processes, it is the limit.",
            "sum by (stage) (rate(graphtide_stage_seconds_sum[$__rate_interval]))",
            "{{stage}}",
            "percentunit",
        ),
        Panel(
            "From accepting to commit",
            "A document's way into the graph database; what Freshness has beyond it, the replicas take.",
            _quantiles('graphtide_event_to_commit_seconds_bucket{graph=~"$graph"}', "", ""),
            "s",
        ),
        _one(
            "Retries",
            "A stage waits and tries again: an endpoint or a server that does not answer.",
            "sum by (stage) (rate(graphtide_retries_total[$__rate_interval]))",
            "{{stage}}",
            "ops",
        ),
        _one(
            "Failed documents",
            "Dead letters, by graph.",
            'sum by (graph) (increase(graphtide_revisions_total{state="failed",graph=~"$graph"}[$__rate_interval]))',
            "{{graph}}",
        ),
        _one(
            "Partitions held",
            "Which process writes how many partitions; their sum is that of the topic.",
            "sum by (instance) (graphtide_partition_assigned)",
            "{{instance}}",
        ),
        _one(
            "Partitions that stopped",
            "Any but 0 wants a person: graphtide status says what the store and the log disagree on.",
            "max by (partition) (graphtide_partition_stopped)",
            "partition {{partition}}",
        ),
    ),
)

GRAPH = Dashboard(
    "graph",
    "Graphtide: graph",
    (
        _one(
            "What the graphs hold",
            "Live rows, by kind.",
            'sum by (kind) (max by (graph, kind) (graphtide_graph_rows{graph=~"$graph"}))',
            "{{kind}}",
        ),
        _one(
            "Rows written a second",
            "What documents change beyond themselves. Edges are written when weight or trussness change.",
            'sum by (kind) (rate(graphtide_graph_changes_total{change="written",graph=~"$graph"}[$__rate_interval]))',
            "{{kind}}",
            "ops",
        ),
        _one(
            "Rows removed a second",
            "Edits and deletions; entities go when they merge, too.",
            'sum by (kind) (rate(graphtide_graph_changes_total{change="removed",graph=~"$graph"}[$__rate_interval]))',
            "{{kind}}",
            "ops",
        ),
        _one(
            "Edges touched by a document",
            "Trussness and weights that change for one document: flat, however large the graph.",
            'sum(rate(graphtide_graph_changes_total{kind="edge",graph=~"$graph"}[$__rate_interval]))'
            ' / sum(rate(graphtide_revisions_total{state=~"applied|deleted",graph=~"$graph"}[$__rate_interval]))',
            "edges a document",
        ),
        _one(
            "Kernels' work for a document",
            "Triangles listed for trussness; units examined and links read for communities. Flat, however large the"
            " graph: it grows with what a document brings, and with how dense it is where that goes.",
            'sum by (kind) (rate(graphtide_kernel_work_total{graph=~"$graph"}[$__rate_interval]))'
            " / on () group_left ()"
            ' sum(rate(graphtide_revisions_total{state=~"applied|deleted",graph=~"$graph"}[$__rate_interval]))',
            "{{kind}}",
        ),
        _one(
            "Merges and splits",
            "Same-as links made and withdrawn: labels that became one entity, or ceased to be.",
            'sum by (change) (rate(graphtide_graph_changes_total{kind="same-as",graph=~"$graph"}[$__rate_interval]))',
            "links {{change}}",
            "ops",
        ),
        _one(
            "Versions",
            "Commits of each graph, as each process sees them. Lines of one graph that part are replicas behind.",
            'max by (graph, instance) (graphtide_graph_version{graph=~"$graph"})',
            "{{graph}} at {{instance}}",
        ),
        _one(
            "Index vectors",
            "Live and dead. Dead ones are swept by a rebuild at a fifth.",
            'sum by (index, state) (max by (graph, index, state) (graphtide_index_vectors{graph=~"$graph"}))',
            "{{index}} {{state}}",
        ),
        _one(
            "Index memory",
            "By index, in each process.",
            'sum by (instance, index) (graphtide_index_bytes{graph=~"$graph"})',
            "{{index}} at {{instance}}",
            "bytes",
        ),
        _one(
            "Process memory",
            "Resident, by process.",
            "process_resident_memory_bytes",
            "{{instance}}",
            "bytes",
        ),
    ),
)

QUERIES = Dashboard(
    "queries",
    "Graphtide: questions",
    (
        _one(
            "Questions by mode",
            "What is asked.",
            'sum by (mode) (rate(graphtide_queries_total{graph=~"$graph"}[$__rate_interval]))',
            "{{mode}}",
            "reqps",
        ),
        Panel(
            "Latency by mode",
            "The whole answer; with a language model most of it is the model's.",
            _quantiles("graphtide_query_seconds_bucket", ", mode", " {{mode}}"),
            "s",
        ),
        _one(
            "Errors",
            "Questions that ended in an error, by its kind.",
            'sum by (status) (rate(graphtide_queries_total{status!="answered",graph=~"$graph"}[$__rate_interval]))',
            "{{status}}",
            "reqps",
        ),
        _one(
            "HTTP requests",
            "By route and status.",
            "sum by (route, status) (rate(graphtide_http_requests_total[$__rate_interval]))",
            "{{status}} {{route}}",
            "reqps",
        ),
        _one(
            "HTTP in progress", "Near the limit, callers get 429.", "graphtide_http_requests_in_flight", "{{instance}}"
        ),
        _one(
            "Freshness by process",
            "p99 of the time until questions to this process see a document. One line above the others: that replica.",
            f"histogram_quantile(0.99, sum by (le, instance) (rate({_FRESH}[$__rate_interval])))",
            "{{instance}}",
            "s",
        ),
        _one(
            "Replica staleness",
            "For how long each replica has lacked something that the store has.",
            'max by (instance, graph) (graphtide_view_seconds_behind{graph=~"$graph"})',
            "{{graph}} at {{instance}}",
            "s",
        ),
        _one(
            "Versions behind",
            "Commits that each replica lacks.",
            'max by (instance, graph) (graphtide_view_versions_behind{graph=~"$graph"})',
            "{{graph}} at {{instance}}",
        ),
        _one(
            "Snapshots loaded",
            "A replica that missed a delta loads the graph anew: now and then is fine, often is not.",
            "sum by (instance) (increase(graphtide_snapshot_reloads_total[$__rate_interval]))",
            "{{instance}}",
        ),
    ),
)

_WHOSE = '{graph=~"$graph"}'

COST = Dashboard(
    "cost",
    "Graphtide: models and cost",
    (
        _one(
            "Calls",
            "Of models, by what for.",
            f"sum by (stage) (rate(graphtide_llm_calls_total{_WHOSE}[$__rate_interval]))",
            "{{stage}}",
            "reqps",
        ),
        _one(
            "Tokens",
            "Sent and received.",
            f"sum by (stage, kind) (rate(graphtide_llm_tokens_total{_WHOSE}[$__rate_interval]))",
            "{{kind}} for {{stage}}",
        ),
        _one(
            "Money an hour",
            "By the prices in the settings.",
            f"3600 * sum by (graph) (rate(graphtide_llm_cost_total{_WHOSE}[$__rate_interval]))",
            "{{graph}}",
            "currencyUSD",
        ),
        _one(
            "Money since the processes started",
            "The bill that lasts is in graphtide stats.",
            f"sum by (stage) (graphtide_llm_cost_total{_WHOSE})",
            "{{stage}}",
            "currencyUSD",
        ),
        _one(
            "Waiting for the limits",
            "Calls that wait for their turn, by endpoint: the limit that holds everything up shows here.",
            "sum by (endpoint) (graphtide_endpoint_queued)",
            "{{endpoint}}",
        ),
        _one(
            "Time lost to the limits",
            "Seconds a second that calls wait for their turn.",
            "sum by (endpoint) (rate(graphtide_endpoint_wait_seconds_total[$__rate_interval]))",
            "{{endpoint}}",
        ),
        _one(
            "Endpoints in trouble",
            "1 while the latest call failed. After five failures an endpoint is left alone for a while.",
            "max by (endpoint) (graphtide_endpoint_unhealthy)",
            "{{endpoint}}",
        ),
        _one(
            "Calls a document",
            "Above what the README names, something asks twice.",
            'sum(rate(graphtide_llm_calls_total{stage="extract",graph=~"$graph"}[$__rate_interval]))'
            ' / sum(rate(graphtide_revisions_total{state="applied",graph=~"$graph"}[$__rate_interval]))',
            "calls a document",
        ),
        _one(
            "Remembered",
            "Extractions that cost nothing, because their text had been read before.",
            "sum(rate(graphtide_extraction_cache_hits_total[$__rate_interval]))",
            "remembered",
            "ops",
        ),
        _one(
            "Left out of answers",
            "Parts of extractions that were not used, by why: an endpoint that invents shows here.",
            "sum by (reason) (rate(graphtide_extraction_items_dropped_total[$__rate_interval]))",
            "{{reason}}",
            "ops",
        ),
        _one(
            "Budgets used up",
            "Times a graph was found without budget; its documents wait, nothing fails.",
            f"sum by (graph) (increase(graphtide_budget_paused_total{_WHOSE}[$__rate_interval]))",
            "{{graph}}",
        ),
    ),
)

DASHBOARDS = (OVERVIEW, INGESTION, GRAPH, QUERIES, COST)
