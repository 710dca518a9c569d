"""The live views of a query process: opened from the store, kept current by deltas."""

from __future__ import annotations

import asyncio
import logging
import math
from collections.abc import AsyncIterator, Callable, Collection, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext, suppress

from graphtide.graph.algorithms.yield_points import yielding
from graphtide.graph.records import GraphDelta
from graphtide.graph.validity.predicates import DEFAULT, FunctionalPredicates
from graphtide.graph.view import LiveView
from graphtide.streams.checkpoints.ports import IndexKeeper
from graphtide.streams.checkpoints.saved_views import SavedViews, dimensions
from graphtide.streams.checkpoints.view_checkpoints import Retained, ViewCheckpoints
from graphtide.streams.errors import Broken, GraphtideError, NotFound
from graphtide.streams.follow.view_ports import EvictionReason, ViewRecorder
from graphtide.streams.follow.view_size import view_bytes
from graphtide.streams.free_memory import MANY_ROWS, return_free_memory
from graphtide.streams.ports import GraphStore, SnapshotUse
from graphtide.streams.retry import outcome_of
from graphtide.streams.scheduling.precedence import QUESTIONS
from graphtide.streams.tracing import Headers

log = logging.getLogger("graphtide.streams")

LAST_SAVES_S = 10.0
"""Seconds in which an ending process begins to save indexes: each graph takes a dozen flushes of files."""
HEAVY_ROWS = 1_000
"""Changed rows of a delta from which its application waits for questions to other graphs: 20 ms of work."""


