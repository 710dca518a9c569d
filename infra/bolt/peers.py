"""Who of a cluster asks models: the `Fellows` port on Neo4j or Memgraph, on the nodes by which the books know workers.

So a process that is gone is forgotten as its books are: at once when it leaves in order, else when it has been silent
for ten minutes.
"""

from __future__ import annotations

from collections.abc import Mapping

from graphtide.infra.bolt import cypher
from graphtide.infra.bolt.database import BoltDatabase, Row, Transaction

ENDPOINTS = ("language", "embedding")


class BoltPeers:
    """See `graphtide.infra.models.limits.shared_rate.Fellows`. `epoch` is this process's in the books."""

    def __init__(self, database: BoltDatabase, epoch: int) -> None:
        self._database = database
        self._epoch = epoch

    async def count(self, mine: Mapping[str, int]) -> Mapping[str, Mapping[int, int]]:
        """See Fellows.count. Done twice, a process seems to ask a little more. Cost: the processes there are."""
        added = {name: mine.get(name, 0) for name in ENDPOINTS}

        async def work(tx: Transaction) -> list[Row]:
            if any(added.values()):
                await tx.run(cypher.COUNT_CALLS, epoch=self._epoch, **added)
            return await tx.run(cypher.READ_CALLS)

        rows = await self._database.write(work)
        others = [row for row in rows if row["epoch"] != self._epoch]
        return {name: {row["epoch"]: row[name] for row in others} for name in ENDPOINTS}
