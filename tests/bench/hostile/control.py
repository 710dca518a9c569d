"""A control for the latency of /healthz: a process with the same event loop that does nothing but answer.

Its latency beside a case is the time that the machine lets an idle process wait for a core, which no service can avoid.
"""

from __future__ import annotations

import asyncio
import multiprocessing
from collections.abc import Iterator
from contextlib import contextmanager
from multiprocessing.connection import Connection

from graphtide.services.process.serve import loop_factory

_ANSWER = b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\nconnection: close\r\n\r\n{}"


@contextmanager
def control() -> Iterator[str]:
    """Run the process during the block, and yield its address as host and port."""
    ours, theirs = multiprocessing.Pipe()
    process = multiprocessing.get_context("spawn").Process(target=_serve, args=(theirs,), daemon=True)
    process.start()
    try:
        yield f"127.0.0.1:{ours.recv()}"
    finally:
        ours.send("end")
        process.join()


def _serve(commands: Connection) -> None:
    with asyncio.Runner(loop_factory=loop_factory()) as runner:
        runner.run(_answer(commands))


async def _answer(commands: Connection) -> None:
    async def connected(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(_ANSWER)
        writer.close()

    server = await asyncio.start_server(connected, "127.0.0.1", 0)
    commands.send(server.sockets[0].getsockname()[1])
    ended = asyncio.Event()
    asyncio.get_running_loop().add_reader(commands.fileno(), ended.set)
    await ended.wait()
    server.close()
