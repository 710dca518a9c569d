"""The proxy that injects faults: it forwards bytes until a test requests a fault."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager

import pytest

from tests.support.proxy import Proxy, proxy

TIMEOUT_S = 10.0
MOMENT_S = 0.2
"""The time within which a stalled proxy must forward nothing."""


@asynccontextmanager
async def echo() -> AsyncIterator[str]:
    """Yield the address of a server that echoes the bytes it receives."""

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while data := await reader.read(100):
                writer.write(data)
                await writer.drain()
        except OSError:
            pass  # connection reset
        finally:
            writer.close()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    try:
        yield f"127.0.0.1:{server.sockets[0].getsockname()[1]}"
    finally:
        server.close()
        await server.wait_closed()


class Client:
    """One connection through the proxy."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.reader, self.writer = reader, writer

    async def says(self, data: bytes) -> bytes:
        """Send the bytes and return the reply; b"" at the end of the connection."""
        self.writer.write(data)
        async with asyncio.timeout(TIMEOUT_S):
            return await self.reader.read(100)


Connect = Callable[[Proxy], Awaitable[Client]]


@pytest.fixture
async def wire() -> AsyncIterator[Proxy]:
    async with echo() as address, proxy(address) as one:
        yield one


@pytest.fixture
async def connect() -> AsyncIterator[Connect]:
    """Yield a function that opens connections; close them at the end."""
    made: list[Client] = []

    async def one(wire: Proxy) -> Client:
        host, _, port = wire.address.rpartition(":")
        made.append(Client(*await asyncio.open_connection(host, int(port))))
        return made[-1]

    yield one
    for client in made:
        client.writer.close()
        with contextlib.suppress(OSError):
            await client.writer.wait_closed()


async def test_proxy_hands_bytes_on_both_ways_and_counts_connections(wire: Proxy, connect: Connect) -> None:
    """Two clients at once each get their own bytes."""
    one, two = await connect(wire), await connect(wire)
    assert [await one.says(b"a"), await two.says(b"b"), await one.says(b"c")] == [b"a", b"b", b"c"]
    assert wire.connections == 2


async def test_proxy_resets_what_is_open_when_it_is_cut_and_takes_who_comes(wire: Proxy, connect: Connect) -> None:
    """The connection is reset instead of closed; a new connection works."""
    one = await connect(wire)
    assert await one.says(b"a") == b"a"
    wire.cut()
    with pytest.raises(ConnectionError):
        await one.says(b"b")
    assert await (await connect(wire)).says(b"c") == b"c"


async def test_proxy_refuses_everybody_until_it_is_a_wire_again(wire: Proxy, connect: Connect) -> None:
    """Open connections and new ones are reset."""
    one = await connect(wire)
    assert await one.says(b"a") == b"a"
    wire.refuse()
    for client in (one, await connect(wire)):
        with pytest.raises(ConnectionError):
            await client.says(b"b")
    wire.resume()
    assert await (await connect(wire)).says(b"c") == b"c"


async def test_proxy_that_stalls_lets_nothing_through_and_loses_nothing(wire: Proxy, connect: Connect) -> None:
    """The connection stays open; the bytes sent meanwhile arrive afterwards."""
    one = await connect(wire)
    assert await one.says(b"a") == b"a"
    wire.stall()
    one.writer.write(b"b")
    answer = asyncio.create_task(one.reader.read(100))
    done, _ = await asyncio.wait({answer}, timeout=MOMENT_S)
    assert not done
    wire.resume()
    async with asyncio.timeout(TIMEOUT_S):
        assert await answer == b"b"


async def test_proxy_cuts_exactly_at_the_bytes_that_a_test_names(wire: Proxy, connect: Connect) -> None:
    """The bytes never arrive, so no reply comes."""
    seen: list[bytes] = []

    def cuts(data: bytes) -> bool:
        seen.append(data)
        return b"COMMIT" in data

    wire.on_bytes = cuts
    one = await connect(wire)
    assert await one.says(b"BEGIN") == b"BEGIN"
    with pytest.raises(ConnectionError):
        await one.says(b"COMMIT")
    assert seen == [b"BEGIN", b"COMMIT"]


async def test_proxy_drops_one_answer_after_the_request_has_arrived(connect: Connect) -> None:
    """The server has executed the request, and the client does not see the answer: once."""
    arrived: list[bytes] = []

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while data := await reader.read(100):
                arrived.append(data)
                writer.write(b"done")
                await writer.drain()
        except OSError:
            pass  # connection reset
        finally:
            writer.close()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    async with proxy(f"127.0.0.1:{server.sockets[0].getsockname()[1]}") as wire:
        one = await connect(wire)
        wire.drop_answers()
        with pytest.raises(ConnectionError):
            await one.says(b"write")
        assert arrived == [b"write"]
        assert await (await connect(wire)).says(b"again") == b"done"
    server.close()
    await server.wait_closed()
