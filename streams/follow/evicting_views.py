"""Live views that are loaded on demand and evicted when nothing uses them.

Invariants: a graph is loaded or evicted, not both; a loaded view has every version that was skipped while the graph was
evicted, or the follower loads it anew; nothing evicts a view that is in use.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager

from graphtide.graph.validity.predicates import DEFAULT, FunctionalPredicates
from graphtide.graph.view import LiveView
from graphtide.streams.errors import DeadlineExceeded
from graphtide.streams.follow.view_registry import IndexKeeper, ViewRegistry
from graphtide.streams.ports import GraphStore
from graphtide.streams.retry import outcome_of

log = logging.getLogger("graphtide.streams")

LOAD_TIMEOUT_S = 30.0
"""The longest wait of a caller for a graph to be loaded. The load continues, for the next caller."""
MAX_LOADS = 4
"""Maximum number of graphs that are loaded at a time."""
MAX_ATTEMPTS = 3
"""Snapshots to read for a graph that changes while it is loaded; after that the follower repairs the view."""
MAX_EVICTIONS = 16
"""Maximum number of views that one call of `evict_idle` saves and closes: the follower waits meanwhile."""


class EvictingViews(ViewRegistry):
    """Views of a replica: each is loaded by `wake`, and evicted `idle_s` seconds after its last use.

    The task that calls `follow` calls `evict_idle`, too. `clock` returns seconds.
    """

    def __init__(
        self,
        keeper: IndexKeeper,
        store: GraphStore,
        idle_s: float,
        functional_predicates: FunctionalPredicates = DEFAULT,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        super().__init__(keeper, functional_predicates)
        self._store = store
        self._idle_s = idle_s
        self._clock = clock
        self._evicted: dict[str, int] = {}
        self._used: dict[str, float] = {}
        self._users = Counter[str]()
        self._loads: dict[str, asyncio.Task[None]] = {}
        self._slots = asyncio.Semaphore(MAX_LOADS)

    @property
    def evicted(self) -> Mapping[str, int]:
        """Return the newest known version of each evicted graph."""
        return self._evicted

    async def open(self, store: GraphStore, *, without_damaged: bool = False) -> None:
        """Note every stored graph as evicted: its first use loads it. Cost: one read."""
        self._evicted.update(await store.graphs())

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
        self._users[graph] += 1
        try:
            yield
        finally:
            self._users[graph] -= 1
            if not self._users[graph]:
                del self._users[graph]
            self._touch(graph)

    async def wake(self, graph: str) -> None:
        """See ViewRegistry.wake."""
        self._touch(graph)
        if graph not in self._evicted:
            return
        load = self._loads.get(graph)
        if load is None:
            load = self._loads[graph] = asyncio.create_task(self._restore(graph), name=f"load {graph}")
            load.add_done_callback(lambda done: self._loaded(graph, done))
        try:
            async with asyncio.timeout(LOAD_TIMEOUT_S):
                await asyncio.shield(load)
        except TimeoutError as error:
            raise DeadlineExceeded(
                f"graph {graph!r} was not loaded within {LOAD_TIMEOUT_S:g} s; try again, the load continues"
            ) from error

    async def evict_idle(self) -> None:
        """See ViewRegistry.evict_idle."""
        for graph in [graph for graph in self._views if self._is_idle(graph)][:MAX_EVICTIONS]:
            await self._evict(graph)

    async def drop(self, graph: str, version: int) -> None:
        """See ViewRegistry.drop. A later version that is evicted stays."""
        if self._evicted.get(graph, -1) >= version:
            return
        self._evicted.pop(graph, None)
        self._used.pop(graph, None)
        await super().drop(graph, version)

    async def purge(self) -> int:
        """See ViewRegistry.purge. The saved indexes of evicted graphs are deleted: loading builds them anew."""
        for graph in list(self._evicted):
            await asyncio.to_thread(self._keeper.drop, graph)
        await asyncio.gather(*self._loads.values(), return_exceptions=True)  # they may have opened a deleted index
        return await super().purge()

    async def close(self) -> None:
        """See ViewRegistry.close."""
        loads = list(self._loads.values())
        for load in loads:
            load.cancel()
        await asyncio.gather(*loads, return_exceptions=True)
        await super().close()

    def _touch(self, graph: str) -> None:
        if graph in self._views or graph in self._evicted:
            self._used[graph] = self._clock()

    def _is_idle(self, graph: str) -> bool:
        unused_s = self._clock() - self._used.setdefault(graph, self._clock())
        return unused_s >= self._idle_s and graph not in self._users

    async def _evict(self, graph: str) -> None:
        """Save the indexes of a view, then close it, unless it was used meanwhile."""
        view = self._views[graph]
        async with self._saving:
            if view.version > self._saved.get(graph, 0):
                self._saved[graph] = await asyncio.to_thread(self._save, view)
            if not self._is_idle(graph) or self._views.get(graph) is not view:
                return
            del self._views[graph]
            self._saved.pop(graph, None)
            self._used.pop(graph, None)
            self._evicted[graph] = view.version
        self.evictions += 1
        if self.recorder is not None:
            self.recorder.restart(graph)
        self.on_ended(graph)
        log.info("graph %s is evicted at version %d: unused for %g s", graph, view.version, self._idle_s)
        await asyncio.to_thread(self._keeper.close, view.indexes)

    def _loaded(self, graph: str, load: asyncio.Task[None]) -> None:
        del self._loads[graph]
        if not load.cancelled() and (error := load.exception()) is not None:
            log.warning("graph %s cannot be loaded: %s", graph, error)

    async def _restore(self, graph: str) -> None:
        async with self._slots:
            for attempt in range(1, MAX_ATTEMPTS + 1):
                snapshot = await self._store.snapshot(graph)
                if not snapshot.version or graph not in self._evicted:  # deleted, which the follower will read
                    return
                opened = await outcome_of(asyncio.to_thread(self._open, snapshot))
                if isinstance(opened, Exception):
                    self._evicted.pop(graph, None)
                    self._note_damage(graph, snapshot.version, opened)
                    return
                if await self._show(opened, whatever_was_skipped=attempt == MAX_ATTEMPTS):
                    return

    async def _show(self, view: LiveView, *, whatever_was_skipped: bool) -> bool:
        """Show a loaded view, unless it lacks a version that was skipped. Returns True if the graph is loaded."""
        newest = self._evicted.get(view.graph)
        if newest is not None and (newest <= view.version or whatever_was_skipped):
            self.restores += 1
            await self._put(view)
            self._touch(view.graph)
            return True
        await asyncio.to_thread(self._keeper.close, view.indexes)
        return newest is None

    def _replaced(self, graph: str) -> None:
        self._evicted.pop(graph, None)
        self._used.setdefault(graph, self._clock())
        super()._replaced(graph)
