"""The relay of a partition's outbox: appends the notices of commits to `deltas`, in order, then marks them as sent.

It runs beside the partition's writer, in the process to which the partition is assigned. A relay that dies between the
two steps, or that still runs after the partition was reassigned, publishes a notice twice, but never leaves a gap:
followers drop what they have applied.
"""

from __future__ import annotations

import asyncio

from graphtide.streams.messages import DELTAS
from graphtide.streams.observer import Observer
from graphtide.streams.ports import Log, Outbox

BATCH_SIZE = 64
POLL_INTERVAL_S = 5.0
"""Commits wake the relay; a partition without commits for that long is settled, and looked at again."""


class OutboxRelay:
    """The relay of one partition."""

    def __init__(self, partition: int, outbox: Outbox, log: Log, observer: Observer) -> None:
        self._partition = partition
        self._outbox = outbox
        self._log = log
        self._observer = observer
        self._claimed = asyncio.Event()
        self._woken = asyncio.Event()

    def wake(self) -> None:
        """Note that the partition is claimed, or a commit: relay the notices now."""
        self._claimed.set()
        self._woken.set()

    async def run(self) -> None:
        """Relay until cancelled. Raises what log and storage raise; the next run continues where this one was.

        Waits for the claim: until then another process may commit, and a read beside its commits may miss a notice.
        """
        await self._claimed.wait()
        while True:
            self._woken.clear()
            while await self._relay_batch():
                pass
            try:
                async with asyncio.timeout(POLL_INTERVAL_S):
                    await self._woken.wait()
            except TimeoutError:
                await self._outbox.settle(self._partition)

    async def _relay_batch(self) -> bool:
        waiting = await self._outbox.waiting(self._partition, BATCH_SIZE)
        if waiting:
            await self._log.append(DELTAS, [record for _, record in waiting])
            await self._outbox.sent(self._partition, waiting[-1][0])
        return bool(waiting)
