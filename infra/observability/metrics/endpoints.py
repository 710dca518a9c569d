"""State of the model endpoints, read when Prometheus scrapes: queue, waiting time, failures."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from graphtide.infra.models.limits.rate_limiter import RateLimiter


class EndpointGauges(Collector):
    """Collector of the endpoints' gauges. `gates` by the endpoint's role: language, embedding."""

    def __init__(self, gates: Mapping[str, RateLimiter]) -> None:
        self._gates = gates

    def collect(self) -> Iterator[Metric]:
        """See Collector."""
        wait = CounterMetricFamily(
            "graphtide_endpoint_wait_seconds", "Time that calls waited for their turn", labels=["endpoint"]
        )
        queued = GaugeMetricFamily("graphtide_endpoint_queued", "Calls that wait for their turn", labels=["endpoint"])
        busy = GaugeMetricFamily("graphtide_endpoint_in_flight", "Calls in flight", labels=["endpoint"])
        trouble = GaugeMetricFamily(
            "graphtide_endpoint_unhealthy",
            "1 while the latest call failed: it is left alone for a while",
            labels=["endpoint"],
        )
        for name, gate in self._gates.items():
            wait.add_metric([name], gate.waited_s)
            queued.add_metric([name], gate.queued)
            busy.add_metric([name], gate.in_flight)
            trouble.add_metric([name], float(bool(gate.trouble())))
        yield from (wait, queued, busy, trouble)
