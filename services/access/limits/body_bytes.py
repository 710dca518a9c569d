"""A limit on the bytes of all request bodies together, with fair shares.

A caller's first body is limited by the total only; with more than one, a caller takes further bytes only while as many
remain free as it then holds, so that one caller cannot take all (`places.py` limits their number in the same way). The
invariant: never more than `total` bytes are held.
"""

from __future__ import annotations

from collections import Counter

from graphtide.streams.errors import Overloaded

RETRY_AFTER_S = 1.0


class BodyBytes:
    """At most `total` bytes at a time. Belongs to one event loop; nothing waits for bytes."""

    def __init__(self, total: int) -> None:
        self._total = total
        self._bytes = 0
        self._bytes_of: Counter[str] = Counter()
        self._bodies_of: Counter[str] = Counter()

    @property
    def size_bytes(self) -> int:
        """Return the number of bytes of all bodies."""
        return self._bytes

    def body(self, name: str) -> BodyShare:
        """Return the share of one body of the caller; "" for a caller without a share of its own."""
        return BodyShare(self, name)

    def take(self, name: str, size: int, first: bool) -> None:
        """Hold `size` more bytes for a body, `first` if it holds none yet. Raises Overloaded."""
        free, bodies = self._total - self._bytes - size, self._bodies_of[name] + first
        if free < 0 or (name and bodies > 1 and self._bytes_of[name] + size > free):
            raise Overloaded(
                f"request bodies of {self._bytes} bytes are in progress already; try again later", RETRY_AFTER_S
            )
        self._bytes += size
        self._bytes_of[name] += size
        self._bodies_of[name] = bodies

    def release(self, name: str, size: int) -> None:
        """Release all bytes of one body."""
        self._bytes -= size
        self._bytes_of[name] -= size
        self._bodies_of[name] -= 1
        if not self._bodies_of[name]:
            del self._bodies_of[name], self._bytes_of[name]


class BodyShare:
    """The bytes of one body, held until its request ends."""

    def __init__(self, bodies: BodyBytes, name: str) -> None:
        self._bodies = bodies
        self._name = name
        self._size = 0

    def add(self, size: int) -> None:
        """Hold `size` more bytes. Raises Overloaded."""
        if size:
            self._bodies.take(self._name, size, first=not self._size)
            self._size += size

    def close(self) -> None:
        """Release the bytes."""
        if self._size:
            self._bodies.release(self._name, self._size)
            self._size = 0
