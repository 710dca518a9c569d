"""Cost of a commit on Neo4j and on SQLite, early and late, and the time to load a snapshot.

    make bench-bolt            1,800 documents of the MuSiQue corpus
    python -m tests.bench.bolt_store 400

The same commits, of 64 documents each, go to both stores; the time of the consolidator and the models is not counted.
"""

from __future__ import annotations

import asyncio
import statistics
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from graphtide.graph.consolidation import Consolidator
from graphtide.graph.digest import digest
from graphtide.graph.records import DocumentChange
from graphtide.infra.bolt import BoltBackend
from graphtide.infra.sqlite import SqliteBackend
from graphtide.streams.clock import now_ms
from graphtide.streams.messages import ExtractionMessage
from graphtide.streams.ports import (
    Commit,
    GraphCommit,
    GraphStore,
    Record,
    RevisionOutcome,
    RevisionState,
    StoredDocument,
    Watermark,
)
from tests.model.memory import MemoryLog
from tests.support.bench_data import corpus
from tests.support.commits import GRAPH, brought, extracted
from tests.support.neo4j_server import LocalNeo4j

BATCH = 64
WARM_UP = 12
EARLY = 200
LATE_SHARE = 0.2
"""Early: the batches up to document 200 without the first one, which warms up. Late: the last fifth."""


async def commits(documents: int) -> list[GraphCommit]:
    """Yield the corpus as a writer's commits."""
    writer, parts, batch = Consolidator(GRAPH), [], []
    chosen = [brought(one) for one in corpus()[:documents]]
    async for one in extracted(chosen):
        batch.append(one)
        if len(batch) == BATCH or one.revision == len(chosen) - 1:
            delta = writer.apply([DocumentChange(new.doc_id, None, new) for new in batch])
            encoded = {e.doc_id: ExtractionMessage(GRAPH, e.doc_id, e.revision, e).encode() for e in batch}
            standings = {e.doc_id: StoredDocument(e.revision, encoded[e.doc_id]) for e in batch}
            parts.append(GraphCommit(delta, standings))
            batch = []
    return parts


def _elsewhere(part: GraphCommit) -> GraphCommit:
    """Commit the same to an unmeasured graph: Java compiles hot code, and the server caches its query plans."""
    return replace(part, delta=replace(part.delta, graph="warm"))


async def write(store: GraphStore, parts: Sequence[GraphCommit], partition: int = 0) -> list[float]:
    """Return the milliseconds per document of each commit."""
    watermark, spent = await store.claim(partition), []
    for number, part in enumerate(parts):
        mark = Watermark(watermark.epoch, number)
        ends = tuple(
            RevisionOutcome(GRAPH, doc_id, one.revision, RevisionState.APPLIED)
            for doc_id, one in part.standings.items()
        )
        start = time.perf_counter()
        await store.commit(Commit(partition, mark, number + 1, (part,), ends, (Record(GRAPH, b"notice"),)))
        spent.append((time.perf_counter() - start) * 1e3 / len(part.standings))
    return spent


async def load(store: GraphStore) -> tuple[float, str]:
    """Load a snapshot; return the seconds it takes, and its digest."""
    start = time.perf_counter()
    rows = await store.snapshot(GRAPH)
    return time.perf_counter() - start, digest(rows)


def show(name: str, spent: Sequence[float], loaded_s: float) -> None:
    early = statistics.median(spent[1 : max(2, EARLY // BATCH + 1)])
    late = statistics.median(spent[-max(1, int(len(spent) * LATE_SHARE)) :])
    print(
        f"{name:7} first {spent[0]:7.1f} | to document {EARLY}: {early:6.2f} ms a document | last fifth: {late:6.2f}"
        f" | late/early {late / early:4.2f} | snapshot {loaded_s:5.2f} s"
    )


async def main(documents: int) -> None:
    parts = await commits(documents)
    rows = sum(len(part.delta.entities) + len(part.delta.statements) + len(part.delta.edges) for part in parts)
    print(f"{documents} documents, {len(parts)} commits, {rows} rows of entities, statements and edges")
    with tempfile.TemporaryDirectory() as folder:
        sqlite = await SqliteBackend.open(Path(folder) / "sqlite")
        spent = await write(sqlite.store, parts)
        loaded_s, theirs = await load(sqlite.store)
        show("SQLite", spent, loaded_s)
        await sqlite.close()
        server = LocalNeo4j(Path(folder))
        try:
            bolt = await BoltBackend.open(server.address, MemoryLog(1, now_ms))
            await write(bolt.store, [_elsewhere(part) for part in parts[:WARM_UP]], partition=1)
            spent = await write(bolt.store, parts)
            loaded_s, ours = await load(bolt.store)
            show("Neo4j", spent, loaded_s)
            print("the digests are", "equal" if ours == theirs else "DIFFERENT")
            await bolt.close()
        finally:
            server.kill()


if __name__ == "__main__":
    asyncio.run(main(int(sys.argv[1]) if len(sys.argv) > 1 else 1_800))
