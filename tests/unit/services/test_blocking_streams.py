"""Streams of the blocking interface that end in another thread than their reader's, or beside the database."""

from __future__ import annotations

import asyncio
import gc
import sys
import threading
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import aclosing
from typing import Any, cast

import pytest
from anyio.from_thread import start_blocking_portal

from graphtide.services.sdk.calls.blocking_calls import BlockingCalls
from graphtide.streams.errors import Broken

LIMIT_S = 60.0


class Source:
    """A stream whose end takes until `finish` is called in its loop."""

    def __init__(self) -> None:
        self.ending, self.ended = threading.Event(), threading.Event()
        self.finish = asyncio.Event()

    async def items(self) -> AsyncIterator[int]:
        try:
            yield 1
            yield 2
        finally:
            self.ending.set()
            await self.finish.wait()
            self.ended.set()


def test_database_is_closed_while_a_thread_closes_its_stream() -> None:
    """Closing waits for the thread's end of the stream; neither raises, and the stream ends once."""
    source, raised = Source(), list[BaseException]()

    def read(calls: BlockingCalls) -> None:
        items: Any = calls.iterate(source.items)
        try:
            next(items)
            items.close()
        except BaseException as error:  # noqa: BLE001 -- the error of the thread is what is tested
            raised.append(error)

    with start_blocking_portal() as portal:
        calls = BlockingCalls(portal)
        reader = threading.Thread(target=read, args=[calls])
        reader.start()
        assert source.ending.wait(LIMIT_S)
        closing = threading.Thread(target=calls.close)
        closing.start()
        portal.call(asyncio.sleep, 0)
        portal.call(source.finish.set)
        for thread in (closing, reader):
            thread.join(LIMIT_S)
            assert not thread.is_alive()
        calls.close()
    assert source.ended.is_set()
    assert not raised


def test_read_that_begins_while_the_stream_is_closed_is_refused() -> None:
    """The thread learns that the database is closed, as it does from any call that begins then."""
    source, closing = Source(), list[threading.Thread]()
    with start_blocking_portal() as portal:
        calls = BlockingCalls(portal)
        items = calls.iterate(source.items)
        assert next(items) == 1
        closing.append(threading.Thread(target=calls.close))
        closing[0].start()
        assert source.ending.wait(LIMIT_S)
        with pytest.raises(Broken, match="the database is closed"):
            next(items)
        portal.call(source.finish.set)
        closing[0].join(LIMIT_S)
    assert source.ended.is_set()


def test_stream_collected_as_garbage_in_the_loop_is_closed(monkeypatch: pytest.MonkeyPatch) -> None:
    """A collection may run in the loop's thread, which cannot wait for itself. A stream of streams is closed once."""
    unraisable = list[object]()
    monkeypatch.setattr(sys, "unraisablehook", unraisable.append)
    source = Source()

    async def nested() -> AsyncIterator[int]:
        async with aclosing(cast("AsyncGenerator[int, None]", source.items())) as items:
            async for item in items:
                yield item

    async def report() -> None:
        asyncio.get_running_loop().set_exception_handler(lambda _loop, context: unraisable.append(context))

    with start_blocking_portal() as portal:
        calls = BlockingCalls(portal)
        portal.call(report)
        cycle: list[Any] = [calls.iterate(nested)]
        cycle.append(cycle)
        assert next(cycle[0]) == 1
        del cycle
        portal.call(gc.collect)
        assert source.ending.wait(LIMIT_S)
        portal.call(source.finish.set)
        assert source.ended.wait(LIMIT_S)
        calls.close()
    assert not unraisable
