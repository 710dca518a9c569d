"""The build of a graph from its stored extractions: in batches, with the result of a build in one step."""

from __future__ import annotations

import random
from collections.abc import AsyncIterator
from pathlib import Path

import numpy as np
import pytest

from graphtide.graph import communities
from graphtide.graph.communities import Hierarchy
from graphtide.graph.consolidation import Consolidator
from graphtide.graph.digest import digest
from graphtide.graph.records import GraphDelta
from graphtide.streams.consolidate import verification
from graphtide.streams.consolidate.verification import build
from graphtide.streams.messages import ExtractionMessage
from graphtide.streams.ports import Commit, GraphCommit, StoredDocument
from tests.support.backends import NAMES, Backend, Clock, opened
from tests.support.worlds import RandomWorld, snapshot_of


@pytest.fixture(params=NAMES)
async def backend(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Backend]:
    async with opened(request.param, tmp_path, Clock()) as one:
        yield one


async def stored(backend: Backend, world: RandomWorld) -> GraphDelta:
    """Store the world's live documents, and return their graph, built in one step."""
    whole = snapshot_of(world.live)
    documents = {
        doc_id: StoredDocument(live.revision, ExtractionMessage("world", doc_id, live.revision, live).encode())
        for doc_id, live in world.live.items()
    }
    await backend.store.commit(Commit(0, await backend.store.claim(0), 1, (GraphCommit(whole, documents),), ()))
    return whole


@pytest.mark.parametrize("batch", [1, 3])
async def test_build_in_batches_equals_a_build_in_one_step(
    backend: Backend, batch: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Rows, sums and vectors are equal, every row is of the asked version, and communities are those of all edges."""
    monkeypatch.setattr(verification, "BATCH_DOCUMENTS", batch)
    world = RandomWorld(random.Random(11))
    for _ in range(12):
        world.step()
    whole = await stored(backend, world)
    lines: list[str] = []
    built = await build(backend.store, "world", 9, lines.append, len(world.live))
    assert digest(built) == digest(whole) and verification._row_differences("stored", built, whole) == []
    versions = {row.version for rows in (built.chunks, built.statements, built.entities) for row in rows}
    assert built.snapshot and (built.version, versions) == (9, {9})
    edges = np.array([(row.u, row.v) for row in built.edges], np.int32).reshape(-1, 2)
    fresh = communities.build(edges, np.array([row.weight for row in built.edges], np.int64)).hierarchy()
    assert isinstance(built.communities, Hierarchy)
    assert (built.communities.nodes.tolist(), built.communities.communities.tolist()) == (
        fresh.nodes.tolist(),
        fresh.communities.tolist(),
    )
    assert Consolidator.restore(built).violations() == []
    counts = [int(line.split(" of ")[0]) for line in lines]
    assert counts == sorted(counts) and counts[-1] == len(world.live) and counts[0] == min(batch, len(world.live))
    assert all(f" of {len(world.live)} documents built" in line for line in lines)


async def test_build_decodes_a_bounded_size_at_a_time(backend: Backend, monkeypatch: pytest.MonkeyPatch) -> None:
    """Extractions above the limit of a batch are decoded one at a time."""
    monkeypatch.setattr(verification, "BATCH_BYTES", 1)
    world = RandomWorld(random.Random(12))
    for _ in range(6):
        world.step()
    await stored(backend, world)
    sizes: list[int] = []
    add = verification._Building.add

    def counting(self: verification._Building, documents: list[tuple[str, bytes]]) -> None:
        sizes.append(len(documents))
        add(self, documents)

    monkeypatch.setattr(verification._Building, "add", counting)
    await build(backend.store, "world", 2)
    assert sizes == [1] * len(world.live)
