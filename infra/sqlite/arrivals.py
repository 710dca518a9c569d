"""Wake-up of readers that wait for new records of a topic, without polling.

Invariant: a reader that registers in the same step in which it found nothing to read misses no arrival.
"""

from __future__ import annotations

import asyncio


class Arrivals:
    """Waiters by topic. Used from one event loop."""

    def __init__(self) -> None:
        self._waiting: dict[str, set[asyncio.Future[None]]] = {}

    def announce(self, topic: str) -> None:
        """Wake every reader that waits for the topic."""
        for waiter in self._waiting.pop(topic, ()):
            if not waiter.done():
                waiter.set_result(None)

    async def wait(self, topic: str, timeout_s: float) -> None:
        """Return when the topic grows, or after `timeout_s`."""
        waiter: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting.setdefault(topic, set()).add(waiter)
        try:
            await asyncio.wait((waiter,), timeout=timeout_s)
        finally:
            self._waiting.get(topic, set()).discard(waiter)
