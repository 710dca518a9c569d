"""Storage of a process's views between runs: their vector indexes, and with checkpoints their rows.

Invariant: a checkpoint in use has vectors of the indexes that were saved with it; indexes that are saved without it end
it. Everything here is derived from the store.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Mapping

from graphtide.graph.records import GraphDelta
from graphtide.graph.validity.predicates import DEFAULT, FunctionalPredicates
from graphtide.graph.view import LiveView
from graphtide.streams.checkpoints.ports import IndexKeeper
from graphtide.streams.checkpoints.view_checkpoints import RestoredView, Retained, ViewCheckpoints, max_missed

log = logging.getLogger("graphtide.streams")

LARGE_STATEMENTS = 20_000
"""Statements above which the rows of a view are saved only while nothing is followed: a third of a second of work."""


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

    def is_due(self, view: LiveView, least_versions: int, *, with_rows: bool) -> bool:
        """Return whether the view advanced by so many versions since it was saved.

        A view without a checkpoint is due in any case, and one whose checkpoint would soon be too old to be used.
        """
        if self.checkpoints is None or not with_rows:
            return view.version - self._indexes.get(view.graph, 0) >= least_versions
        saved = self._rows.get(view.graph, 0)
        missed = max_missed(len(view.documents)) if saved else 1
        return view.version - saved >= min(least_versions, missed)

    async def save(self, view: LiveView, size_bytes: int, *, with_rows: bool) -> None:
        """Save a view's indexes, and its rows with the offsets of `deltas` that it includes for certain.

        Nothing is followed meanwhile. `size_bytes` is the estimated memory of the view. Without its rows its checkpoint
        is deleted.
        """
        graph, checkpoints = view.graph, self.checkpoints if with_rows else None
        offsets = checkpoints.offsets() if checkpoints is not None else {}
        version = await asyncio.to_thread(self._save, view, checkpoints, offsets, size_bytes)
        self._indexes[graph] = version
        if checkpoints is not None:
            self._rows[graph] = version
            await asyncio.to_thread(checkpoints.publish, graph, version)
        elif self.checkpoints is not None:
            self._rows.pop(graph, None)
            await asyncio.to_thread(self.checkpoints.delete, graph)

    def _save(
        self, view: LiveView, checkpoints: ViewCheckpoints | None, offsets: Mapping[int, int], size_bytes: int
    ) -> int:
        with view.lock.read():
            self._keeper.save(view.graph, view.indexes, view.version)
            if checkpoints is not None:
                checkpoints.save(view, offsets, size_bytes)
            return view.version

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


def is_large(view: LiveView) -> bool:
    """Return whether saving the rows of the view would delay what it follows."""
    return len(view.statements) > LARGE_STATEMENTS


def dimensions(delta: GraphDelta) -> int:
    """Return the length of the delta's vectors; 1 when it has none, and there is nothing to search."""
    return max((row.vector.size for row in delta.chunks), default=1) or 1
