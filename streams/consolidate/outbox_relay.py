"""The relay of a partition's outbox: what commits announced goes to `deltas`, in order, and is then marked as sent.

It runs beside the partition's writer, in the process that holds the partition. A relay that dies between the two
steps, or that still runs although the partition went elsewhere, publishes something twice, and never leaves a gap:
followers drop what they have seen.
"""

from __future__ import annotations

import asyncio

from graphtide.streams.messages import DELTAS
from graphtide.streams.observer import Observer
from graphtide.streams.ports import Log, Outbox

BATCH_SIZE = 64
POLL_INTERVAL_S = 5.0
"""Commits wake the relay; this is for what another process left behind after this one looked."""


class OutboxRelay:
    """See the module."""

    def __init__(self, partition: int, outbox: Outbox, log: Log, observer: Observer) -> None:
        self._partition = partition
        self._outbox = outbox
        self._log = log
        self._observer = observer
        self._woken = asyncio.Event()

    def wake(self) -> None:
        """Something was committed."""
        self._woken.set()

    async def run(self) -> None:
        """Relay until cancelled. Raises what log and storage raise; the next run goes on where this one was."""
        while True:
            self._woken.clear()
            while await self._pass_on():
                pass
            try:
                async with asyncio.timeout(POLL_INTERVAL_S):
                    await self._woken.wait()
            except TimeoutError:
                continue

    async def _pass_on(self) -> bool:
        waiting = await self._outbox.waiting(self._partition, BATCH_SIZE)
        if waiting:
            await self._log.append(DELTAS, [record for _, record in waiting])
            await self._outbox.sent(self._partition, waiting[-1][0])
        return bool(waiting)
