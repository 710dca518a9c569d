"""Forwarding of records that came to another partition of `extractions` than the one their graph is bound to.

A producer that chose the partition by other metadata, or by another partitioner, cannot make a second writer: the
consolidator that reads such a record appends it to the graph's own partition before its watermark passes it. After a
crash in between it is there twice, which is harmless: records are ordered by their revision, not by their place.

Invariant: a record is forwarded, applied or dead-lettered before the watermark passes it.
"""

from __future__ import annotations

import logging
from dataclasses import replace

from graphtide.streams.consolidate.batches import ConsolidationBatch
from graphtide.streams.errors import Rejected
from graphtide.streams.messages import EXTRACTIONS
from graphtide.streams.observer import Observer
from graphtide.streams.ports import ConsumedRecord, Log
from graphtide.streams.routing import Routes

log = logging.getLogger("graphtide.streams")


class Forwarder:
    """See the module. One per process."""

    def __init__(self, log: Log, routes: Routes, observer: Observer) -> None:
        self._log = log
        self._routes = routes
        self._observer = observer

    async def forward(self, batch: ConsolidationBatch, partition: int) -> None:
        """Take the records of graphs that are bound to other partitions out of the batch, and append them there.

        A record that cannot be appended there is dead-lettered with the batch. Raises what the log raises.
        """
        for graph, bound in (await self._routes.induced_edges(list(batch.records))).items():
            if bound != partition:
                for one in batch.withdraw(graph):
                    try:
                        await self.send(one, graph, bound)
                    except Rejected as error:
                        batch.fail(one, Rejected(f"graph {graph!r} is bound to partition {bound}: {error}"))

    async def belongs_to(self, graph: str, partition: int) -> int:
        """The partition of a graph: the one it is bound to, `partition` as long as it has no binding."""
        bound = await self._routes.of(graph)
        return partition if bound is None else bound

    async def send(self, one: ConsumedRecord, graph: str, partition: int) -> None:
        """Append the record to that partition. Raises Rejected when the topic does not have it."""
        await self._log.append(EXTRACTIONS, [replace(one.record, partition=partition)])
        self._observer.forwarded(graph)
        about = {"graph": graph}
        log.info("the record at %s is forwarded to partition %d of its graph", one.position, partition, extra=about)
