"""Calls into the event loop of a database from the threads of a program without one.

The invariants: a call that Ctrl-C interrupts raises KeyboardInterrupt and is cancelled, so the database stays usable;
a stream is read by one task at a time, and closed after that task has ended.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Coroutine, Iterator
from concurrent.futures import CancelledError, Future
from functools import partial, update_wrapper
from inspect import signature
from threading import get_ident
from typing import Any, Concatenate, Final, Generic, ParamSpec, Protocol, TypeVar, cast

from anyio.from_thread import BlockingPortal

from graphtide.services.sdk.calls.open_calls import CLOSED, ENDED
from graphtide.streams.errors import Broken

P = ParamSpec("P")
Result = TypeVar("Result")
Item = TypeVar("Item")
_END: Final = object()


class BlockingCalls:
    """The calls of one database from any number of threads."""

    def __init__(self, portal: BlockingPortal) -> None:
        self._portal = portal
        self._loop_thread = portal.call(get_ident)
        self._streams = set[_Stream[Any]]()
        self._is_closed = False

    def call(self, function: Callable[[], Coroutine[Any, Any, Result]]) -> Result:
        """Return the result of a coroutine function, run in the loop. Raises Broken once the database is closed."""
        task = _Task(function)
        try:
            return self._started(task).result()
        except CancelledError as error:
            raise Broken(ENDED) from error
        except BaseException:  # Ctrl-C in this thread, or an error of the task, which has ended then
            if not self._is_closed:
                self._portal.call(task.end)
            raise

    def _started(self, task: _Task[Result]) -> Future[Result]:
        try:
            return self._portal.start_task_soon(task.run)
        except RuntimeError as error:
            raise (Broken(CLOSED) if self._is_closed else error) from None

    def iterate(self, opened: Callable[[], AsyncIterator[Item]]) -> Iterator[Item]:
        """Yield the items of a stream; it is closed with the iterator. Raises Broken once the database is closed."""
        stream = _Stream(opened())
        self._streams.add(stream)
        if self._is_closed:  # after the addition: `close` sets this before it lists the streams
            raise Broken(CLOSED)
        try:
            while (item := self.call(stream.read)) is not _END:
                yield cast("Item", item)
        finally:
            self._end(stream)

    def _end(self, stream: _Stream[Any]) -> None:
        """Close a stream whose iterator has ended, or was collected as garbage, in whichever thread that happens."""
        if self._is_closed:
            return  # `close` closes it
        if get_ident() == self._loop_thread:  # which must not wait for itself
            stream.ending = asyncio.ensure_future(stream.close())
            stream.ending.add_done_callback(lambda _: self._streams.discard(stream))
            return
        try:
            self.call(stream.close)
        except Broken:
            if not self._is_closed:
                raise
        self._streams.discard(stream)

    def close(self) -> None:
        """Refuse later calls, and close the streams that no thread is reading. The database ends those being read."""
        self._is_closed = True
        for stream in tuple(self._streams):
            self._portal.call(stream.close)


class _Task(Generic[Result]):
    """A coroutine function that another thread runs and may interrupt. All methods run in the loop."""

    def __init__(self, function: Callable[[], Coroutine[Any, Any, Result]]) -> None:
        self._function = function
        self._task: asyncio.Task[Any] | None = None

    async def run(self) -> Result:
        """Return the result of the function."""
        self._task = asyncio.current_task()
        return await self._function()

    async def end(self) -> None:
        """Cancel the function if it runs, and wait for its end."""
        if self._task is not None and not self._task.done():
            self._task.cancel()
            await asyncio.wait([self._task])


class _Stream(Generic[Item]):
    """A stream that other threads read. All methods run in the loop. Once `close` began, no read begins."""

    def __init__(self, source: AsyncIterator[Item]) -> None:
        self._source = source
        self.is_read = False
        self._is_closed = False
        self._closing = asyncio.Lock()
        self.ending: asyncio.Future[None] | None = None

    async def read(self) -> Item | object:
        """Return the next item, or _END. Raises Broken once the stream is closed."""
        if self._is_closed:
            raise Broken(CLOSED)
        self.is_read = True
        try:
            return await anext(self._source, _END)
        finally:
            self.is_read = False
            if self._is_closed:
                await self.close()

    async def close(self) -> None:
        """Close the stream; one that is being read is closed by its reader. A second caller waits for the first."""
        self._is_closed = True
        if not self.is_read and isinstance(self._source, AsyncGenerator):
            async with self._closing:
                await self._source.aclose()


class _Blocking(Protocol):
    """The blocking twin of an asynchronous part of the interface."""

    @property
    def _calls(self) -> BlockingCalls: ...

    @property
    def _twin(self) -> Any: ...


def blocking(
    method: Callable[Concatenate[Any, P], Coroutine[Any, Any, Result]],
) -> Callable[Concatenate[_Blocking, P], Result]:
    """Return the blocking twin of a coroutine method, with its parameters, result and docstring."""
    name = method.__name__

    def call(self: _Blocking, /, *arguments: P.args, **options: P.kwargs) -> Result:
        twin: Callable[P, Coroutine[Any, Any, Result]] = getattr(self._twin, name)
        return self._calls.call(partial(twin, *arguments, **options))

    update_wrapper(call, method)
    return call


def blocking_stream(
    method: Callable[Concatenate[Any, P], AsyncIterator[Item]],
) -> Callable[Concatenate[_Blocking, P], Iterator[Item]]:
    """Return the blocking twin of a method that returns a stream, with its parameters, items and docstring."""
    name = method.__name__

    def stream(self: _Blocking, /, *arguments: P.args, **options: P.kwargs) -> Iterator[Item]:
        twin: Callable[P, AsyncIterator[Item]] = getattr(self._twin, name)
        return self._calls.iterate(partial(twin, *arguments, **options))

    update_wrapper(stream, method)
    described = signature(method)
    items = str(described.return_annotation).replace("AsyncIterator", "Iterator")
    stream.__annotations__ = {**method.__annotations__, "return": items}
    cast("Any", stream).__signature__ = described.replace(return_annotation=items)
    return stream
