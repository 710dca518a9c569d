"""The rows that a commit overwrites, as stores announce them: they lead back through every version, bit for bit."""

from __future__ import annotations

import random
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path

import pytest

from graphtide.graph.changes.tables import RowTables
from graphtide.graph.records import GraphDelta
from graphtide.streams.changes import old_rows
from graphtide.streams.ports import Commit, GraphCommit, Record
from tests.contract.test_change_log import GRAPH, Writer, assert_equal, tables_of
from tests.support.backends import Backend, Clock, opened_for
from tests.support.records import Walk

pytestmark = pytest.mark.thorough

SEED = 20_261_123
STORES = ("memory", "bolt")


@pytest.fixture(params=STORES)
async def backend(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Backend]:
    async with opened_for(request, request.param, tmp_path, Clock()) as one:
        yield one


class Taken:
    """The receiver of overwritten rows. Commits whose transactions are repeated are received again."""

    def __init__(self) -> None:
        self.old: dict[int, bytes] = {}

    def __call__(self, delta: GraphDelta, old: bytes) -> tuple[Record, ...]:
        self.old[delta.version] = old
        return (Record(delta.graph, b"%d" % delta.version),)


async def test_any_rows_survive_the_way_back(backend: Backend) -> None:
    """Rows of every kind with awkward texts, and numbers reused in the delta that frees them, are restored."""
    print("seed", SEED)
    walk, watermark, taken = Walk(random.Random(SEED), GRAPH), await backend.store.claim(0), Taken()
    deltas, stored = [], [await backend.store.snapshot(GRAPH)]
    for step in range(15):
        deltas.append(walk.delta())
        commit = Commit(
            0, replace(watermark, next_offset=step), step + 1, (GraphCommit(deltas[-1], {}),), (), (), taken
        )
        await backend.store.commit(commit)
        stored.append(await backend.store.snapshot(GRAPH))
    back = tables_of(stored[-1])
    for delta, snapshot in zip(reversed(deltas), stored[-2::-1], strict=True):
        back.revert(delta, old_rows.decode(GRAPH, delta.version - 1, taken.old[delta.version]).rows)
        before = tables_of(snapshot)
        for kind in ("documents", "mentions", "evidence", "same_as", "edges", "members", "communities"):
            assert getattr(back, kind) == getattr(before, kind), (delta.version, kind)


async def test_documents_lead_back_with_their_vectors(backend: Backend) -> None:
    """Insertions, edits and deletions of documents are undone down to the empty graph; forward the digest holds."""
    print("seed", SEED + 1)
    taken = Taken()
    writer, stored = Writer(backend, SEED + 1, taken), [await backend.store.snapshot(GRAPH)]
    deltas = []
    for _ in range(12):
        deltas.append(await writer.commit())
        stored.append(await backend.store.snapshot(GRAPH))
    back = tables_of(stored[-1])
    for delta, snapshot in zip(reversed(deltas), stored[-2::-1], strict=True):
        back.revert(delta, old_rows.decode(GRAPH, delta.version - 1, taken.old[delta.version]).rows)
        assert_equal(back, snapshot)
    assert back.version == 0 and not RowTables(GRAPH).chunks and not back.chunks
