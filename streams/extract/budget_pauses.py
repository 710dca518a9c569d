"""Pauses of graphs whose budget is used up: the end of each pause, and its reason.

The budget itself is kept elsewhere: a worker that it refused registers the pause here, once for all documents of the
graph. Invariant: while a graph is paused, none of its documents holds a slot, and after the pause only a few of them
retry at once.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from graphtide.streams.errors import BudgetExceeded
from graphtide.streams.ports import Position

LONGEST_S = 60.0
"""Maximum pause before a retry: the system clock may be set, and a budget day may end at another time than stated."""
SHORTEST_S = 0.2


class BudgetPauses:
    """The pauses by graph. Bound to the event loop in which it is used."""

    def __init__(self) -> None:
        self._until: dict[str, tuple[float, str]] = {}
        self._refused: dict[str, tuple[float, BudgetExceeded]] = {}

    def pause(self, graph: str, refusal: BudgetExceeded) -> None:
        """Pause the graph after its budget refused a call."""
        asked_s = LONGEST_S if refusal.retry_after_s is None else refusal.retry_after_s
        wait_s = min(LONGEST_S, max(SHORTEST_S, asked_s))
        now = asyncio.get_running_loop().time()
        self._until[graph] = now + wait_s, str(refusal)
        self._refused[graph] = now + asked_s, refusal

    def left_s(self, graph: str) -> float:
        """Return the remaining seconds of the graph's pause; 0 without a pause."""
        until, _ = self._until.get(graph, (0.0, ""))
        return max(0.0, until - asyncio.get_running_loop().time())

    def refusal(self, graph: str) -> BudgetExceeded | None:
        """Return the last refusal with its remaining seconds, None once they are over."""
        if graph not in self._refused:
            return None
        until, refusal = self._refused[graph]
        left_s = until - asyncio.get_running_loop().time()
        return BudgetExceeded(str(refusal), left_s) if left_s > 0 else None

    def reason(self, graph: str) -> str:
        """Return the reason of the graph's last pause."""
        return self._until.get(graph, (0.0, ""))[1]


class PausedDocuments:
    """The revisions that wait for the budgets of their graphs, by graph."""

    def __init__(self) -> None:
        self._positions: dict[str, set[Position]] = {}

    def add(self, graph: str, position: Position) -> None:
        """Add a revision."""
        self._positions.setdefault(graph, set()).add(position)

    def remove(self, graph: str, position: Position) -> None:
        """Remove a revision, if it is one of them."""
        if paused := self._positions.get(graph):
            paused.discard(position)
            if not paused:
                del self._positions[graph]

    def clear(self) -> None:
        """Remove all revisions."""
        self._positions.clear()

    def any(self, graph: str, until: Sequence[Position] | None) -> bool:
        """Return whether a revision of the graph waits; with `until`, one up to the position of its partition."""
        paused = self._positions.get(graph, ())
        if until is None:
            return bool(paused)
        last = {position.partition: position.offset for position in until}
        return any(place.offset <= last.get(place.partition, -1) for place in paused)
