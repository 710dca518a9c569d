"""Heads of graphs: the valid generation of rows, and the atomic switch to a rebuilt one.

A rebuilt graph is written beside the valid one, in bounded transactions, under a scope of its own that a `Build` node
names. One transaction then switches the head, and bounded ones delete the old rows. A `Build` node that no process
touches any more names what a crash left behind; a starting process deletes it.

Invariant: no reader sees rows that the head does not name.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from itertools import groupby
from typing import TypeVar

import numpy as np

from graphtide.graph.communities import CommunityChange, Hierarchy
from graphtide.graph.records import EvidenceRow, GraphDelta, MentionRow
from graphtide.infra.bolt.codec import scope
from graphtide.infra.bolt.cypher import graphs as graph_cypher
from graphtide.infra.bolt.cypher import tables
from graphtide.infra.bolt.database import BoltDatabase, Transaction, batched
from graphtide.infra.bolt.graph_store import rows
from graphtide.streams.checks import check_binding, check_next
from graphtide.streams.content import commit_size, size_of
from graphtide.streams.errors import Retryable
from graphtide.streams.ports import Commit, ContentSize, GraphCommit

BUILD_ROWS = 5_000
"""Rows of one transaction of a build; Neo4j holds them in memory until it commits."""
SWEEP_NODES = 5_000
DEAD_AFTER_MS = 600_000
"""A build that was not touched for ten minutes belongs to a dead process."""


@dataclass(frozen=True, slots=True)
class Head:
    """Head of a graph. Version 0: only its name is known."""

    scope: str
    version: int
    generations: int
    next_community: int | None
    deleted_version: int | None = None


async def lock_head(tx: Transaction, graph: str) -> Head:
    """Return the graph's head, created if missing, and locked until the transaction ends."""
    [row] = await tx.run(graph_cypher.HOLD_HEAD, graph=graph, first_scope=scope(graph, 1))
    return Head(**row)


async def next_version(tx: Transaction, part: GraphCommit, commit: Commit) -> str:
    """Compare and set: move the head to the delta's version, bind it to the commit's partition, and return its scope.

    Raises Fenced for a graph of another partition, GraphStopped for any version but the next one.
    """
    delta, size = part.delta, commit_size(part)
    first = scope(delta.graph, 1)
    values = {"version": delta.version, "before": delta.version - 1, "next_community": rows.next_community(delta)}
    values["partition"] = commit.partition
    values |= {"documents": size.documents if size else None, "text_bytes": size.text_bytes if size else None}
    found = await tx.run(graph_cypher.NEXT_VERSION, graph=delta.graph, first_scope=first, **values)
    if not found:
        head = await lock_head(tx, delta.graph)
        await bind(tx, delta.graph, commit)
        check_next(delta, head.version)
    return str(found[0]["scope"])


async def bind(tx: Transaction, graph: str, commit: Commit) -> None:
    """Bind an existing unbound graph to the commit's partition. Raises Fenced if it is bound to another one."""
    found = await tx.run(graph_cypher.BIND, graph=graph, partition=commit.partition)
    check_binding(commit, graph, found[0]["partition"] if found else None)


async def set_head(tx: Transaction, graph: str, head: Head, size: ContentSize) -> None:
    values = {"scope": head.scope, "version": head.version, "next_community": head.next_community}
    content = {"documents": size.documents, "text_bytes": size.text_bytes}
    await tx.run(graph_cypher.SET_HEAD, graph=graph, **values, **content)


