"""Report requests: a query process publishes which reports its queries need to the summarize worker of a cluster.

A request is a record of `deltas`, so the worker that owns the graph's partition reads it in order with
the changes, and followers ignore it. In a single process nothing is published: the stage reads the report cache.

Invariant: a request is published once per `again_s`, however many queries make it; one that could not be published is
kept.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Iterable

from graphtide.graph.view import LiveView
from graphtide.streams.follow.view_registry import ViewRegistry
from graphtide.streams.messages import DELTAS, ReportRequest
from graphtide.streams.ports import Log, Record

POLL_INTERVAL_S = 2.0
AGAIN_S = 60.0
MAX_REMEMBERED = 1_000
"""Maximum number of requests published for a graph at a time; later queries repeat the others."""


class ReportRequestPublisher:
    """The publisher of report requests. One per process; one task calls `tell`."""

    def __init__(
        self, log: Log, views: ViewRegistry, again_s: float = AGAIN_S, now: Callable[[], float] = time.monotonic
    ) -> None:
        self._log = log
        self._views = views
        self._again_s = again_s
        self._now = now
        self._published: dict[tuple[str, int], float] = {}

    async def run(self) -> None:
        """Publish at intervals until cancelled. Raises what the log raises; the next run continues."""
        while True:
            await self.tell()
            await asyncio.sleep(POLL_INTERVAL_S)

    async def tell(self) -> int:
        """Publish the requests since the last call. Returns their number. Cost: the requests."""
        now = self._now()
        self._published = {request: at for request, at in self._published.items() if now - at < self._again_s}
        count = 0
        for view in self._views.all():
            if view.reports.has_requests():
                wanted = await asyncio.to_thread(_drain, view)
                count += await self._publish(view, sorted(c for c in wanted if (view.graph, c) not in self._published))
        return count

    async def _publish(self, view: LiveView, wanted: list[int]) -> int:
        wanted = wanted[:MAX_REMEMBERED]
        if not wanted:
            return 0
        request = ReportRequest(view.graph, tuple(wanted))
        appended = False
        try:
            await self._log.append(DELTAS, [Record(view.graph, request.encode())])
            appended = True
        finally:
            if not appended:
                view.reports.request(wanted)
        self._published |= {(view.graph, community): self._now() for community in wanted}
        return len(wanted)


def _drain(view: LiveView) -> Iterable[int]:
    with view.lock.write():
        return view.reports.drain_requested()
