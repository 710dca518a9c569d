"""The readers-writer lock: a caller that must not wait never does."""

from __future__ import annotations

import threading

import pytest

from graphtide.graph.rwlock import LockBusyError, ReadersWriterLock


def test_read_without_waiting_shares_the_lock_with_readers() -> None:
    """Two readers hold the lock together."""
    lock = ReadersWriterLock()
    with lock.read(), lock.read(timeout_s=0):
        pass


def test_read_without_waiting_raises_while_a_writer_holds_the_lock() -> None:
    """The lock is free again afterwards."""
    lock = ReadersWriterLock()
    with lock.write(), pytest.raises(LockBusyError), lock.read(timeout_s=0):
        pass
    with lock.read(timeout_s=0):
        pass


def test_read_without_waiting_raises_while_a_writer_waits() -> None:
    """A reader that must not wait does not overtake a waiting writer."""
    lock, entered = ReadersWriterLock(), threading.Event()

    def write() -> None:
        with lock.write():
            entered.set()

    with lock.read():
        writer = threading.Thread(target=write)
        writer.start()
        while not lock.waiting:
            pass
        with pytest.raises(LockBusyError), lock.read(timeout_s=0):
            pass
    writer.join()
    assert entered.is_set()


def test_read_raises_after_its_timeout_and_leaves_its_place() -> None:
    """A reader that gives up does not block those after it."""
    lock = ReadersWriterLock()
    with lock.write(), pytest.raises(LockBusyError), lock.read(timeout_s=0.001):
        pass
    with lock.write():
        assert not lock.is_readable(0) and not lock.is_readable(0.001)
    assert lock.is_readable(0) and lock.waiting == 0
    with lock.read(timeout_s=60), lock.read():
        pass