class ShadowBuilds:
    """Rebuilt graphs beside the valid ones."""

    def __init__(self, database: BoltDatabase, clock_ms: Callable[[], int]) -> None:
        self._database = database
        self._clock_ms = clock_ms

    async def write(self, snapshot: GraphDelta) -> str:
        """Write the rows under a new scope, which no reader sees, and return the scope."""

        async def begin(tx: Transaction) -> str:
            head = await lock_head(tx, snapshot.graph)
            generation = head.generations + 1
            values = {"generation": generation, "scope": scope(snapshot.graph, generation), "now_ms": self._clock_ms()}
            await tx.run(graph_cypher.BEGIN_BUILD, graph=snapshot.graph, **values)
            return str(values["scope"])

        fresh = await self._database.write(begin)
        for part in _parts(replace(snapshot, snapshot=False)):
            await self._database.write(lambda tx, part=part: self._write_part(tx, fresh, part))  # type: ignore[misc]
        return fresh

    async def _write_part(self, tx: Transaction, fresh: str, part: GraphDelta) -> None:
        # A part whose commit was not answered is written again: rows are upserted by key, so the result is the same.
        [row] = await tx.run(graph_cypher.TOUCH_BUILD, scope=fresh, now_ms=self._clock_ms())
        if not row["found"]:
            raise Retryable("the unfinished rebuild was deleted as abandoned while it was written")
        await rows.write(tx, fresh, part)

    async def switch(self, tx: Transaction, fresh: str, snapshot: GraphDelta, head: Head) -> None:
        """Make the rows of `fresh` the valid ones, within the caller's transaction, which has locked `head`."""
        [row] = await tx.run(graph_cypher.END_BUILD, scope=fresh)
        if not row["found"]:
            raise Retryable("the rebuilt graph was deleted as abandoned before the switch to it")
        await tx.run(graph_cypher.LEAVE_SCOPE, scope=head.scope, graph=snapshot.graph)
        next_community = rows.next_community(snapshot)
        changed = replace(head, scope=fresh, version=snapshot.version, next_community=next_community)
        await set_head(tx, snapshot.graph, changed, size_of(snapshot))

    async def abandon(self, fresh: str, graph: str) -> None:
        """Delete a build that will not be used."""
        await self._database.write(lambda tx: tx.run(graph_cypher.LEAVE_SCOPE, scope=fresh, graph=graph))
        await self.sweep()

    async def sweep(self) -> None:
        """Delete what builds and switches have left behind, in bounded transactions."""
        before = self._clock_ms() - DEAD_AFTER_MS
        left = await self._database.read(lambda tx: tx.run(graph_cypher.LEFTOVERS, before_ms=max(before, 0)))
        for row in left:
            await self._delete(row["scope"])

    async def _delete(self, dead: str) -> None:
        # Marked as dead first, so that a process that still writes this build notices at its next part.
        await self._database.write(
            lambda tx: tx.run(graph_cypher.LEAVE_SCOPE, scope=dead, graph=dead.partition("/")[0])
        )
        for table in tables.NODE_TABLES:
            while True:
                [row] = await self._database.write(
                    lambda tx, table=table: tx.run(table.sweep, scope=dead, limit=SWEEP_NODES)  # type: ignore[misc]
                )
                if row["gone"] < SWEEP_NODES:
                    break
        await self._database.write(lambda tx: tx.run(graph_cypher.FORGET_SCOPE, scope=dead))


def _parts(delta: GraphDelta) -> Iterator[GraphDelta]:
    """Split the delta into deltas of at most BUILD_ROWS rows each, nodes before their relationships."""
    empty = GraphDelta(delta.graph, delta.version)
    for name in ("chunks", "documents", "entities", "labels", "statements", "same_as", "edges"):
        for portion in batched(getattr(delta, name), BUILD_ROWS):
            yield replace(empty, **{name: tuple(portion)})  # type: ignore[arg-type]
    for portion in _whole_chunks(delta.mentions):
        yield replace(empty, mentions=portion)
    for portion in _whole_chunks(delta.evidence):
        yield replace(empty, evidence=portion)
    if isinstance(delta.communities, Hierarchy):
        for change in _changes(delta.communities):
            yield replace(empty, communities=change)


_Row = TypeVar("_Row", MentionRow, EvidenceRow)


def _whole_chunks(passages: Iterable[_Row]) -> Iterator[tuple[_Row, ...]]:
    """Yield portions that split no chunk: the mentions of a chunk are written at once."""
    portion: list[_Row] = []
    for _, group in groupby(sorted(passages, key=lambda row: row.chunk), key=lambda row: row.chunk):
        portion += group
        if len(portion) >= BUILD_ROWS:
            yield tuple(portion)
            portion = []
    if portion:
        yield tuple(portion)


def _changes(tree: Hierarchy) -> Iterator[CommunityChange]:
    """Yield the hierarchy from the coarsest level down, then its members."""
    none32, none64 = np.empty(0, np.int32), np.empty(0, np.int64)
    coarse_first = np.argsort(-tree.levels, kind="stable")
    for at in range(0, len(coarse_first), BUILD_ROWS):
        some = coarse_first[at : at + BUILD_ROWS]
        yield CommunityChange(none32, none64, tree.ids[some], tree.levels[some], tree.parents[some], none64)
    for at in range(0, len(tree.nodes), BUILD_ROWS):
        nodes, communities = tree.nodes[at : at + BUILD_ROWS], tree.communities[at : at + BUILD_ROWS]
        yield CommunityChange(nodes, communities, none64, none32, none64, none64)
