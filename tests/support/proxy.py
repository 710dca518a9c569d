"""A TCP proxy between a client and a server that a test can cut, stall, and make refuse.

It knows no protocol. Bytes flow as they come until `stall` holds them back; `cut` resets open connections; `refuse`
resets new ones. `on_bytes` sees what clients send, and may cut exactly there: on a COMMIT, for instance.
"""

from __future__ import annotations

import asyncio
import socket
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

_READ = 1 << 16


class Proxy:
    """The proxy that `proxy` yields. All its methods take effect at once."""

    def __init__(self, host: str, port: int) -> None:
        self._target = (host, port)
        self._open: set[asyncio.StreamWriter] = set()
        self._flows = asyncio.Event()
        self._flows.set()
        self._refuses = False
        self._drops_answers = False
        self.port = 0
        self.connections = 0
        self.on_bytes: Callable[[bytes], bool] | None = None
        """A predicate on what clients send, called before it is forwarded; True cuts every connection instead."""

    @property
    def address(self) -> str:
        return f"127.0.0.1:{self.port}"

    def cut(self) -> None:
        """Reset every open connection; new ones are accepted."""
        for writer in list(self._open):
            _reset(writer)
        self._open.clear()

    def drop_answers(self) -> None:
        """Forward what clients send, and cut when the server next answers: clients never see the answer."""
        self._drops_answers = True

    def stall(self) -> None:
        """Forward nothing and close nothing, as a dead network does."""
        self._flows.clear()

    def refuse(self) -> None:
        """Reset every open and every new connection."""
        self._refuses = True
        self.cut()

    def resume(self) -> None:
        """Forward bytes in both directions again."""
        self._refuses = False
        self._flows.set()

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Serve one client, until either side ends it."""
        self.connections += 1
        if self._refuses:
            _reset(writer)
            return
        try:
            up_reader, up_writer = await asyncio.open_connection(*self._target)
        except OSError:
            _reset(writer)
            return
        self._open |= {writer, up_writer}
        await asyncio.gather(
            self._flow(reader, up_writer, self._cuts), self._flow(up_reader, writer, self._cuts_answers)
        )
        self._open -= {writer, up_writer}

    async def _flow(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, cuts: Callable[[bytes], bool]
    ) -> None:
        try:
            while data := await reader.read(_READ):
                await self._flows.wait()
                if cuts(data):
                    self.cut()
                    return
                writer.write(data)
                await writer.drain()
        except OSError:
            pass  # one side is closed, so close the other, too
        finally:
            writer.close()

    def _cuts(self, data: bytes) -> bool:
        return self.on_bytes is not None and self.on_bytes(data)

    def _cuts_answers(self, _: bytes) -> bool:
        drops, self._drops_answers = self._drops_answers, False
        return drops


@asynccontextmanager
async def proxy(address: str) -> AsyncIterator[Proxy]:
    """Yield a proxy to `host:port` for the duration of a block."""
    host, _, port = address.rpartition(":")
    one = Proxy(host, int(port))
    server = await asyncio.start_server(one.serve, "127.0.0.1", 0)
    one.port = server.sockets[0].getsockname()[1]
    try:
        yield one
    finally:
        server.close()
        one.resume()
        one.cut()
        await server.wait_closed()


def _reset(writer: asyncio.StreamWriter) -> None:
    """Close with RST instead of FIN: the other side is notified at once, and loses bytes in transit."""
    sock = writer.get_extra_info("socket")
    if sock is not None and sock.fileno() != -1:
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\x01\0\0\0\0\0\0\0")
    writer.transport.abort()
