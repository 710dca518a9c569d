"""Storage of a process's views between runs: their vector indexes, and with checkpoints their rows.

Invariant: a checkpoint that is used has the version of the indexes that were saved with it. Everything here is derived
from the store.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Mapping

from graphtide.graph.records import GraphDelta
from graphtide.graph.validity.predicates import DEFAULT, FunctionalPredicates
from graphtide.graph.view import LiveView
from graphtide.graph.view_state.frozen import FrozenView
from graphtide.streams.checkpoints.ports import IndexKeeper
from graphtide.streams.checkpoints.view_checkpoints import RestoredView, Retained, ViewCheckpoints, max_missed

log = logging.getLogger("graphtide.streams")


class SavedViews:
    """The saved parts of views. Methods without `async` block, and are called in threads.

    `checkpoints` is None where rows are not saved; `functional_predicates` are those of the views that are made.
    """

    def __init__(
        self,
        keeper: IndexKeeper,
        functional_predicates: FunctionalPredicates = DEFAULT,
        checkpoints: ViewCheckpoints | None = None,
    ) -> None:
        self.checkpoints = checkpoints
        self._keeper = keeper
        self._functional_predicates = functional_predicates
        self._indexes: dict[str, int] = {}
        """The version of each graph's saved indexes."""
        self._rows: dict[str, int] = {}
        """The version of each graph's checkpoint."""

    def empty(self, graph: str, dimensions: int) -> LiveView:
        """Return a view without rows, on empty indexes."""
        indexes, _ = self._keeper.open(graph, dimensions, 0)
        return LiveView(graph, indexes, self._functional_predicates)

    def open(self, snapshot: GraphDelta) -> LiveView:
        """Return the view of a snapshot, on the saved indexes as far as they are of its history."""
        indexes, indexed = self._keeper.open(snapshot.graph, dimensions(snapshot), snapshot.version)
        view = LiveView(snapshot.graph, indexes, self._functional_predicates)
        view.apply(snapshot, indexed=indexed)
        self._indexes[snapshot.graph] = min(indexed.chunks, indexed.entities, indexed.statements)
        self._rows.pop(snapshot.graph, None)
        log.info("graph %s is open at version %d", snapshot.graph, snapshot.version)
        return view

    def build(self, snapshot: GraphDelta) -> LiveView:
        """Return the view of a rebuilt graph, whose internal numbers are others: what was saved is deleted."""
        self._keeper.drop(snapshot.graph)
        self.left(snapshot.graph)
        view = self.empty(snapshot.graph, dimensions(snapshot))
        view.apply(snapshot)
        return view

    async def restored(self, graph: str, newest: int, retained: Retained | None) -> RestoredView | None:
        """Return the graph's view from its checkpoint, None without a usable one. See ViewCheckpoints.restore."""
        if self.checkpoints is None:
            return None
        restored = await asyncio.to_thread(
            self.checkpoints.restore,
            graph,
            newest,
            retained,
            self._keeper.open,
            self._keeper.close,
            self._functional_predicates,
        )
        if restored is not None:
            self._indexes[graph] = self._rows[graph] = restored.view.version
            log.info("graph %s is restored at version %d of %d", graph, restored.view.version, newest)
        return restored

    def is_due(self, view: LiveView, least_versions: int) -> bool:
        """Return whether the view advanced by so many versions since it was saved.

        A view without a checkpoint is due in any case, and one whose checkpoint would soon be too old to be used.
        """
        if self.checkpoints is None:
            return view.version - self._indexes.get(view.graph, 0) >= least_versions
        saved = self._rows.get(view.graph, 0)
        missed = max_missed(len(view.documents)) if saved else 1
        return view.version - saved >= min(least_versions, missed)

    async def save(self, view: LiveView, size_bytes: int) -> None:
        """Save a view's indexes, and its rows with the offsets of `deltas` that it includes for certain.

        Nothing is followed while the indexes are saved. `size_bytes` is the estimated memory of the view.
        """
        offsets = self.checkpoints.offsets() if self.checkpoints is not None else {}
        version = await asyncio.to_thread(self._save, view, offsets, size_bytes)
        self._indexes[view.graph] = version
        if self.checkpoints is not None:
            self._rows[view.graph] = version
            await asyncio.to_thread(self.checkpoints.publish, view.graph, version)

    def _save(self, view: LiveView, offsets: Mapping[int, int], size_bytes: int) -> int:
        with view.lock.read():
            version = view.version
            self._keeper.save(view.graph, view.indexes, version)
            frozen = FrozenView(view) if self.checkpoints is not None else None
        if self.checkpoints is not None and frozen is not None:
            try:
                self.checkpoints.save(frozen, offsets, size_bytes)
            finally:
                frozen.release()
        return version

    def left(self, graph: str) -> None:
        """Note that the graph's view is closed. What is saved stays."""
        self._indexes.pop(graph, None)
        self._rows.pop(graph, None)

    def forget(self, graph: str) -> None:
        """Delete what is saved of a graph that was deleted, or of which content was, and every copy."""
        self._keeper.drop(graph)
        if self.checkpoints is not None:
            self.checkpoints.forget(graph)

    def compact(self, view: LiveView) -> None:
        """Erase the vectors of removed rows from a view's indexes."""
        self._keeper.compact(view.indexes)

    def close(self, view: LiveView) -> None:
        """End the background work of a view's indexes."""
        self._keeper.close(view.indexes)


def dimensions(delta: GraphDelta) -> int:
    """Return the length of the delta's vectors; 1 when it has none, and there is nothing to search."""
    return max((row.vector.size for row in delta.chunks), default=1) or 1
