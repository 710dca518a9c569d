"""The lock of an earlier view: that of the present view. The earlier one is refreshed whenever it is taken."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from weakref import WeakMethod

from graphtide.graph.rwlock import ReadersWriterLock


class EarlierLock(ReadersWriterLock):
    """Readers hold the lock of the present view, whose tables they read. There is no writer."""

    def __init__(self, present: ReadersWriterLock, refresh: Callable[[], None]) -> None:
        super().__init__()
        self._present = present
        self._refresh = WeakMethod(refresh)  # the view holds the lock; a cycle would outlive its last reader

    @property
    def waiting(self) -> int:
        """See ReadersWriterLock.waiting."""
        return self._present.waiting

    @contextmanager
    def read(self, timeout_s: float | None = None) -> Iterator[None]:
        """See ReadersWriterLock.read. Cost after commits to the present view: the changes since the version."""
        with self._present.read(timeout_s):
            if refresh := self._refresh():
                refresh()
            yield

    @contextmanager
    def write(self) -> Iterator[None]:
        """Raise TypeError: an earlier version does not change."""
        raise TypeError("the view of an earlier version cannot be written to")
        yield
