"""Every implementation of the storage ports, opened the same way: the contract suites run over all of them."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

from graphtide.infra.bolt import BoltAddress, BoltBackend, BoltLedger, BoltStore
from graphtide.infra.sqlite import SqliteBackend
from graphtide.streams.messages import DELTAS
from graphtide.streams.ports import Commit, ConsumedRecord, Record
from tests.model.memory import MemoryBackend, MemoryLog
from tests.support.neo4j_server import GraphServer, clear

NAMES = ("memory", "sqlite")
WITH_SERVERS = (*NAMES, "bolt")
"""NAMES, and the implementations that need a server: for the contract suites."""


@dataclass
class Clock:
    """A clock in milliseconds that advances only when the test advances it."""

    now_ms: int = 1_000

    def __call__(self) -> int:
        return self.now_ms


class BoltParts:
    """A store and a ledger on a graph database, with an in-memory log to which every commit's notices are relayed."""

    def __init__(self, backend: BoltBackend, log: MemoryLog) -> None:
        self.log = log
        self.ledger: BoltLedger = backend.ledger
        self.store: BoltStore = _Relayed(backend, log)


class _Relayed(BoltStore):
    def __init__(self, backend: BoltBackend, log: MemoryLog) -> None:
        super().__init__(backend.database, backend.ledger, backend.clock_ms)
        self._notices = log

    async def commit(self, commit: Commit) -> None:
        await super().commit(commit)
        while waiting := await self.outbox.waiting(commit.partition, 2):
            await self._notices.append(DELTAS, [record for _, record in waiting])
            await self.outbox.sent(commit.partition, waiting[-1][0])


Backend = MemoryBackend | SqliteBackend | BoltParts


async def accepted(backend: Backend, records: Sequence[Record], at_ms: int = 1_000) -> list[int]:
    """Accept the records, have extraction see them, and return the numbers of their revisions."""
    positions = await backend.ledger.accept(records)
    delivered = [ConsumedRecord(position, at_ms, record) for position, record in zip(positions, records, strict=True)]
    return list(await backend.ledger.register(delivered))


@asynccontextmanager
async def opened_for(
    request: pytest.FixtureRequest, name: str, folder: Path, clock: Callable[[], int]
) -> AsyncIterator[Backend]:
    """Yield an implementation as `opened` does, also by the names that need a server, which the first use starts."""
    if name != "bolt":
        async with opened(name, folder, clock) as backend:
            yield backend
        return
    server: GraphServer = request.getfixturevalue("graph_server")
    async with opened_bolt(server.address, clock) as parts:
        yield parts


@asynccontextmanager
async def opened_bolt(address: BoltAddress, clock: Callable[[], int], partitions: int = 1) -> AsyncIterator[BoltParts]:
    """Yield the parts of an empty graph database."""
    clear(address)
    log = MemoryLog(partitions, clock)
    backend = await BoltBackend.open(address, log, clock)
    try:
        yield BoltParts(backend, log)
    finally:
        await backend.close()


@asynccontextmanager
async def opened(name: str, folder: Path, clock: Callable[[], int]) -> AsyncIterator[MemoryBackend | SqliteBackend]:
    """Yield an implementation by name; close it at the end."""
    if name == "memory":
        yield MemoryBackend(clock_ms=clock)
        return
    backend = await SqliteBackend.open(folder, clock_ms=clock)
    try:
        yield backend
    finally:
        await backend.close()