class ViewRegistry:
    """The live views by graph. One task calls `follow` and `replace`.

    `functional_predicates` are the predicates by which views detect contradictions (graph/validity). With `checkpoints`
    the rows of views are saved with their indexes.
    """

    def __init__(
        self,
        keeper: IndexKeeper,
        functional_predicates: FunctionalPredicates = DEFAULT,
        checkpoints: ViewCheckpoints | None = None,
    ) -> None:
        self.saved = SavedViews(keeper, functional_predicates, checkpoints)
        self._views: dict[str, LiveView] = {}
        self._moved = asyncio.Event()
        self.recorder: ViewRecorder | None = None
        self.on_ended: Callable[[str], None] = lambda graph: None
        """Called with the graph whose view was closed, or replaced by another one."""
        self.on_purged: list[Callable[[], None]] = []
        """Called by `purge`: they forget what they keep of earlier versions."""
        self._opening = ("", 0)
        self.catching_up = ""
        """The progress of the follower after `open`, as text; "" before and afterwards."""
        self._arriving: dict[str, frozenset[str]] = {}
        self._saving = asyncio.Lock()
        self._damaged: dict[str, tuple[int, str]] = {}
        self._dropped: dict[str, int] = {}
        self.evictions = dict.fromkeys(EvictionReason, 0)
        self.restores = 0
        """Views loaded on demand."""
        self.load_s = 0.0
        """Seconds of those loads, including their waits for memory."""
        self.deferred_loads = 0
        """Requests that did not wait for a load, so that another replica could serve them."""
        self.refused_loads = 0
        """Loads that found no memory."""

    @property
    def damaged(self) -> Mapping[str, str]:
        """Return the graphs whose stored rows cannot be shown, with the reason and the remedy."""
        return {graph: reason for graph, (_, reason) in sorted(self._damaged.items())}

    def is_damaged_at(self, graph: str, version: int) -> bool:
        """Return True if the rows of that version could not be shown."""
        return self._damaged.get(graph, (-1, ""))[0] == version

    def get(self, graph: str) -> LiveView | None:
        return self._views.get(graph)

    def has_document(self, graph: str, doc_id: str) -> bool:
        """Return True if the graph's view holds the document, without its lock: approximate during a change."""
        view = self._views.get(graph)
        return view is not None and doc_id in view.documents

    def expect(self, graph: str, doc_ids: Collection[str]) -> None:
        """Note that the view is about to show a commit that writes these documents; none: that it is not."""
        if doc_ids:
            self._arriving[graph] = frozenset(doc_ids)
        else:
            self._arriving.pop(graph, None)

    def is_expected(self, graph: str, doc_id: str) -> bool:
        """Return True if the view is about to show a commit that writes the document."""
        return doc_id in self._arriving.get(graph, ())

    async def arrived(self, graph: str, doc_id: str, timeout_s: float) -> bool:
        """Wait up to `timeout_s` until the document is not expected, and return whether that is so."""
        with suppress(TimeoutError):
            async with asyncio.timeout(timeout_s):
                while self.is_expected(graph, doc_id):
                    await self._moved.wait()
        return not self.is_expected(graph, doc_id)

    def version(self, graph: str) -> int:
        """Return the version that queries see; 0 for a graph without a view."""
        view = self._views.get(graph)
        return view.version if view else 0

    def all(self) -> list[LiveView]:
        """Return the open views."""
        return list(self._views.values())

    def versions(self) -> Mapping[str, int]:
        return {graph: view.version for graph, view in self._views.items()}

    # -- eviction (evicting_views.py); this class keeps every view -----------------------------------------------------

    @property
    def evicted(self) -> Mapping[str, int]:
        """Return the newest known version of each graph that is stored and whose view is not loaded."""
        return {}

    def skip(self, graph: str, version: int) -> bool:
        """Return True if the graph is evicted, so that its deltas are skipped; its newest version is noted."""
        return False

    def in_use(self, graph: str) -> AbstractContextManager[None]:
        """Return a context that prevents the eviction of the graph's view."""
        return nullcontext()

    async def wake(self, graph: str) -> None:
        """Load the view of an evicted graph, and note that it is used.

        Raises DeadlineExceeded, NotLoaded by the request's LoadPolicy, Overloaded when there is no memory for it, and
        storage failures.
        """

    async def evict_idle(self) -> None:
        """Evict the views that were not used for the configured time."""

    @property
    def loaded_bytes(self) -> int:
        """Return the estimated memory of the loaded views with their indexes. Cost: their number."""
        return sum(map(view_bytes, self.all()))

    # ------------------------------------------------------------------------------------------------------------------

    async def open(
        self, store: GraphStore, *, without_damaged: bool = False, retained: Retained | None = None
    ) -> Sequence[Mapping[int, int]]:
        """Open a view of every stored graph. Cost: linear in the rows.

        With `retained`, the records of `deltas` that the caller can read, views may be those of checkpoints: of an
        earlier version. The offsets from which to follow them are returned.

        Raises Broken for inconsistent rows; `without_damaged` notes their graphs as `damaged` instead.
        """
        graphs = await store.graphs()
        offsets: list[Mapping[int, int]] = []
        for graph in graphs:
            self._opening = (graph, len(graphs))
            restored = await self.saved.restored(graph, graphs[graph], retained) if retained else None
            if restored is not None:
                self._views[graph] = restored.view
                offsets.append(restored.offsets)
                continue
            opened = await outcome_of(self._opened(store, graph))
            if isinstance(opened, GraphtideError):
                raise opened
            if isinstance(opened, Exception) and without_damaged:
                self._note_damage(graph, graphs[graph], opened)
                continue
            if isinstance(opened, MemoryError):
                raise Broken(f"graph {graph!r} needs more memory than this process may use: raise its limit")
            if isinstance(opened, Exception):
                raise Broken(
                    f"the rows of graph {graph!r} are inconsistent ({type(opened).__name__}: {opened}):"
                    " restore the data folder from a backup"
                ) from opened
            if len(opened.labels) + len(opened.statements) >= MANY_ROWS:
                await asyncio.to_thread(return_free_memory)
            self._views[graph] = opened
        return offsets

    async def _opened(self, store: GraphStore, graph: str) -> LiveView:
        return await asyncio.to_thread(self.saved.open, await store.snapshot(graph, SnapshotUse.VIEW))

    async def load(self, snapshot: GraphDelta) -> None:
        """Replace the view of a graph by a stored snapshot; one that cannot be shown makes the graph `damaged`.

        An older view stays. Raises storage failures.
        """
        loaded = await outcome_of(self.follow(snapshot))
        if isinstance(loaded, GraphtideError):
            raise loaded
        if isinstance(loaded, Exception):
            self._note_damage(snapshot.graph, snapshot.version, loaded)

    def _note_damage(self, graph: str, version: int, error: Exception) -> None:
        reason = (
            f"the stored rows of graph {graph!r} at version {version} cannot be shown"
            f" ({type(error).__name__}: {error!s:.200}); rebuild it with: graphtide rebuild --graph {graph}"
        )
        if self._damaged.get(graph) != (version, reason):
            log.error("%s", reason, exc_info=error)
        self._damaged[graph] = version, reason

    def opening(self) -> str:
        """Return the progress of `open`, or of what `catching_up` says, as text."""
        graph, count = self._opening
        if self.catching_up:
            return self.catching_up
        return f"loading the graphs: {graph}, {len(self._views) + 1} of {count}" if count else "loading the graphs"

    async def follow(self, delta: GraphDelta, headers: Headers = ()) -> None:
        """Apply a delta to the view of its graph, which the first delta creates. `headers` are those of its notice.

        A snapshot replaces the view, unless the view already has that version; the delta of a deletion drops it.
        Raises ValueError for a gap.
        """
        if delta.deleted:
            await self.drop(delta.graph, delta.version)
            return
        if not delta.snapshot:
            self.expect(delta.graph, [row.doc_id for row in delta.documents])
        try:
            await self._follow(delta, headers)
        finally:
            self.expect(delta.graph, ())
            self._announce()

    async def _follow(self, delta: GraphDelta, headers: Headers) -> None:
        with yielding(QUESTIONS.hook(delta.graph)) if delta.changed_rows > HEAVY_ROWS else nullcontext():
            await self._take(delta, headers)

    async def _take(self, delta: GraphDelta, headers: Headers) -> None:
        view = self._views.get(delta.graph)
        if delta.snapshot:
            if view is None or view.version < delta.version:
                await self._put(await asyncio.to_thread(self.saved.open, delta))
            return
        if view is None or _misfits(view, delta):
            view = await asyncio.to_thread(self.saved.empty, delta.graph, dimensions(delta))
            view.version = delta.version - 1
            await self._put(view)
        recorder = self.recorder
        old = await asyncio.to_thread(recorder.before, view, delta) if recorder else b""
        await asyncio.to_thread(_apply, view, delta)
        if recorder:
            await recorder.applied(delta, old, headers)

    async def reach(self, graph: str, version: int) -> LiveView:
        """Return the graph's view, once it shows that version: an announced version is durable and may still arrive.

        Raises NotFound when the graph was deleted at that version or a later one.
        """
        while True:
            moved, view = self._moved, self._views.get(graph)
            if view is not None and view.version >= version:
                return view
            if self._dropped.get(graph, -1) >= version:
                raise NotFound(f"graph {graph!r} was deleted")
            await moved.wait()

    async def drop(self, graph: str, version: int) -> None:
        """Close the view of a graph that was deleted at `version`, and delete its saved indexes. A later view stays."""
        view = self._views.get(graph)
        if view is not None and view.version >= version:
            return
        async with self._saving:
            self._views.pop(graph, None)
            self._damaged.pop(graph, None)
            self.saved.left(graph)
            self._dropped[graph] = version
            if self.recorder is not None:
                self.recorder.restart(graph)
            await asyncio.to_thread(self.saved.forget, graph)
        self.on_ended(graph)
        self._announce()
        if view is not None:
            await asyncio.to_thread(self.saved.close, view)

    def _announce(self) -> None:
        self._moved.set()
        self._moved = asyncio.Event()

    async def replace(self, snapshot: GraphDelta) -> None:
        """Replace the view of a graph by one of the rebuilt graph."""
        await self._put(await asyncio.to_thread(self.saved.build, snapshot))

    async def replace_all(self, snapshots: AsyncIterator[GraphDelta], switch: Callable[[], None]) -> None:
        """Replace views as `replace` does, all at one moment, at which `switch` is called.

        A question that has its view by then is answered from it.
        """
        views = [await asyncio.to_thread(self.saved.build, snapshot) async for snapshot in snapshots]
        old = [self._views[view.graph] for view in views if view.graph in self._views]
        switch()
        for view in views:
            self._views[view.graph] = view
        for view in views:
            self._replaced(view.graph)
        for view in old:
            await asyncio.to_thread(self.saved.close, view)

    async def _put(self, view: LiveView) -> None:
        old, self._views[view.graph] = self._views.get(view.graph), view
        self._replaced(view.graph)
        if old is not None:
            await asyncio.to_thread(self.saved.close, old)

    def _replaced(self, graph: str) -> None:
        self._damaged.pop(graph, None)
        if self.recorder is not None:
            self.recorder.restart(graph)
        self.on_ended(graph)
        self._announce()

    async def save(self, *, least_versions: int = 1, within_s: float = math.inf) -> None:
        """Save the indexes and rows of views that advanced by at least that many versions since the last save.

        See SavedViews.is_due. The largest graphs are first. None is begun after `within_s` seconds: a start fills those
        from the store.
        """
        loop, late = asyncio.get_running_loop(), 0
        until = loop.time() + within_s
        for graph, view in sorted(self._views.items(), key=lambda item: -len(item[1].statements)):
            async with self._saving:  # one view at a time: an eviction waits for it
                if self._views.get(graph) is not view or not self.saved.is_due(view, least_versions):
                    continue
                if loop.time() >= until:
                    late += 1
                else:
                    await self._save(view)
        if late:
            log.info("%d graphs were not saved within %g s: a start loads them from the store", late, within_s)

    async def purge(self) -> int:
        """Save every index without the vectors of removed rows. Returns the number of graphs. Cost: rebuilds each."""
        for forget in self.on_purged:
            forget()
        async with self._saving:
            views = list(self._views.values())
            for view in views:
                await asyncio.to_thread(self.saved.compact, view)
                await asyncio.to_thread(self.saved.forget, view.graph)  # even if the new ones cannot be saved
                await self._save(view)
        return len(views)

    async def close(self) -> None:
        """Save the views that advanced, for LAST_SAVES_S at most, and end all background work."""
        await self.save(within_s=LAST_SAVES_S)
        for view in self._views.values():
            await asyncio.to_thread(self.saved.close, view)

    async def _save(self, view: LiveView) -> None:
        await self.saved.save(view, view_bytes(view))


def _apply(view: LiveView, delta: GraphDelta) -> None:
    with view.lock.write():
        view.apply(delta)


def _misfits(view: LiveView, delta: GraphDelta) -> bool:
    """Return True if an empty view was opened for vectors of another length: its graph had none, or lost all."""
    return not view.documents and bool(delta.chunks) and view.indexes.chunks.dimensions != dimensions(delta)
