"""Graphs whose budget is used up: until when nothing is asked for them, and why.

Not the budget: whoever was refused says so here, once for all documents of the graph. The invariant: while a graph is
paused none of its documents holds a slot, and when a pause is over it is a few that ask again, not all.
"""

from __future__ import annotations

import asyncio

from streams.errors import Exhausted

LONGEST_S = 60.0
"""After so long somebody looks again: the clock of a machine may be set, and a day may end otherwise than was said."""
SHORTEST_S = 0.2


class Pauses:
    """Belongs to the event loop it is used in."""

    def __init__(self) -> None:
        self._until: dict[str, tuple[float, str]] = {}

    def pause(self, graph: str, refusal: Exhausted) -> None:
        """The graph's budget had not enough left."""
        asked_s = LONGEST_S if refusal.retry_after_s is None else refusal.retry_after_s
        wait_s = min(LONGEST_S, max(SHORTEST_S, asked_s))
        self._until[graph] = asyncio.get_running_loop().time() + wait_s, str(refusal)

    def left_s(self, graph: str) -> float:
        """Seconds that the graph is still paused; 0 when it is not."""
        until, _ = self._until.get(graph, (0.0, ""))
        return max(0.0, until - asyncio.get_running_loop().time())

    def reason(self, graph: str) -> str:
        """Why it was paused last."""
        return self._until.get(graph, (0.0, ""))[1]
