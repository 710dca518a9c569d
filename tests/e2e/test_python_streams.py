"""Streams of answers through graphtide.connect: cut, wrong, cancelled and slow ones."""

from __future__ import annotations

import asyncio
import json
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

import graphtide
import graphtide.sync
from graphtide.services.api.http.app import create_app
from graphtide.services.api.schema.limits import RequestLimits
from graphtide.services.sdk.calls.blocking_calls import BlockingCalls
from graphtide.services.sdk.embedded import EmbeddedDatabase
from graphtide.services.sdk.interface import Database
from tests.support.python_client import CONTEXT, SSE, client
from tests.support.scripted_server import error, hang, reply, scripted
from tests.support.serving import http_service, opened

LIMIT_S = 60.0
READERS = 4


def events(*steps: tuple[str, object], end: bytes = b"") -> bytes:
    """Return a response with server-sent events that ends with the connection."""
    lines = "".join(f"event: {name}\ndata: {json.dumps(data, ensure_ascii=False)}\n\n" for name, data in steps)
    return f"HTTP/1.1 200 OK\r\ncontent-type: {SSE}\r\nconnection: close\r\n\r\n{lines}".encode() + end


async def collect(db: Database, got: list[object]) -> None:
    async for step in db.graph("g").ask_stream("Who?"):
        got.append(step)  # noqa: PERF401 -- what arrived before an error is kept


async def test_stream_that_is_cut_in_the_middle_raises_and_is_not_repeated() -> None:
    """The pieces that arrived are given; then the caller learns that the answer is not whole."""
    cut = events(("context", CONTEXT), ("token", {"text": "An"}), end=b'event: token\ndata: {"te')
    chunked = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n"
    inside = events(("context", CONTEXT), ("token", {"text": "An"})).partition(b"\r\n\r\n")[2]
    for answer in (cut, chunked + f"{len(inside):x}\r\n".encode() + inside + b"\r\n40\r\nevent"):
        got: list[object] = []
        async with scripted(answer) as script, client(script.url) as db:
            with pytest.raises(graphtide.Unreachable):
                await collect(db, got)
        assert isinstance(got[0], graphtide.Answer) and got[1:] == [graphtide.AnswerChunk("An")]
        assert len(script.requests) == 1


@pytest.mark.parametrize(
    ("answer", "kind"),
    [
        (events(("error", {"error": {"code": "unavailable", "message": "m"}})), graphtide.Retryable),
        (events(("context", [])), graphtide.Broken),
        (events(("surprise", {})), graphtide.Broken),
        (reply(200, "data: {", content_type=SSE), graphtide.Unreachable),
        (reply(200, "event: token\ndata: {\n\n", content_type=SSE), graphtide.Broken),
        (reply(200, "{}", content_type="application/json"), graphtide.Broken),
        (error(404, "not_found"), graphtide.NotFound),
    ],
)
async def test_wrong_streams_raise_an_error_of_the_tree(answer: bytes, kind: type[Exception]) -> None:
    """An event that is no step of an answer is never passed on."""
    async with scripted(answer) as script, client(script.url) as db:
        with pytest.raises(graphtide.GraphtideError) as raised:
            await collect(db, [])
    assert type(raised.value) is kind


async def test_text_with_any_separator_arrives_unchanged() -> None:
    """Only line feeds end a line of the stream; the event names arrive although the portions are single bytes."""
    text = "a\u2028b\u0085c\x0bd\x0ce\r\nf"
    whole = events(("context", CONTEXT), ("token", {"text": text}), ("answer", {**CONTEXT, "answer": text}))

    async def drip(writer: asyncio.StreamWriter) -> None:
        for at in range(len(whole)):
            writer.write(whole[at : at + 1])
            await writer.drain()

    got: list[object] = []
    async with scripted(drip) as script, client(script.url) as db:
        await collect(db, got)
    assert got[1] == graphtide.AnswerChunk(text)
    assert isinstance(got[2], graphtide.Answer) and got[2].answer == text


