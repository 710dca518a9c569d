"""Gauges of the live views' content, read when Prometheus scrapes. Cost: one length per table and graph.

No table is walked: the sizes of the tables and counts that the view maintains give all values.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from prometheus_client.core import GaugeMetricFamily
from prometheus_client.registry import Collector

from graphtide.graph.vector_index import VectorIndex
from graphtide.graph.view import LiveView
from graphtide.infra.observability.metrics.stages import GraphNames


class ViewGauges(Collector):
    """Collector of the views' gauges; `views` returns the current views, at each scrape."""

    def __init__(self, views: Callable[[], Iterable[LiveView]], names: GraphNames) -> None:
        self._views = views
        self._names = names

    def describe(self) -> Iterable[GaugeMetricFamily]:
        """Return the families without samples, so that registering does not read the views."""
        return _families()

    def collect(self) -> Iterator[GaugeMetricFamily]:
        version, rows, vectors, size = _families()
        for view in list(self._views()):
            name = self._names.label(view.graph)
            version.add_metric([name], view.version)
            for kind, count in counts(view).items():
                rows.add_metric([name, kind], count)
            for index, live in _indexes(view):
                figures = live.statistics()
                vectors.add_metric([name, index, "live"], figures.live)
                vectors.add_metric([name, index, "deleted"], figures.tombstones)
                size.add_metric([name, index], figures.size_bytes)
        yield from (version, rows, vectors, size)


def counts(view: LiveView) -> dict[str, int]:
    """Return the number of rows in a graph, by kind."""
    return {
        "documents": len(view.documents),
        "chunks": len(view.chunks),
        "labels": len(view.labels),
        "entities": len(view.entities),
        "relations": len(view.statements),
        "edges": view.edge_count,
    }


def _indexes(view: LiveView) -> Iterator[tuple[str, VectorIndex]]:
    yield "chunks", view.indexes.chunks
    yield "entities", view.indexes.entities
    yield "relations", view.indexes.statements


def _families() -> tuple[GaugeMetricFamily, GaugeMetricFamily, GaugeMetricFamily, GaugeMetricFamily]:
    return (
        GaugeMetricFamily("graphtide_graph_version", "The version that questions see here", labels=["graph"]),
        GaugeMetricFamily("graphtide_graph_rows", "What a graph holds, by kind", labels=["graph", "kind"]),
        GaugeMetricFamily("graphtide_index_vectors", "Vectors in an index", labels=["graph", "index", "state"]),
        GaugeMetricFamily("graphtide_index_bytes", "Memory of an index", labels=["graph", "index"]),
    )
