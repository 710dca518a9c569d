"""Views that are evicted when unused: each comes back at the newest version, and its deltas are skipped meanwhile."""

from __future__ import annotations

import asyncio
import random
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

import pytest

from graphtide.graph.digest import canonical_lines
from graphtide.graph.records import GraphDelta
from graphtide.streams.follow import delta_follower
from graphtide.streams.follow.delta_follower import DeltaFollower
from graphtide.streams.follow.delta_records import full_records
from graphtide.streams.follow.evicting_views import EvictingViews, EvictionLimits
from graphtide.streams.messages import DELTAS
from graphtide.streams.ports import Commit, GraphCommit, Record, SnapshotUse
from tests.model.memory import MemoryBackend, MemoryOutbox
from tests.support.stages import ExactKeeper, eventually, running
from tests.support.worlds import RandomWorld

GRAPH = "world"
IDLE_S = 60.0


@dataclass
class Replica:
    """A replica that follows a graph of another process, with a clock of its own."""

    backend: MemoryBackend
    world: RandomWorld
    now: list[float] = field(default_factory=lambda: [0.0])

    def __post_init__(self) -> None:
        self.views = EvictingViews(ExactKeeper(), self.backend.store, EvictionLimits(IDLE_S), clock=lambda: self.now[0])
        self.follower = DeltaFollower(self.backend.log, self.backend.store, self.views, lambda: None)

    async def commit(self) -> GraphDelta:
        """Make the next version durable without announcing it."""
        store, delta = self.backend.store, self.world.step()
        await store.commit(Commit(0, await store.claim(0), 0, (GraphCommit(delta, {}),), ()))
        return delta

    async def announce(self, *records: Record) -> None:
        await self.backend.log.append(DELTAS, records)

    async def step(self) -> None:
        await self.announce(*full_records(await self.commit(), part_bytes=4096))

    async def evict(self) -> None:
        """Let the idle time pass, until the follower has evicted the graph."""
        self.now[0] += IDLE_S

        async def is_evicted() -> bool:
            return GRAPH in self.views.evicted

        await eventually(is_evicted)

    async def check(self) -> None:
        """Check that the loaded view becomes the stored graph."""
        stored = await self.backend.store.snapshot(GRAPH)

        async def is_current() -> bool:
            return self.views.version(GRAPH) == stored.version

        await eventually(is_current)
        view = self.views.get(GRAPH)
        assert view is not None and sorted(canonical_lines(view.rows())) == sorted(canonical_lines(stored))
        assert GRAPH not in self.views.evicted


@asynccontextmanager
async def replica(monkeypatch: pytest.MonkeyPatch, seed: int) -> AsyncIterator[Replica]:
    """Start a replica of a graph with three versions, with a short interval between comparisons."""
    print(f"seed {seed}")
    monkeypatch.setattr(delta_follower, "POLL_INTERVAL_S", 0.01)
    one = Replica(MemoryBackend(1, outbox=MemoryOutbox()), RandomWorld(random.Random(seed)))
    for _ in range(3):
        await one.commit()
    await one.follower.start()
    async with running(one.follower.run):
        yield one
    await one.views.close()


async def test_replica_loads_a_graph_at_its_first_use_and_evicts_it_when_unused(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Nothing is loaded at the start. After a use and the idle time the view is evicted, and the next use loads it."""
    async with replica(monkeypatch, 1) as one:
        assert one.views.get(GRAPH) is None and one.views.evicted == {GRAPH: 3}
        await asyncio.gather(one.views.wake(GRAPH), one.views.wake(GRAPH))
        assert one.views.restores == 1
        await one.check()
        await one.evict()
        await one.views.wake(GRAPH)
        await one.check()
        assert (sum(one.views.evictions.values()), one.views.restores) == (1, 2)


async def test_evicted_graph_skips_deltas_and_follows_after_it_is_loaded(monkeypatch: pytest.MonkeyPatch) -> None:
    """Versions pass while the graph is evicted: none is applied or lags; after loading, deltas are applied again."""
    async with replica(monkeypatch, 2) as one:
        for _ in range(4):
            await one.step()

        async def is_noted() -> bool:
            return one.views.evicted == {GRAPH: 7}

        await eventually(is_noted)
        assert one.follower.behind() == {} and one.follower.reloads == 0
        await one.views.wake(GRAPH)
        assert one.views.version(GRAPH) == 7
        await one.step()
        await one.check()
        assert one.follower.reloads == 0


async def test_load_includes_versions_that_were_skipped_during_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """A version is committed and skipped between the reading of the snapshot and the end of the load."""
    async with replica(monkeypatch, 3) as one:
        read, snapshots = one.backend.store.snapshot, 0

        async def snapshot(graph: str, use: SnapshotUse = SnapshotUse.EVERYTHING) -> GraphDelta:
            nonlocal snapshots
            found, snapshots = await read(graph, use), snapshots + 1
            if snapshots == 1:
                await one.step()

                async def is_skipped() -> bool:
                    return one.views.evicted == {GRAPH: 4}

                await eventually(is_skipped)
            return found

        monkeypatch.setattr(one.backend.store, "snapshot", snapshot)
        await one.views.wake(GRAPH)
        assert one.views.version(GRAPH) == 4 and snapshots == 2 and one.follower.reloads == 0


async def test_view_in_use_is_not_evicted(monkeypatch: pytest.MonkeyPatch) -> None:
    """The idle time begins when the last user ends."""
    async with replica(monkeypatch, 4) as one:
        with one.views.in_use(GRAPH):
            await one.views.wake(GRAPH)
            one.now[0] += 10 * IDLE_S
            await one.views.evict_idle()
            assert one.views.get(GRAPH) is not None
        await one.views.evict_idle()
        assert one.views.get(GRAPH) is not None
        await one.evict()


async def test_deletion_of_an_evicted_graph_removes_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """An earlier deletion changes nothing; a later one makes the graph unknown, and loading it has no effect."""
    async with replica(monkeypatch, 5) as one:
        await one.views.drop(GRAPH, 2)
        assert one.views.evicted == {GRAPH: 3}
        await one.views.drop(GRAPH, 4)
        await one.views.wake(GRAPH)
        assert one.views.get(GRAPH) is None and one.views.evicted == {}


@pytest.mark.parametrize("seed", range(3))
async def test_uses_evictions_and_commits_in_any_order_end_with_the_stored_graph(
    monkeypatch: pytest.MonkeyPatch, seed: int
) -> None:
    """A random walk over commits, lost announcements, uses and evictions; each use shows what was announced."""
    async with replica(monkeypatch, seed) as one:
        rng = random.Random(seed)
        for _ in range(25):
            match rng.choice(("step", "step", "lose", "use", "evict")):
                case "step":
                    await one.step()
                case "lose":
                    await one.commit()
                case "use":
                    await one.views.wake(GRAPH)
                    await eventually(lambda: _is_shown(one))
                case "evict" if one.views.get(GRAPH) is not None:
                    await one.evict()
        await one.views.wake(GRAPH)
        await one.step()
        await one.check()


async def _is_shown(one: Replica) -> bool:
    return one.views.get(GRAPH) is not None
