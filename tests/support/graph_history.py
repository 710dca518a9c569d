"""A graph with all commits that led to it, for tests of its earlier versions."""

from __future__ import annotations

from dataclasses import dataclass, field

from graphtide.graph.changes.capture import capture
from graphtide.graph.earlier.undo_log import UndoLog
from graphtide.graph.earlier.view import EarlierView
from graphtide.graph.records import GraphDelta
from graphtide.graph.view import LiveView
from tests.support.worlds import RandomWorld, empty_view


@dataclass
class GraphHistory:
    """A graph with all deltas that led to it, and the rows that they overwrote."""

    world: RandomWorld
    view: LiveView = field(default_factory=empty_view)
    deltas: list[GraphDelta] = field(default_factory=list)
    old: list[GraphDelta] = field(default_factory=list)

    def commit(self, delta: GraphDelta) -> None:
        self.old.append(capture(self.view, delta)[0])
        self.deltas.append(delta)
        with self.view.lock.write():
            self.view.apply(delta)

    def open(self, version: int) -> EarlierView:
        """Open an earlier version; it follows the present view from now on."""
        log = UndoLog(self.view.graph, version)
        for delta, old in zip(self.deltas[version:], self.old[version:], strict=True):
            log.overwritten(delta, old)
        with self.view.lock.read():
            self.view.undo_logs.add(log)
            return EarlierView(self.view, log)

    def rebuilt(self, version: int) -> LiveView:
        """Return a view of the log's prefix."""
        view = empty_view()
        for delta in self.deltas[:version]:
            view.apply(delta)
        return view
