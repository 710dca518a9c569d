"""Whose turn it is: graphs share what there is one of, or few of, however many records each has waiting.

Who has least goes first: the graph that holds the fewest places; of those, the one that was served longest ago; within
a graph, who came first. Records are not weighed: a place that is held is held, until its work ends.

Invariant: with n graphs that have something waiting, a graph that holds nothing has at most n - 1 others served before
it is.
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
    """What waits, by graph. Nothing is known of a graph that has nothing waiting and was not served of late."""

    def __init__(self) -> None:
        self._waiting: dict[str, deque[Item]] = {}
        self._came: dict[str, int] = {}
        self._numbers = count(1)
        self._length = 0

    def __len__(self) -> int:
        return self._length

    def put(self, graph: str, item: Item) -> None:
        """It waits, behind what its graph has waiting. A graph that had nothing waiting comes behind the others."""
        if graph not in self._waiting:
            self._waiting[graph] = deque()
            self._came[graph] = next(self._numbers)
        self._waiting[graph].append(item)
        self._length += 1

    def take(self, held: Mapping[str, int]) -> tuple[str, Item]:
        """The next one, and its graph; `held`: how many places each graph has. IndexError when nothing waits.

        Cost: the graphs that have something waiting.
        """
        if not self._waiting:
            raise IndexError("nothing waits")
        graph = min(self._waiting, key=lambda one: (held.get(one, 0), self._came[one]))
        item = self._waiting[graph].popleft()
        self._length -= 1
        self._came[graph] = next(self._numbers)
        self._tidy(graph)
        return graph, item

    def least(self, held: Mapping[str, int]) -> int:
        """Return how many places the graph holds that `take` would choose. ValueError when nothing waits."""
        return min(held.get(graph, 0) for graph in self._waiting)

    def drop(self, gone: Callable[[Item], bool]) -> list[Item]:
        """Take out what is `gone`, and say what it was. Cost: what waits."""
        dropped: list[Item] = []
        for graph, items in list(self._waiting.items()):
            dropped += filter(gone, items)
            self._waiting[graph] = deque(one for one in items if not gone(one))
            self._tidy(graph)
        self._length -= len(dropped)
        return dropped

    def _tidy(self, graph: str) -> None:
        if not self._waiting[graph]:
            del self._waiting[graph], self._came[graph]


class Slots:
    """So many places, taken in turns. Belongs to the event loop it is used in."""

    def __init__(self, places: int) -> None:
        self._places = places
        self._held: Counter[str] = Counter()
        self._turns: FairQueue[asyncio.Future[None]] = FairQueue()

    @asynccontextmanager
    async def one(self, graph: str) -> AsyncIterator[None]:
        """A place, when it is the graph's turn; given back however the block ends."""
        turn = asyncio.get_running_loop().create_future()
        self._turns.put(graph, turn)
        self._admit()
        try:
            await turn
        except asyncio.CancelledError:
            if turn.done() and not turn.cancelled():  # let in and given up in the same moment
                self._leave(graph)
            raise
        try:
            yield
        finally:
            self._leave(graph)

    def _admit(self) -> None:
        while self._places and self._turns:
            graph, turn = self._turns.take(self._held)
            if not turn.done():
                self._places -= 1
                self._held[graph] += 1
                turn.set_result(None)

    def _leave(self, graph: str) -> None:
        self._places += 1
        self._held[graph] -= 1
        if not self._held[graph]:
            del self._held[graph]
        self._admit()
