"""Graphs whose budget is used up: until when nothing is asked for them, and why.

Not the budget: whoever was refused says so here, once for all documents of the graph. The invariant: while a graph is
paused none of its documents holds a slot, and when a pause is over it is a few that ask again, not all.
"""

from __future__ import annotations

import asyncio

from graphtide.streams.errors import BudgetExceeded

LONGEST_S = 60.0
"""After so long somebody looks again: the clock of a machine may be set, and a day may end otherwise than was said."""
SHORTEST_S = 0.2


class BudgetPauses:
    """Belongs to the event loop it is used in."""

    def __init__(self) -> None:
        self._until: dict[str, tuple[float, str]] = {}
        self._refused: dict[str, tuple[float, BudgetExceeded]] = {}

    def pause(self, graph: str, refusal: BudgetExceeded) -> None:
        """The graph's budget had not enough left."""
        asked_s = LONGEST_S if refusal.retry_after_s is None else refusal.retry_after_s
        wait_s = min(LONGEST_S, max(SHORTEST_S, asked_s))
        now = asyncio.get_running_loop().time()
        self._until[graph] = now + wait_s, str(refusal)
        self._refused[graph] = now + asked_s, refusal

    def left_s(self, graph: str) -> float:
        """Seconds that the graph is still paused; 0 when it is not."""
        until, _ = self._until.get(graph, (0.0, ""))
        return max(0.0, until - asyncio.get_running_loop().time())

    def refusal(self, graph: str) -> BudgetExceeded | None:
        """Return the last refusal with the seconds that are left of it, None once they are over."""
        if graph not in self._refused:
            return None
        until, refusal = self._refused[graph]
        left_s = until - asyncio.get_running_loop().time()
        return BudgetExceeded(str(refusal), left_s) if left_s > 0 else None

    def reason(self, graph: str) -> str:
        """Why it was paused last."""
        return self._until.get(graph, (0.0, ""))[1]
