"""Heads of graphs: which generation of rows counts, and rebuilt ones that take its place in one step.

A rebuilt graph is written beside the one that stands, in bounded transactions, under a scope of its own that a `Build`
node names; one transaction then switches the head, and the old rows go in bounded ones. Whatever a crash leaves behind
is named by a `Build` node that nobody touches any more, and is swept when a process starts.

Invariant: rows that the head does not name are seen by nobody.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from itertools import groupby
from typing import TypeVar

import numpy as np

from graphtide.graph.communities import CommunityChange, Hierarchy
from graphtide.graph.records import EvidenceRow, GraphDelta, MentionRow
from graphtide.infra.bolt import cypher, rows
from graphtide.infra.bolt.codec import scope
from graphtide.infra.bolt.database import BoltDatabase, Transaction, batched
from graphtide.streams.errors import Retryable
from graphtide.streams.memory.store import check_binding, check_next
from graphtide.streams.ports import Commit

BUILD_ROWS = 5_000
"""Rows of one transaction of a build; Neo4j holds them in memory until it commits."""
SWEEP_NODES = 5_000
DEAD_AFTER_MS = 600_000
"""A build that nobody touched for ten minutes died with its process."""


@dataclass(frozen=True, slots=True)
class Head:
    """What stands of a graph; version 0 while only its name is known."""

    scope: str
    version: int
    generations: int
    next_community: int | None


async def lock_head(tx: Transaction, graph: str) -> Head:
    """The graph's head, made if need be, and locked until the transaction ends."""
    [row] = await tx.run(cypher.HOLD_HEAD, graph=graph, first_scope=scope(graph, 1))
    return Head(**row)


async def next_version(tx: Transaction, delta: GraphDelta, commit: Commit) -> str:
    """Compare and set: the head moves to the delta's version and is bound to the commit's partition; its scope.

    Raises Fenced for a graph of another partition, GraphStopped for any version but the next one.
    """
    first = scope(delta.graph, 1)
    values = {"version": delta.version, "before": delta.version - 1, "next_community": rows.next_community(delta)}
    values["partition"] = commit.partition
    found = await tx.run(cypher.NEXT_VERSION, graph=delta.graph, first_scope=first, **values)
    if not found:
        head = await lock_head(tx, delta.graph)
        await bind(tx, delta.graph, commit)
        check_next(delta, head.version)
    return str(found[0]["scope"])


async def bind(tx: Transaction, graph: str, commit: Commit) -> None:
    """Bind a graph that is there to the commit's partition, if it has no binding. Raises Fenced for another one's."""
    found = await tx.run(cypher.BIND, graph=graph, partition=commit.partition)
    check_binding(commit, graph, found[0]["partition"] if found else None)


async def set_head(tx: Transaction, graph: str, head: Head) -> None:
    values = {"scope": head.scope, "version": head.version, "next_community": head.next_community}
    await tx.run(cypher.SET_HEAD, graph=graph, **values)


class ShadowBuilds:
    """Rebuilt graphs beside the ones that stand."""

    def __init__(self, database: BoltDatabase, clock_ms: Callable[[], int]) -> None:
        self._database = database
        self._clock_ms = clock_ms

    async def write(self, snapshot: GraphDelta) -> str:
        """Write the rows under a new scope, seen by nobody, and return it."""

        async def begin(tx: Transaction) -> str:
            head = await lock_head(tx, snapshot.graph)
            generation = head.generations + 1
            values = {"generation": generation, "scope": scope(snapshot.graph, generation), "now_ms": self._clock_ms()}
            await tx.run(cypher.BEGIN_BUILD, graph=snapshot.graph, **values)
            return str(values["scope"])

        fresh = await self._database.write(begin)
        for part in _parts(replace(snapshot, snapshot=False)):
            await self._database.write(lambda tx, part=part: self._write_part(tx, fresh, part))  # type: ignore[misc]
        return fresh

    async def _write_part(self, tx: Transaction, fresh: str, part: GraphDelta) -> None:
        # A part whose commit was not answered is written again: rows go by their keys, so it comes to the same.
        [row] = await tx.run(cypher.TOUCH_BUILD, scope=fresh, now_ms=self._clock_ms())
        if not row["found"]:
            raise Retryable("a rebuilt graph was taken for dead while it was written, and swept")
        await rows.write(tx, fresh, part)

    async def switch(self, tx: Transaction, fresh: str, snapshot: GraphDelta, head: Head) -> None:
        """Within the caller's transaction, which holds `head`: the rows of `fresh` count from now on."""
        [row] = await tx.run(cypher.END_BUILD, scope=fresh)
        if not row["found"]:
            raise Retryable("a rebuilt graph was taken for dead before it was switched in, and swept")
        await tx.run(cypher.LEAVE_SCOPE, scope=head.scope, graph=snapshot.graph)
        next_community = rows.next_community(snapshot)
        await set_head(
            tx, snapshot.graph, replace(head, scope=fresh, version=snapshot.version, next_community=next_community)
        )

    async def abandon(self, fresh: str, graph: str) -> None:
        """A build that will not be switched in: delete it."""
        await self._database.write(lambda tx: tx.run(cypher.LEAVE_SCOPE, scope=fresh, graph=graph))
        await self.sweep()

    async def sweep(self) -> None:
        """Delete what builds and switches have left behind, in bounded transactions."""
        before = self._clock_ms() - DEAD_AFTER_MS
        left = await self._database.read(lambda tx: tx.run(cypher.LEFTOVERS, before_ms=max(before, 0)))
        for row in left:
            await self._delete(row["scope"])

    async def _delete(self, dead: str) -> None:
        # Marked as dead first, so that a process that still builds there notices at its next part.
        await self._database.write(lambda tx: tx.run(cypher.LEAVE_SCOPE, scope=dead, graph=dead.partition("/")[0]))
        for table in cypher.NODE_TABLES:
            while True:
                [row] = await self._database.write(
                    lambda tx, table=table: tx.run(table.sweep, scope=dead, limit=SWEEP_NODES)  # type: ignore[misc]
                )
                if row["gone"] < SWEEP_NODES:
                    break
        await self._database.write(lambda tx: tx.run(cypher.FORGET_SCOPE, scope=dead))


def _parts(delta: GraphDelta) -> Iterator[GraphDelta]:
    """The delta cut into ones of at most BUILD_ROWS rows each, nodes before the relationships that tie them."""
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
    """Portions that cut no chunk in two: what a chunk mentions is written at once."""
    portion: list[_Row] = []
    for _, group in groupby(sorted(passages, key=lambda row: row.chunk), key=lambda row: row.chunk):
        portion += group
        if len(portion) >= BUILD_ROWS:
            yield tuple(portion)
            portion = []
    if portion:
        yield tuple(portion)


def _changes(tree: Hierarchy) -> Iterator[CommunityChange]:
    """The hierarchy from the coarsest level down, then who is in it."""
    none32, none64 = np.empty(0, np.int32), np.empty(0, np.int64)
    coarse_first = np.argsort(-tree.levels, kind="stable")
    for at in range(0, len(coarse_first), BUILD_ROWS):
        some = coarse_first[at : at + BUILD_ROWS]
        yield CommunityChange(none32, none64, tree.ids[some], tree.levels[some], tree.parents[some], none64)
    for at in range(0, len(tree.nodes), BUILD_ROWS):
        nodes, communities = tree.nodes[at : at + BUILD_ROWS], tree.communities[at : at + BUILD_ROWS]
        yield CommunityChange(nodes, communities, none64, none32, none64, none64)
