"""Calls that wait when their database is closed, and calls after that."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator, Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

import graphtide
import graphtide.sync
from graphtide.services.sdk.interface import Graph
from tests.support.scripted_server import hang, scripted

LONG_S, LIMIT_S = 3_600.0, 60.0
"""How long the calls would wait, and how long the tests wait for their end."""


class HangingExtractor:
    """An extractor that never returns, so that no token is reached. `began` is set when it is called."""

    def __init__(self) -> None:
        self.began = threading.Event()

    async def __call__(self, text: str, title: str) -> Mapping[str, Any]:
        self.began.set()
        return await asyncio.Future()


async def _first(items: AsyncIterator[object]) -> object:
    return await anext(items)


Waiting = Callable[[Graph, str], Any]
WAITING: dict[str, Waiting] = {
    "wait": lambda graph, token: graph.wait(token, LONG_S),
    "ask": lambda graph, token: graph.ask("Who?", after=token, timeout_s=LONG_S),
    "ask_stream": lambda graph, token: _first(graph.ask_stream("Who?", after=token, timeout_s=LONG_S)),
    "changes": lambda graph, _token: _first(graph.changes()),
}


@pytest.mark.parametrize("name", WAITING)
async def test_closed_database_of_this_process_ends_calls_that_wait(tmp_path: Path, name: str) -> None:
    """They would wait for an hour; they end with an error that says why, and nothing of them is left."""
    before = asyncio.all_tasks()
    async with asyncio.timeout(LIMIT_S):
        async with graphtide.open(tmp_path, extractor=HangingExtractor()) as db:
            graph = db.graph("g")
            known = await graph.add("known", "Ana Ruiz leads.", entities=[], facts=[])
            await graph.wait(known.token)
            token = (await graph.add("pending", "Kenji Mori leads.")).token
            call = asyncio.ensure_future(WAITING[name](graph, token))
            await asyncio.sleep(0)  # the call begins
        with pytest.raises(graphtide.Broken, match=r"closed before this call returned.*leave the `with` block after"):
            await call
        with pytest.raises(graphtide.Broken, match="the database is closed; call within"):
            await graph.stats()
        with pytest.raises(graphtide.Broken, match="the database is closed; call within"):
            await anext(aiter(graph.changes()))
    await asyncio.sleep(0)
    assert asyncio.all_tasks() == before


@pytest.mark.parametrize("name", WAITING)
async def test_closed_connection_ends_calls_that_wait(name: str) -> None:
    """The service is silent; the connection is closed, and the call says why it ended."""
    async with asyncio.timeout(LIMIT_S), scripted(hang) as script:
        async with graphtide.connect(script.url, timeout=LONG_S) as db:
            graph = db.graph("g")
            call = asyncio.ensure_future(WAITING[name](graph, "0:1"))
            await script.arrived.wait()
        with pytest.raises(graphtide.Broken, match="closed before this call returned"):
            await call
        await script.hung_up.wait()
        with pytest.raises(graphtide.Broken, match="the database is closed"):
            await graph.stats()


async def test_closing_leaves_timeouts_and_cancellations_of_callers_as_they_are(tmp_path: Path) -> None:
    """Only the end of the database is reported as such."""
    async with graphtide.open(tmp_path, extractor=HangingExtractor()) as db:
        graph = db.graph("g")
        token = (await graph.add("pending", "Kenji Mori leads.")).token
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0):
                await graph.wait(token, LONG_S)
        cancelled = asyncio.ensure_future(graph.wait(token, LONG_S))
        await asyncio.sleep(0)
        cancelled.cancel()
        with pytest.raises(asyncio.CancelledError):
            await cancelled
        with pytest.raises(graphtide.DeadlineExceeded):
            await graph.wait(token, 0.0)


@pytest.mark.parametrize("is_left_by_an_error", [False, True])
def test_left_block_ends_calls_of_other_threads(tmp_path: Path, is_left_by_an_error: bool) -> None:
    """A call and a stream wait in threads; both end with the error of the database, also when the block raised."""
    extractor, raised = HangingExtractor(), dict[str, BaseException]()

    def run(name: str, call: Callable[[], object]) -> None:
        try:
            call()
        except BaseException as error:  # noqa: BLE001 -- the error of the thread is what is tested
            raised[name] = error

    def leave() -> None:
        with graphtide.sync.open(tmp_path, extractor=extractor) as db:
            graph = db.graph("g")
            known = graph.add("known", "Ana Ruiz leads.", entities=[], facts=[])
            graph.wait(known.token)
            token = graph.add("pending", "Kenji Mori leads.").token
            calls: dict[str, Callable[[], object]] = {
                "wait": lambda: graph.wait(token, LONG_S),
                "changes": lambda: next(graph.changes()),
            }
            threads.extend(threading.Thread(target=run, args=call, daemon=True) for call in calls.items())
            for thread in threads:
                thread.start()
            assert extractor.began.wait(LIMIT_S)
            unfinished.append(graph.ask_stream("Who leads?"))
            next(unfinished[0])
            if is_left_by_an_error:
                raise LookupError
        with pytest.raises(graphtide.Broken, match="the database is closed; call within"):
            graph.stats()

    threads, unfinished = list[threading.Thread](), list[Any]()
    if is_left_by_an_error:
        with pytest.raises(LookupError):
            leave()
    else:
        leave()
    for thread in threads:
        thread.join(LIMIT_S)
        assert not thread.is_alive()
    assert {name: type(error) for name, error in raised.items()} == dict.fromkeys(
        ("wait", "changes"), graphtide.Broken
    ), raised
    unfinished[0].close()  # a stream that was not read to its end may be closed later
