"""Every implementation of the storage ports, opened the same way: the contract suites run over all of them."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

from infra.sqlite import SqliteBackend
from streams.memory import MemoryBackend

Backend = MemoryBackend | SqliteBackend
NAMES = ("memory", "sqlite")


@dataclass
class Clock:
    """Milliseconds that pass when the test says so."""

    now_ms: int = 1_000

    def __call__(self) -> int:
        return self.now_ms


@asynccontextmanager
async def opened(name: str, folder: Path, clock: Callable[[], int]) -> AsyncIterator[Backend]:
    """An implementation by name, closed at the end."""
    if name == "memory":
        yield MemoryBackend(clock_ms=clock)
        return
    backend = await SqliteBackend.open(folder, clock_ms=clock)
    try:
        yield backend
    finally:
        await backend.close()
