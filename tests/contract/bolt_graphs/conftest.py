"""A graph database, and a data folder beside it."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from graphtide.infra.bolt import BoltBackend
from graphtide.infra.sqlite import SqliteBackend
from graphtide.streams.clock import now_ms
from tests.model.memory import MemoryLog
from tests.support.neo4j_server import GraphServer, clear


@pytest.fixture
async def backend(graph_server: GraphServer) -> AsyncIterator[BoltBackend]:
    clear(graph_server.address)
    one = await BoltBackend.open(graph_server.address, MemoryLog(1, now_ms))
    yield one
    await one.close()


@pytest.fixture
async def embedded(tmp_path: Path) -> AsyncIterator[SqliteBackend]:
    one = await SqliteBackend.open(tmp_path / "data")
    yield one
    await one.close()
