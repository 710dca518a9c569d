"""What one run of the extract stage has under way: read and not begun, begun and not ended, ended and not committed.

It decides nothing: the stage does. Invariant: a record is in `queue`, in `running`, or behind one of them in `window`.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from streams.ports import Delivered
from streams.window import Window

Reading = asyncio.Task[Sequence[Delivered]]


@dataclass(slots=True, eq=False)
class Work:
    """A record that was begun. `calm` is done when it has ended, or waits for a model: it did not kill the process."""

    delivered: Delivered
    calm: asyncio.Future[None]

    def be_calm(self) -> None:
        """See `calm`; to be called any number of times."""
        if not self.calm.done():
            self.calm.set_result(None)


@dataclass(slots=True)
class UnderWay:
    """See the module. While `alone` is there and not done, nothing else may begin."""

    slots: asyncio.Semaphore
    queue: deque[Delivered] = field(default_factory=deque)
    running: dict[asyncio.Task[None], Work] = field(default_factory=dict)
    window: Window = field(default_factory=Window)
    alone: asyncio.Future[None] | None = None

    def held_bytes(self) -> int:
        """Size of the records that were begun."""
        return sum(len(work.delivered.record.value or b"") for work in self.running.values())

    async def moves(self, reading: Reading | None) -> None:
        """Return when a record has ended, the one that must be alone is calm, or something was read."""
        awaited: set[asyncio.Future[Any]] = {*self.running}
        if reading is not None:
            awaited.add(reading)
        if self.alone is not None and not self.alone.done():
            awaited.add(self.alone)
        await asyncio.wait(awaited, return_when=asyncio.FIRST_COMPLETED)

    async def give_up(self, partitions: frozenset[int]) -> None:
        """Forget what is of these partitions: others do it now."""
        tasks = [task for task, work in self.running.items() if work.delivered.position.partition in partitions]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        for task in tasks:
            del self.running[task]
        self.queue = deque(one for one in self.queue if one.position.partition not in partitions)
        self.window.forget(partitions)

    async def end(self, reading: Reading | None) -> None:
        """Cancel everything, and wait until it has ended."""
        tasks: list[asyncio.Task[Any]] = [*self.running]
        if reading is not None:
            tasks.append(reading)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
