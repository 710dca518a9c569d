"""Rebuild of a generation beside the one in use.

It has no threads: its owner calls `read`, `note` and `take` under the lock. Invariant: the new generation holds the
vectors of the moment the rebuild was ordered, in order of id, followed by every later change in its order. So the final
graph is a function of the calls made, not of the threads' timing.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from typing import Protocol

import numpy as np

from graphtide.graph.vector_index import Ids
from graphtide.infra.hnsw.generation import Row


class ReadableGeneration(Protocol):
    """The part of a generation that a rebuild reads."""

    def __contains__(self, id_: object) -> bool: ...

    def rows(self, keys: Sequence[int]) -> list[Row]: ...


class Rebuild:
    """State of a rebuild: the ids still to read, and the changes to repeat afterwards."""

    def __init__(self, ids: Ids) -> None:
        """Order a rebuild over these live ids, ascending."""
        self._ids = ids
        self._read = 0
        self._kept: dict[int, Row] = {}
        self._changes: deque[tuple[list[int], Sequence[Row] | None]] = deque()

    @property
    def live(self) -> int:
        """Return the number of ids it was ordered over."""
        return len(self._ids)

    def note(self, current: ReadableGeneration, keys: list[int], rows: Sequence[Row] | None) -> None:
        """Record a change before it is made to `current`: an upsert of `rows`, or a removal (None)."""
        for key in keys:
            if key in current and key not in self._kept and self._is_unread(key):
                self._kept[key] = current.rows([key])[0]
        self._changes.append((keys, rows))

    def read(self, current: ReadableGeneration, count: int) -> tuple[list[int], list[Row]]:
        """Return the next `count` ids with their rows at the moment of ordering; none when all are read."""
        block = self._ids[self._read : self._read + count].tolist()
        self._read += len(block)
        present = [key for key in block if key not in self._kept]
        rows = dict(zip(present, current.rows(present), strict=True))
        rows.update((key, self._kept.pop(key)) for key in block if key in self._kept)
        return block, [rows[key] for key in block]

    def take(self, count: int) -> Sequence[tuple[list[int], Sequence[Row] | None]]:
        """Return the next changes to repeat, about `count` ids' worth, oldest first; none when it has caught up."""
        taken: list[tuple[list[int], Sequence[Row] | None]] = []
        while self._changes and count > 0:
            taken.append(self._changes.popleft())
            count -= len(taken[-1][0])
        return taken

    def _is_unread(self, key: int) -> bool:
        place = int(np.searchsorted(self._ids, key))
        return self._read <= place < len(self._ids) and int(self._ids[place]) == key
