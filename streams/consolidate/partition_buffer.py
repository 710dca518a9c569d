"""Buffer of a partition's records that were read and not applied.

A heavy record is a batch of its own. While it is applied, records of other graphs may overtake it (`next_beside`).
Values of heavy records beyond `MAX_WAITING_BYTES` are left out: a text of 5 MB has 150 records of 3 MB each. They are
fetched from the log again before their turn.

Invariants: the records of one graph, and maintenance requests among all records, keep the order of the log; a record
that is returned has its value.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable, Collection, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace

from graphtide.streams.consolidate.maintenance_requests import is_request
from graphtide.streams.errors import Retryable
from graphtide.streams.ports import ConsumedRecord

BATCH_BYTES = 1 << 20
"""Maximum size of a batch of several records."""
HEAVY_BYTES = 256 << 10
"""Size from which a record is heavy: applying it takes a tenth of a second or more."""
MAX_WAITING_BYTES = 4 << 20
"""Values of the records in a buffer, from which on those of heavy ones are left out; the first one is held anyway."""

Fetch = Callable[[int, int], Awaitable[Sequence[ConsumedRecord]]]
"""Reads the records of the partition between two offsets from the log again. Raises Retryable if one is missing."""


@dataclass(slots=True)
class PartitionBuffer:
    """The records in the order of the log. `expected`: the next offset; None: accept none.

    Without `fetch` all values are held.
    """

    expected: int | None = None
    heavy_bytes: int = HEAVY_BYTES
    fetch: Fetch | None = None
    max_waiting_bytes: int = MAX_WAITING_BYTES
    records: deque[ConsumedRecord] = field(default_factory=deque)
    arrived: asyncio.Event = field(default_factory=asyncio.Event)
    left_out: dict[int, int] = field(default_factory=dict)
    """The sizes of the values that are left out, by offset."""

    def restart(self, offset: int | None) -> None:
        """Clear the buffer, and expect the record at `offset` next."""
        self.records.clear()
        self.left_out.clear()
        self.expected = offset

    def take(self, delivered: ConsumedRecord) -> None:
        """Append the record that was read, without its value if the buffer has enough."""
        if self.fetch is not None and self.is_heavy(delivered) and not self._has_room_for(size_of(delivered)):
            self.left_out[delivered.position.offset] = size_of(delivered)
            delivered = replace(delivered, record=replace(delivered.record, value=None, message=None))
        self.records.append(delivered)
        self.expected = delivered.position.offset + 1
        self.arrived.set()

    def is_heavy(self, delivered: ConsumedRecord) -> bool:
        """Return True for a record that others may overtake."""
        return self._size(delivered) >= self.heavy_bytes and not is_request(delivered)

    def waiting_bytes(self) -> int:
        """Return the size of the values in the buffer. Cost: its records."""
        return sum(map(size_of, self.records))

    def _has_room_for(self, size: int) -> bool:
        waiting = self.waiting_bytes()
        return not waiting or waiting + size <= self.max_waiting_bytes

    def _size(self, delivered: ConsumedRecord) -> int:
        return self.left_out.get(delivered.position.offset) or size_of(delivered)

    async def next(self, limit: int, not_before: float = 0.0) -> list[ConsumedRecord]:
        """Return up to `limit` records: of at most BATCH_BYTES together, or one heavy one, with consecutive offsets.

        A batch ends before a missing record, which the next one then begins with: the writer checks where a batch
        begins. Returns as soon as there is one, but before `not_before`, a time of the event loop, only a full batch,
        or as soon as a heavy record or a maintenance request is among them. Raises what `fetch` raises.
        """
        while not self.records:
            await self._arrival()
        if asyncio.get_running_loop().time() < not_before:
            await self._fill(limit, not_before)
        if self.records[0].position.offset in self.left_out:
            await self._fetch_again()
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
        return any(is_request(each) or self._size(each) >= self.heavy_bytes for each in self.records)

    async def _fetch_again(self) -> None:
        """Fetch the value of the first record, and those of later ones that there is room for."""
        assert self.fetch is not None  # noqa: S101 - nothing is left out without it
        first = after = self.records[0].position.offset
        room = max(self.max_waiting_bytes - self.waiting_bytes(), self.left_out[first])
        for offset, size in sorted(self.left_out.items()):
            if (room := room - size) < 0:
                break
            after = offset + 1
        fetched = {each.position.offset: each for each in await self.fetch(first, after)}
        for place, waiting in enumerate(self.records):
            offset = waiting.position.offset
            if offset in fetched and self.left_out.pop(offset, None) is not None:
                self.records[place] = fetched[offset]
        if first in self.left_out:
            raise Retryable(f"the log did not return the record at {first} again")

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
