"""The calls of a database that have not returned yet.

The invariant: when a database is closed, every call and stream that waits ends at once with `Broken`, and no later call
begins.
"""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import AsyncGenerator, AsyncIterator, Callable
from contextlib import aclosing, asynccontextmanager
from functools import wraps
from typing import Any, Final, Protocol, TypeVar

from graphtide.services.sdk.calls.arguments import check_arguments, checked
from graphtide.streams.errors import Broken

ENDED = (
    "the database was closed before this call returned, so its outcome is unknown; leave the `with` block after the"
    " calls of all tasks and threads have returned"
)
CLOSED = "the database is closed; call within the `with` block of open() or connect()"
_END: Final = object()


class OpenCalls:
    """The calls of one database, which all run in one event loop."""

    def __init__(self) -> None:
        self._open: set[asyncio.Timeout] = set()
        self._is_closed = False

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """Run the block as a call of the database. Raises Broken once the database is closed, also meanwhile."""
        if self._is_closed:
            raise Broken(CLOSED)
        end = asyncio.timeout(None)
        self._open.add(end)
        try:
            async with end:
                yield
        except TimeoutError as error:
            if end.expired():
                raise Broken(ENDED) from error
            raise
        finally:
            self._open.discard(end)

    def close(self) -> None:
        """End every call with Broken at its next step, and refuse later ones."""
        self._is_closed = True
        ended, self._open = self._open, set()
        for end in ended:
            end.reschedule(asyncio.get_running_loop().time())


class _Caller(Protocol):
    _calls: OpenCalls


Part = TypeVar("Part", bound=type[Any])


def calls_of_database(part: Part) -> Part:
    """Check the arguments of the class's public methods, and run each in its `_calls`, as each step of a stream."""
    for name, method in vars(part).copy().items():
        if name.startswith("_") or not inspect.isfunction(method):
            continue
        if inspect.isasyncgenfunction(method):
            setattr(part, name, _stream(method))
        elif inspect.iscoroutinefunction(method):
            setattr(part, name, _call(method))
        else:
            setattr(part, name, checked(method))
    return part


def _call(method: Callable[..., Any]) -> Callable[..., Any]:
    check = check_arguments(method)

    @wraps(method)
    async def call(self: _Caller, *arguments: Any, **options: Any) -> Any:
        check(self, *arguments, **options)
        async with self._calls.running():
            return await method(self, *arguments, **options)

    return call


def _stream(method: Callable[..., AsyncGenerator[Any, None]]) -> Callable[..., AsyncGenerator[Any, None]]:
    check = check_arguments(method)

    @wraps(method)
    async def stream(self: _Caller, *arguments: Any, **options: Any) -> AsyncGenerator[Any, None]:
        check(self, *arguments, **options)
        async with aclosing(method(self, *arguments, **options)) as items:
            while True:
                async with self._calls.running():
                    item = await anext(items, _END)
                if item is _END:
                    return
                yield item

    return stream
