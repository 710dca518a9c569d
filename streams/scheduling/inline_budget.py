"""Time budget of small work on the event loop, renewed with each of the loop's iterations."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")

INLINE_S = 0.002
"""Maximum time for small work on the event loop between two of its iterations."""


class InlineBudget:
    """The time that small work may still take in the current iteration. Bound to the event loop that uses it.

    The last piece of work may exceed it, so that callers bound the size of each piece.
    """

    def __init__(self, limit_s: float = INLINE_S) -> None:
        self._limit_s = limit_s
        self._spent_s = 0.0

    @property
    def is_left(self) -> bool:
        """Return whether the current iteration has time left."""
        return self._spent_s < self._limit_s

    def run(self, work: Callable[[], T]) -> T:
        """Run the work now, and charge its time. Raises what it raises."""
        if not self._spent_s:
            asyncio.get_running_loop().call_soon(self._renew)
        started = time.perf_counter()
        try:
            return work()
        finally:
            self._spent_s += time.perf_counter() - started

    def _renew(self) -> None:
        self._spent_s = 0.0
