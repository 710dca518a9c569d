"""Turns of the rebuilds in a process: one of them inserts at a time, each a slice in the order in which they asked.

Two threads that build graphs at once take the interpreter lock from one another, and from the event loop, at each call
of the kernel: on a busy machine both took twice as long together as one after the other.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager


class Turns:
    """A mutual exclusion that is passed on in the order of arrival, however soon its holder asks again."""

    def __init__(self) -> None:
        self._mutex = threading.Lock()
        self._waiting: deque[threading.Event] = deque()
        self._taken = False

    @contextmanager
    def turn(self) -> Iterator[None]:
        """Wait for a turn, and hold it in the block."""
        granted = threading.Event()
        with self._mutex:
            if self._taken:
                self._waiting.append(granted)
            else:
                self._taken = True
                granted.set()
        granted.wait()
        try:
            yield
        finally:
            with self._mutex:
                if self._waiting:
                    self._waiting.popleft().set()
                else:
                    self._taken = False


REBUILDS = Turns()
"""The turns of this process."""
