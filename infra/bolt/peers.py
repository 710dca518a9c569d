"""Processes of a cluster that call models: the `RateLimitPeers` port on Neo4j or Memgraph, on the worker nodes of the
usage ledger.

A process is therefore forgotten as in the usage ledger: at once when it shuts down in order, else after ten minutes
without a heartbeat.
"""

from __future__ import annotations

from collections.abc import Mapping

from graphtide.infra.bolt.cypher import models as cypher
from graphtide.infra.bolt.database import BoltDatabase, Row, Transaction, undeleted

ENDPOINTS = ("language", "embedding")


class BoltPeers:
    """See `graphtide.infra.models.limits.shared_rate.RateLimitPeers`. `epoch` is this process's in the usage ledger."""

    def __init__(self, database: BoltDatabase, epoch: int) -> None:
        self._database = database
        self._epoch = epoch

    async def count(self, mine: Mapping[str, int]) -> Mapping[str, Mapping[int, int]]:
        """See RateLimitPeers.count. A repeated write counts the process's calls twice. Cost: the number of
        processes.
        """
        added = {name: mine.get(name, 0) for name in ENDPOINTS}

        async def work(tx: Transaction) -> list[Row]:
            if any(added.values()):
                await tx.run(cypher.COUNT_CALLS, epoch=self._epoch, **added)
            return await tx.run(cypher.READ_CALLS)

        rows = await self._database.write(work)
        others = [row for row in undeleted(rows, ("epoch",)) if row["epoch"] != self._epoch]
        return {name: {row["epoch"]: row[name] for row in others} for name in ENDPOINTS}