async def test_cancelled_calls_close_their_connection() -> None:
    """A question and a stream are cancelled while the server is silent; the server sees the connection close."""
    for streamed in (False, True):
        async with scripted(hang) as script, client(script.url) as db:
            asked = collect(db, []) if streamed else db.graph("g").ask("Who?")
            task = asyncio.ensure_future(asked)
            await script.arrived.wait()
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
            async with asyncio.timeout(60):
                await script.hung_up.wait()


async def test_question_with_a_long_timeout_waits_for_its_token_first() -> None:
    """The service cancels a question after a limit of its own; a client that allows more time polls the token."""
    waiting, reached = ('{"reached": false, "version": 1}', '{"reached": true, "version": 2}')
    answer = json.dumps({"answer": "Ana.", **CONTEXT})
    async with (
        scripted(reply(200, waiting), reply(200, reached), reply(200, answer)) as script,
        client(script.url) as db,
    ):
        assert (await db.graph("g").ask("Who?", after="0:7", timeout_s=120)).answer == "Ana."
        assert (await db.graph("g").ask("Who?", after="0:7")).answer == "Ana."
    assert [one.path.partition("?")[0].rpartition("/")[2] for one in script.requests] == [
        "0%3A7",
        "0%3A7",
        "query",
        "query",
    ]


async def test_slow_server_ends_with_the_deadline_of_the_call() -> None:
    """A silent server does not hold a caller beyond the time limit; the connection is closed."""
    for call in ("ask", "stream", "stats"):
        async with scripted(hang) as script, client(script.url, timeout_s=0.2) as db:
            graph = db.graph("g")
            with pytest.raises(graphtide.DeadlineExceeded):
                if call == "ask":
                    await graph.ask("Who?", timeout_s=0.2)
                elif call == "stats":
                    await graph.stats()
                else:
                    [_ async for _ in graph.ask_stream("Who?", timeout_s=0.2)]
            async with asyncio.timeout(60):
                await script.hung_up.wait()
            assert len(script.requests) == 1


async def test_item_that_arrives_while_the_database_closes_leaves_nothing_in_the_log(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The threads that read get the item, then the error of a closed database; their streams are closed in the loop.

    The loop closes streams that are left open in any order, so one of two lets an error escape: there are several.
    """
    unraisable, ended = list[object](), list[BaseException]()
    monkeypatch.setattr(sys, "unraisablehook", unraisable.append)
    have_item, is_closed = threading.Barrier(READERS + 1), threading.Event()

    def follow(changes: Iterator[object]) -> None:
        next(changes)
        have_item.wait(LIMIT_S)
        assert is_closed.wait(LIMIT_S)
        try:
            next(changes)
        except BaseException as error:  # noqa: BLE001 -- the error of the thread is what is tested
            ended.append(error)

    def close(calls: BlockingCalls) -> None:
        """Close the calls of the database; the next change arrives before its connections are closed."""
        close_calls(calls)
        asyncio.run_coroutine_threadsafe(publish("b"), loop).result(LIMIT_S)
        have_item.wait(LIMIT_S)

    def use(url: str) -> None:
        with graphtide.sync.connect(url) as db:
            streams = [db.graph("g").changes(after="v1") for _ in range(READERS)]
            assert all(map(next, streams))
            readers = [threading.Thread(target=follow, args=[changes]) for changes in streams]
            for reader in readers:
                reader.start()
            while not all(stream.is_read for stream in db._calls._streams):
                readers[0].join(0.001)
            monkeypatch.setattr(BlockingCalls, "close", close)
        is_closed.set()
        for reader in readers:
            reader.join(LIMIT_S)

    async def publish(doc_id: str) -> None:
        await graph.wait((await graph.add(doc_id, f"Ana Ruiz leads {doc_id}.", entities=[], facts=[])).token)

    close_calls, loop = BlockingCalls.close, asyncio.get_running_loop()
    async with opened("embedded", tmp_path) as application, http_service(create_app(application)) as url:
        graph = EmbeddedDatabase(application, RequestLimits()).graph("g")
        await publish("known")
        await publish("a")
        await asyncio.to_thread(use, url)
    assert [type(error) for error in ended] == [graphtide.Broken] * READERS, ended
    assert not unraisable and [each.getMessage() for each in caplog.records if each.name == "asyncio"] == []
