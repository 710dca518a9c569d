"""Records that were read and are not committed: which position may be committed, however out of order they end.

Only offsets are held, not records. Invariant: `ended` names a position only when it and everything that was read in
front of it in its partition has ended.
"""

from __future__ import annotations

from collections import deque

from graphtide.streams.ports import Position


class OffsetTracker:
    """See the module. Positions of a partition must be opened in order."""

    def __init__(self) -> None:
        self._open: dict[int, deque[int]] = {}
        self._ended: dict[int, set[int]] = {}

    def __len__(self) -> int:
        """How many records are read and cannot be committed yet, because of themselves or of one in front."""
        return sum(map(len, self._open.values()))

    def open(self, position: Position) -> None:
        """A record was read."""
        self._open.setdefault(position.partition, deque()).append(position.offset)
        self._ended.setdefault(position.partition, set())

    def forget(self, partitions: frozenset[int]) -> None:
        """These partitions are not ours to commit any more."""
        for number in partitions:
            self._open.pop(number, None)
            self._ended.pop(number, None)

    def ended(self, position: Position) -> Position | None:
        """A record came to its end: the position to commit now, if it is a new one. Cost: O(1), amortised."""
        waiting, ended = self._open[position.partition], self._ended[position.partition]
        ended.add(position.offset)
        last = None
        while waiting and waiting[0] in ended:
            last = waiting.popleft()
            ended.discard(last)
        return None if last is None else Position(position.partition, last)
