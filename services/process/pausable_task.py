"""A stage that can be ended and started again while its task continues."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager


class PausableTask:
    """`run` runs the stage; `paused` ends it, as a shutdown does, and starts it again afterwards."""

    def __init__(self, run: Callable[[], Awaitable[None]]) -> None:
        self._run = run
        self._turn = asyncio.Lock()
        self._inner: asyncio.Task[None] | None = None
        self._waiting = 0

    async def run(self) -> None:
        """Run the stage until it ends or fails. Raises what it raises."""
        while True:
            async with self._turn:
                inner = self._inner = asyncio.ensure_future(self._started())
                try:
                    await asyncio.wait({inner})
                finally:
                    self._inner = None
                    inner.cancel()
                    await asyncio.gather(inner, return_exceptions=True)
            if not self._waiting or not inner.cancelled():
                return inner.result()

    @asynccontextmanager
    async def paused(self) -> AsyncIterator[None]:
        """End the stage for the duration of the block. One that is not running does not start meanwhile."""
        self._waiting += 1
        try:
            if self._inner is not None:
                self._inner.cancel()
            async with self._turn:
                yield
        finally:
            self._waiting -= 1

    async def _started(self) -> None:
        await self._run()
