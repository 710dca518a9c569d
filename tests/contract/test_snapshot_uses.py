"""A snapshot for one use has all that the use reads, on every adapter: views and write models are those of all rows."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path
from random import Random

import pytest

from graphtide.graph.consolidation import Consolidator
from graphtide.graph.consolidation.stored_rows import ViewVectors
from graphtide.graph.records import GraphDelta
from graphtide.graph.view import LiveView
from graphtide.streams.ports import Commit, GraphCommit, SnapshotUse, Watermark
from tests.support.backends import WITH_SERVERS, Backend, Clock, opened_for
from tests.support.row_texts import as_texts
from tests.support.worlds import RandomWorld, empty_view

GRAPH = "world"
STEPS = 24


@pytest.fixture(params=WITH_SERVERS)
async def backend(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Backend]:
    async with opened_for(request, request.param, tmp_path, Clock()) as one:
        yield one


def view_of(snapshot: GraphDelta) -> LiveView:
    view = empty_view()
    view.apply(snapshot)
    return view


def contents(view: LiveView) -> tuple[list[str], list[list[tuple[int, bytes]]]]:
    """Return all rows of a view and the bytes of its vectors."""
    tables = (view.chunks, view.statements, view.entities)
    return as_texts(view.rows()), [[(n, bytes(row.vector_bytes)) for n, row in table.items()] for table in tables]


@pytest.mark.parametrize("seed", range(2))
async def test_views_and_write_models_are_those_of_all_rows(backend: Backend, seed: int) -> None:
    """After random changes, which merge and split entities; the restored models give equal deltas."""
    print(f"seed {seed}")
    world, store = RandomWorld(Random(seed)), backend.store
    watermark = await store.claim(0)
    for step in range(1, STEPS + 1):
        await store.commit(Commit(0, watermark, step, (GraphCommit(world.step(), {}),), ()))
        watermark = Watermark(watermark.epoch, step)
        if step % 8:
            continue
        everything = await store.snapshot(GRAPH)
        view = view_of(await store.snapshot(GRAPH, SnapshotUse.VIEW))
        assert contents(view) == contents(view_of(everything))
        rows = await store.snapshot(GRAPH, SnapshotUse.WRITE_MODEL)
        reference = Consolidator.restore(everything)
        models = [Consolidator.restore(rows), Consolidator.restore(rows, vectors=ViewVectors.of(view))]
        assert all(as_texts(model.stored_rows()) == as_texts(reference.stored_rows()) for model in models)
        assert max(row.vector.size for row in rows.chunks) == max(row.vector.size for row in everything.chunks)
    world.step()
    delta = as_texts(reference.apply(world.changes))
    assert all(as_texts(model.apply(world.changes)) == delta for model in models)
