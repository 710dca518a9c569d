"""Prometheus gauge of security files whose newest version is not in use, computed at each scrape."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from prometheus_client.core import GaugeMetricFamily
from prometheus_client.registry import Collector

from graphtide.services.access.gate import AccessGate


class GuardGauges(Collector):
    """Collector of `graphtide_security_file_stale`. Cost: one stat per security file."""

    def __init__(self, gate: AccessGate) -> None:
        self._gate = gate

    def describe(self) -> Iterable[GaugeMetricFamily]:
        return (_family(),)

    def collect(self) -> Iterator[GaugeMetricFamily]:
        family = _family()
        for name, problem in self._gate.problems().items():
            family.add_metric([name], int(bool(problem)))
        yield family


def _family() -> GaugeMetricFamily:
    return GaugeMetricFamily(
        "graphtide_security_file_stale",
        "1 while a newer file is refused and the previous one stays in use",
        labels=["file"],
    )
