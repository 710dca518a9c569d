"""The HTTP protocol of the server, with bounds on what comes before a body. Not on bodies: `bodies.py`.

uvicorn's own reads headers until memory ends, and waits for them for ever, from anybody, before a credential is looked
at. The invariants: no more of a request's head than MAX_HEAD_BYTES and two reads of the socket is ever held, and no
connection that has begun one, or has sent nothing yet, for longer than HEAD_TIMEOUT_S.
"""

from __future__ import annotations

import asyncio

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

MAX_HEAD_BYTES = 64 << 10
HEAD_TIMEOUT_S = 20.0
_BODY = b'{"error":{"code":"head_too_large","message":"the request line and headers are too large"}}'
_REFUSAL = (
    b"HTTP/1.1 431 Request Header Fields Too Large\r\ncontent-type: application/json\r\n"
    b"content-length: %d\r\nconnection: close\r\n\r\n%b" % (len(_BODY), _BODY)
)


class BoundedHeads(HttpToolsProtocol):
    """Refuses with 431 and closes. To be given to uvicorn as `http`."""

    _heads = 0
    """Heads begun on this connection."""
    _open = False
    _head_bytes = 0
    _patience: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._wait_for_head()

    def connection_lost(self, exc: Exception | None) -> None:
        self._wait_no_more()
        super().connection_lost(exc)

    def _wait_for_head(self) -> None:
        self._wait_no_more()
        self._patience = self.loop.call_later(HEAD_TIMEOUT_S, self._give_up)

    def _wait_no_more(self) -> None:
        if self._patience is not None:
            self._patience.cancel()
            self._patience = None

    def _give_up(self) -> None:
        if not self.transport.is_closing():
            self.transport.abort()

    def data_received(self, data: bytes) -> None:
        number = self._heads
        super().data_received(data)
        if self._open and self._heads == number:  # all of it belongs to a head that was begun before
            self._head_bytes += len(data)
            if self._head_bytes > MAX_HEAD_BYTES and not self.transport.is_closing():
                self.transport.write(_REFUSAL)
                self.transport.close()

    def on_message_begin(self) -> None:
        self._heads += 1
        self._open, self._head_bytes = True, 0
        self._wait_for_head()
        super().on_message_begin()

    def on_headers_complete(self) -> None:
        self._open = False
        self._wait_no_more()
        super().on_headers_complete()
