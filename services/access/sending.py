"""The time that the reader of a streamed answer may take, over all of the stream's messages together.

A stream holds a place for questions until its last message is sent, so a reader that stalls, or reads one message a
minute, would hold the place for as long as it likes. The invariant: sends of one stream wait at most `total_s`.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from graphtide.services.api.schema.errors import SlowReader


class SendBudget:
    """The budget of one stream. Only the time within `sending` counts."""

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
                f"the answer was not read within {self._total_s:g} s; read the stream as it comes"
            ) from None
        self._left_s -= loop.time() - began
