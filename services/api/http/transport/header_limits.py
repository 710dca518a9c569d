"""The HTTP protocol of the server, with limits on request headers, trailers, unread bodies and unread responses.

uvicorn limits neither the size nor the arrival time of headers, buffers trailers without limit, reads the rest of a
refused body without limit, and waits for a slow reader without limit. The invariants: at most MAX_HEAD_BYTES and two
socket reads of a request's header section are held; a connection is closed when it takes longer than HEAD_TIMEOUT_S for
a header section or before its first one, sends a trailer, continues a body for LINGER_S or LINGER_BYTES after the
response, or reads less than MIN_SENT_BYTES of a waiting response in SEND_TIMEOUT_S.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import cast

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

MAX_HEAD_BYTES = 64 << 10
MAX_HEADERS = 128
HEAD_TIMEOUT_S = 20.0
LINGER_BYTES = 64 << 20
LINGER_S = 5.0
"""Limits on the part of a body that is read and dropped after the response. An immediate close would reset the
connection, and most clients then lose the response in their buffer."""
LINGER_PAUSE_S = 0.01
"""Time between two reads of that part. libuv reads a connection up to 32 times in a pass of the event loop, 8 MB, which
several connections that send as fast as they can would turn into a tenth of a second for each pass."""
SEND_TIMEOUT_S = 20.0
MIN_SENT_BYTES = 16 << 10

REFUSED_KEY = "graphtide.refused"
"""The key in a request's scope that is set when the server refused the request: the application need not begin it."""

_LAST_LINE_BYTES = 2
"""Bytes that may follow the last chunk's header without being a trailer."""


def _refusal(status: bytes, code: bytes, message: bytes) -> bytes:
    body = b'{"error":{"code":"%b","message":"%b"}}' % (code, message)
    head = b"HTTP/1.1 %b\r\ncontent-type: application/json\r\ncontent-length: %d\r\nconnection: close\r\n\r\n"
    return head % (status, len(body)) + body


_LARGE_HEAD = _refusal(
    b"431 Request Header Fields Too Large",
    b"head_too_large",
    b"the request line and headers exceed the limit; send fewer or shorter headers",
)
_TRAILER = _refusal(b"400 Bad Request", b"malformed", b"the body has trailers; send it without them")


class _RefusedError(Exception):
    """The request is refused; the parser catches this."""


class _Timer:
    """At most one timer at a time on the loop of a connection."""

    def __init__(self, loop: asyncio.AbstractEventLoop, act: Callable[[], None]) -> None:
        self._loop = loop
        self._act = act
        self._handle: asyncio.TimerHandle | None = None

    def start(self, seconds: float) -> None:
        self.stop()
        self._handle = self._loop.call_later(seconds, self._act)

    def stop(self) -> None:
        if self._handle is not None:
            self._handle.cancel()
            self._handle = None

    def end(self) -> None:
        """Stop it for good, and release the connection: the two refer to each other."""
        self.stop()
        self._act = _do_nothing


def _do_nothing() -> None:
    pass


