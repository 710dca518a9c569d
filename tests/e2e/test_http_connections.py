"""Resource limits of one connection, tested on raw sockets: trailers, unread bodies, unread answers, addresses."""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from urllib.parse import urlsplit

import httpx
import pytest
from prometheus_client import CollectorRegistry

from graphtide.infra.settings import Settings
from graphtide.services.access.gate import CallerRateLimits
from graphtide.services.api.http.app import create_app
from graphtide.services.api.http.transport.server import proxy_addresses
from graphtide.services.api.schema.limits import RequestLimits
from graphtide.services.process.worker import WorkerHealth, _observed
from graphtide.streams.errors import Broken
from tests.support.application import InMemoryApplication
from tests.support.guarded import KeyFile, gate
from tests.support.processes import service
from tests.support.serving import http_service

DOCUMENT = "/v1/graphs/notes/documents/a"
CHUNKED = f"PUT {DOCUMENT} HTTP/1.1\r\nhost: a\r\ncontent-type: application/json\r\ntransfer-encoding: chunked\r\n\r\n"
BODY = b'10\r\n{"text":"a b c"}\r\n'
MIB = 1 << 20


@contextlib.asynccontextmanager
async def connected(url: str) -> AsyncIterator[tuple[asyncio.StreamReader, asyncio.StreamWriter]]:
    """Open a connection to the service at `url`."""
    place = urlsplit(url)
    reader, writer = await asyncio.open_connection(place.hostname, place.port)
    try:
        yield reader, writer
    finally:
        writer.close()
        with contextlib.suppress(ConnectionError):
            await writer.wait_closed()


async def status(reader: asyncio.StreamReader) -> int:
    """Return the status of the next answer, whose body is read."""
    head = (await reader.readuntil(b"\r\n\r\n")).decode().lower()
    length = next(line for line in head.split("\r\n") if line.startswith("content-length:"))
    await reader.readexactly(int(length.partition(":")[2]))
    return int(head.split(" ")[1])


async def sent_before_the_end(writer: asyncio.StreamWriter, piece: bytes, max_bytes: int) -> int:
    """Return how many bytes of repeated `piece` are accepted, at most `max_bytes`, before the connection is closed."""
    sent = 0
    with contextlib.suppress(ConnectionError):
        while sent < max_bytes:
            writer.write(piece)
            await writer.drain()
            sent += len(piece)
    return sent


TRAILERS = {
    "many": b"".join(b"x-%d: %d\r\n" % (n, n) for n in range(5000)),
    "one without an end": b"a" * (64 << 10),
}


@pytest.mark.parametrize("trailer", TRAILERS.values(), ids=TRAILERS)
async def test_trailers_do_not_fill_the_memory(trailer: bytes, tmp_path: Path) -> None:
    """A client without a credential is disconnected; the process grows by no more than the bytes in flight."""
    with service(tmp_path) as running:
        before = running.resident_bytes()
        async with connected(running.url) as (_, writer):
            writer.write(CHUNKED.encode() + BODY + b"0\r\nx: ")
            sent = await sent_before_the_end(writer, trailer, 32 * MIB)
        assert sent < 32 * MIB
        assert running.resident_bytes() - before < 24 * MIB
        async with connected(running.url) as (reader, writer):
            writer.write(b"GET /healthz HTTP/1.1\r\nhost: a\r\n\r\n")
            assert await status(reader) == 200


async def test_trailer_is_refused_by_name() -> None:
    """The answer is 400 and names the trailer, and the connection ends."""
    async with (
        http_service(create_app(InMemoryApplication())) as url,
        connected(url) as (reader, writer),
    ):
        writer.write(CHUNKED.encode() + BODY)
        writer.write(b"0\r\nx-digest: 1\r\n\r\n")
        answer = await reader.read()
    assert answer.startswith(b"HTTP/1.1 400")
    assert b"trailers" in answer


async def test_chunked_body_is_read_however_it_is_cut() -> None:
    """The body arrives byte by byte, and in one piece, several on one connection."""
    application = InMemoryApplication()
    request = CHUNKED.encode() + BODY[:2] + b";name=value" + BODY[2:] + b"0\r\n\r\n"
    async with http_service(create_app(application)) as url, connected(url) as (reader, writer):
        for byte in request * 2:
            writer.write(bytes([byte]))
            await writer.drain()
        writer.write(request)
        assert [await status(reader) for _ in range(3)] == [202, 202, 202]
    assert len(application.publishes) == 3


async def test_head_is_refused_when_it_has_too_many_headers() -> None:
    """The answer is 431 however small each header is."""
    async with http_service(create_app(InMemoryApplication())) as url, connected(url) as (reader, writer):
        writer.write(b"GET /healthz HTTP/1.1\r\nhost: a\r\n" + b"a: b\r\n" * 200 + b"\r\n")
        assert (await reader.read()).startswith(b"HTTP/1.1 431")


