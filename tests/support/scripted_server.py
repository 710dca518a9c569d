"""An HTTP server that answers each request by a script, byte for byte: what a broken or hostile server sends."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from dataclasses import dataclass, field

Reply = bytes | Callable[[asyncio.StreamWriter], Awaitable[None]]


@dataclass(frozen=True, slots=True)
class ReceivedRequest:
    """A request as it arrived. Names of headers are in lower case."""

    method: str
    path: str
    headers: Mapping[str, str]
    body: bytes


@dataclass(slots=True)
class Script:
    """The replies in order, the last one for every further request; and what arrived."""

    replies: list[Reply]
    url: str = ""
    requests: list[ReceivedRequest] = field(default_factory=list)
    arrived: asyncio.Event = field(default_factory=asyncio.Event)
    hung_up: asyncio.Event = field(default_factory=asyncio.Event)

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Answer one connection: one request, then close it."""
        try:
            self.requests.append(await _request(reader))
            self.arrived.set()
            reply = self.replies.pop(0) if len(self.replies) > 1 else self.replies[0]
            if isinstance(reply, bytes):
                writer.write(reply)
            else:
                await reply(writer)
            await writer.drain()
            if reply is hang:
                await reader.read()
                self.hung_up.set()
        except (ConnectionError, asyncio.IncompleteReadError):
            pass
        finally:
            writer.close()


async def hang(_: asyncio.StreamWriter) -> None:
    """Send nothing; the server then waits until the client closes the connection, and sets `hung_up`."""


async def _request(reader: asyncio.StreamReader) -> ReceivedRequest:
    head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
    method, path, _ = head[0].split(" ")
    pairs = (line.split(":", 1) for line in head[1:] if line)
    headers = {name.lower(): value.strip() for name, value in pairs}
    body = await reader.readexactly(int(headers.get("content-length", 0)))
    return ReceivedRequest(method, path, headers, body)


@contextlib.asynccontextmanager
async def scripted(*replies: Reply) -> AsyncIterator[Script]:
    """Yield a server on a free port of this machine that gives the replies."""
    script = Script(list(replies))
    server = await asyncio.start_server(script.serve, "127.0.0.1", 0)
    script.url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
    try:
        yield script
    finally:
        server.close()


def reply(status: int, body: bytes | str, **headers: str) -> bytes:
    """Return a whole response; the names of headers are given with underscores."""
    content = body.encode() if isinstance(body, str) else body
    lines = [f"HTTP/1.1 {status} X", f"content-length: {len(content)}", "connection: close"]
    lines += [f"{name.replace('_', '-')}: {value}" for name, value in headers.items()]
    return "\r\n".join((*lines, "", "")).encode() + content


def error(status: int, code: str, message: str = "m", **headers: str) -> bytes:
    """Return a response with an error of the service."""
    return reply(status, f'{{"error": {{"code": "{code}", "message": "{message}"}}}}', **headers)
