"""A readers-writer lock between threads that serves requests in order of arrival.

Readers share the lock, a writer holds it alone: a view must not change during a question, and hnswlib must not add
during a query. The order of arrival keeps a stream of queries from starving the writer or an index rebuild, and the
writer from starving queries. Not re-entrant: a thread that holds it and requests it again deadlocks.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager


class LockBusyError(Exception):
    """The lock could not be taken at once."""


class ReadersWriterLock:
    """Any number of readers or one writer; waiting threads are served in order of arrival."""

    def __init__(self) -> None:
        """Create a free lock."""
        self._condition = threading.Condition()
        self._queue: deque[object] = deque()
        self._readers = 0
        self._writing = False

    @property
    def waiting(self) -> int:
        """Return the number of waiting threads."""
        return len(self._queue)

    @contextmanager
    def read(self, timeout_s: float | None = None) -> Iterator[None]:
        """Hold the lock together with other readers. Raises LockBusyError if that takes longer than `timeout_s`.

        An event loop must not wait (0): a writer may hold the lock for seconds.
        """
        with self._condition:
            if timeout_s == 0 and (self._writing or self._queue):
                raise LockBusyError
            self._wait(lambda: not self._writing, timeout_s)
            self._readers += 1
        try:
            yield
        finally:
            with self._condition:
                self._readers -= 1
                self._condition.notify_all()

    def is_readable(self, timeout_s: float) -> bool:
        """Return True once a reader can hold the lock, False if that takes longer than `timeout_s`."""
        try:
            with self.read(timeout_s):
                return True
        except LockBusyError:
            return False

    @contextmanager
    def write(self) -> Iterator[None]:
        """Hold the lock exclusively."""
        with self._condition:
            self._wait(lambda: not self._writing and self._readers == 0)
            self._writing = True
        try:
            yield
        finally:
            with self._condition:
                self._writing = False
                self._condition.notify_all()

    def _wait(self, free: Callable[[], bool], timeout_s: float | None = None) -> None:
        place = object()
        self._queue.append(place)
        try:
            if not self._condition.wait_for(lambda: self._queue[0] is place and free(), timeout_s):
                raise LockBusyError
        finally:  # also when interrupted: an abandoned place would block every later thread
            self._queue.remove(place)
            self._condition.notify_all()
