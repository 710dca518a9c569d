"""A TCP proxy between a client and a server that can be cut, stalled, and made to refuse, when a test says so.

It knows no protocol. Bytes flow as they come until `stall` holds them back; `cut` resets what is open; `refuse` resets
whoever connects anew. `on_bytes` sees what clients send, and may cut exactly there: on a COMMIT, for instance.
"""

from __future__ import annotations

import asyncio
import socket
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

_READ = 1 << 16


class Proxy:
    """Made by `proxy`. All its methods take effect at once."""

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
        """Asked about what clients send, before it is handed on; True cuts everything instead."""

    @property
    def address(self) -> str:
        return f"127.0.0.1:{self.port}"

    def cut(self) -> None:
        """Reset every open connection; new ones are taken."""
        for writer in list(self._open):
            _reset(writer)
        self._open.clear()

    def drop_answers(self) -> None:
        """Hand on what clients send, and cut when the server next answers: they never learn what came of it."""
        self._drops_answers = True

    def stall(self) -> None:
        """Let nothing through, and close nothing: what a dead network looks like."""
        self._flows.clear()

    def refuse(self) -> None:
        """Reset everybody, now and whoever comes."""
        self._refuses = True
        self.cut()

    def resume(self) -> None:
        """Be a wire again."""
        self._refuses = False
        self._flows.set()

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """One client, until either side ends it."""
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
            pass  # one side is gone, so the other goes, too
        finally:
            writer.close()

    def _cuts(self, data: bytes) -> bool:
        return self.on_bytes is not None and self.on_bytes(data)

    def _cuts_answers(self, _: bytes) -> bool:
        drops, self._drops_answers = self._drops_answers, False
        return drops


@asynccontextmanager
async def proxy(address: str) -> AsyncIterator[Proxy]:
    """A proxy to `host:port` for the length of a block."""
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
    """Close with RST instead of FIN: the other side learns at once, and loses what is on its way."""
    sock = writer.get_extra_info("socket")
    if sock is not None and sock.fileno() != -1:
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\x01\0\0\0\0\0\0\0")
    writer.transport.abort()
