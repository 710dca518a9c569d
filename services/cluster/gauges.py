"""Prometheus gauges of cluster processes, computed at each scrape: staleness of views, state of partitions."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from graphtide.streams.consolidate.stage import ConsolidateStage
from graphtide.streams.follow.delta_follower import DeltaFollower
from graphtide.streams.follow.view_registry import ViewRegistry


class FollowerGauges(Collector):
    """Gauges of the lag of views behind the store."""

    def __init__(self, follower: DeltaFollower) -> None:
        self._follower = follower

    def collect(self) -> Iterator[Metric]:
        """Yield the metrics; see Collector."""
        versions = GaugeMetricFamily(
            "graphtide_view_versions_behind", "Versions of a graph that its view lacks", labels=["graph"]
        )
        seconds = GaugeMetricFamily(
            "graphtide_view_seconds_behind", "Seconds since the view began to lack versions", labels=["graph"]
        )
        broken = self._follower.damaged
        damaged = GaugeMetricFamily(
            "graphtide_view_damaged", "1 for a graph whose stored rows this process cannot show", labels=["graph"]
        )
        for graph, (lacking, since_s) in self._follower.behind().items():
            versions.add_metric([graph], lacking)
            seconds.add_metric([graph], since_s)
        for graph in sorted({*broken, *self._follower.shown()}):
            damaged.add_metric([graph], int(graph in broken))
        yield versions
        yield seconds
        yield damaged
        reloads = self._follower.reloads
        yield CounterMetricFamily("graphtide_snapshot_reloads", "Snapshots loaded instead of deltas", value=reloads)


class EvictionGauges(Collector):
    """Gauges of the views in memory, and counters of those evicted and loaded on demand."""

    def __init__(self, views: ViewRegistry) -> None:
        self._views = views

    def collect(self) -> Iterator[Metric]:
        """Yield the metrics; see Collector."""
        views = self._views
        loaded, evicted = len(views.versions()), len(views.evicted)
        yield GaugeMetricFamily("graphtide_views_loaded", "Graphs whose view is in memory", value=loaded)
        yield GaugeMetricFamily("graphtide_views_evicted", "Stored graphs whose view is not in memory", value=evicted)
        size = views.loaded_bytes
        yield GaugeMetricFamily("graphtide_views_bytes", "Estimated memory of the views with their indexes", value=size)
        evictions = CounterMetricFamily("graphtide_view_evictions", "Views that left memory", labels=["reason"])
        for reason, count in views.evictions.items():
            evictions.add_metric([reason.value], count)
        yield evictions
        yield CounterMetricFamily("graphtide_view_loads", "Views loaded on demand", value=views.restores)
        taken_s = views.load_s
        yield CounterMetricFamily("graphtide_view_load_seconds", "Seconds of loading on demand", value=taken_s)
        deferred = views.deferred_loads
        yield CounterMetricFamily("graphtide_view_loads_deferred", "Requests left to other replicas", value=deferred)
        refused = views.refused_loads
        yield CounterMetricFamily("graphtide_view_loads_refused", "Loads that found no memory", value=refused)


class PartitionGauges(Collector):
    """Gauges of the assigned partitions of `extractions`, of the stopped ones, and of stopped graphs."""

    def __init__(self, stage: ConsolidateStage, graphs: Callable[[], Iterable[str]] = tuple) -> None:
        self._stage = stage
        self._graphs = graphs

    def collect(self) -> Iterator[Metric]:
        """Yield the metrics; see Collector."""
        assigned = GaugeMetricFamily(
            "graphtide_partition_assigned", "1 for a partition assigned to this process", labels=["partition"]
        )
        stuck = GaugeMetricFamily(
            "graphtide_partition_stopped", "1 for an assigned partition that is stopped", labels=["partition"]
        )
        troubles = self._stage.troubles
        for number in sorted(self._stage.partitions):
            assigned.add_metric([str(number)], 1)
            stuck.add_metric([str(number)], 1 if number in troubles else 0)
        stopped = GaugeMetricFamily(
            "graphtide_graph_stopped", "1 for a graph whose stored rows cannot be used", labels=["graph"]
        )
        broken = frozenset(self._stage.stopped)
        for graph in sorted(broken.union(self._graphs())):
            stopped.add_metric([graph], int(graph in broken))
        yield assigned
        yield stuck
        yield stopped