async def test_probe_server_of_a_worker_limits_headers() -> None:
    """The server of /healthz, /readyz and /metrics, which a worker opens before anything else."""
    async with _observed(Settings(metrics_port=0), CollectorRegistry(), WorkerHealth()) as url:
        async with connected(url) as (reader, writer):
            writer.write(b"GET /healthz HTTP/1.1\r\nhost: a\r\n\r\n")
            assert await status(reader) == 200
        async with connected(url) as (reader, writer):
            writer.write(b"GET /healthz HTTP/1.1\r\nhost: a\r\n" + b"a: b\r\n" * 200 + b"\r\n")
            assert (await reader.read()).startswith(b"HTTP/1.1 431")


async def test_connection_is_closed_when_a_refused_body_does_not_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A body without a credential is not read endlessly after its 401; one that ends leaves the connection usable."""
    monkeypatch.setattr("graphtide.services.api.http.transport.header_limits.LINGER_S", 0.5)
    guard = gate(keys(tmp_path), tmp_path)
    async with http_service(create_app(InMemoryApplication(), gate=guard)) as url:
        async with connected(url) as (reader, writer):
            writer.write(CHUNKED.encode())
            assert await status(reader) == 401
            writer.write(BODY + b"0\r\n\r\nGET /healthz HTTP/1.1\r\nhost: a\r\n\r\n")
            assert await status(reader) == 200
        async with connected(url) as (reader, writer):
            writer.write(CHUNKED.encode())
            assert await status(reader) == 401
            async with asyncio.timeout(60):
                assert await sent_before_the_end(writer, BODY, 1 << 40) < 1 << 40


async def test_connection_is_closed_when_an_answer_is_not_read(monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither a stream nor a whole answer is kept for a client that does not read it."""
    monkeypatch.setattr("graphtide.services.api.http.transport.header_limits.SEND_TIMEOUT_S", 0.5)
    application = InMemoryApplication()
    ask = b'{"question":"word"}'
    head = "POST /v1/graphs/notes/query HTTP/1.1\r\nhost: a\r\ncontent-type: application/json\r\naccept: %s\r\n"
    head += f"content-length: {len(ask)}\r\n\r\n"
    async with http_service(create_app(application)) as url, httpx.AsyncClient(base_url=url) as http:
        for number in range(5):
            text = "word " * 800_000
            assert (await http.put(f"/v1/graphs/notes/documents/{number}", json={"text": text})).status_code == 202
        for accept in ("text/event-stream", "application/json"):
            async with connected(url) as (reader, writer):
                writer.write((head % accept).encode() + ask)
                assert (await reader.readline()).startswith(b"HTTP/1.1 200")
                async with asyncio.timeout(60):
                    while True:  # the server closes the connection, whatever was left to read
                        writer.write(b"\r\n")
                        try:
                            await writer.drain()
                        except ConnectionError:
                            break
                        await asyncio.sleep(0.05)
        async with asyncio.timeout(60):
            while application.streams_closed == 0:
                await http.get("/healthz")


# -- the address of the client ---------------------------------------------------------------------------------------


def keys(folder: Path) -> KeyFile:
    """Return a file with one key."""
    made = KeyFile(folder / "keys.toml")
    made.add("reader", "notes", "read")
    return made


@pytest.fixture
def logged(caplog: pytest.LogCaptureFixture) -> Iterator[pytest.LogCaptureFixture]:
    """Return the log of requests, from INFO up."""
    with caplog.at_level(logging.INFO, logger="graphtide.access"):
        yield caplog


def clients(logged: pytest.LogCaptureFixture) -> set[str]:
    """Return the addresses in the log of requests."""
    return {record.client for record in logged.records if hasattr(record, "client")}


async def test_forwarded_address_does_not_evade_the_limit_on_failed_credentials(
    tmp_path: Path, logged: pytest.LogCaptureFixture
) -> None:
    """Without trusted proxies X-Forwarded-For is ignored, even from 127.0.0.1."""
    guard = gate(keys(tmp_path), tmp_path, CallerRateLimits(failed_auth_per_minute=3))
    async with (
        http_service(create_app(InMemoryApplication(), gate=guard)) as url,
        httpx.AsyncClient(base_url=url) as http,
    ):
        answers = [await http.get("/v1/graphs", headers={"x-forwarded-for": f"192.0.2.{n}"}) for n in range(5)]
    assert [answer.status_code for answer in answers] == [401, 401, 401, 429, 429]
    assert clients(logged) == {"127.0.0.1"}


@pytest.mark.parametrize(
    ("header", "client"),
    [
        ("192.0.2.1", "192.0.2.1"),
        ("198.51.100.9, 192.0.2.1", "192.0.2.1"),
        ("192.0.2.1, 127.0.0.1", "192.0.2.1"),
        ("[2001:db8::1]:443", "2001:db8::1"),
        ("192.0.2.1 status=200 key=admin", "127.0.0.1"),
        ("somebody", "127.0.0.1"),
        ("", "127.0.0.1"),
    ],
)
async def test_forwarded_address_of_a_trusted_proxy_is_an_address_or_nothing(
    header: str, client: str, logged: pytest.LogCaptureFixture
) -> None:
    """It is the last address that is not a proxy's; no log line contains other text of a header."""
    app = create_app(InMemoryApplication())
    async with http_service(app, "127.0.0.1, 10.0.0.0/8") as url, httpx.AsyncClient(base_url=url) as http:
        await http.get("/healthz", headers={"x-forwarded-for": header})
    assert clients(logged) == {client}


