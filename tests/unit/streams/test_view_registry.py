"""Live views: opened from the store, following deltas, replaced by snapshots, and never a version that is not there."""

from __future__ import annotations

import asyncio
import random

import numpy as np
import pytest

from graphtide.graph.consolidation import Consolidator
from graphtide.graph.digest import canonical_lines
from graphtide.graph.records import ChunkContribution, DocumentChange, Extraction, GraphDelta
from graphtide.graph.view import IndexVersions, VectorIndexes
from graphtide.streams.errors import Broken
from graphtide.streams.follow import view_registry
from graphtide.streams.follow.view_registry import ViewRegistry
from graphtide.streams.ports import Commit, GraphCommit
from tests.model.memory import MemoryBackend
from tests.support.extractions import random_extraction
from tests.support.stages import ExactKeeper


class Closing(ExactKeeper):
    """A keeper that counts what is open."""

    def __init__(self) -> None:
        self.open_ones = 0

    def open(self, graph: str, dimensions: int, version: int) -> tuple[VectorIndexes, IndexVersions]:
        self.open_ones += 1
        return super().open(graph, dimensions, version)

    def close(self, indexes: VectorIndexes) -> None:
        self.open_ones -= 1


def deltas(seed: int, count: int) -> tuple[list[GraphDelta], Consolidator]:
    """Documents arriving one by one, and the write model that took them."""
    rng, writer = random.Random(seed), Consolidator("g")
    made = [writer.apply([DocumentChange(f"d{n}", None, random_extraction(rng, f"d{n}", n))]) for n in range(count)]
    return made, writer


async def stored(made: list[GraphDelta]) -> MemoryBackend:
    """A store with the deltas committed."""
    backend = MemoryBackend()
    for number, delta in enumerate(made):
        watermark = await backend.store.claim(0)
        await backend.store.commit(Commit(0, watermark, number + 1, (GraphCommit(delta, {}),), ()))
    return backend


async def test_views_refuse_a_delta_that_does_not_follow_and_take_a_snapshot_instead() -> None:
    """A missed delta is noticed; a snapshot brings the view to where the store is; an old snapshot changes nothing."""
    made, _ = deltas(1, 4)
    backend, views = await stored(made), ViewRegistry(ExactKeeper())
    await views.follow(made[0])
    with pytest.raises(ValueError, match="does not follow"):
        await views.follow(made[2])
    assert views.version("g") == 1
    await views.follow(await backend.store.snapshot("g"))
    view = views.get("g")
    assert view is not None and views.version("g") == 4
    assert sorted(canonical_lines(view.rows())) == sorted(canonical_lines(await backend.store.snapshot("g")))
    await views.follow(await (await stored(made[:2])).store.snapshot("g"))
    assert views.get("g") is view


async def test_views_close_the_indexes_of_a_view_that_is_replaced() -> None:
    """Whatever replaces a view, its background work is ended."""
    made, writer = deltas(2, 3)
    backend, keeper = await stored(made), Closing()
    views = ViewRegistry(keeper)
    await views.open(backend.store)
    extra = writer.apply([DocumentChange("d9", None, random_extraction(random.Random(9), "d9", 9))])
    await views.follow(extra)
    snapshot = await (await stored([*made, extra])).store.snapshot("g")
    await views.replace(snapshot)
    assert keeper.open_ones == 1
    await views.close()
    assert keeper.open_ones == 0


async def test_views_take_vectors_of_another_length_when_the_graph_was_emptied() -> None:
    """All documents of one model go, one of another comes: the view gets new indexes, and the old ones are closed."""
    keeper, writer = Closing(), Consolidator("g")
    views = ViewRegistry(keeper)
    first = random_extraction(random.Random(3), "a", 0)
    text = "Of another model."
    other = Extraction(
        "b", 1, first.info, (ChunkContribution(b"k", text, 0, len(text), np.ones(3, np.float16), (), ()),)
    )
    for change in (
        DocumentChange("a", None, first),
        DocumentChange("a", first, None),
        DocumentChange("b", None, other),
    ):
        await views.follow(writer.apply([change]))
    view = views.get("g")
    assert view is not None and view.indexes.chunks.dimensions == 3 and len(view.indexes.chunks) == 1
    assert keeper.open_ones == 1


async def test_views_say_which_graph_cannot_be_read() -> None:
    """A store whose rows refer to nothing is Broken, with the graph's name."""
    made, _ = deltas(4, 1)
    backend = await stored([GraphDelta("g", 1, mentions=made[0].mentions)])
    with pytest.raises(Broken, match="graph 'g'"):
        await ViewRegistry(ExactKeeper()).open(backend.store)


async def test_reach_waits_for_the_version() -> None:
    """A caller that waits for version 2 is woken by it, and not by version 1."""
    made, _ = deltas(5, 2)
    views = ViewRegistry(ExactKeeper())
    waiting = asyncio.create_task(views.reach("g", 2))
    await views.follow(made[0])
    assert not waiting.done()
    await views.follow(made[1])
    assert (await waiting).version == 2


class Saving(ExactKeeper):
    """A keeper that notes the graphs that it saves."""

    def __init__(self) -> None:
        self.saved: list[str] = []

    def save(self, graph: str, indexes: VectorIndexes, version: int) -> None:
        self.saved.append(graph)


async def test_last_save_begins_with_the_largest_graph_and_ends_in_time(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """A process with many graphs ends soon: those not begun in time are counted in the log, and are due again."""
    keeper, rng = Saving(), random.Random(7)
    views = ViewRegistry(keeper)
    for graph, count in (("small", 1), ("large", 12), ("middle", 4)):
        writer = Consolidator(graph)
        for number in range(count):
            change = DocumentChange(f"d{number}", None, random_extraction(rng, f"d{number}", number))
            await views.follow(writer.apply([change]))
    with caplog.at_level("INFO"):
        await views.save(within_s=0.0)
    assert keeper.saved == []
    assert "3 graphs were not saved within 0 s" in caplog.text
    monkeypatch.setattr(view_registry, "LAST_SAVES_S", 600.0)
    await views.close()
    assert keeper.saved == ["large", "middle", "small"]
