"""Accounting of the memory of loaded views against a bound.

Invariant: `total` is the sum of the estimates of the loaded views and of the reservations of running loads.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager


class LoadedBytes:
    """Estimated memory of the loaded views, by graph. `limit` is the bound in bytes, 0 for none."""

    def __init__(self, limit: int) -> None:
        self.limit = limit
        self.total = 0
        self._sizes: dict[str, int] = {}
        self._reserved = 0
        self._changed = asyncio.Event()

    def note(self, graph: str, size_bytes: int) -> None:
        """Set the size of a loaded view."""
        self.total += size_bytes - self._sizes.get(graph, 0)
        self._sizes[graph] = size_bytes

    def forget(self, graph: str) -> None:
        """Remove a view that is no longer loaded."""
        self.total -= self._sizes.pop(graph, 0)
        self.released()

    def admits(self, size_bytes: int) -> bool:
        """Return True if that much fits, or if nothing else is loaded: a graph above the bound is loaded alone."""
        return not self.limit or self.total + size_bytes <= self.limit or not (self._sizes or self._reserved)

    @property
    def exceeded(self) -> bool:
        """Return True while the loaded views exceed the bound: they grow as they follow."""
        return bool(self.limit) and self.total > self.limit and len(self._sizes) > 1

    @contextmanager
    def reserved(self, size_bytes: int) -> Iterator[None]:
        """Count a view that is being loaded."""
        self.total += size_bytes
        self._reserved += 1
        try:
            yield
        finally:
            self.total -= size_bytes
            self._reserved -= 1
            self.released()

    def released(self) -> None:
        """Wake the loads that wait for room: a view has left, or may leave now."""
        self._changed.set()
        self._changed = asyncio.Event()

    async def wait(self) -> None:
        """Return at the next call of `released`."""
        await self._changed.wait()