class HeaderLimitedProtocol(HttpToolsProtocol):
    """HTTP protocol that refuses requests beyond the limits and closes the connection; uvicorn's option `http`."""

    _heads = 0
    """Header sections begun on this connection."""
    _open = False
    _head_bytes = 0
    _progress = 0
    """Chunk headers, body pieces and ends of messages so far."""
    _in_chunk_header = False
    """True when the latest of them was a chunk's header."""
    _tail_bytes = 0
    """Bytes since then: after the last chunk, the bytes of a trailer."""
    _discarded_bytes = 0
    _unsent_bytes = 0
    _head_timer: _Timer
    _linger_timer: _Timer
    _send_timer: _Timer

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._head_timer = _Timer(self.loop, self._abort)
        self._linger_timer = _Timer(self.loop, self._abort)
        self._send_timer = _Timer(self.loop, self._abort_unread)
        self._head_timer.start(HEAD_TIMEOUT_S)

    def connection_lost(self, exc: Exception | None) -> None:
        for timer in (self._head_timer, self._linger_timer, self._send_timer):
            timer.end()
        super().connection_lost(exc)

    def _abort(self) -> None:
        self.transport.abort()

    def _wait_for_reader(self) -> None:
        self._unsent_bytes = self.transport.get_write_buffer_size()
        self._send_timer.start(SEND_TIMEOUT_S)

    def _abort_unread(self) -> None:
        if self._unsent_bytes - self.transport.get_write_buffer_size() < MIN_SENT_BYTES:
            self.transport.abort()
        else:
            self._wait_for_reader()

    def _refuse(self, answer: bytes) -> None:
        """Send the refusal unless the application has begun a response, and close."""
        if self.transport.is_closing():
            return
        cycle = self.cycle
        if cycle is None or cycle.response_complete or not cycle.response_started:
            self.transport.write(answer)
        if cycle is not None and not cycle.response_complete:
            cycle.disconnected = True
            cast("dict[str, object]", cycle.scope)[REFUSED_KEY] = True
            cycle.message_event.set()
        self.transport.close()
        self._wait_for_reader()

    def data_received(self, data: bytes) -> None:
        if self.transport.is_closing():
            return
        head, progress = self._heads, self._progress
        super().data_received(data)
        if self._open and self._heads == head:  # all of it belongs to a header section begun earlier
            self._head_bytes += len(data)
            if self._head_bytes > MAX_HEAD_BYTES:
                self._refuse(_LARGE_HEAD)
        if self._in_chunk_header and self._progress == progress:
            self._tail_bytes += len(data)
            if self._tail_bytes > _LAST_LINE_BYTES:
                self._refuse(_TRAILER)
        if self._is_idle() and self.timeout_keep_alive_task is None:
            self._wait_for_next()

    def _is_idle(self) -> bool:
        """Return True when the latest request is answered and no further one has begun."""
        cycle = self.cycle
        return cycle is not None and cycle.response_complete and not cycle.more_body and not self._open

    def _wait_for_next(self) -> None:
        if not self.transport.is_closing():
            wait_s = self.timeout_keep_alive
            self.timeout_keep_alive_task = self.loop.call_later(wait_s, self.timeout_keep_alive_handler)

    # -- callbacks of the parser ---------------------------------------------------------------------------------------

    def on_message_begin(self) -> None:
        self._heads += 1
        self._open, self._head_bytes = True, 0
        self._head_timer.start(HEAD_TIMEOUT_S)
        super().on_message_begin()

    def on_header(self, name: bytes, value: bytes) -> None:
        if self._open and len(self.headers) < MAX_HEADERS:
            super().on_header(name, value)
            return
        self._refuse(_LARGE_HEAD if self._open else _TRAILER)
        raise _RefusedError  # ends the parser's call, which would report each further line of the arrival

    def send_400_response(self, msg: str) -> None:
        """Answer an arrival that the parser refused, unless it is answered already."""
        if not self.transport.is_closing():
            super().send_400_response(msg)

    def on_headers_complete(self) -> None:
        self._open = False
        self._head_timer.stop()
        if not self.transport.is_closing():
            super().on_headers_complete()

    def on_chunk_header(self) -> None:
        self._note_progress(in_chunk_header=True)

    def _note_progress(self, in_chunk_header: bool = False) -> None:
        self._progress += 1
        self._in_chunk_header, self._tail_bytes = in_chunk_header, 0

    def on_body(self, body: bytes) -> None:
        self._note_progress()
        if self.cycle is None or self.transport.is_closing():
            return
        if self.cycle.response_complete:
            self._discarded_bytes += len(body)
            if self._discarded_bytes > LINGER_BYTES:
                self.transport.abort()
            elif not self.flow.read_paused:
                self.flow.pause_reading()
                self.loop.call_later(LINGER_PAUSE_S, self._read_on)
        super().on_body(body)

    def _read_on(self) -> None:
        if not self.transport.is_closing():
            self.flow.resume_reading()

    def on_message_complete(self) -> None:
        self._note_progress()
        self._linger_timer.stop()
        if self.cycle is None or self.transport.is_closing():
            return
        if self.cycle.response_complete:
            self.cycle.more_body = False
        super().on_message_complete()

    # -- callbacks of uvicorn and the transport ------------------------------------------------------------------------

    def on_response_complete(self) -> None:
        super().on_response_complete()
        if self.transport.is_closing():
            self._wait_for_reader()
        elif self.cycle.response_complete and self.cycle.more_body:
            self._discarded_bytes = 0
            self._linger_timer.start(LINGER_S)

    def timeout_keep_alive_handler(self) -> None:
        super().timeout_keep_alive_handler()
        self._wait_for_reader()

    def pause_writing(self) -> None:
        super().pause_writing()
        self._wait_for_reader()

    def resume_writing(self) -> None:
        self._send_timer.stop()
        super().resume_writing()
