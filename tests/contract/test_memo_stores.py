"""One suite for every VectorStore: the deletions of a purge of one graph."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from graphtide.infra.bolt import BoltBackend
from graphtide.infra.models.cache.embeddings import MemoryVectorStore, VectorStore
from graphtide.infra.models.cache.keys import KEY_BYTES, scope_of, scoped
from graphtide.infra.sqlite import SqliteDatabase, SqliteVectorStore
from graphtide.streams.usage import BillingContext, paid_by
from tests.model.memory import MemoryLog
from tests.support.backends import WITH_SERVERS, Clock
from tests.support.neo4j_server import GraphServer, clear


@pytest.fixture(params=WITH_SERVERS)
async def store(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[VectorStore]:
    match request.param:
        case "memory":
            yield MemoryVectorStore()
        case "sqlite":
            database = await SqliteDatabase.open(tmp_path)
            yield SqliteVectorStore(database)
            await database.close()
        case _:
            server: GraphServer = request.getfixturevalue("graph_server")
            clear(server.address)
            backend = await BoltBackend.open(server.address, MemoryLog(1, Clock()), Clock())
            yield backend.vectors("memo")
            await backend.close()


def _keys(graph: str, count: int) -> list[bytes]:
    with paid_by(BillingContext(graph)):
        return [scoped(b"%032d" % number) for number in range(count)]


async def test_store_purges_one_graph_except_what_is_kept(store: VectorStore) -> None:
    """The other graph's entries are unchanged; a second purge finds nothing; the cache continues to work."""
    ours, theirs = _keys("a", 700), _keys("b", 5)
    items = dict.fromkeys([*ours, *theirs], b"value")
    await store.put_many(items)
    assert await store.purge(scope_of("a"), ours[:3]) == len(ours) - 3
    left = [*ours[:3], *theirs]
    assert await store.get_many(list(items)) == dict.fromkeys(left, b"value")
    assert await store.purge(scope_of("a"), ours[:3]) == 0
    await store.put_many({ours[9]: b"again"})
    assert await store.get_many(ours[9:10]) == {ours[9]: b"again"}


async def test_store_purges_entries_whose_keys_name_no_graph(store: VectorStore) -> None:
    """They were written before keys named a graph: no purge can assign them to one, and no call finds them."""
    old, new = b"o" * 32, _keys("b", 1)[0]
    assert len(new) == KEY_BYTES
    await store.put_many({old: b"value", new: b"value"})
    assert await store.purge(scope_of("a")) == 1
    assert await store.get_many([old, new]) == {new: b"value"}


async def test_store_purges_nothing_when_it_is_empty(store: VectorStore) -> None:
    """An empty cache has nothing to delete."""
    assert await store.purge(scope_of("a")) == 0
