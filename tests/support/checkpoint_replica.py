"""A replica that saves checkpoints, and the graphs that another process writes."""

from __future__ import annotations

import random
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path

from graphtide.graph.consolidation import Consolidator
from graphtide.graph.digest import canonical_lines
from graphtide.graph.records import DocumentChange
from graphtide.infra.checkpoints.folder import CheckpointFolder
from graphtide.infra.checkpoints.shared import SharedCheckpoints
from graphtide.infra.hnsw import HnswParameters
from graphtide.infra.index_folder import IndexFolder
from graphtide.streams.checkpoints.view_checkpoints import ViewCheckpoints
from graphtide.streams.follow.delta_follower import DeltaFollower
from graphtide.streams.follow.delta_records import full_records
from graphtide.streams.follow.evicting_views import EvictingViews, EvictionLimits
from graphtide.streams.follow.view_registry import ViewRegistry
from graphtide.streams.messages import DELTAS
from graphtide.streams.ports import Commit, GraphCommit, Record, SnapshotUse
from tests.model.memory import MemoryBackend
from tests.support.stages import eventually, running
from tests.support.worlds import RandomWorld

SMALL = HnswParameters(exact_below=20)
PART_BYTES = 512
GRAPHS = ("g0", "g1", "g2")


class CountingStore:
    """The graphs whose snapshots were read."""

    def __init__(self, backend: MemoryBackend) -> None:
        self.read: list[str] = []
        snapshot = backend.store.snapshot

        async def counted(graph: str, use: SnapshotUse = SnapshotUse.EVERYTHING) -> object:
            self.read.append(graph)
            return await snapshot(graph, use)

        backend.store.snapshot = counted  # type: ignore[method-assign, assignment]


@dataclass
class Replica:
    """A process that follows the graphs: each `started` is a new one on the same data folder."""

    backend: MemoryBackend
    folder: Path
    idle_s: float = 0.0
    place: Path | None = None
    """The folder that it shares with other replicas."""
    purges: int = 0
    views: ViewRegistry = field(init=False)
    follower: DeltaFollower = field(init=False)

    @asynccontextmanager
    async def started(self) -> AsyncIterator[None]:
        """Follow in the block. At its end nothing is saved, as after kill -9."""
        shared = SharedCheckpoints(str(self.place), "a" * 32) if self.place is not None else None
        indexes, checkpoints = IndexFolder(self.folder, SMALL), ViewCheckpoints(CheckpointFolder(self.folder, shared))
        self.views = ViewRegistry(indexes, checkpoints=checkpoints)
        if self.idle_s:
            limits = EvictionLimits(self.idle_s)
            self.views = EvictingViews(indexes, self.backend.store, limits, checkpoints=checkpoints)

        async def purged() -> None:
            await self.views.purge()
            self.purges += 1

        self.follower = DeltaFollower(self.backend.log, self.backend.store, self.views, lambda: None, purged=purged)
        try:
            await self.follower.start()
            async with running(self.follower.run):
                yield
        finally:
            for view in self.views.all():
                indexes.close(view.indexes)

    async def current(self) -> bool:
        return all(self.views.version(graph) == stored for graph, stored in (await self.backend.store.graphs()).items())

    async def check(self) -> None:
        """Check that each view becomes the stored graph, vectors included."""
        await eventually(self.current)
        for graph in await self.backend.store.graphs():
            view, stored = self.views.get(graph), await self.backend.store.snapshot(graph)
            assert view is not None
            shown = view.rows(vectors=True)
            assert sorted(canonical_lines(shown)) == sorted(canonical_lines(stored))
            vectors = {row.statement: row.vector.tobytes() for row in stored.statements}
            assert {row.statement: row.vector.tobytes() for row in shown.statements} == vectors
            assert set(view.indexes.chunks.live_ids().tolist()) == {row.chunk for row in stored.chunks}


class Writers:
    """Graphs that another process writes, each in a partition of its own."""

    def __init__(self, backend: MemoryBackend, rng: random.Random) -> None:
        self.backend = backend
        self.worlds = {graph: RandomWorld(rng) for graph in GRAPHS}
        for graph, world in self.worlds.items():
            world.writer = Consolidator(graph)

    async def commit(self, graph: str, *, rebuilt: bool = False) -> list[Record]:
        """Store the next version of a graph, by a change or a rebuild, and return the records that announce it."""
        world, partition = self.worlds[graph], GRAPHS.index(graph)
        if rebuilt:
            changes = [DocumentChange(name, None, one) for name, one in sorted(world.live.items(), reverse=True)]
            fresh = Consolidator(graph)
            fresh.version = world.writer.version
            world.writer = fresh
            delta = replace(fresh.apply(changes), snapshot=True, communities=fresh.hierarchy())
        else:
            delta = world.step()
        store = self.backend.store
        await store.commit(Commit(partition, await store.claim(partition), 0, (GraphCommit(delta, {}),), ()))
        return [replace(record, partition=partition) for record in full_records(delta, part_bytes=PART_BYTES)]

    async def announce(self, *records: Record) -> None:
        await self.backend.log.append(DELTAS, records)

    async def steps(self, times: int, graph: str = "g0") -> None:
        for _ in range(times):
            await self.announce(*await self.commit(graph))
