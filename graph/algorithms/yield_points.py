"""Yield points of long computations: places where a thread lets more urgent work of the process go first.

A thread that computes takes turns with all others at the interpreter lock, however urgent theirs is. The caller of a
long computation decides by a hook, in a context that `asyncio.to_thread` and `WorkPool` pass on to the thread, whether
and how long it waits at its yield points. The invariant: no result depends on the hook, which may not raise.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TypeVar

T = TypeVar("T")

YIELD_ROWS = 32
"""Rows between two yield points of a loop: up to a few milliseconds of work."""
Hook = Callable[[], None]
_hook: ContextVar[Hook | None] = ContextVar("yield_hook", default=None)


@contextmanager
def yielding(hook: Hook | None) -> Iterator[None]:
    """Call the hook at the yield points of what runs in the block, also in threads that it starts; None: none."""
    token = _hook.set(hook)
    try:
        yield
    finally:
        _hook.reset(token)


def yield_point() -> None:
    """Call the hook, if there is one."""
    if (hook := _hook.get()) is not None:
        hook()


def with_yields(rows: Iterable[T], every: int = YIELD_ROWS) -> Iterable[T]:
    """Return the rows, with a yield point before the first of each `every`; without a hook, `rows` itself."""
    hook = _hook.get()
    return rows if hook is None else _with_hook(rows, every, hook)


def _with_hook(rows: Iterable[T], every: int, hook: Hook) -> Iterator[T]:
    for number, row in enumerate(rows):
        if number % every == 0:
            hook()
        yield row
