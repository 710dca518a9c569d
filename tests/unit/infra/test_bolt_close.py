"""Ends of the graph database's drivers: each one that was opened is closed, however its use ends."""

from __future__ import annotations

import asyncio

import pytest
from neo4j import AsyncGraphDatabase, GraphDatabase
from neo4j.exceptions import ServiceUnavailable

from graphtide.infra.bolt import BoltAddress, BoltBackend, backend
from graphtide.infra.bolt.cypher.schema import Dialect
from graphtide.infra.bolt.database import BoltDatabase
from graphtide.streams.clock import now_ms
from graphtide.streams.errors import Retryable
from tests.model.memory import MemoryLog

ADDRESS = BoltAddress("bolt://127.0.0.1:1")


def database() -> BoltDatabase:
    """Return a database whose drivers have not connected."""
    return BoltDatabase(AsyncGraphDatabase.driver(ADDRESS.uri), ADDRESS, Dialect.NEO4J)


@pytest.mark.parametrize("error", [Retryable("restarting"), ValueError("an unknown row"), asyncio.CancelledError()])
async def test_open_closes_the_driver_whatever_ends_it(error: BaseException, monkeypatch: pytest.MonkeyPatch) -> None:
    """A refusal of the server, an unexpected error and a cancellation leave no driver open."""
    opened = database()

    async def connect(_: BoltAddress) -> BoltDatabase:
        return opened

    def prepare(*_: object) -> None:
        raise error

    monkeypatch.setattr(BoltDatabase, "connect", connect)
    monkeypatch.setattr(backend, "prepare", prepare)
    monkeypatch.setattr("graphtide.infra.bolt.database.FIRST_WAIT_S", 0.0)
    with pytest.raises(type(error)):
        await BoltBackend.open(ADDRESS, MemoryLog(1, now_ms))
    assert opened._driver._closed


async def test_close_ends_both_drivers_when_the_first_one_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    """The driver of blocking reads is closed although the server closed the connections of the other one."""
    opened = database()
    blocking = opened._blocking = GraphDatabase.driver(ADDRESS.uri)
    close = opened._driver.close

    async def fail() -> None:
        await close()
        raise ServiceUnavailable("the connection is lost")  # type: ignore[no-untyped-call]

    monkeypatch.setattr(opened._driver, "close", fail)
    with pytest.raises(Retryable):
        await opened.close()
    assert blocking._closed
