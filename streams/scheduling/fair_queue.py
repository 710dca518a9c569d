"""Fair queue: graphs share a few slots equally, however many items each has waiting.

The graph holding the fewest slots goes first; among equals, the one served longest ago; within a graph, items are in
order of arrival. Slots are not preempted, and the size of an item does not count.

Invariant: with n graphs waiting, at most n - 1 other graphs are served before a graph that holds no slot.
"""

from __future__ import annotations

import asyncio
from collections import Counter, deque
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from itertools import count
from typing import Generic, TypeVar

Item = TypeVar("Item")


class FairQueue(Generic[Item]):
    """The waiting items by graph. A graph without waiting items uses no memory."""

    def __init__(self) -> None:
        self._waiting: dict[str, deque[Item]] = {}
        self._came: dict[str, int] = {}
        self._numbers = count(1)
        self._length = 0

    def __len__(self) -> int:
        return self._length

    def put(self, graph: str, item: Item) -> None:
        """Append the item to its graph's queue. A graph without waiting items is placed after the others."""
        if graph not in self._waiting:
            self._waiting[graph] = deque()
            self._came[graph] = next(self._numbers)
        self._waiting[graph].append(item)
        self._length += 1

    def take(self, slots: Mapping[str, int]) -> tuple[str, Item]:
        """Take the next item, with its graph; `slots`: those held by each graph. Raises IndexError when none waits.

        Cost: the number of graphs with waiting items.
        """
        if not self._waiting:
            raise IndexError("no item waits")
        graph = min(self._waiting, key=lambda name: (slots.get(name, 0), self._came[name]))
        item = self._waiting[graph].popleft()
        self._length -= 1
        self._came[graph] = next(self._numbers)
        self._tidy(graph)
        return graph, item

    def min_slots(self, slots: Mapping[str, int]) -> int:
        """Return how many slots the graph holds that `take` would choose. Raises ValueError when no item waits."""
        return min(slots.get(graph, 0) for graph in self._waiting)

    def drop(self, gone: Callable[[Item], bool]) -> list[Item]:
        """Remove and return the items for which `gone` is true. Cost: the waiting items."""
        dropped: list[Item] = []
        for graph, items in list(self._waiting.items()):
            dropped += filter(gone, items)
            self._waiting[graph] = deque(item for item in items if not gone(item))
            self._tidy(graph)
        self._length -= len(dropped)
        return dropped

    def _tidy(self, graph: str) -> None:
        if not self._waiting[graph]:
            del self._waiting[graph], self._came[graph]


class Slots:
    """A fixed number of slots, assigned fairly among graphs. Bound to the event loop in which it is used."""

    def __init__(self, places: int) -> None:
        self._places = places
        self._slots: Counter[str] = Counter()
        self._turns: FairQueue[asyncio.Future[None]] = FairQueue()

    @asynccontextmanager
    async def one(self, graph: str) -> AsyncIterator[None]:
        """Hold a slot in the block, once it is the graph's turn; the slot is released however the block ends."""
        turn = asyncio.get_running_loop().create_future()
        self._turns.put(graph, turn)
        self._admit()
        try:
            await turn
        except asyncio.CancelledError:
            if turn.done() and not turn.cancelled():  # admitted and cancelled at the same time
                self._leave(graph)
            raise
        try:
            yield
        finally:
            self._leave(graph)

    def _admit(self) -> None:
        while self._places and self._turns:
            graph, turn = self._turns.take(self._slots)
            if not turn.done():
                self._places -= 1
                self._slots[graph] += 1
                turn.set_result(None)

    def _leave(self, graph: str) -> None:
        self._places += 1
        self._slots[graph] -= 1
        if not self._slots[graph]:
            del self._slots[graph]
        self._admit()
