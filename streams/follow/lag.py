"""Lag measurement at intervals: records that no stage has read, and revisions without a final state."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Protocol

from graphtide.streams.clock import now_ms
from graphtide.streams.ports import Ledger, Log


class Gauges(Protocol):
    """Receiver of the figures."""

    def waiting(self, graph: str, revisions: int) -> None: ...

    def oldest_pending(self, seconds: float) -> None: ...

    def behind(self, topic: str, group: str, partition: int, records: int) -> None: ...

    def members(self, topic: str, group: str, count: int) -> None: ...


async def look(
    log: Log, ledger: Ledger, graphs: Iterable[str], groups: Iterable[tuple[str, str]], gauges: Gauges
) -> None:
    """Measure once. `groups`: (topic, consumer group). Cost: a few reads of the log, two of the ledger."""
    for topic, group in groups:
        ends, committed = await log.end(topic), await log.committed(topic, group)
        starts = await log.start(topic)
        for partition, end in ends.items():
            done = max(committed.get(partition, 0), starts.get(partition, 0))
            gauges.behind(topic, group, partition, max(0, end - done))
        gauges.members(topic, group, await log.members(topic, group))
    pending = await ledger.pending_counts()
    for graph in graphs:
        gauges.waiting(graph, pending.get(graph, 0))
    now = now_ms()
    oldest = await ledger.unfinished(now, 1)
    gauges.oldest_pending(max(0.0, (now - oldest[0].accepted_ms) / 1000) if oldest else 0.0)
