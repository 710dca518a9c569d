"""What questions wish for, told to whoever writes reports: from a query process to the summarize worker of a cluster.

A wish is a notice in `deltas` without a version: so it comes to the worker that owns the graph's partition, in order
with what changed, and followers pass it over. In one process nothing is told: the stage reads the shelf itself.

Invariant: a wish is told once in `again_s`, however many questions have it; one that could not be told is kept.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Iterable

from graphtide.graph.view import LiveView
from graphtide.streams.follow.view_registry import ViewRegistry
from graphtide.streams.messages import DELTAS, DeltaNotice
from graphtide.streams.ports import Log, Record

POLL_INTERVAL_S = 2.0
AGAIN_S = 60.0
MAX_REMEMBERED = 1_000
"""Of one graph at a time; questions will wish for the rest again."""


class ReportRequestPublisher:
    """See the module. One a process; `tell` is called by one task."""

    def __init__(
        self, log: Log, views: ViewRegistry, again_s: float = AGAIN_S, now: Callable[[], float] = time.monotonic
    ) -> None:
        self._log = log
        self._views = views
        self._again_s = again_s
        self._now = now
        self._told: dict[tuple[str, int], float] = {}

    async def run(self) -> None:
        """Look and tell, until cancelled. Raises what the log raises; the next run goes on."""
        while True:
            await self.tell()
            await asyncio.sleep(POLL_INTERVAL_S)

    async def tell(self) -> int:
        """Append what was wished for since the last call; how many wishes. Cost: the wishes."""
        now = self._now()
        self._told = {wish: at for wish, at in self._told.items() if now - at < self._again_s}
        told = 0
        for view in self._views.all():
            if view.reports.has_requests():
                wanted = await asyncio.to_thread(_taken, view)
                told += await self._tell(view, sorted(c for c in wanted if (view.graph, c) not in self._told))
        return told

    async def _tell(self, view: LiveView, wanted: list[int]) -> int:
        wanted = wanted[:MAX_REMEMBERED]
        if not wanted:
            return 0
        notice = DeltaNotice(view.graph, 0, wanted=tuple(wanted))
        appended = False
        try:
            await self._log.append(DELTAS, [Record(view.graph, notice.encode())])
            appended = True
        finally:
            if not appended:
                view.reports.request(wanted)
        self._told |= {(view.graph, community): self._now() for community in wanted}
        return len(wanted)


def _taken(view: LiveView) -> Iterable[int]:
    with view.lock.write():
        return view.reports.drain_requested()
