"""Limit of the revisions that wait to be processed, without a count for each publication.

A graph with that many pending revisions is refused. Between two counts, the number is bounded by the last count and
the revisions accepted since, as if none had ended. Requests that arrive together may exceed the limit together.
"""

from __future__ import annotations

import time
from dataclasses import dataclass

from graphtide.streams.errors import Overloaded
from graphtide.streams.ports import Ledger

COUNT_INTERVAL_S = 1.0
"""Time after which revisions are counted again: other processes may have accepted some."""


@dataclass(slots=True)
class _Bound:
    revisions: int
    until: float


class PendingRevisions:
    """The bounds by graph. Belongs to one event loop."""

    def __init__(self, ledger: Ledger, limit: int) -> None:
        self._ledger = ledger
        self._limit = limit
        self._bounds: dict[str, _Bound] = {}

    async def admit(self, graph: str, revisions: int = 1) -> None:
        """Return if the graph may accept revisions. Raises Overloaded at the limit."""
        bound = self._bounds.get(graph)
        if bound is None or bound.revisions + revisions > self._limit or bound.until < time.monotonic():
            bound = _Bound(await self._ledger.pending(graph), time.monotonic() + COUNT_INTERVAL_S)
            self._forget_old()
            self._bounds[graph] = bound
        if bound.revisions >= self._limit:
            raise Overloaded(
                f"{bound.revisions} revisions of graph {graph!r} are waiting to be processed; publish more slowly", 5.0
            )
        bound.revisions += revisions

    def _forget_old(self) -> None:
        now = time.monotonic()
        for graph in [graph for graph, bound in self._bounds.items() if bound.until < now]:
            del self._bounds[graph]
