"""The event loop answers probes: work whose cost a client chooses runs in threads, and is done once."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from typing import Any, TypeVar, cast

import httpx
import numpy as np
import pydantic
import pytest
from numpy.typing import NDArray
from uvicorn.config import Config
from uvicorn.server import ServerState

from graphtide.graph.records import DocumentInfo
from graphtide.infra.models.local.chunker import SemanticChunker
from graphtide.services.api.http.app import create_app
from graphtide.services.api.http.bodies import PARSE_ASIDE_BYTES, parse
from graphtide.services.api.http.transport.header_limits import HeaderLimitedProtocol
from graphtide.services.application import Application
from graphtide.streams.extract.pipeline import LARGE_CHARS, ExtractionLimits, ExtractionModels, extract
from graphtide.streams.messages import DocumentMessage, GivenEntity, GivenFact, decode_document
from graphtide.streams.model_ports import ExtractionResult, SplitPassage
from tests.support.transports import Sink

T = TypeVar("T")
LOOP = threading.main_thread()
PLAIN = "Marie Curie met Ada Lovelace in Paris in 1903. "
NO_APPLICATION = cast(Application, None)


def noted(threads: list[threading.Thread], work: Callable[..., T]) -> Callable[..., T]:
    """Return the work, which then notes the threads that it ran in."""

    def run(*given: Any, **named: Any) -> T:
        threads.append(threading.current_thread())
        return work(*given, **named)

    return run


class NoModel:
    """An extractor and an embedder without results."""

    name = "none"
    dimensions = 1

    async def extract(self, text: str, *, title: str) -> ExtractionResult:
        return ExtractionResult((), ())

    async def embed(self, texts: list[str]) -> NDArray[np.float32]:
        return np.zeros((len(texts), 1), np.float32)


async def splitting_threads(text: str, media_type: str, monkeypatch: pytest.MonkeyPatch) -> list[threading.Thread]:
    """Extract a document; return the threads that split its text."""
    threads: list[threading.Thread] = []
    chunker, model = SemanticChunker(), NoModel()
    split: Callable[..., tuple[SplitPassage, ...]] = noted(threads, chunker.split)
    monkeypatch.setattr(chunker, "split", split)
    models = ExtractionModels(chunker, model, cast(Any, model))
    await extract(DocumentMessage("g", "d", text, DocumentInfo(), media_type=media_type), 1, models, ExtractionLimits())
    return threads


@pytest.mark.parametrize(
    "mark", ["[", "*a_", "`a`` ", "<a>", "- a\n", "> a\n", "|a|b|\n", "a\n=\n", "[a](b) ", "&amp;"]
)
async def test_text_of_marks_is_split_in_a_thread(mark: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A short text of Markdown's marks costs the parser a hundred times what a text of words costs."""
    text = mark * (LARGE_CHARS // 2 // len(mark))
    assert LOOP not in await splitting_threads(text, "text/markdown", monkeypatch)


async def test_short_text_of_sentences_is_split_without_a_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    """A thread would cost more than the work."""
    text = "# Notes\n\n" + "\n\n".join([PLAIN * 8] * 6)
    assert set(await splitting_threads(text, "text/markdown", monkeypatch)) == {LOOP}


@pytest.mark.parametrize(
    ("body", "aside"),
    [
        (b'{"text":"' + PLAIN.encode() * 100 + b'"}', False),
        (b'{"text":"a","facts":[' + b",".join([b"{}"] * 5_000) + b"]}", True),
        (b'{"text":"' + b"a" * PARSE_ASIDE_BYTES + b'"}', True),
    ],
    ids=["text", "values", "bytes"],
)
async def test_body_of_many_values_is_parsed_in_a_thread(body: bytes, aside: bool) -> None:
    """Validation costs by value: a small body may hold thousands."""
    threads: list[threading.Thread] = []
    assert await parse(noted(threads, len), body) == len(body)
    assert (threads[0] is not LOOP) == aside


async def test_first_request_builds_no_models(monkeypatch: pytest.MonkeyPatch) -> None:
    """The models of all routes exist before the first request, which otherwise delays every probe beside it."""
    app = create_app(NO_APPLICATION)
    built: list[object] = []
    make = pydantic.TypeAdapter.__init__

    def counted(self: Any, *given: Any, **named: Any) -> None:
        built.append(given)
        make(self, *given, **named)

    monkeypatch.setattr(pydantic.TypeAdapter, "__init__", counted)
    async with httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://service") as client:
        assert (await client.get("/nowhere")).status_code == 404
    assert built == []


async def test_description_is_made_in_a_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither the description nor its page is made in the event loop."""
    threads: list[threading.Thread] = []
    app = create_app(NO_APPLICATION)
    monkeypatch.setattr(app, "openapi", noted(threads, app.openapi))
    async with httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://service") as client:
        asked = [client.get(path) for path in ("/openapi.json", "/docs", "/openapi.json")]
        assert {one.status_code for one in await asyncio.gather(*asked)} == {200}
    assert len(threads) == 3 and LOOP not in threads


async def silent(scope: object, receive: object, send: object) -> None:
    """Answer nothing."""


async def test_parser_reads_little_after_the_first_trailer(monkeypatch: pytest.MonkeyPatch) -> None:
    """The parser reports each line: eight times as many trailers in one arrival are no more work."""

    async def lines(count: int) -> int:
        config, state = Config(silent, interface="asgi3", log_config=None), ServerState()
        config.load()
        protocol = HeaderLimitedProtocol(config, state, {})
        refused: list[threading.Thread] = []
        monkeypatch.setattr(protocol, "_refuse", noted(refused, protocol._refuse))
        protocol.connection_made(sink := Sink())
        head = b"PUT / HTTP/1.1\r\nhost: a\r\ntransfer-encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n"
        protocol.data_received(head + b"x: y\r\n" * count)
        assert b"trailers" in sink.written
        await asyncio.gather(*state.tasks)
        protocol.connection_lost(None)
        return len(refused)

    assert 0 < await lines(5_000) == await lines(40_000)


async def test_dropped_rest_of_a_body_is_read_in_pauses() -> None:
    """After the response a connection is read once, then not before a pause: other connections come in between."""
    config, state = Config(silent, interface="asgi3", log_config=None), ServerState()
    config.load()
    protocol = HeaderLimitedProtocol(config, state, {})
    protocol.connection_made(sink := Sink())
    protocol.data_received(b"PUT / HTTP/1.1\r\nhost: a\r\ntransfer-encoding: chunked\r\n\r\n")
    protocol.cycle.response_complete = True
    for _ in range(3):
        assert not sink.paused
        protocol.data_received(b"2\r\n{}\r\n")
        assert sink.paused
        await sink.resumed.wait()
    protocol.connection_lost(None)
    await asyncio.gather(*state.tasks)


def test_encoded_document_keeps_every_field() -> None:
    """Facts are encoded without their empty fields, entities with them."""
    entities = (GivenEntity("Ada", "person", "a mathematician"), GivenEntity("Paris"))
    facts = (GivenFact("Ada", "met", "Bob", "in Paris", 0.5, "1903", "1904"), GivenFact("Ada", "knows", "Bob"))
    document = DocumentMessage("g", "d", "Ada met Bob.", DocumentInfo("t"), entities, facts)
    assert decode_document(document.key, document.encode()) == document
    assert document.encode().count(b'"valid_from"') == 1
