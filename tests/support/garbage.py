"""Objects that only a collection by the garbage collector would free."""

from __future__ import annotations

import contextlib
import gc
from collections import Counter
from collections.abc import Iterator


@contextlib.contextmanager
def garbage() -> Iterator[Counter[str]]:
    """Yield the counter that has the kinds of unreachable objects at the end of the block; those of asyncio do not
    count.
    """
    left: Counter[str] = Counter()
    gc.collect()
    gc.disable()
    try:
        yield left
        gc.set_debug(gc.DEBUG_SAVEALL)
        gc.collect()
        left.update(f"{type(each).__module__}.{type(each).__qualname__}" for each in gc.garbage)
    finally:
        gc.set_debug(0)
        gc.garbage.clear()
        gc.enable()
    for kind in [kind for kind in left if kind.partition(".")[0] in ("asyncio", "builtins", "socket", "_asyncio")]:
        del left[kind]
