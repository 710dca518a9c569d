"""Limits on calls that wait for their next message: duration and number.

The invariants: a call waits at most `timeout_s` for a message; at most `max_messages` calls wait, and a new one is
never refused: instead the oldest wait of the peer with the most waits ends. So a message that is sent at once is served
however many other calls wait.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from graphtide.services.access.gate import network_of
from graphtide.services.api.schema.errors import SlowBody


class MessageWaits:
    """The waits of one server. Belongs to one event loop."""

    def __init__(self, max_messages: int, timeout_s: float) -> None:
        self._max_messages = max_messages
        self._timeout_s = timeout_s
        self._waiting = 0
        self._by_peer: dict[str, dict[asyncio.Timeout, None]] = {}

    def __len__(self) -> int:
        return self._waiting

    @asynccontextmanager
    async def wait(self, peer: str) -> AsyncIterator[None]:
        """Limit the time of the block. Raises SlowBody at the limit, or when another call needs the place. O(peers)
        when full.
        """
        if self._waiting >= self._max_messages:
            self._end_oldest()
        network = network_of(peer)
        try:
            async with asyncio.timeout(self._timeout_s) as limit:
                self._by_peer.setdefault(network, {})[limit] = None
                self._waiting += 1
                try:
                    yield
                finally:
                    self._forget(network, limit)
        except TimeoutError:
            raise SlowBody(
                f"the message did not arrive within {self._timeout_s:g} s, or more than {self._max_messages} calls "
                "wait for their messages; send the message at once"
            ) from None

    def _end_oldest(self) -> None:
        network = max(self._by_peer, key=lambda peer: len(self._by_peer[peer]))
        oldest = next(iter(self._by_peer[network]))
        self._forget(network, oldest)
        if not oldest.expired():
            oldest.reschedule(asyncio.get_running_loop().time())

    def _forget(self, network: str, limit: asyncio.Timeout) -> None:
        waits = self._by_peer.get(network, {})
        if limit in waits:
            del waits[limit]
            self._waiting -= 1
            if not waits:
                del self._by_peer[network]
