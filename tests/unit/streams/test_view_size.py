"""Estimates of views' memory: equal for a snapshot and its view, and a bound for an empty view."""

from __future__ import annotations

import random
import tracemalloc
from dataclasses import replace
from pathlib import Path

import pytest

from graphtide.graph.view import LiveView
from graphtide.infra.index_folder import IndexFolder
from graphtide.streams.follow.view_size import VIEW_BYTES, snapshot_bytes, view_bytes
from tests.support.worlds import RandomWorld, empty_view, snapshot_of

DIMENSIONS = 384


@pytest.mark.parametrize("seed", range(3))
def test_snapshot_and_its_view_have_one_size(seed: int) -> None:
    """A load reserves what the view is then counted with; the size follows insertions, edits and deletions."""
    print(f"seed {seed}")
    world, followed = RandomWorld(random.Random(seed)), empty_view()
    for _ in range(10):
        followed.apply(world.step())
        snapshot, loaded = snapshot_of(world.live), empty_view()
        loaded.apply(replace(snapshot, version=followed.version))
        if world.live:
            assert snapshot_bytes(snapshot) == view_bytes(loaded) == view_bytes(followed)


def test_empty_view_occupies_no_more_than_its_estimate(tmp_path: Path) -> None:
    """A process holds thousands of small graphs: structures of a fixed size would be most of their memory."""
    keeper, count = IndexFolder(tmp_path), 20
    LiveView("first", keeper.open("first", DIMENSIONS, 0)[0])
    tracemalloc.start(1)
    try:
        views = [LiveView(str(n), keeper.open(str(n), DIMENSIONS, 0)[0]) for n in range(count)]
        allocated = tracemalloc.get_traced_memory()[0] / count
    finally:
        tracemalloc.stop()
    assert len(views) == count and allocated <= VIEW_BYTES, allocated
