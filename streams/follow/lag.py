"""How far everything is behind, looked up now and then: records that no stage has read, revisions without an end."""

from __future__ import annotations

import time
from collections.abc import Iterable
from typing import Protocol

from graphtide.streams.ports import Ledger, Log


class Gauges(Protocol):
    """Where the figures go."""

    def waiting(self, graph: str, revisions: int) -> None: ...

    def oldest_waiting(self, seconds: float) -> None: ...

    def behind(self, topic: str, group: str, partition: int, records: int) -> None: ...

    def members(self, topic: str, group: str, count: int) -> None: ...


async def look(
    log: Log, ledger: Ledger, graphs: Iterable[str], groups: Iterable[tuple[str, str]], gauges: Gauges
) -> None:
    """Look once. `groups` are (topic, consumer group). Cost: a few reads of the log and one of the ledger a graph."""
    for topic, group in groups:
        ends, stands = await log.end(topic), await log.committed(topic, group)
        starts = await log.start(topic)
        for partition, end in ends.items():
            done = max(stands.get(partition, 0), starts.get(partition, 0))
            gauges.behind(topic, group, partition, max(0, end - done))
        gauges.members(topic, group, await log.members(topic, group))
    for graph in graphs:
        gauges.waiting(graph, await ledger.pending(graph))
    now_ms = time.time_ns() // 1_000_000
    oldest = await ledger.unfinished(now_ms, 1)
    gauges.oldest_waiting(max(0.0, (now_ms - oldest[0].accepted_ms) / 1000) if oldest else 0.0)
