"""Gauges of a re-embedding in the background, read when Prometheus scrapes."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from prometheus_client.core import GaugeMetricFamily
from prometheus_client.registry import Collector


class ReembeddingGauges(Collector):
    """Collector of the progress; `figures` returns the documents with new vectors, and all live documents."""

    def __init__(self, figures: Callable[[], tuple[int, int]]) -> None:
        self._figures = figures

    def describe(self) -> Iterable[GaugeMetricFamily]:
        """Return the family without samples."""
        return [_family()]

    def collect(self) -> Iterator[GaugeMetricFamily]:
        family = _family()
        for state, count in zip(("embedded", "live"), self._figures(), strict=True):
            family.add_metric([state], count)
        yield family


def _family() -> GaugeMetricFamily:
    return GaugeMetricFamily(
        "graphtide_reembedding_documents",
        "Documents with vectors of the new model while a folder is embedded again, and all live ones",
        labels=["state"],
    )
