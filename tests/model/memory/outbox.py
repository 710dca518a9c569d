"""The reference of the Outbox port: a queue by partition."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from itertools import islice

from graphtide.streams.ports import Record


class MemoryOutbox:
    """The in-memory Outbox."""

    def __init__(self) -> None:
        self._queues: dict[int, deque[tuple[int, Record]]] = {}
        self._last = 0

    def put(self, partition: int, records: Sequence[Record]) -> None:
        """Add the notices of a commit at the end of the partition's queue."""
        queue = self._queues.setdefault(partition, deque())
        for record in records:
            self._last += 1
            queue.append((self._last, record))

    async def waiting(self, partition: int, limit: int) -> Sequence[tuple[int, Record]]:
        """See Outbox.waiting."""
        return list(islice(self._queues.get(partition, ()), limit))

    async def sent(self, partition: int, up_to: int) -> None:
        """See Outbox.sent."""
        queue = self._queues.get(partition, deque())
        while queue and queue[0][0] <= up_to:
            queue.popleft()

    async def settle(self, partition: int) -> None:
        """See Outbox.settle: `sent` has deleted them."""
