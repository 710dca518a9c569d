"""What the write model remembers: labels and statements as sums of contributions, and small reusable ints.

Invariant: a label or statement lives exactly as long as its count is positive, and equals the sum of what live units
contribute to it, whatever the order in which they came and went.
"""

from __future__ import annotations

import heapq
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field

from graph.vector_sum import VectorSum

LabelKey = tuple[str, str]
"""Normalised name and type."""

StatementKey = tuple[int, str, int]
"""Subject label, predicate, object label."""


class Numbers:
    """Small ints, the least free one first. A released number is handed out again only after `settle`.

    So within one batch a number never means two things.
    """

    __slots__ = ("_free", "_next", "_released")

    def __init__(self, used: Iterable[int] = ()) -> None:
        taken = set(used)
        self._next = max(taken, default=-1) + 1
        self._free = [number for number in range(self._next) if number not in taken]
        self._released: list[int] = []

    def take(self) -> int:
        if self._free:
            return heapq.heappop(self._free)
        self._next += 1
        return self._next - 1

    def release(self, number: int) -> None:
        self._released.append(number)

    def settle(self) -> None:
        for number in self._released:
            heapq.heappush(self._free, number)
        self._released.clear()


@dataclass(slots=True)
class Label:
    """A normalised spelling of one type: how often it is mentioned, under which spellings, and where it stands."""

    number: int
    key: LabelKey
    node: int = -1
    mentions: int = 0
    forms: Counter[str] = field(default_factory=Counter)
    vectors: VectorSum = field(default_factory=VectorSum)
    statements: set[int] = field(default_factory=set)


@dataclass(slots=True)
class Placement:
    """What a statement adds to the topology: `count` to the edge `u` - `v` (`u` < `v`)."""

    u: int
    v: int
    count: int


@dataclass(slots=True)
class Statement:
    """A triple of labels: how often it is stated, and which edge of the topology it supports right now."""

    number: int
    key: StatementKey
    count: int = 0
    weight_milli: int = 0
    vectors: VectorSum = field(default_factory=VectorSum)
    placed: Placement | None = None
