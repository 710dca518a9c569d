"""The proxy that faults are made with: it is a wire until it is told to be something else."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager

import pytest

from tests.support.proxy import Proxy, proxy

PATIENCE_S = 10.0
MOMENT_S = 0.2
"""Within which nothing may come through a wire that is stalled."""


@asynccontextmanager
async def echo() -> AsyncIterator[str]:
    """The address of a server that sends back what it gets."""

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while data := await reader.read(100):
                writer.write(data)
                await writer.drain()
        except OSError:
            pass  # reset
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
        """What comes back for this; b"" at the end of the connection."""
        self.writer.write(data)
        async with asyncio.timeout(PATIENCE_S):
            return await self.reader.read(100)


Connect = Callable[[Proxy], Awaitable[Client]]


@pytest.fixture
async def wire() -> AsyncIterator[Proxy]:
    async with echo() as address, proxy(address) as one:
        yield one


@pytest.fixture
async def connect() -> AsyncIterator[Connect]:
    """Makes connections, and closes them."""
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
    """Two clients at once, each its own bytes."""
    one, two = await connect(wire), await connect(wire)
    assert [await one.says(b"a"), await two.says(b"b"), await one.says(b"c")] == [b"a", b"b", b"c"]
    assert wire.connections == 2


async def test_proxy_resets_what_is_open_when_it_is_cut_and_takes_who_comes(wire: Proxy, connect: Connect) -> None:
    """A reset, not an orderly end; a new connection works."""
    one = await connect(wire)
    assert await one.says(b"a") == b"a"
    wire.cut()
    with pytest.raises(ConnectionError):
        await one.says(b"b")
    assert await (await connect(wire)).says(b"c") == b"c"


async def test_proxy_refuses_everybody_until_it_is_a_wire_again(wire: Proxy, connect: Connect) -> None:
    """Those who are connected, and those who come."""
    one = await connect(wire)
    assert await one.says(b"a") == b"a"
    wire.refuse()
    for client in (one, await connect(wire)):
        with pytest.raises(ConnectionError):
            await client.says(b"b")
    wire.resume()
    assert await (await connect(wire)).says(b"c") == b"c"


async def test_proxy_that_stalls_lets_nothing_through_and_loses_nothing(wire: Proxy, connect: Connect) -> None:
    """The connection stays open; what was sent meanwhile comes afterwards."""
    one = await connect(wire)
    assert await one.says(b"a") == b"a"
    wire.stall()
    one.writer.write(b"b")
    answer = asyncio.create_task(one.reader.read(100))
    done, _ = await asyncio.wait({answer}, timeout=MOMENT_S)
    assert not done
    wire.resume()
    async with asyncio.timeout(PATIENCE_S):
        assert await answer == b"b"


async def test_proxy_cuts_exactly_at_the_bytes_that_a_test_names(wire: Proxy, connect: Connect) -> None:
    """They never arrive, so nothing comes back for them."""
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
    """The server has done it, and the client does not learn so: once."""
    arrived: list[bytes] = []

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while data := await reader.read(100):
                arrived.append(data)
                writer.write(b"done")
                await writer.drain()
        except OSError:
            pass  # reset
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
