"""Transports of connections that exist in memory alone."""

from __future__ import annotations

import asyncio


class Sink(asyncio.Transport):
    """A transport that keeps what is written, until it is closed."""

    def __init__(self) -> None:
        super().__init__()
        self.written = b""
        self.paused = False
        self.resumed = asyncio.Event()
        self._is_closing = False

    def pause_reading(self) -> None:
        self.paused = True
        self.resumed.clear()

    def resume_reading(self) -> None:
        self.paused = False
        self.resumed.set()

    def write(self, data: bytes | bytearray | memoryview) -> None:
        self.written += bytes(data)

    def close(self) -> None:
        self._is_closing = True

    def is_closing(self) -> bool:
        return self._is_closing

    def get_write_buffer_size(self) -> int:
        return 0
