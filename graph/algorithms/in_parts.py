"""Operations on many rows in steps, so that no call of compiled code holds the interpreter lock for long.

A thread that computes beside an event loop yields the interpreter lock between two bytecodes, but not within a call:
sorting 300,000 pairs would stop every other thread for half a second, and freeing a delta of 500,000 rows for a tenth.
"""

from __future__ import annotations

from collections.abc import Iterable
from heapq import merge
from typing import Any, TypeVar

from graphtide.graph.algorithms.yield_points import with_yields

T = TypeVar("T", bound=Any)

STEP_ROWS = 4_096
"""Maximum number of rows of one call: one to two milliseconds."""


def sorted_in_parts(rows: Iterable[T], step: int = STEP_ROWS) -> list[T]:
    """Return the rows in order, as `sorted` does. Cost: sorted runs of `step` rows, and their merge."""
    items = list(rows)
    if len(items) <= step:
        items.sort()
        return items
    starts = with_yields(range(0, len(items), step), 1)
    return list(with_yields(merge(*(sorted(items[start : start + step]) for start in starts)), step))


def free_in_parts(tables: list[list[Any]], step: int = STEP_ROWS) -> None:
    """Empty the lists from their ends, so that objects that nothing else refers to are freed `step` rows at a time."""
    while tables:
        rows = tables.pop()
        while rows:
            del rows[-step:]
