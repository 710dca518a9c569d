"""Admission of long-lived event streams: their number, their end at shutdown, and their metrics.

HTTP and gRPC share one instance per process. The invariants: at most `total` streams are open, and at most `per_caller`
of one caller; a stream holds no place for requests, so open streams delay no query.
"""

from __future__ import annotations

import asyncio
from collections import Counter as Counts
from collections.abc import Iterator
from contextlib import contextmanager

from prometheus_client import CollectorRegistry, Counter, Gauge

from graphtide.streams.errors import Overloaded

RETRY_AFTER_S = 5.0
HEARTBEAT_S = 15.0
"""Seconds without an event after which a stream sends a heartbeat, and its credential is verified again."""


class EventStreams:
    """The open event streams of a process. Belongs to one event loop."""

    def __init__(
        self,
        total: int = 256,
        per_caller: int = 32,
        registry: CollectorRegistry | None = None,
        heartbeat_s: float = HEARTBEAT_S,
    ) -> None:
        self.heartbeat_s = heartbeat_s
        self.closing = asyncio.Event()
        """Set when the process shuts down: every stream ends, and its client continues at another process."""
        self._total = total
        self._per_caller = per_caller
        self._open_by: Counts[str] = Counts()
        registry = registry or CollectorRegistry()
        self._open = Gauge("graphtide_event_streams", "Open event streams", ("stream",), registry=registry)
        self._sent = Counter("graphtide_stream_events", "Events sent to streams", ("stream",), registry=registry)

    @property
    def running(self) -> int:
        """Return the number of open streams."""
        return self._open_by.total()

    def close(self) -> None:
        """End all streams: the process shuts down."""
        self.closing.set()

    def count(self, stream: str) -> None:
        """Count an event that was sent to a stream of that kind."""
        self._sent.labels(stream).inc()

    @contextmanager
    def hold(self, caller: str, stream: str) -> Iterator[None]:
        """Hold a place for one stream of the kind `stream` during the block. Raises Overloaded at once without one."""
        if self.running >= self._total:
            raise Overloaded(f"{self.running} event streams are open already; try again later", RETRY_AFTER_S)
        if self._open_by[caller] >= self._per_caller:
            raise Overloaded(
                f"{self._open_by[caller]} event streams of this caller are open already; close one", RETRY_AFTER_S
            )
        self._open_by[caller] += 1
        self._open.labels(stream).inc()
        try:
            yield
        finally:
            self._open.labels(stream).dec()
            self._open_by[caller] -= 1
            if not self._open_by[caller]:
                del self._open_by[caller]