@pytest.mark.parametrize("listed", ["*", "proxy.example", "10.0.0.1/8", "127.0.0.1;10.0.0.1"])
def test_trusted_proxies_are_refused_when_they_are_no_addresses(listed: str) -> None:
    """The start fails with the wrong entry."""
    with pytest.raises(Broken, match="GRAPHTIDE_TRUSTED_PROXIES contains"):
        proxy_addresses(listed)


# -- bodies that do not begin ------------------------------------------------------------------------------------------


async def test_body_is_given_up_when_it_does_not_begin() -> None:
    """The answer is 408 after the body's time limit, whether its length is known or not."""
    limits = RequestLimits(body_timeout_s=0.3)
    sized = CHUNKED.replace("transfer-encoding: chunked", "content-length: 100")
    async with http_service(create_app(InMemoryApplication(), limits)) as url:
        for head in (CHUNKED, sized):
            async with connected(url) as (reader, writer), asyncio.timeout(60):
                writer.write(head.encode())
                assert await status(reader) == 408


async def test_bodies_that_do_not_arrive_hold_no_place() -> None:
    """Twice as many bodies as slots, begun and not begun, while other requests are served."""
    application = InMemoryApplication()
    limits = RequestLimits(max_in_flight=2)
    begun = CHUNKED.encode() + BODY[:8]
    async with http_service(create_app(application, limits)) as url, contextlib.AsyncExitStack() as stack:
        for head in (CHUNKED.encode(), begun) * 2:
            _, waiting = await stack.enter_async_context(connected(url))
            waiting.write(head)
            await waiting.drain()
        async with connected(url) as (reader, writer):
            for request in (b"GET /v1/graphs HTTP/1.1\r\nhost: a\r\n\r\n",) * 20:
                writer.write(request)
                assert await status(reader) == 200


async def test_arriving_bodies_of_one_address_leave_room_and_are_bounded() -> None:
    """One body too many gets 429 and is not read."""
    async with (
        http_service(create_app(InMemoryApplication(), RequestLimits(max_in_flight=1))) as url,
        contextlib.AsyncExitStack() as stack,
    ):
        answers = []
        for _ in range(3):
            reader, writer = await stack.enter_async_context(connected(url))
            writer.write(CHUNKED.encode())
            answers.append(asyncio.create_task(status(reader)))
        done, waiting = await asyncio.wait(answers, return_when=asyncio.FIRST_COMPLETED)
        assert [task.result() for task in done] == [429]
        for task in waiting:
            task.cancel()
        await asyncio.wait(waiting)


# -- bodies that trickle, and bodies that fill the memory together -----------------------------------------------------


async def test_body_is_given_up_when_it_trickles() -> None:
    """A byte now and then gets 408 long before the body's time limit; a pause in a body that was fast does not."""
    limits = RequestLimits(body_timeout_s=600, body_grace_s=0.2, min_body_bytes_per_s=1_000)
    text = b'{"text":"' + b"a b " * 25_000
    async with (
        http_service(create_app(InMemoryApplication(), limits)) as url,
        connected(url) as (reader, writer),
        connected(url) as (paused, pausing),
        asyncio.timeout(60),
    ):
        pausing.write(CHUNKED.encode() + b"%x\r\n%b\r\n" % (len(text), text))
        writer.write(CHUNKED.encode() + b"9\r\n" + b'{"text":"' + b"\r\n")
        trickle = asyncio.create_task(_trickle(writer))
        assert await status(reader) == 408
        trickle.cancel()
        pausing.write(b'2\r\n"}\r\n0\r\n\r\n')
        assert await status(paused) == 202


async def _trickle(writer: asyncio.StreamWriter) -> None:
    while True:
        writer.write(b"1\r\na\r\n")
        await asyncio.sleep(0.02)  # the pace of the client


async def test_bodies_are_refused_beyond_their_total_size() -> None:
    """A second unfinished body of one address gets 429 and when to come again; once the first ends there is room."""
    limits = RequestLimits(max_arriving_bytes=100_000)
    begun = b'{"text":"' + b"a b " * 15_000
    async with (
        http_service(create_app(InMemoryApplication(), limits)) as url,
        connected(url) as (first, writing),
        httpx.AsyncClient(base_url=url) as client,
        asyncio.timeout(60),
    ):
        writing.write(CHUNKED.encode() + b"%x\r\n%b\r\n" % (len(begun), begun))
        await writing.drain()
        while (refused := await _publish(client, begun + b'"}')).status_code != 429:
            assert refused.status_code == 202  # the first body has not arrived yet
        assert refused.headers["retry-after"] == "1"
        writing.write(b'2\r\n"}\r\n0\r\n\r\n')
        assert await status(first) == 202
        for _ in range(20):
            assert (await _publish(client, begun + b'"}')).status_code == 202


async def _publish(client: httpx.AsyncClient, body: bytes) -> httpx.Response:
    return await client.put(DOCUMENT, content=body, headers={"content-type": "application/json"})
