"""Conversion of large messages outside the event loop."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

T = TypeVar("T")

LARGE_BYTES = 16 << 10
"""Size from which a request is converted in a thread."""
LARGE_ITEMS = 100
"""Number of items of a result from which its message is made in a thread."""

_READERS = ThreadPoolExecutor(2, "graphtide-grpc-read")
_WRITERS = ThreadPoolExecutor(1, "graphtide-grpc-write")
"""Few threads: more would delay the event loop, with which they share the interpreter lock, and be no faster."""


async def read_aside(read: Callable[[], T], size_bytes: int) -> T:
    """Return the result of `read`, which converts a request of that size."""
    return read() if size_bytes < LARGE_BYTES else await _run(_READERS, read)


async def write_aside(write: Callable[[], T], items: int) -> T:
    """Return the result of `write`, which makes the message of a result with that many items."""
    return write() if items < LARGE_ITEMS else await _run(_WRITERS, write)


async def _run(threads: ThreadPoolExecutor, work: Callable[[], T]) -> T:
    return await asyncio.get_running_loop().run_in_executor(threads, work)
