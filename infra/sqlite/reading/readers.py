"""Readers of the database: threads, and the event loop for lookups, each with a connection of its own.

Invariant: a read sees one state of all tables, in a read transaction of its own. The threads take reads in their order
of arrival. An executor with its pair of futures would cost more than most of the reads; so does a change of threads for
a lookup, which finds a few rows by an index. In WAL mode a reader waits for no writer.
"""

from __future__ import annotations

import asyncio
import sqlite3
import threading
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from queue import SimpleQueue
from typing import Any, TypeVar

from graphtide.infra.sqlite.connection import open_reader
from graphtide.infra.sqlite.errors import failure
from graphtide.streams.scheduling.inline_budget import InlineBudget

T = TypeVar("T")
Work = Callable[[sqlite3.Connection], T]

THREADS = 2


@dataclass(frozen=True, slots=True, eq=False)
class _Read:
    work: Work[Any]
    done: asyncio.Future[Any]


class Readers:
    """The readers. The threads start with the first read; all end with `close`."""

    def __init__(self, path: Path, loop: asyncio.AbstractEventLoop) -> None:
        self._path = path
        self._loop = loop
        self._queue: SimpleQueue[_Read | None] = SimpleQueue()
        self._threads: list[threading.Thread] = []
        self._inline = InlineBudget()
        self._connection: sqlite3.Connection | None = None
        """The event loop's connection."""

    async def read(self, work: Work[T]) -> T:
        """Run `work` in one of the threads. A cancelled read that has not begun is left out."""
        while len(self._threads) < THREADS:
            self._start(f"graphtide-reader_{len(self._threads)}")
        done: asyncio.Future[T] = self._loop.create_future()
        self._queue.put(_Read(work, done))
        return await done

    async def look_up(self, work: Work[T]) -> T:
        """Run `work` at once, while the event loop's iteration has time left; otherwise, or if it fails, as `read`."""
        if self._inline.is_left:
            try:
                return self._inline.run(partial(self._look_up, work))
            except sqlite3.Error:  # busy, for example: a thread waits for it, and translates what lasts
                pass
        return await self.read(work)

    def _look_up(self, work: Work[T]) -> T:
        if self._connection is None:
            self._connection = open_reader(self._path, busy_timeout_ms=0)
        return _in_transaction(self._connection, work)

    def _start(self, name: str) -> None:
        self._threads.append(threading.Thread(target=self._run, name=name, daemon=True))
        self._threads[-1].start()

    def close(self) -> None:
        """Finish queued reads, and close the connections. Blocks."""
        for _ in self._threads:
            self._queue.put(None)
        for thread in self._threads:
            thread.join()
        if self._connection is not None:
            self._connection.close()

    # -- in the threads ------------------------------------------------------------------------------------------------

    def _run(self) -> None:
        connection: sqlite3.Connection | None = None
        while (read := self._queue.get()) is not None:
            if not read.done.cancelled():
                connection = self._perform(read, connection)
            read = None  # a thread that waits keeps no result in memory
        if connection is not None:
            connection.close()

    def _perform(self, read: _Read, connection: sqlite3.Connection | None) -> sqlite3.Connection | None:
        """Run the read and report its result. Returns the connection, which the first read opens."""
        value: object = None
        error: Exception | None = None
        try:
            connection = connection or open_reader(self._path)
            value = _in_transaction(connection, read.work)
        except sqlite3.Error as problem:
            error = failure(problem)
            error.__cause__ = problem
        except Exception as problem:  # noqa: BLE001 - passed on to the caller
            error = problem
        self._report(read.done, value, error)
        return connection

    def _report(self, done: asyncio.Future[Any], value: object, error: Exception | None) -> None:
        """Pass the result to the event loop, unless that is closed."""
        try:
            self._loop.call_soon_threadsafe(_settle, done, value, error)
        except RuntimeError:
            if not self._loop.is_closed():
                raise


def _in_transaction(connection: sqlite3.Connection, work: Work[T]) -> T:
    connection.execute("BEGIN")
    try:
        return work(connection)
    finally:
        if connection.in_transaction:
            connection.execute("ROLLBACK")


def _settle(done: asyncio.Future[Any], value: object, error: Exception | None) -> None:
    if done.done():
        return
    if error is None:
        done.set_result(value)
    else:
        done.set_exception(error)
