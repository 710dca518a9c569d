"""One SQLite file with one writing thread and a few reading ones, all awaited; lookups are read in the event loop.

One transaction commits all writes that wait when the writer's turn comes, because a commit costs an fsync. When one of
them fails, the transaction is rolled back and each write is repeated alone, so that a failure affects no other write; a
write must therefore have no effect outside the database. Actions that depend on durability (waking consumers) are
passed as `committed`, which runs in the event loop even if the caller was cancelled.

Invariant: a write that has returned is on the disk; one that raised has changed nothing. A cancelled one may have
happened. Writes with `synced` off survive the end of the process only; the first later write without it makes them
durable, since the write-ahead log is read up to its first gap. Only `write_later` returns before its write happened.
"""

from __future__ import annotations

import asyncio
import sqlite3
import threading
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from pathlib import Path
from queue import Empty, SimpleQueue
from typing import Any, TypeVar

from graphtide.infra.sqlite.connection import open_writer
from graphtide.infra.sqlite.errors import failure, unencodable
from graphtide.infra.sqlite.folder_lock import DATABASE, FolderLock
from graphtide.infra.sqlite.reading.readers import Readers
from graphtide.streams.errors import Broken, GraphtideError

T = TypeVar("T")
Work = Callable[[sqlite3.Connection], T]

BATCH_LIMIT = 256
LATER_S = 0.25
"""Maximum time until a write without a caller is performed, if no other transaction takes it along."""

_FAULTS = (ArithmeticError, AssertionError, AttributeError, LookupError, TypeError, ValueError)
"""Errors in a write itself: the caller receives them, and the writer continues."""


@dataclass(slots=True, eq=False)
class _Write:
    work: Work[Any]
    committed: Callable[[Any], None] | None = None
    done: asyncio.Future[Any] | None = None
    alone: bool = False
    synced: bool = True
    key: Hashable = None
    value: Any = None
    error: Exception | None = None


