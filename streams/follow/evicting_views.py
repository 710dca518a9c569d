"""Live views that are loaded on demand and evicted when nothing uses them, or when others need their memory.

Invariants: a graph is loaded or evicted, not both; a loaded view has every version that was skipped while the graph was
evicted, or the follower loads it anew; nothing evicts a view that is in use, or that a delta is applied to. Loads keep
the estimated memory of all views within the bound, except for a graph that is larger than the bound: it is alone.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections import Counter
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass

from graphtide.graph.records import GraphDelta
from graphtide.graph.validity.predicates import DEFAULT, FunctionalPredicates
from graphtide.graph.view import LiveView
from graphtide.streams.checkpoints.ports import IndexKeeper
from graphtide.streams.checkpoints.view_checkpoints import Retained, ViewCheckpoints
from graphtide.streams.errors import DeadlineExceeded, NotLoaded, Overloaded
from graphtide.streams.follow.load_policy import LOAD_POLICY, LoadPolicy
from graphtide.streams.follow.loaded_bytes import LoadedBytes
from graphtide.streams.follow.view_ports import EvictionReason
from graphtide.streams.follow.view_registry import ViewRegistry
from graphtide.streams.follow.view_size import snapshot_bytes, view_bytes
from graphtide.streams.ports import GraphStore, SnapshotUse
from graphtide.streams.retry import outcome_of
from graphtide.streams.tracing import Headers

log = logging.getLogger("graphtide.streams")

LOAD_TIMEOUT_S = 30.0
"""The longest wait of a caller for a graph to be loaded. The load continues, for the next caller."""
BRIEF_LOAD_S = 0.25
"""The longest wait of a caller that can ask another replica meanwhile."""
MAX_LOADS = 4
"""Maximum number of graphs that are loaded at a time."""
MAX_ATTEMPTS = 3
"""Snapshots to read for a graph that changes while it is loaded; after that the follower repairs the view."""
MAX_EVICTIONS = 16
"""Maximum number of views that one call of `evict_idle` saves and closes: the follower waits meanwhile."""
ROOM_TIMEOUT_S = 5.0
"""The longest wait of a load for memory that views in use occupy. Its callers are then asked to try again."""


@dataclass(frozen=True, slots=True)
class EvictionLimits:
    """When views leave memory: `idle_s` seconds after their last use (0: never), and beyond `max_bytes` (0: no bound)
    of estimated memory, the least recently used first.
    """

    idle_s: float = 0.0
    max_bytes: int = 0


class EvictingViews(ViewRegistry):
    """Views of a replica, each loaded by `wake`. The task that calls `follow` calls `evict_idle`, too.

    `clock` returns seconds.
    """

    def __init__(
        self,
        keeper: IndexKeeper,
        store: GraphStore,
        limits: EvictionLimits,
        functional_predicates: FunctionalPredicates = DEFAULT,
        clock: Callable[[], float] = time.monotonic,
        checkpoints: ViewCheckpoints | None = None,
    ) -> None:
        super().__init__(keeper, functional_predicates, checkpoints)
        self._store = store
        self._limits = limits
        self._memory = LoadedBytes(limits.max_bytes)
        self._clock = clock
        self._evicted: dict[str, int] = {}
        self._used: dict[str, float] = {}
        self._users = Counter[str]()
        self._loads: dict[str, asyncio.Task[None]] = {}
        self._slots = asyncio.Semaphore(MAX_LOADS)
        self._purges = 0

    @property
    def evicted(self) -> Mapping[str, int]:
        """Return the newest known version of each evicted graph."""
        return self._evicted

    async def open(
        self, store: GraphStore, *, without_damaged: bool = False, retained: Retained | None = None
    ) -> Sequence[Mapping[int, int]]:
        """Note every stored graph as evicted: its first use loads it. Cost: one read."""
        self._evicted.update(await store.graphs())
        return ()

    def skip(self, graph: str, version: int) -> bool:
        """See ViewRegistry.skip. A new graph is evicted from its first version on, unless a caller waits for it."""
        is_followed = graph in self._views or graph in self._users or graph in self._damaged
        if graph not in self._evicted and is_followed:
            return False
        self._evicted[graph] = max(version, self._evicted.get(graph, 0))
        return True

    @contextmanager
    def in_use(self, graph: str) -> Iterator[None]:
        """See ViewRegistry.in_use."""
        with self._pinned(graph):
            try:
                yield
            finally:
                self._touch(graph)

    @contextmanager
    def _pinned(self, graph: str) -> Iterator[None]:
        """Prevent the eviction of the graph's view, without the effect of a use."""
        self._users[graph] += 1
        try:
            yield
        finally:
            self._users[graph] -= 1
            if not self._users[graph]:
                del self._users[graph]
                self._memory.released()

    async def follow(self, delta: GraphDelta, headers: Headers = ()) -> None:
        """See ViewRegistry.follow. The delta of a graph that was evicted since its announcement is skipped."""
        if delta.graph in self._evicted and not delta.deleted:
            self._evicted[delta.graph] = max(delta.version, self._evicted[delta.graph])
            return
        with self._pinned(delta.graph):
            await super().follow(delta, headers)
        self._measure(delta.graph)

    async def wake(self, graph: str) -> None:
        """See ViewRegistry.wake."""
        self._touch(graph)
        if graph not in self._evicted:
            return
        policy = LOAD_POLICY.get()
        if policy is LoadPolicy.NEVER:
            raise NotLoaded(f"graph {graph!r} is not in the memory of this replica", 0.0)
        load = self._loads.get(graph)
        if load is None:
            load = self._loads[graph] = asyncio.create_task(self._restore(graph), name=f"load {graph}")
            load.add_done_callback(lambda done: self._loaded(graph, done))
        try:
            async with asyncio.timeout(LOAD_TIMEOUT_S if policy is LoadPolicy.WAIT else BRIEF_LOAD_S):
                await asyncio.shield(load)
        except TimeoutError as error:
            if policy is LoadPolicy.BRIEFLY:
                self.deferred_loads += 1
                raise NotLoaded(f"graph {graph!r} is being loaded by this replica", 0.0) from error
            raise DeadlineExceeded(
                f"graph {graph!r} was not loaded within {LOAD_TIMEOUT_S:g} s; try again, the load continues"
            ) from error

    async def evict_idle(self) -> None:
        """See ViewRegistry.evict_idle. Also evicts views beyond the bound: they grow as they follow."""
        idle = [graph for graph in self._views if self._is_idle(graph)]
        for graph in idle[:MAX_EVICTIONS]:
            await self._evict(graph, EvictionReason.IDLE, lambda graph=graph: self._is_idle(graph))  # type: ignore[misc]
        for _ in range(MAX_EVICTIONS):
            if not self._memory.exceeded or not await self._evict_least_recent():
                break

    async def drop(self, graph: str, version: int) -> None:
        """See ViewRegistry.drop. A later version that is evicted stays."""
        if self._evicted.get(graph, -1) >= version:
            return
        self._evicted.pop(graph, None)
        self._used.pop(graph, None)
        await super().drop(graph, version)
        if graph not in self._views:
            self._memory.forget(graph)

    async def purge(self) -> int:
        """See ViewRegistry.purge. The saved indexes of evicted graphs are deleted: loading builds them anew."""
        self._purges += 1  # views that are evicted from now on are not saved
        try:
            async with self._saving:  # an eviction that began before has ended
                evicted = list(self._evicted)
            for graph in evicted:
                await asyncio.to_thread(self.saved.forget, graph)
            await asyncio.gather(*self._loads.values(), return_exceptions=True)  # they may have opened a deleted index
            return await super().purge()
        finally:
            self._purges -= 1

    async def close(self) -> None:
        """See ViewRegistry.close."""
        loads = list(self._loads.values())
        for load in loads:
            load.cancel()
        await asyncio.gather(*loads, return_exceptions=True)
        await super().close()

    @property
    def loaded_bytes(self) -> int:
        """See ViewRegistry.loaded_bytes. Includes the views that are being loaded."""
        return self._memory.total

    def _touch(self, graph: str) -> None:
        if graph in self._views or graph in self._evicted:
            self._used.pop(graph, None)  # `_used` is in the order of the last uses
            self._used[graph] = self._clock()

    def _measure(self, graph: str) -> None:
        view = self._views.get(graph)
        if view is not None:
            self._memory.note(graph, view_bytes(view))

    def _is_idle(self, graph: str) -> bool:
        unused_s = self._clock() - self._used.setdefault(graph, self._clock())
        return 0 < self._limits.idle_s <= unused_s and graph not in self._users

    async def _evict_least_recent(self) -> bool:
        """Evict the view whose last use is the longest ago. Returns False if all are in use."""
        graph = next((graph for graph in self._used if graph in self._views and graph not in self._users), None)
        if graph is None:
            return False
        used = self._used[graph]
        await self._evict(
            graph,
            EvictionReason.MEMORY,
            lambda: graph not in self._users and self._used.get(graph) == used,
        )
        return True

    async def _evict(self, graph: str, reason: EvictionReason, may_leave: Callable[[], bool]) -> None:
        """Save the indexes of a view, then close it, unless it was used meanwhile."""
        async with self._saving:
            view = self._views.get(graph)
            if view is None or not may_leave():
                return
            if self.saved.is_due(view, 1) and not self._purges:
                await self._save(view)
            if self._purges:
                await asyncio.to_thread(self.saved.forget, graph)
            if not may_leave() or self._views.get(graph) is not view:
                return
            del self._views[graph]
            self.saved.left(graph)
            self._used.pop(graph, None)
            self._evicted[graph] = view.version
        self._memory.forget(graph)
        self.evictions[reason] += 1
        if self.recorder is not None:
            self.recorder.restart(graph)
        self.on_ended(graph)
        log.info("graph %s is evicted at version %d (%s)", graph, view.version, reason)
        await asyncio.to_thread(self.saved.close, view)

    def _loaded(self, graph: str, load: asyncio.Task[None]) -> None:
        del self._loads[graph]
        if not load.cancelled() and (error := load.exception()) is not None:
            log.warning("graph %s cannot be loaded: %s", graph, error)

    async def _restore(self, graph: str) -> None:
        started = time.monotonic()
        async with self._slots:
            for attempt in range(1, MAX_ATTEMPTS + 1):
                if await self._restore_unchanged(graph):
                    break
                snapshot = await self._store.snapshot(graph, SnapshotUse.VIEW)
                if not snapshot.version or graph not in self._evicted:  # deleted, which the follower will read
                    return
                async with self._room(graph, snapshot_bytes(snapshot)):
                    opened = await outcome_of(asyncio.to_thread(self.saved.open, snapshot))
                    if isinstance(opened, Exception):
                        self._evicted.pop(graph, None)
                        self._note_damage(graph, snapshot.version, opened)
                        return
                    if await self._show(opened, whatever_was_skipped=attempt == MAX_ATTEMPTS):
                        break
        self.load_s += time.monotonic() - started

    async def _restore_unchanged(self, graph: str) -> bool:
        """Show the view of a graph's checkpoint if it has the newest known version. Returns True if it is shown."""
        newest = self._evicted.get(graph)
        if self.saved.checkpoints is None or newest is None:
            return False
        size_bytes = await asyncio.to_thread(self.saved.checkpoints.size_bytes, graph, newest)
        if not size_bytes:
            return False
        async with self._room(graph, size_bytes):
            restored = await self.saved.restored(graph, newest, None)
            return restored is not None and await self._show(restored.view, whatever_was_skipped=False)

    @asynccontextmanager
    async def _room(self, graph: str, size_bytes: int) -> AsyncIterator[None]:
        """Reserve memory for a view, evicting others. Raises Overloaded when views in use occupy it for too long."""
        try:
            async with asyncio.timeout(ROOM_TIMEOUT_S):
                while not self._memory.admits(size_bytes):
                    if not await self._evict_least_recent():
                        await self._memory.wait()
        except TimeoutError as error:
            self.refused_loads += 1
            raise Overloaded(
                f"graph {graph!r} is not in memory, and the graphs in use leave no room for it; try again later"
            ) from error
        with self._memory.reserved(size_bytes):
            yield

    async def _show(self, view: LiveView, *, whatever_was_skipped: bool) -> bool:
        """Show a loaded view, unless it lacks a version that was skipped. Returns True if the graph is loaded."""
        newest = self._evicted.get(view.graph)
        if newest is not None and (newest <= view.version or whatever_was_skipped):
            self.restores += 1
            await self._put(view)
            self._touch(view.graph)
            return True
        await asyncio.to_thread(self.saved.close, view)
        return newest is None

    def _replaced(self, graph: str) -> None:
        self._evicted.pop(graph, None)
        self._used.setdefault(graph, self._clock())
        self._measure(graph)
        super()._replaced(graph)
