"""The time limit for sending one streamed answer, summed over all its messages.

A stream holds a place for questions until its last message is sent, so a client that reads slowly or not at all would
hold the place indefinitely. The invariant: the sends of one stream wait at most `total_s`.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from graphtide.services.api.schema.errors import SlowReader


class SendBudget:
    """The send budget of one stream. Only the time within `sending` counts."""

    def __init__(self, total_s: float) -> None:
        self._total_s = total_s
        self._left_s = total_s

    @asynccontextmanager
    async def sending(self) -> AsyncIterator[None]:
        """Send one message in the block. Raises SlowReader when the budget is used up."""
        loop = asyncio.get_running_loop()
        began = loop.time()
        try:
            async with asyncio.timeout(self._left_s):
                yield
        except TimeoutError:
            raise SlowReader(
                f"the client did not read the answer within {self._total_s:g} s; read the stream as it arrives"
            ) from None
        self._left_s -= loop.time() - began
