"""A graph database with an empty store, directly and through a proxy."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from graphtide.infra.bolt import BoltBackend
from tests.model.memory import MemoryLog
from tests.support.backends import Clock
from tests.support.neo4j_server import GraphServer, clear
from tests.support.proxy import Proxy, proxy


@pytest.fixture
def clock() -> Clock:
    return Clock(now_ms=10_000_000)


@pytest.fixture
def log(clock: Clock) -> MemoryLog:
    return MemoryLog(3, clock)


@pytest.fixture
async def backend(graph_server: GraphServer, log: MemoryLog, clock: Clock) -> AsyncIterator[BoltBackend]:
    clear(graph_server.address)
    one = await BoltBackend.open(graph_server.address, log, clock)
    yield one
    await one.close()


@pytest.fixture
async def wire(graph_server: GraphServer) -> AsyncIterator[Proxy]:
    async with proxy(graph_server.address.uri.rpartition("//")[2]) as one:
        yield one
