"""The HTTP protocol of the server, with a bound on what comes before a body. Not on bodies: `bodies.py`.

uvicorn's own reads headers until memory ends, from anybody, before a credential is looked at. The invariant: no more of
a request's head than MAX_HEAD_BYTES and two reads of the socket is ever held.
"""

from __future__ import annotations

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

MAX_HEAD_BYTES = 64 << 10
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
        super().on_message_begin()

    def on_headers_complete(self) -> None:
        self._open = False
        super().on_headers_complete()
