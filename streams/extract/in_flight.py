"""In-flight records of one run of the extract stage: queued, started, and finished but not committed.

The stage decides what to start, and `streams/scheduling/fair_queue.py` which graph is next. Invariant: an uncommitted
record is in `queue`, in `running`, parked in `shelved` (started, and waiting for its graph's budget), or finished and
held in `window` by an earlier one.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from graphtide.streams.extract.offset_tracker import OffsetTracker
from graphtide.streams.ports import ConsumedRecord, Position
from graphtide.streams.scheduling.fair_queue import FairQueue, Slots

Reading = asyncio.Task[Sequence[ConsumedRecord]]


class DeletedWithGraphError(Exception):
    """The graph of an in-flight revision was deleted while the revision waited."""


@dataclass(slots=True, eq=False)
class InFlightRecord:
    """A started record. `safe` is done once the record is safe: it has ended or waits, and did not crash the process.

    `revision` is its number; None for a record whose key names no document.
    """

    delivered: ConsumedRecord
    revision: int | None
    safe: asyncio.Future[None]
    course: InFlight | None = None

    def numbered(self) -> int:
        """Return the revision number, which every record has whose key names a document."""
        assert self.revision is not None  # noqa: S101 - the stage numbers every record that it reads
        return self.revision

    def park(self) -> None:
        """Park the record: it waits for its graph's budget, and does not count as running. Call from its task."""
        if self.course is not None:
            self.course.park(asyncio.current_task())

    def unpark(self) -> None:
        """Count the record as running again. Call from its task."""
        if self.course is not None:
            self.course.unpark(asyncio.current_task())

    def mark_safe(self) -> None:
        """Mark the record as safe (see `safe`). Further calls have no effect."""
        if not self.safe.done():
            self.safe.set_result(None)


@dataclass(slots=True)
class InFlight:
    """The in-flight records. While `alone` is set and not done, no other record may start."""

    slots: Slots
    queue: FairQueue[ConsumedRecord] = field(default_factory=FairQueue)
    running: dict[asyncio.Task[None], InFlightRecord] = field(default_factory=dict)
    shelved: dict[asyncio.Task[None], InFlightRecord] = field(default_factory=dict)
    window: OffsetTracker = field(default_factory=OffsetTracker)
    alone: asyncio.Future[None] | None = None
    stirred: asyncio.Event = field(default_factory=asyncio.Event)
    shelved_bytes: int = 0
    queued_bytes: int = 0
    revisions: dict[Position, int | None] = field(default_factory=dict)
    """The revision numbers of the records in `queue`."""

    def read(self, delivered: ConsumedRecord, revision: int | None) -> None:
        """Queue a record that was read and numbered, until its graph's turn."""
        self.window.open(delivered.position)
        self.revisions[delivered.position] = revision
        self.queue.put(graph_of(delivered), delivered)
        self.queued_bytes += _size(delivered)

    def next(self, beginning: Sequence[ConsumedRecord]) -> ConsumedRecord:
        """Take the next record to start after `beginning`, of the graph with the fewest running.

        Raises IndexError when none is queued.
        """
        started = [*(work.delivered for work in self.running.values()), *beginning]
        _, delivered = self.queue.take(Counter(map(graph_of, started)))
        self.queued_bytes -= _size(delivered)
        return delivered

    def held_bytes(self) -> int:
        """Return the size of the records in memory, parked ones excluded."""
        return self.queued_bytes + sum(_size(work.delivered) for work in self.running.values())

    def park(self, task: asyncio.Task[None] | None) -> None:
        """Park a task's record. See InFlightRecord.park."""
        work = self.running.pop(task, None) if task is not None else None
        if task is not None and work is not None:
            self.shelved[task] = work
            self.shelved_bytes += _size(work.delivered)
            self.stirred.set()

    def unpark(self, task: asyncio.Task[None] | None) -> None:
        """Count a task's record as running again. See InFlightRecord.unpark."""
        work = self.shelved.pop(task, None) if task is not None else None
        if task is not None and work is not None:
            self.running[task] = work
            self.shelved_bytes -= _size(work.delivered)
            self.stirred.set()

    async def moves(self, reading: Reading | None) -> None:
        """Return when a record ended, was parked or unparked, the one that runs alone is safe, or a poll ended."""
        stirred = asyncio.ensure_future(self.stirred.wait())
        awaited: set[asyncio.Future[Any]] = {*self.running, stirred}
        if reading is not None:
            awaited.add(reading)
        if self.alone is not None and not self.alone.done():
            awaited.add(self.alone)
        try:
            await asyncio.wait(awaited, return_when=asyncio.FIRST_COMPLETED)
        finally:
            stirred.cancel()
            self.stirred.clear()

    async def revoke(self, partitions: frozenset[int]) -> None:
        """Cancel and drop the records of these partitions, which were reassigned."""
        every = [*self.running.items(), *self.shelved.items()]
        tasks = [task for task, work in every if work.delivered.position.partition in partitions]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        for task in tasks:
            self.unpark(task)
            del self.running[task]
        dropped = self.queue.drop(lambda delivered: delivered.position.partition in partitions)
        self.queued_bytes -= sum(map(_size, dropped))
        for delivered in dropped:
            self.revisions.pop(delivered.position, None)
        self.window.forget(partitions)

    async def end(self, reading: Reading | None) -> None:
        """Cancel all tasks, and wait until they have ended."""
        tasks: list[asyncio.Task[Any]] = [*self.running, *self.shelved]
        if reading is not None:
            tasks.append(reading)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


def graph_of(delivered: ConsumedRecord) -> str:
    """Return the graph that the key of a record names, without checking that the name is valid."""
    return delivered.record.key.partition("|")[0]


def _size(delivered: ConsumedRecord) -> int:
    return len(delivered.record.value or b"")
