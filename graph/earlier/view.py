"""The view of an earlier version: the present view's tables, with the rows that later commits overwrote over them.

It is read like a live view, under its lock, which is that of the present view. Opening it, and the first reading after
a commit to the present view, cost what has changed since the version; so does its memory.

Invariant: its tables are those that the graph had at `version`. A commit to the present view is noted before it is
applied (UndoLog), and the tables are made again from the log before the next reading.
"""

from __future__ import annotations

import threading
from functools import partial

from graphtide.graph.digest.live import ForkDigest
from graphtide.graph.earlier.entity_order import EarlierEntityOrder
from graphtide.graph.earlier.indexes import EarlierIndexes, PatchedIndex
from graphtide.graph.earlier.lock import EarlierLock
from graphtide.graph.earlier.undo_log import UndoLog
from graphtide.graph.learning.followers import Followers
from graphtide.graph.records import GraphDelta
from graphtide.graph.reports.cache import ReportCache
from graphtide.graph.reports.entity_summaries import EntitySummaryCache
from graphtide.graph.reports.fingerprint import CommunityFingerprints
from graphtide.graph.vector_index import ExactIndex
from graphtide.graph.view import IndexVersions, LiveView, VectorIndexes
from graphtide.graph.view_state.adjacency import AdjacencyOverlay
from graphtide.graph.view_state.overlay import GroupsOverlay, Overlay, Writing, own_ints
from graphtide.graph.view_state.tables import OwnTables, ViewChunk
from graphtide.graph.view_state.tables import ViewTables as FingerprintTables

ALL_INDEXED = IndexVersions(-1, -1, -1)
"""Every row with a vector is indexed: rows that a replica has restored have no version."""


class EarlierView(LiveView):
    """See the module. It holds no community reports: they describe the present version only."""

    def __init__(self, present: LiveView, log: UndoLog) -> None:
        """Open the version of a log that has noted all commits up to the present view's version, and notes the later
        ones. Call under the present view's read lock. Cost: the log.
        """
        self._present = present
        self._log = log
        self._since = -1
        self._refreshing = threading.Lock()
        super().__init__(present.graph, present.indexes, present.functional_predicates)
        self.lock = EarlierLock(present.lock, self._refresh)
        self._refresh()

    @property
    def overlaid(self) -> int:
        """Return the number of entries that it holds: its memory beyond the present view."""
        return self._writing.entries

    @property
    def noted(self) -> int:
        """Return the number of things that changed since the version."""
        return len(self._log)

    def apply(self, delta: GraphDelta, *, indexed: IndexVersions | None = None) -> None:
        """Move on to the next version by the delta that once led to it. Call under `lock.read()`, in one task.

        Raises ValueError for any other delta. Cost: the delta.
        """
        self._log.advance(delta)
        self._change(delta)

    def _refresh(self) -> None:
        """Make the tables again if the present view has changed. Call under its read lock."""
        with self._refreshing:
            if self._since != self._present.version:
                self._fork()
                self._change(self._log.inverse(self._present))
                self._since = self._present.version

    def _change(self, delta: GraphDelta) -> None:
        self._writing.on = True
        try:
            self._take(delta, ALL_INDEXED)
        finally:
            self._writing.on = False

    def _fork(self) -> None:
        """Refer to the present tables."""
        present, writing = self._present, Writing()
        own = OwnTables(writing)
        self._writing = writing
        self.documents = Overlay(present.documents, writing)
        self.chunks = Overlay(present.chunks, writing, own.chunk)
        self.text_bytes = present.text_bytes
        self.chunk_numbers = Overlay(present.chunk_numbers, writing)
        self.labels = Overlay(present.labels, writing, own.label)
        self.names = GroupsOverlay(present.names, writing)
        self.statements = Overlay(present.statements, writing, own.statement)
        self.entities = Overlay(present.entities, writing, own.entity)
        self.entity_nodes = Overlay(present.entity_nodes, writing)
        self.neighbours = AdjacencyOverlay(present.neighbours, writing)
        self.edge_count = present.edge_count
        self.same_as = Overlay(present.same_as, writing)
        self._linked = Overlay(present._linked, writing, own_ints)
        self.predicates = present.predicates.fork(writing)
        self.walk = present.walk.fork()
        self.relatedness = present.relatedness.fork(writing)
        self.followers = Followers()
        self.about = present.about.fork(writing)
        self.hierarchy = present.hierarchy.fork(writing)
        self.contents = _NoFingerprints()
        self.reports, self.summaries = ReportCache(), EntitySummaryCache()
        self.order = EarlierEntityOrder(present)
        self.digests = ForkDigest(present, present.digests)
        self.indexes = VectorIndexes(
            PatchedIndex(partial(_exact, present, "chunks"), present.chunks),
            PatchedIndex(partial(_exact, present, "entities"), present.entities),
            PatchedIndex(partial(_exact, present, "statements"), present.statements),
        )
        self.exact = EarlierIndexes(self.indexes)


def _exact(present: LiveView, kind: str) -> ExactIndex:
    found: ExactIndex = getattr(present.exact_indexes(), kind)
    return found


class _NoFingerprints(CommunityFingerprints):
    """No fingerprints of communities: an earlier view has no reports to compare."""

    def count(self, view: FingerprintTables, chunk: ViewChunk, times: int) -> None:
        """Do nothing."""

    def follow(self, view: FingerprintTables, delta: GraphDelta) -> None:
        """Do nothing."""
