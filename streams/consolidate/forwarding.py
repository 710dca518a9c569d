"""Forwarding of records that were written to another partition of `extractions` than their graph's.

A producer that used stale metadata or another partitioner cannot create a second writer: the consolidator that reads
such a record appends it to the graph's own partition before its watermark passes it. After a crash in between the
record is there twice, which is harmless: records are ordered by their revision, not by their position.

Invariant: a record is forwarded, applied or dead-lettered before the watermark passes it.
"""

from __future__ import annotations

import logging
from dataclasses import replace

from graphtide.streams.consolidate.batches import ConsolidationBatch
from graphtide.streams.errors import Rejected
from graphtide.streams.log.routing import Routes
from graphtide.streams.messages import EXTRACTIONS
from graphtide.streams.observer import Observer
from graphtide.streams.ports import ConsumedRecord, Log

log = logging.getLogger("graphtide.streams")


class Forwarder:
    """Forwarder of misrouted records. One per process."""

    def __init__(self, log: Log, routes: Routes, observer: Observer) -> None:
        self._log = log
        self._routes = routes
        self._observer = observer

    async def forward(self, batch: ConsolidationBatch, partition: int) -> None:
        """Remove the records of graphs that are bound to other partitions from the batch, and append them there.

        A record that cannot be appended there is dead-lettered with the batch. Raises what the log raises.
        """
        for graph, bound in (await self._routes.bindings_of(list(batch.records))).items():
            if bound != partition:
                for record in batch.remove_graph(graph):
                    try:
                        await self.send(record, graph, bound)
                    except Rejected as error:
                        batch.fail(record, Rejected(f"graph {graph!r} is bound to partition {bound}: {error}"))

    async def belongs_to(self, graph: str, partition: int) -> int:
        """Return the partition that the graph is bound to, or `partition` when it has no binding."""
        bound = await self._routes.of(graph)
        return partition if bound is None else bound

    async def send(self, delivered: ConsumedRecord, graph: str, partition: int) -> None:
        """Append the record to that partition. Raises Rejected when the topic does not have the partition."""
        await self._log.append(EXTRACTIONS, [replace(delivered.record, partition=partition)])
        self._observer.forwarded(graph)
        log.info(
            "the record at %s was forwarded to partition %d, which graph %s is bound to",
            delivered.position,
            partition,
            graph,
            extra={"graph": graph},
        )
