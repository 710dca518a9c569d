"""The bound on the memory of loaded views: who leaves for whom, who waits, and what a purge leaves of the evicted."""

from __future__ import annotations

import asyncio
import random
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, ExitStack, asynccontextmanager
from dataclasses import dataclass, field, replace

import pytest

from graphtide.graph.digest import canonical_lines
from graphtide.graph.view import IndexVersions, VectorIndexes
from graphtide.streams.errors import Overloaded
from graphtide.streams.follow import delta_follower, evicting_views
from graphtide.streams.follow.delta_follower import DeltaFollower
from graphtide.streams.follow.delta_records import full_records
from graphtide.streams.follow.evicting_views import EvictingViews, EvictionLimits
from graphtide.streams.follow.view_ports import EvictionReason
from graphtide.streams.follow.view_size import snapshot_bytes, view_bytes
from graphtide.streams.messages import DELTAS
from graphtide.streams.ports import Commit, GraphCommit
from tests.model.memory import MemoryBackend, MemoryOutbox
from tests.support.seeds import seeds
from tests.support.stages import ExactKeeper, eventually, running
from tests.support.worlds import RandomWorld

GRAPHS = ("a", "b", "c", "d", "e")


class RecordingKeeper(ExactKeeper):
    """An IndexKeeper that notes for each saved index whether it holds live vectors only.

    An index that was opened before `removed` is set, or from a file of that time, holds others until it is compacted.
    """

    def __init__(self) -> None:
        self.saved: dict[str, bool] = {}
        self.removed = False
        self._clean: dict[int, VectorIndexes] = {}

    def open(self, graph: str, dimensions: int, version: int) -> tuple[VectorIndexes, IndexVersions]:
        indexes, versions = super().open(graph, dimensions, version)
        if self.saved.get(graph, self.removed):
            self._clean[id(indexes)] = indexes
        return indexes, versions

    def save(self, graph: str, indexes: VectorIndexes, version: int) -> None:
        self.saved[graph] = id(indexes) in self._clean

    def compact(self, indexes: VectorIndexes) -> None:
        self._clean[id(indexes)] = indexes

    def drop(self, graph: str) -> None:
        self.saved.pop(graph, None)


@dataclass
class Replica:
    """A replica that follows several graphs of another process, with so much memory."""

    max_bytes: int
    seed: int
    backend: MemoryBackend = field(default_factory=lambda: MemoryBackend(1, outbox=MemoryOutbox()))
    keeper: RecordingKeeper = field(default_factory=RecordingKeeper)

    def __post_init__(self) -> None:
        print(f"seed {self.seed}")
        self.views = EvictingViews(self.keeper, self.backend.store, EvictionLimits(max_bytes=self.max_bytes))
        self.follower = DeltaFollower(self.backend.log, self.backend.store, self.views, lambda: None)
        self.worlds = {graph: RandomWorld(random.Random(self.seed + n)) for n, graph in enumerate(GRAPHS)}

    async def step(self, graph: str) -> None:
        """Make the next version of a graph durable and announce it."""
        store, delta = self.backend.store, replace(self.worlds[graph].step(), graph=graph)
        await store.commit(Commit(0, await store.claim(0), 0, (GraphCommit(delta, {}),), ()))
        await self.backend.log.append(DELTAS, full_records(delta, part_bytes=4096))

    async def size(self, graph: str) -> int:
        return snapshot_bytes(await self.backend.store.snapshot(graph))

    def loaded(self) -> set[str]:
        return set(self.views.versions())


@asynccontextmanager
async def replica(monkeypatch: pytest.MonkeyPatch, max_bytes: int, seed: int = 1) -> AsyncIterator[Replica]:
    """Start a replica of graphs with three versions each."""
    monkeypatch.setattr(delta_follower, "POLL_INTERVAL_S", 0.01)
    one = Replica(max_bytes, seed)
    for graph in GRAPHS:
        for _ in range(3):
            await one.step(graph)
    await one.follower.start()
    async with running(one.follower.run):
        yield one
    await one.views.close()


async def room_for(count: int) -> int:
    """Return a bound for that many of the graphs, whichever they are, and for no more."""
    one = Replica(0, 1)
    for graph in GRAPHS:
        for _ in range(3):
            await one.step(graph)
    sizes = sorted([await one.size(graph) for graph in GRAPHS])
    limit = sum(sizes[-count:])
    assert limit < sum(sizes[: count + 1])
    return limit


async def test_load_beyond_the_bound_evicts_the_least_recently_used(monkeypatch: pytest.MonkeyPatch) -> None:
    """Three graphs fit. A use makes a graph the last to leave; memory never exceeds the bound."""
    async with replica(monkeypatch, await room_for(3)) as one:
        for graph in ("a", "b", "c"):
            await one.views.wake(graph)
        assert one.loaded() == {"a", "b", "c"}
        with one.views.in_use("a"):
            pass
        await one.views.wake("d")
        assert one.loaded() == {"a", "c", "d"}
        await one.views.wake("b")
        assert one.loaded() == {"a", "b", "d"}
        assert one.views.loaded_bytes == sum(view_bytes(view) for view in one.views.all()) <= one.max_bytes
        assert one.views.evictions == {EvictionReason.IDLE: 0, EvictionReason.MEMORY: 2} and one.views.restores == 5


