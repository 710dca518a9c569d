"""A rebuild in the graph database: visible in one step, and without traces when it fails."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from random import Random

import pytest

from graphtide.graph.records import GraphDelta
from graphtide.infra.bolt import BoltBackend
from graphtide.infra.bolt.database import Transaction
from graphtide.infra.bolt.graph_store import generations as heads
from graphtide.infra.bolt.graph_store.generations import DEAD_AFTER_MS
from graphtide.streams.errors import Fenced, Retryable
from graphtide.streams.ports import (
    Commit,
    GraphCommit,
)
from tests.model.memory.rows import Rows
from tests.support.backends import Clock
from tests.support.bolt_stores import filled, nodes
from tests.support.records import Walk, plain


async def test_rebuild_in_many_transactions_becomes_visible_in_one_step(
    backend: BoltBackend, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Concurrent readers see the old graph or the new one; afterwards nothing of the old one is left."""
    monkeypatch.setattr("graphtide.infra.bolt.graph_store.generations.BUILD_ROWS", 3)
    monkeypatch.setattr("graphtide.infra.bolt.graph_store.generations.SWEEP_NODES", 4)
    walk = Walk(Random(12))
    _, fold = await filled(backend, walk, 6)
    old, rebuilt = plain(fold.snapshot()), replace(_other(13, 20), version=9)
    new = Rows("g")
    new.apply(replace(rebuilt, snapshot=False))
    replacing = asyncio.create_task(backend.store.replace(rebuilt))
    seen = []
    while not replacing.done():
        seen.append(plain(await backend.store.snapshot("g")))
    await replacing
    assert all(one in (old, plain(new.snapshot())) for one in seen) and old in seen
    assert plain(await backend.store.snapshot("g")) == plain(new.snapshot())
    assert (await nodes(backend))["Document"] == len(rebuilt.documents)


async def test_rebuild_that_dies_leaves_the_graph_whole_and_is_swept_at_the_next_start(
    backend: BoltBackend, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The remains are kept at first, since another process may be building, and deleted after some time."""
    walk = Walk(Random(21))
    _, fold = await filled(backend, walk, 5)
    whole = await nodes(backend)
    await backend.store._builds.write(replace(_other(5, 20), version=9))  # here the process is killed
    built = await nodes(backend)
    assert built != whole and plain(await backend.store.snapshot("g")) == plain(fold.snapshot())
    for waited_ms, expected in ((0, built), (DEAD_AFTER_MS, whole)):
        clock.now_ms += waited_ms
        again = await BoltBackend.open(backend.database.address, backend.log, clock)
        assert await nodes(again) == expected
        assert plain(await again.store.snapshot("g")) == plain(fold.snapshot())
        await again.close()


async def test_rebuild_that_was_taken_for_dead_is_not_switched_in(backend: BoltBackend, clock: Clock) -> None:
    """When the sweeper was faster, the builder gets a Retryable error, and the graph stays as it was."""
    _, fold = await filled(backend, Walk(Random(2)), 4)
    builds = backend.store._builds
    fresh = await builds.write(replace(_other(5, 9), version=9))
    clock.now_ms += DEAD_AFTER_MS
    await builds.sweep()

    async def switch(tx: Transaction) -> None:
        head = await heads.lock_head(tx, "g")
        await builds.switch(tx, fresh, replace(_other(5, 9), version=9), head)

    with pytest.raises(Retryable, match="deleted as abandoned"):
        await backend.database.write(switch)
    assert plain(await backend.store.snapshot("g")) == plain(fold.snapshot())


@pytest.mark.parametrize("built", [False, True])
async def test_rebuilt_graph_that_is_fenced_leaves_nothing_behind(
    built: bool, backend: BoltBackend, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The other writer commits before the new rows are written or after; the current graph is unchanged."""
    watermark, fold = await filled(backend, Walk(Random(6)), 4)
    before = await nodes(backend)
    write, builds = backend.store._builds.write, []

    async def write_and_lose(snapshot: GraphDelta) -> str:
        builds.append(await write(snapshot))
        assert await nodes(backend) != before
        await backend.store.claim(0)
        return str(builds[0])

    if built:
        monkeypatch.setattr(backend.store._builds, "write", write_and_lose)
    else:
        await backend.store.claim(0)
    with pytest.raises(Fenced):
        await backend.store.commit(Commit(0, watermark, 9, (GraphCommit(replace(_other(7, 9), version=5), {}),), ()))
    assert len(builds) == built
    assert await nodes(backend) == before and plain(await backend.store.snapshot("g")) == plain(fold.snapshot())


def _other(seed: int, steps: int) -> GraphDelta:
    """Return a snapshot of a different graph of the same name."""
    walk, fold = Walk(Random(seed)), Rows("g")
    for _ in range(steps):
        fold.apply(walk.delta())
    return fold.snapshot()
