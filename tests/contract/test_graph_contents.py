"""Sizes of graphs' contents on every adapter: equal to the count of the stored rows after any commits."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path
from random import Random

import pytest

from graphtide.graph.records import GraphDelta
from graphtide.infra.bolt import BoltBackend
from graphtide.infra.bolt.database import Transaction
from graphtide.infra.bolt.graph_store import content
from graphtide.streams.clock import now_ms
from graphtide.streams.content import size_change, size_of
from graphtide.streams.ports import Commit, ContentSize, GraphCommit, GraphContent, GraphDeletion, GraphStore, Watermark
from tests.model.memory import MemoryLog
from tests.support.backends import WITH_SERVERS, Backend, Clock, opened_for
from tests.support.neo4j_server import GraphServer, clear
from tests.support.worlds import RandomWorld, empty_view, snapshot_of

GRAPH = "world"


@pytest.fixture(params=WITH_SERVERS)
async def backend(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Backend]:
    async with opened_for(request, request.param, tmp_path, Clock()) as one:
        yield one


class Writer:
    """A writer of one partition."""

    def __init__(self, store: GraphStore, watermark: Watermark) -> None:
        self._store, self._watermark = store, watermark

    async def commit(self, part: GraphCommit) -> None:
        step = self._watermark.next_offset + 1
        await self._store.commit(Commit(0, self._watermark, step, (part,), ()))
        self._watermark = Watermark(self._watermark.epoch, step)

    async def erase(self) -> None:
        while await self._store.erase(0, self._watermark, GRAPH, 100):
            pass


def part(world: RandomWorld, *, known: bool = True) -> GraphCommit:
    delta = world.step()
    return GraphCommit(delta, {}, content=size_change(world.changes) if known else None)


@pytest.mark.parametrize("seed", range(2))
async def test_content_is_that_of_the_stored_rows_whatever_is_committed(backend: Backend, seed: int) -> None:
    """Changes with known and unknown sizes, a rebuilt graph, a deletion and a publication after it; and the view's."""
    print(f"seed {seed}")
    rng = Random(seed)
    world, writer = RandomWorld(rng), Writer(backend.store, await backend.store.claim(0))
    view = empty_view()

    async def check() -> None:
        snapshot = await backend.store.snapshot(GRAPH)
        assert await backend.store.contents() == {GRAPH: GraphContent(snapshot.version, size_of(snapshot))}

    for step in range(12):
        change = part(world, known=step not in (4, 5))
        await writer.commit(change)
        view.apply(change.delta)
        await check()
        expected = ContentSize(len(view.documents), view.text_bytes)
        assert (await backend.store.contents())[GRAPH].size == expected
    rebuilt = replace(snapshot_of(world.live), version=13)
    await writer.commit(GraphCommit(rebuilt, {}))
    await check()
    deleted = GraphDelta(GRAPH, 14, snapshot=True, deleted=True)
    await writer.commit(GraphCommit(deleted, {}, deletion=GraphDeletion(GRAPH, {0: 100}, 14)))
    assert await backend.store.contents() == {}
    await writer.erase()
    fresh = RandomWorld(rng)
    again = part(fresh)
    await writer.commit(replace(again, delta=replace(again.delta, version=15)))
    await check()


async def test_graph_is_counted_once_if_its_head_has_no_count(
    backend: Backend, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
) -> None:
    """After a commit of unknown size the graph database counts the rows at the next read, then keeps count again."""
    counted: list[str] = []
    count = content._count

    async def recorded(database: object, head: dict[str, object]) -> None:
        counted.append(str(head["name"]))
        await count(database, head)  # type: ignore[arg-type]

    monkeypatch.setattr(content, "_count", recorded)
    world, writer = RandomWorld(Random(3)), Writer(backend.store, await backend.store.claim(0))
    for known, times in ((True, 0), (False, 1), (True, 1), (True, 1)):
        await writer.commit(part(world, known=known))
        await backend.store.contents()
        assert len(counted) == (times if request.node.callspec.params["backend"] == "bolt" else 0)


async def test_count_is_not_trusted_after_a_commit_of_an_earlier_release(graph_server: GraphServer) -> None:
    """In a rolling upgrade such a writer moves the version and leaves the count: the rows are counted again."""
    clear(graph_server.address)
    backend = await BoltBackend.open(graph_server.address, MemoryLog(1, now_ms))
    try:
        world, writer = RandomWorld(Random(4)), Writer(backend.store, await backend.store.claim(0))
        await writer.commit(part(world))
        await writer.commit(part(world))

        async def as_before(tx: Transaction) -> bool:
            await tx.run("MATCH (g:Graph) SET g.documents = 77, g.counted_version = 1")
            return True

        await backend.database.write(as_before)
        counted = await backend.store.contents()
        assert counted[GRAPH] == GraphContent(2, size_of(await backend.store.snapshot(GRAPH)))
    finally:
        await backend.close()
