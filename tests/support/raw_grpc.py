"""A gRPC client that violates the protocol at will: HTTP/2 by frames, over a socket of its own."""

from __future__ import annotations

import asyncio
import contextlib
from collections import defaultdict
from collections.abc import AsyncIterator, Iterable

import h2.config
import h2.connection
import h2.events
import h2.exceptions
import h2.settings

CHUNK = 1 << 16


class RawClient:
    """One connection. It sends only what a test requests; the server's frames are kept by stream."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, window: int) -> None:
        config = h2.config.H2Configuration(client_side=True, header_encoding="utf-8", validate_outbound_headers=False)
        self._http = h2.connection.H2Connection(config)
        self._reader = reader
        self._writer = writer
        self.headers: dict[int, dict[str, str]] = defaultdict(dict)
        self.goaway: bytes | None = None
        self.closed = False
        self._http.local_settings = h2.settings.Settings(
            client=True, initial_values={h2.settings.SettingCodes.INITIAL_WINDOW_SIZE: window}
        )
        self._http.initiate_connection()

    async def open(self, method: str, metadata: Iterable[tuple[str, str]] = ()) -> int:
        """Begin a call without its message, and return the stream's number."""
        stream = self._http.get_next_available_stream_id()
        head = [(":method", "POST"), (":scheme", "http"), (":path", method), (":authority", "localhost")]
        head += [("te", "trailers"), ("content-type", "application/grpc"), *metadata]
        self._http.send_headers(stream, head)
        await self.flush()
        return stream

    async def send(self, stream: int, message: bytes, end: bool = False) -> None:
        """Send one message of the call; `end` marks the last one."""
        self._http.send_data(stream, b"\0" + len(message).to_bytes(4, "big") + message, end_stream=end)
        await self.flush()

    async def ping(self) -> None:
        self._http.ping(b"graphtid")
        await self.flush()

    async def flush(self) -> None:
        self._writer.write(self._http.data_to_send())
        await self._writer.drain()

    async def receive(self) -> None:
        """Receive what the server sends next, without extending any window."""
        data = await self._reader.read(CHUNK)
        if not data:
            self.closed = True
            return
        for event in self._events(data):
            if isinstance(event, h2.events.ResponseReceived | h2.events.TrailersReceived):
                self.headers[event.stream_id] |= {str(name): str(value) for name, value in event.headers}
            elif isinstance(event, h2.events.ConnectionTerminated):
                self.goaway = event.additional_data or b""
        await self.flush()

    def _events(self, data: bytes) -> list[h2.events.Event]:
        """Return the events of frames; none after a GOAWAY, which the library treats as the end."""
        if self.goaway is not None:
            return []
        try:
            return self._http.receive_data(data)
        except h2.exceptions.ProtocolError:
            self.goaway = b""
            return []

    async def status(self, stream: int) -> int:
        """Return the call's gRPC status, once it has ended."""
        while "grpc-status" not in self.headers[stream]:
            assert not self.closed
            await self.receive()
        return int(self.headers[stream]["grpc-status"])


@contextlib.asynccontextmanager
async def raw_client(address: str, window: int = CHUNK) -> AsyncIterator[RawClient]:
    """Yield a connection to the address; each stream takes at most `window` bytes of an answer."""
    host, _, port = address.rpartition(":")
    reader, writer = await asyncio.open_connection(host, int(port))
    client = RawClient(reader, writer, window)
    try:
        await client.flush()
        await client.receive()
        yield client
    finally:
        writer.close()
        with contextlib.suppress(ConnectionError):
            await writer.wait_closed()
