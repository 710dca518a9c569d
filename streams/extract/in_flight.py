"""What one run of the extract stage has under way: read and not begun, begun and not ended, ended and not committed.

It decides nothing: the stage does, and, whose turn it is, `streams/fair_queue.py`. Invariant: a record is in `queue`,
in
`running`, on the shelf (`shelved`: begun, it waits for its graph's budget), or behind one of them in `window`.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from graphtide.streams.extract.offset_tracker import OffsetTracker
from graphtide.streams.fair_queue import FairQueue, Slots
from graphtide.streams.ports import ConsumedRecord, Position

Reading = asyncio.Task[Sequence[ConsumedRecord]]


@dataclass(slots=True, eq=False)
class InFlightRecord:
    """A record that was begun. `calm` is done when it has ended, or waits for a model: it did not kill the process.

    `revision` is its number; None for a record whose key names no document.
    """

    delivered: ConsumedRecord
    revision: int | None
    calm: asyncio.Future[None]
    course: InFlight | None = None

    def numbered(self) -> int:
        """The number of its revision, which every record has whose key names a document."""
        assert self.revision is not None  # noqa: S101 - the stage numbers what it reads
        return self.revision

    def park(self) -> None:
        """It waits for its graph's budget, and takes no room from others meanwhile. To be called by its task."""
        if self.course is not None:
            self.course.park(asyncio.current_task())

    def unpark(self) -> None:
        """It goes on."""
        if self.course is not None:
            self.course.unpark(asyncio.current_task())

    def be_calm(self) -> None:
        """See `calm`; to be called any number of times."""
        if not self.calm.done():
            self.calm.set_result(None)


@dataclass(slots=True)
class InFlight:
    """See the module. While `alone` is there and not done, nothing else may begin."""

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
    """Of the records in `queue`."""

    def read(self, delivered: ConsumedRecord, revision: int | None) -> None:
        """It was read and numbered, and waits for its graph's turn to begin."""
        self.window.open(delivered.position)
        self.revisions[delivered.position] = revision
        self.queue.put(graph_of(delivered), delivered)
        self.queued_bytes += _size(delivered)

    def next(self, beginning: Sequence[ConsumedRecord]) -> ConsumedRecord:
        """Which is to begin after those: of the graph that has the fewest running. IndexError when none was read."""
        begun = [*(work.delivered for work in self.running.values()), *beginning]
        _, delivered = self.queue.take(Counter(map(graph_of, begun)))
        self.queued_bytes -= _size(delivered)
        return delivered

    def held_bytes(self) -> int:
        """Size of the records that are in memory, and not on the shelf."""
        return self.queued_bytes + sum(_size(work.delivered) for work in self.running.values())

    def park(self, task: asyncio.Task[None] | None) -> None:
        """See `Work.shelve`."""
        work = self.running.pop(task, None) if task is not None else None
        if task is not None and work is not None:
            self.shelved[task] = work
            self.shelved_bytes += _size(work.delivered)
            self.stirred.set()

    def unpark(self, task: asyncio.Task[None] | None) -> None:
        """See `Work.take_up`."""
        work = self.shelved.pop(task, None) if task is not None else None
        if task is not None and work is not None:
            self.running[task] = work
            self.shelved_bytes -= _size(work.delivered)
            self.stirred.set()

    async def moves(self, reading: Reading | None) -> None:
        """Return when a record ended, the one that must be alone is calm, the shelf changed, or something was read."""
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
        """Forget what is of these partitions: others do it now."""
        every = [*self.running.items(), *self.shelved.items()]
        tasks = [task for task, work in every if work.delivered.position.partition in partitions]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        for task in tasks:
            self.unpark(task)
            del self.running[task]
        dropped = self.queue.drop(lambda one: one.position.partition in partitions)
        self.queued_bytes -= sum(map(_size, dropped))
        for one in dropped:
            self.revisions.pop(one.position, None)
        self.window.forget(partitions)

    async def end(self, reading: Reading | None) -> None:
        """Cancel everything, and wait until it has ended."""
        tasks: list[asyncio.Task[Any]] = [*self.running, *self.shelved]
        if reading is not None:
            tasks.append(reading)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


def graph_of(delivered: ConsumedRecord) -> str:
    """The graph that a record says it is of; whether there can be such a graph is not looked at."""
    return delivered.record.key.partition("|")[0]


def _size(delivered: ConsumedRecord) -> int:
    return len(delivered.record.value or b"")