class SqliteDatabase:
    """The database of a data folder. Made by `open`, in the event loop that uses it; ended by `close`."""

    def __init__(self, path: Path, lock: FolderLock, writer: sqlite3.Connection) -> None:
        self.path = path
        self._lock = lock
        self._writer = writer
        self._loop = asyncio.get_running_loop()
        self._queue: SimpleQueue[_Write | None] = SimpleQueue()
        self._next: _Write | None = None
        self._closed = False
        self._synced = True
        self._later: dict[Hashable, _Write] = {}
        self._later_is_due = False
        self._later_lock = threading.Lock()
        self._timer: asyncio.TimerHandle | None = None
        self._readers = Readers(path, self._loop)
        self._thread = threading.Thread(target=self._write_all, name="graphtide-writer", daemon=True)
        self._thread.start()

    @classmethod
    async def open(cls, folder: Path, max_pages: int | None = None) -> SqliteDatabase:
        """Open or create the database in `folder`. `max_pages` bounds the file, for tests of a full disk.

        Raises Broken when another process uses the folder, or the file is damaged, foreign or of a newer schema.
        """
        return cls(folder / DATABASE, *await asyncio.to_thread(_open, folder, max_pages))

    async def write(self, work: Work[T], committed: Callable[[T], None] | None = None, *, synced: bool = True) -> T:
        """Run `work` in the writer's next transaction, and return its result once it is durable.

        With `synced` off it survives the end of the process, but a power failure may undo it, together with all later
        writes: for statements that only these need.
        """
        if self._closed:
            raise Broken("the database is closed")
        done: asyncio.Future[T] = self._loop.create_future()
        self._queue.put(_Write(work, committed, done, synced=synced))
        return await done

    async def alone(self, work: Work[T]) -> T:
        """Run `work` between two transactions of the writer, for statements that cannot be part of one."""
        if self._closed:
            raise Broken("the database is closed")
        done: asyncio.Future[T] = self._loop.create_future()
        self._flush()
        self._queue.put(_Write(work, None, done, alone=True))
        return await done

    def write_later(self, key: Hashable, work: Work[object]) -> None:
        """Run `work` within LATER_S or a little more, instead of an earlier `work` with the same key.

        For statements that a caller does not wait for, and that may be lost if the process dies. One that fails is
        repeated.
        """
        with self._later_lock:
            self._later[key] = _Write(work, key=key, synced=False)
        if self._timer is None and not self._closed:
            self._timer = self._loop.call_later(LATER_S, self._flush)

    def _flush(self) -> None:
        """Have the writer perform what was left for later, in its next transaction."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        if self._later and not self._closed:
            self._later_is_due = True
            self._queue.put(_Write(_nothing, synced=False))

    async def read(self, work: Work[T]) -> T:
        """Run `work` on a connection of its own, in one read transaction with one state of all tables."""
        if self._closed:
            raise Broken("the database is closed")
        return await self._readers.read(work)

    async def look_up(self, work: Work[T]) -> T:
        """Run `work` as `read` does, but in the event loop while the loop's current iteration has time left.

        For lookups: a few statements that find a bounded number of small rows by an index.
        """
        if self._closed:
            raise Broken("the database is closed")
        return await self._readers.look_up(work)

    async def close(self) -> None:
        """Finish queued writes, write the write-ahead log back, and release the folder."""
        if self._closed:
            return
        self._flush()
        self._closed = True
        self._queue.put(None)
        await asyncio.to_thread(self._end)

    def _end(self) -> None:
        self._thread.join()
        self._readers.close()
        self._writer.close()
        self._lock.release()

    # -- in the writer's thread ----------------------------------------------------------------------------------------

    def _write_all(self) -> None:
        taken: list[_Write] = []
        try:
            while taken := self._take():
                self._perform(taken)
                self._loop.call_soon_threadsafe(_settle, taken)
                taken = []  # a thread that waits keeps no result in memory
        finally:
            # Reached with pending writes only after an unforeseen error: they must not wait forever.
            self._closed = True
            taken += self._left()
            for write in taken:
                write.error = write.error or Broken("the database's writer thread has ended: restart the process")
            if taken:
                self._loop.call_soon_threadsafe(_settle, taken)

    def _take(self) -> list[_Write]:
        """Wait for a write, and take those queued after it; empty when the database closes."""
        first, self._next = self._next or self._queue.get(), None
        if first is None:
            return []
        taken = [first]
        if first.alone:
            return taken
        while len(taken) < BATCH_LIMIT:
            try:
                another = self._queue.get_nowait()
            except Empty:
                break
            if another is None:
                self._queue.put(None)
                break
            if another.alone:
                self._next = another
                break
            taken.append(another)
        return taken

    def _left(self) -> list[_Write]:
        left = [self._next] if self._next is not None else []
        while not self._queue.empty():
            write = self._queue.get()
            if write is not None:
                left.append(write)
        return left

    def _perform(self, writes: Sequence[_Write]) -> None:
        later = () if writes[0].alone else self._take_later()
        error = self._together((*later, *writes))
        if error is None:
            return
        if len(writes) == 1 and not later:
            writes[0].error = error
            return
        for write in writes:
            write.error = self._together((write,))
        self._put_back([write for write in later if self._together((write,)) is not None])

    def _take_later(self) -> tuple[_Write, ...]:
        if not self._later_is_due:  # one statement for many documents costs less than one for each
            return ()
        with self._later_lock:
            self._later_is_due = False
            taken, self._later = tuple(self._later.values()), {}
        return taken

    def _put_back(self, failed: Sequence[_Write]) -> None:
        """Keep what failed for a later transaction, unless it was replaced meanwhile."""
        with self._later_lock:
            self._later_is_due = self._later_is_due or bool(failed)
            for write in failed:
                self._later.setdefault(write.key, write)

    def _together(self, writes: Sequence[_Write]) -> Exception | None:
        """Run the writes in one transaction; when it fails, undo all of it and return the error."""
        alone = len(writes) == 1 and writes[0].alone
        try:
            if not alone:
                self._sync(any(write.synced for write in writes))
                self._writer.execute("BEGIN IMMEDIATE")
            for write in writes:
                write.value = write.work(self._writer)
            if not alone:
                self._writer.execute("COMMIT")
        except sqlite3.Error as error:
            problem: Exception = failure(error)
            problem.__cause__ = error
        except UnicodeEncodeError as error:
            problem = unencodable(error)
        except (GraphtideError, *_FAULTS) as error:
            problem = error
        else:
            return None
        return self._undo() or problem

    def _sync(self, synced: bool) -> None:
        """Set whether the next commit waits for the disk. One that does makes all earlier ones durable, too."""
        if synced != self._synced:
            self._writer.execute(f"PRAGMA synchronous = {'FULL' if synced else 'NORMAL'}")
            self._synced = synced

    def _undo(self) -> Exception | None:
        if not self._writer.in_transaction:  # SQLite has rolled back already, as it does on a full disk
            return None
        try:
            self._writer.execute("ROLLBACK")
        except sqlite3.Error as error:
            return failure(error)
        return None


def _open(folder: Path, max_pages: int | None) -> tuple[FolderLock, sqlite3.Connection]:
    lock = FolderLock(folder)
    try:
        return lock, open_writer(folder / DATABASE, max_pages)
    except sqlite3.Error as error:
        lock.release()
        problem = failure(error)
        raise type(problem)(f"{folder / DATABASE}: {problem}") from error
    except Broken:
        lock.release()
        raise


def _nothing(_: sqlite3.Connection) -> None:
    """Write nothing: the transaction takes along what was left for later."""


def _settle(writes: Sequence[_Write]) -> None:
    """Resolve the futures of the writes, in the event loop."""
    for write in writes:
        if write.error is None and write.committed is not None:
            write.committed(write.value)
        if write.done is None or write.done.done():
            continue
        if write.error is None:
            write.done.set_result(write.value)
        else:
            write.done.set_exception(write.error)
