"""Expensive reads, each computed once for all callers that wait for the same one.

Invariants: a result is shared only among callers that arrived before it was ready; a computation whose last caller
is cancelled is cancelled too.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Hashable
from dataclasses import dataclass
from typing import Generic, TypeVar

T = TypeVar("T")


@dataclass(slots=True, eq=False)
class _Shared(Generic[T]):
    task: asyncio.Future[T]
    callers: int = 0


class SharedReads(Generic[T]):
    """The running reads by key. Belongs to one event loop."""

    def __init__(self) -> None:
        self._running: dict[Hashable, _Shared[T]] = {}

    async def read(self, key: Hashable, compute: Callable[[], Awaitable[T]]) -> T:
        """Return the result of `compute`, or of a running computation with the same key."""
        shared = self._running.get(key)
        if shared is None:
            shared = self._running[key] = _Shared(asyncio.ensure_future(compute()))
            shared.task.add_done_callback(lambda task: self._forget(key, task))
        shared.callers += 1
        try:
            return await asyncio.shield(shared.task)
        finally:
            shared.callers -= 1
            if not shared.callers and not shared.task.done():
                self._forget(key, shared.task)
                shared.task.cancel()

    def _forget(self, key: Hashable, task: asyncio.Future[T]) -> None:
        """Stop sharing the computation; another one may run under its key by now."""
        if key in self._running and self._running[key].task is task:
            del self._running[key]
