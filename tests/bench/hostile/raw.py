"""Attacks without a credential on an open service: large wrong bodies, and bytes that arrive slowly or never."""

from __future__ import annotations

import asyncio
import contextlib
from urllib.parse import urlsplit

import httpx

from tests.support.processes import Service

GRAPH = "/v1/graphs/notes"
AS_JSON, AS_LINES = {"content-type": "application/json"}, {"content-type": "application/x-ndjson"}
CHUNKED = f"PUT {GRAPH}/documents/a HTTP/1.1\r\nhost: a\r\ncontent-type: application/json\r\n"
CHUNKED += "transfer-encoding: chunked\r\n\r\n"


async def idle(_: Service) -> None:
    """Do nothing."""
    await asyncio.Event().wait()


async def empty_facts(running: Service) -> None:
    """Send 8 MB of empty facts, four at a time."""
    await _repeat(running, "PUT", f"{GRAPH}/documents/a", AS_JSON, b'{"text":"a","facts":' + _list(2_700_000) + b"}")


async def wrong_facts(running: Service) -> None:
    """Send the maximum number of wrong facts that are checked."""
    await _repeat(running, "PUT", f"{GRAPH}/documents/a", AS_JSON, b'{"text":"a","facts":' + _list(5_000) + b"}")


async def filters(running: Service) -> None:
    """Send a filter with a million values."""
    body = b'{"question":"a","filters":{"doc_ids":[' + b"1," * 1_000_000 + b"1]}}"
    await _repeat(running, "POST", f"{GRAPH}/query", AS_JSON, body)


async def batch_list(running: Service) -> None:
    """Send a batch of 24 MB, its documents crowded with wrong facts."""
    document = b'{"id":"a","text":"a","facts":' + _list(5_000) + b"}"
    await _repeat(running, "POST", f"{GRAPH}/documents", AS_JSON, b"[" + b",".join([document] * 1_000) + b"]", 2)


async def batch_lines(running: Service) -> None:
    """Send 24 MB of lines that are not documents."""
    await _repeat(running, "POST", f"{GRAPH}/documents", AS_LINES, b"{}\n" * 8_000_000, 2)


async def trailers(running: Service) -> None:
    """Send trailers without an end, on eight connections."""
    await _send_for_ever(running, CHUNKED.encode() + b"2\r\n{}\r\n0\r\n", b"x: y\r\n" * 10_000, 8)


async def endless_bodies(running: Service) -> None:
    """Send bodies without an end, on eight connections."""
    await _send_for_ever(running, CHUNKED.encode(), b"10000\r\n" + b" " * 65536 + b"\r\n", 8)


async def bodies_that_do_not_begin(running: Service) -> None:
    """Send 500 heads, and nothing after them."""
    await _send_for_ever(running, CHUNKED.encode(), b"", 500)


async def unread_answers(running: Service) -> None:
    """Request 80 streamed answers and read none of them."""
    ask = b'{"question":"Who discovered polonium?","top_k":100}'
    head = f"POST {GRAPH}/query HTTP/1.1\r\nhost: a\r\ncontent-type: application/json\r\naccept: text/event-stream\r\n"
    await _send_for_ever(running, head.encode() + b"content-length: %d\r\n\r\n" % len(ask) + ask, b"", 80, unread=True)


CASES = (
    idle,
    empty_facts,
    wrong_facts,
    filters,
    batch_list,
    batch_lines,
    trailers,
    endless_bodies,
    bodies_that_do_not_begin,
    unread_answers,
)


def _list(count: int) -> bytes:
    return b"[" + b",".join([b"{}"] * count) + b"]"


async def _repeat(
    running: Service, method: str, path: str, headers: dict[str, str], body: bytes, workers: int = 4
) -> None:
    """Send one request repeatedly from that many workers."""

    async def send(client: httpx.AsyncClient) -> None:
        while True:
            with contextlib.suppress(httpx.HTTPError):
                await client.request(method, path, headers=headers, content=body)

    async with httpx.AsyncClient(base_url=running.url, timeout=120) as client, asyncio.TaskGroup() as group:
        for _ in range(workers):
            group.create_task(send(client))


async def _send_for_ever(running: Service, first: bytes, then: bytes, connections: int, unread: bool = False) -> None:
    """Hold that many connections; on each send `first`, then `then` repeatedly. A closed one is opened again."""
    place = urlsplit(running.url)

    async def hold() -> None:
        while True:
            with contextlib.suppress(OSError):
                reader, writer = await asyncio.open_connection(place.hostname, place.port)
                writer.write(first)
                while then:
                    writer.write(then)
                    await writer.drain()
                await asyncio.Event().wait() if unread else await reader.read()
            await asyncio.sleep(0.05)

    async with asyncio.TaskGroup() as group:
        for _ in range(connections):
            group.create_task(hold())
