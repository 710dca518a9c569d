"""Whether each file that guards the service is in force as it is now, as a gauge that is read when Prometheus asks."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from prometheus_client.core import GaugeMetricFamily
from prometheus_client.registry import Collector

from graphtide.services.access.gate import AccessGate


class GuardGauges(Collector):
    """Registered with a registry. Cost: a look at the times of a handful of files."""

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
        "graphtide_guard_stale", "1 while a newer file was refused and the one before is in force", labels=["file"]
    )
