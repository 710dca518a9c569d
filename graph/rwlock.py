"""A readers-writer lock between threads that serves in order of arrival.

Readers share, a writer is alone: a view must not change under a question, and hnswlib must not add beside a query.
First come, first served keeps a stream of queries from starving the writer, the writer from starving queries, and
gives an index rebuild its turn. Not re-entrant: a thread that holds it and asks again waits for itself.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager


class ReadersWriterLock:
    """Any number of readers or one writer; whoever waits is served in order of arrival."""

    def __init__(self) -> None:
        """A free lock."""
        self._condition = threading.Condition()
        self._queue: deque[object] = deque()
        self._readers = 0
        self._writing = False

    @property
    def waiting(self) -> int:
        """Number of threads that wait for their turn."""
        return len(self._queue)

    @contextmanager
    def read(self) -> Iterator[None]:
        """Hold the lock together with other readers."""
        with self._condition:
            self._wait(lambda: not self._writing)
            self._readers += 1
        try:
            yield
        finally:
            with self._condition:
                self._readers -= 1
                self._condition.notify_all()

    @contextmanager
    def write(self) -> Iterator[None]:
        """Hold the lock alone."""
        with self._condition:
            self._wait(lambda: not self._writing and self._readers == 0)
            self._writing = True
        try:
            yield
        finally:
            with self._condition:
                self._writing = False
                self._condition.notify_all()

    def _wait(self, free: Callable[[], bool]) -> None:
        place = object()
        self._queue.append(place)
        try:
            self._condition.wait_for(lambda: self._queue[0] is place and free())
        finally:  # also when interrupted: a place that nobody takes would block everyone behind it
            self._queue.remove(place)
            self._condition.notify_all()
