"""Cost of a commit on the graph database while the graph grows, in database hits, which Neo4j counts exactly.

    make bench-bolt            graphs of 100, 1,000 and 10,000 documents; writes docs/scaling.md
    python -m tests.bench.bolt_growth --sizes 100 1000 --no-page

Documents are committed batch after batch, as a consolidator commits them. The batches at each size run under PROFILE: a
hit is one access to a node, a relationship, a property or an index entry, so the figures are the same on every machine
under any load. CPU is that of the server, over the same batches without PROFILE.
"""

from __future__ import annotations

import argparse
import asyncio
import tempfile
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from neo4j import AsyncTransaction

from graphtide.graph.consolidation import Consolidator
from graphtide.graph.records import DocumentChange, GraphDelta
from graphtide.infra.bolt import BoltBackend, database
from graphtide.infra.bolt.cypher import listing as cypher
from graphtide.streams.clock import now_ms
from graphtide.streams.messages import DocumentMessage, ExtractionMessage, GivenFact
from graphtide.streams.ports import (
    Commit,
    GraphCommit,
    Record,
    RevisionOutcome,
    RevisionState,
    StoredDocument,
    Watermark,
)
from tests.bench.cluster_documents import bodies
from tests.bench.cluster_table import Row, cpu_s, write
from tests.model.memory import MemoryLog
from tests.support.commits import extracted
from tests.support.neo4j_server import LocalNeo4j

SIZES = (100, 1_000, 10_000)
BATCH = 32
PROFILED = 2
"""Batches at each size that are profiled; as many before them are timed."""
GRAPH = "growth"
PAGE = Path(__file__).parents[2] / "docs" / "scaling.md"
NAMES = {text: name for name, text in cypher.statements().items()}


@dataclass(slots=True)
class Count:
    """The cost of some commits."""

    documents: int = 0
    commits: int = 0
    rows: int = 0
    statements: int = 0
    hits: Counter[str] = field(default_factory=Counter)
    server_s: float = 0.0


COUNTING: list[Count] = []
"""The count that receives the hits; None while nothing runs under PROFILE."""


class Profiled(database.Transaction):
    """A transaction that counts the hits of its queries."""

    def __init__(self, open_: AsyncTransaction) -> None:
        super().__init__(open_)
        self._under = open_

    async def run(self, statement: str, **values: Any) -> list[database.Row]:
        """See Transaction.run."""
        if not COUNTING:
            return await super().run(statement, **values)
        result = await self._under.run(f"PROFILE {statement}", values)
        rows: list[database.Row] = [dict(zip(record.keys(), record.values(), strict=True)) async for record in result]
        summary = await result.consume()
        COUNTING[-1].statements += 1
        COUNTING[-1].hits[NAMES[statement]] += _hits(summary.profile)
        return rows


def _hits(plan: Any) -> int:
    return int(plan.get("dbHits", 0)) + sum(map(_hits, plan.get("children", ())))


@contextmanager
def profiled() -> Iterator[None]:
    """Profile every transaction in the block."""
    plain, database.Transaction = database.Transaction, Profiled  # type: ignore[misc]
    try:
        yield
    finally:
        database.Transaction = plain  # type: ignore[misc]


def rows_of(delta: GraphDelta) -> int:
    """Return the number of rows of every kind that a delta writes."""
    kinds = (delta.documents, delta.chunks, delta.labels, delta.mentions, delta.statements, delta.evidence)
    tied = (delta.same_as, delta.entities, delta.edges)
    moved = delta.communities
    return sum(map(len, (*kinds, *tied))) + (len(moved.nodes) if moved is not None else 0)


async def commits(documents: int) -> list[GraphCommit]:
    """Yield the documents as a writer's commits."""
    writer, parts, batch = Consolidator(GRAPH), [], []
    stated = (
        DocumentMessage(GRAPH, one["id"], one["text"], facts=tuple(GivenFact(**fact) for fact in one["facts"]))
        for one in bodies(documents)
    )
    async for one in extracted(stated):
        batch.append(one)
        if len(batch) == BATCH:
            delta = writer.apply([DocumentChange(new.doc_id, None, new) for new in batch])
            encoded = [ExtractionMessage(GRAPH, new.doc_id, new.revision, new).encode() for new in batch]
            standings = {
                new.doc_id: StoredDocument(new.revision, text) for new, text in zip(batch, encoded, strict=True)
            }
            parts.append(GraphCommit(delta, standings))
            batch = []
    return parts


async def grow(bolt: BoltBackend, server: LocalNeo4j, sizes: Sequence[int]) -> list[Count]:
    """Commit up to the largest size; return the cost of the batches at each size."""
    watermark, found = await bolt.store.claim(0), []
    counted = {max(size // BATCH, 2 * PROFILED): Count() for size in sizes}
    for number, part in enumerate(await commits(max(counted) * BATCH), 1):
        at = next((one for one in counted if one - 2 * PROFILED < number <= one), None)
        profile = at is not None and number > at - PROFILED
        if at is not None and profile:
            COUNTING.append(counted[at])
            counted[at].documents += len(part.standings)
            counted[at].rows += rows_of(part.delta)
            counted[at].commits += 1
        before = cpu_s(server.pid)
        ends = tuple(
            RevisionOutcome(GRAPH, doc_id, one.revision, RevisionState.APPLIED)
            for doc_id, one in part.standings.items()
        )
        mark = Watermark(watermark.epoch, number - 1)
        await bolt.store.commit(Commit(0, mark, number, (part,), ends, (Record(GRAPH, b"notice"),)))
        if at is not None and not profile:
            counted[at].server_s += cpu_s(server.pid) - before
        COUNTING.clear()
        if at == number:
            found.append(counted[at])
    return found


def table(sizes: Sequence[int], found: Sequence[Count]) -> list[Row]:
    rows = []
    for size, one in zip(sizes, found, strict=True):
        hits = sum(one.hits.values())
        cost = f"{hits / one.documents:,.0f} hits a document, {hits / one.rows:.1f} a row"
        more = f"{one.rows / one.documents:.0f} rows a document, {one.statements / one.commits:.0f} statements a commit"
        cpu = f"{one.server_s / one.documents * 1e3:.1f} ms of CPU"
        rows.append(Row(f"a graph of {size:,} documents", cost, f"{more}, {cpu}"))
    first, last = (sum(one.hits.values()) / one.rows for one in (found[0], found[-1]))
    rows.append(Row("hits a row, largest graph to smallest", f"{last / first:.2f}", ""))
    return rows


async def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sizes", type=int, nargs="+", default=SIZES)
    parser.add_argument("--no-page", action="store_true", help="print, leave docs/scaling.md alone")
    chosen = parser.parse_args()
    sizes = sorted(chosen.sizes)
    with tempfile.TemporaryDirectory() as folder, profiled():
        server = LocalNeo4j(Path(folder))
        try:
            bolt = await BoltBackend.open(server.address, MemoryLog(1, now_ms))
            found = await grow(bolt, server, sizes)
            await bolt.close()
        finally:
            server.kill()
    rows = table(sizes, found)
    print(*(row.line() for row in rows), sep="\n")
    for name, hits in found[-1].hits.most_common():
        print(f"  {name:24} {hits / found[-1].documents:8.1f} hits a document")
    if not chosen.no_page:
        write(
            PAGE, "bench-bolt", rows, f"batches of {BATCH} documents of a synthetic stream, 8 relations each", "besides"
        )


if __name__ == "__main__":
    asyncio.run(main())
