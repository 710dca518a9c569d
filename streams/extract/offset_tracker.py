"""Tracker of uncommitted offsets: finds the position that may be committed, in whatever order the records end.

It holds offsets, not records. Invariant: `ended` returns a position only when its record and every record that was
read before it in its partition have ended.
"""

from __future__ import annotations

from collections import deque

from graphtide.streams.ports import Position


class OffsetTracker:
    """The uncommitted offsets by partition. Positions of a partition must be opened in order."""

    def __init__(self) -> None:
        self._open: dict[int, deque[int]] = {}
        self._ended: dict[int, set[int]] = {}

    def __len__(self) -> int:
        """Return how many records cannot be committed yet, because they or an earlier one have not ended."""
        return sum(map(len, self._open.values()))

    def open(self, position: Position) -> None:
        """Add a record that was read."""
        self._open.setdefault(position.partition, deque()).append(position.offset)
        self._ended.setdefault(position.partition, set())

    def forget(self, partitions: frozenset[int]) -> None:
        """Drop the offsets of these partitions, which were reassigned."""
        for number in partitions:
            self._open.pop(number, None)
            self._ended.pop(number, None)

    def ended(self, position: Position) -> Position | None:
        """Note that a record ended. Returns the position to commit now, if it advanced. Cost: O(1), amortised."""
        waiting, ended = self._open[position.partition], self._ended[position.partition]
        ended.add(position.offset)
        last = None
        while waiting and waiting[0] in ended:
            last = waiting.popleft()
            ended.discard(last)
        return None if last is None else Position(position.partition, last)
