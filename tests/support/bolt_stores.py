"""Content of the graph database's store in tests."""

from __future__ import annotations

from dataclasses import replace

from graphtide.infra.bolt import BoltAddress, BoltBackend
from graphtide.infra.bolt.cypher.tables import NODE_TABLES
from graphtide.infra.bolt.database import Transaction
from graphtide.streams.ports import (
    Commit,
    GraphCommit,
    Watermark,
)
from tests.model.memory.rows import Rows
from tests.support.neo4j_server import GraphServer
from tests.support.proxy import Proxy
from tests.support.records import Walk


def through(wire: Proxy, server: GraphServer) -> BoltAddress:
    return replace(server.address, uri=f"bolt://{wire.address}")


async def filled(backend: BoltBackend, walk: Walk, steps: int) -> tuple[Watermark, Rows]:
    """Commit a few random deltas to a graph; return the expected content."""
    fold = Rows(walk.graph)
    watermark = await backend.store.claim(0)
    for _ in range(steps):
        delta = walk.delta()
        fold.apply(delta)
        await backend.store.commit(Commit(0, watermark, watermark.next_offset + 1, (GraphCommit(delta, {}),), ()))
        watermark = replace(watermark, next_offset=watermark.next_offset + 1)
    return watermark, fold


async def nodes(backend: BoltBackend) -> dict[str, int]:
    """Return the number of nodes of each kind of row, in any scope."""

    async def work(tx: Transaction) -> dict[str, int]:
        found = {}
        for table in NODE_TABLES:
            [row] = await tx.run(f"MATCH (n:{table.label}) RETURN count(n) AS nodes")
            found[table.label] = row["nodes"]
        return found

    return await backend.database.read(work)
