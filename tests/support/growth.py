"""Growth of work with the length of a text, counted as executed lines of Python: a busy machine changes nothing."""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import partial
from itertools import pairwise
from types import FrameType
from typing import Any

SIZES = (400, 800, 1_600)
MAX_GROWTH = 2.5


def lines_run(work: Callable[[], object]) -> int:
    """Count the lines of Python that a call runs."""
    count = 0

    def trace(_frame: FrameType, event: str, _argument: Any) -> Any:
        nonlocal count
        count += event == "line"
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        work()
    finally:
        sys.settrace(before)
    return count


def grows_linearly(work: Callable[[str], object], part: str) -> None:
    """Assert linear growth for texts that repeat a part."""
    counts = [lines_run(partial(work, part * (size // len(part)) + "x")) for size in SIZES]
    growth = [more / max(fewer, 20) for fewer, more in pairwise(counts)]
    assert max(growth) <= MAX_GROWTH, (part, counts)
