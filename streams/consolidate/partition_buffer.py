"""Buffer of a partition's records that were read and not applied.

A heavy record is a batch of its own. While it is applied, records of other graphs may overtake it (`next_beside`).
Invariant: the records of one graph, and maintenance requests among all records, keep the order of the log.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Collection, Sequence
from contextlib import suppress
from dataclasses import dataclass, field

from graphtide.streams.consolidate.maintenance_requests import is_request
from graphtide.streams.ports import ConsumedRecord

BATCH_BYTES = 1 << 20
"""Maximum size of a batch of several records."""
HEAVY_BYTES = 256 << 10
"""Size from which a record is heavy: applying it takes a tenth of a second or more."""


@dataclass(slots=True)
class PartitionBuffer:
    """The records in the order of the log. `expected`: the next offset; None: accept none."""

    expected: int | None = None
    heavy_bytes: int = HEAVY_BYTES
    records: deque[ConsumedRecord] = field(default_factory=deque)
    arrived: asyncio.Event = field(default_factory=asyncio.Event)

    def restart(self, offset: int | None) -> None:
        """Clear the buffer, and expect the record at `offset` next."""
        self.records.clear()
        self.expected = offset

    def take(self, delivered: ConsumedRecord) -> None:
        self.records.append(delivered)
        self.expected = delivered.position.offset + 1
        self.arrived.set()

    def is_heavy(self, delivered: ConsumedRecord) -> bool:
        """Return True for a record that others may overtake."""
        return size_of(delivered) >= self.heavy_bytes and not is_request(delivered)

    async def next(self, limit: int, not_before: float = 0.0) -> list[ConsumedRecord]:
        """Return up to `limit` records: of at most BATCH_BYTES together, or one heavy one, with consecutive offsets.

        A batch ends before a missing record, which the next one then begins with: the writer checks where a batch
        begins. Returns as soon as there is one, but before `not_before`, a time of the event loop, only a full batch,
        or as soon as a heavy record or a maintenance request is among them.
        """
        while not self.records:
            await self._arrival()
        if asyncio.get_running_loop().time() < not_before:
            await self._fill(limit, not_before)
        taken, size = [self.records.popleft()], 0
        while self.records and len(taken) < limit:
            size += size_of(taken[-1])
            if self.is_heavy(taken[-1]) or self.is_heavy(self.records[0]):
                break
            if size + size_of(self.records[0]) > BATCH_BYTES:
                break
            if self.records[0].position.offset != taken[-1].position.offset + 1:
                break
            taken.append(self.records.popleft())
        return taken

    async def _fill(self, limit: int, until: float) -> None:
        """Wait for a full batch, an urgent record, or that time of the event loop."""
        with suppress(TimeoutError):
            async with asyncio.timeout_at(until):
                while len(self.records) < limit and not self._is_urgent():
                    await self._arrival()

    def _is_urgent(self) -> bool:
        return any(is_request(each) or size_of(each) >= self.heavy_bytes for each in self.records)

    async def next_beside(self, graphs: Collection[str], limit: int) -> Sequence[ConsumedRecord]:
        """Return up to `limit` records of other graphs than these, as soon as there is one.

        Skips heavy records with all later ones of their graphs, and nothing after a maintenance request is returned.
        When it is cancelled it has taken nothing.
        """
        while not (taken := self._others(graphs, limit)):
            await self._arrival()
        return taken

    def _others(self, graphs: Collection[str], limit: int) -> list[ConsumedRecord]:
        skipped, taken, kept, size = set(graphs), list[ConsumedRecord](), deque[ConsumedRecord](), 0
        while self.records and len(taken) < limit and size <= BATCH_BYTES and not is_request(self.records[0]):
            delivered = self.records.popleft()
            if delivered.record.key in skipped or self.is_heavy(delivered):
                skipped.add(delivered.record.key)
                kept.append(delivered)
            else:
                taken.append(delivered)
                size += size_of(delivered)
        self.records.extendleft(reversed(kept))
        return taken

    def put_back(self, delivered: Sequence[ConsumedRecord]) -> None:
        """Insert records that `next_beside` returned at their places."""
        self.records = deque(sorted((*delivered, *self.records), key=lambda each: each.position.offset))

    async def _arrival(self) -> None:
        self.arrived.clear()
        await self.arrived.wait()


def size_of(delivered: ConsumedRecord) -> int:
    """Return the size of the record's value in bytes."""
    return len(delivered.record.value or b"")