async def test_load_waits_until_a_view_in_use_may_leave(monkeypatch: pytest.MonkeyPatch) -> None:
    """Both loaded graphs are in use; the third one is loaded as soon as a user ends."""
    async with replica(monkeypatch, await room_for(2)) as one:
        with ExitStack() as first, ExitStack() as second:
            for graph, uses in (("a", first), ("b", second)):
                uses.enter_context(one.views.in_use(graph))
                await one.views.wake(graph)
            waiting = asyncio.create_task(one.views.wake("c"))
            await asyncio.wait([waiting], timeout=0.05)
            assert one.loaded() == {"a", "b"} and not waiting.done()
            second.close()
            await waiting
            assert one.loaded() == {"a", "c"}


async def test_load_is_refused_when_the_graphs_in_use_leave_no_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    """The caller gets Overloaded; what is in use stays, and a later load succeeds."""
    async with replica(monkeypatch, await room_for(2)) as one:
        async with AsyncExitStack() as uses:
            for graph in ("a", "b"):
                uses.enter_context(one.views.in_use(graph))
                await one.views.wake(graph)
            with monkeypatch.context() as short, pytest.raises(Overloaded, match="'c' is not in memory"):
                short.setattr(evicting_views, "ROOM_TIMEOUT_S", 0.01)
                await one.views.wake("c")
            assert one.loaded() == {"a", "b"} and one.views.refused_loads == 1
        await one.views.wake("c")
        assert "c" in one.loaded()


async def test_graph_above_the_bound_is_loaded_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """No graph fits one byte: each can be used, and evicts the one before."""
    async with replica(monkeypatch, 1) as one:
        for graph in ("a", "b", "a"):
            await one.views.wake(graph)
            assert one.loaded() == {graph}


async def test_views_that_outgrow_the_bound_are_evicted(monkeypatch: pytest.MonkeyPatch) -> None:
    """Both graphs fit; then one grows as it follows, and the other one, which is used less recently, leaves."""
    async with replica(monkeypatch, await room_for(2)) as one:
        for graph in ("a", "b"):
            await one.views.wake(graph)

        async def has_left() -> bool:
            if one.views.get("a") is not None:
                await one.step("b")
            return one.loaded() == {"b"}

        await eventually(has_left)


@pytest.mark.parametrize("seed", seeds(1, 6))
async def test_any_uses_and_commits_stay_within_the_bound_and_show_the_stored_graphs(
    monkeypatch: pytest.MonkeyPatch, seed: int
) -> None:
    """Readers hold graphs for a while, a writer commits: each reader sees its graph at the version it had, or later."""
    async with replica(monkeypatch, await room_for(3)) as one:
        rng, largest = random.Random(seed), 0

        async def read(graph: str, turns: int) -> None:
            nonlocal largest
            stored = (await one.backend.store.graphs())[graph]
            with one.views.in_use(graph):
                await one.views.wake(graph)
                for _ in range(turns):
                    view = one.views.get(graph)
                    assert view is not None and view.version >= stored - 3
                    largest = max(largest, len(one.loaded()))
                    await asyncio.sleep(0)

        for _ in range(12):
            await asyncio.gather(*(read(rng.choice(GRAPHS), rng.randint(1, 20)) for _ in range(2)))
            await one.step(rng.choice(GRAPHS))
        assert one.views.evictions[EvictionReason.MEMORY] > 0 and 0 < largest < len(GRAPHS)
        for graph in GRAPHS:
            with one.views.in_use(graph):
                await one.views.wake(graph)
                stored = await one.backend.store.snapshot(graph)

                async def is_current(graph: str = graph, version: int = stored.version) -> bool:
                    return one.views.version(graph) == version

                await eventually(is_current)
                view = one.views.get(graph)
                assert view is not None and sorted(canonical_lines(view.rows())) == sorted(canonical_lines(stored))


async def test_delta_that_was_announced_before_an_eviction_is_skipped(monkeypatch: pytest.MonkeyPatch) -> None:
    """It would create a view without the earlier versions; the graph stays evicted, at the delta's version."""
    async with replica(monkeypatch, 1) as one:
        await one.views.wake("b")
        delta = replace(one.worlds["a"].step(), graph="a")
        await one.views.follow(delta)
        assert one.views.get("a") is None and one.views.evicted["a"] == delta.version


async def test_purge_leaves_no_saved_vector_of_a_removed_row_while_graphs_leave_memory(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Graphs are evicted before, during and after the purge: every index saved since holds live vectors only."""
    async with replica(monkeypatch, await room_for(2)) as one:
        for graph in GRAPHS:
            await one.views.wake(graph)
        assert len(one.keeper.saved) == 3 and not any(one.keeper.saved.values())

        async def use() -> None:
            for graph in GRAPHS:
                await one.views.wake(graph)

        one.keeper.removed = True
        await asyncio.gather(one.views.purge(), use())
        assert all(one.keeper.saved.values())
