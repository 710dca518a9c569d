"""Memory of change feeds: slow readers share compressed rows, and kept summaries are bounded by their size."""

from __future__ import annotations

import asyncio
import json
import zlib
from contextlib import AsyncExitStack, aclosing
from pathlib import Path
from random import Random
from typing import Any

import pytest

from graphtide.graph.changes.rows import KINDS, rows_out
from graphtide.services.application import ChangeQuery
from graphtide.services.changes import feed, packed_rows
from graphtide.services.changes.feed import RecentSummaries
from graphtide.services.changes.types import Change, Changed, ChangedEntity, FeedOpened, GraphRows
from graphtide.streams.json_parts import dump
from tests.e2e.test_graph_deletion import WAIT_S, document, opened
from tests.support.stages import eventually


async def test_readers_of_one_version_share_its_rows_until_the_last_has_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Ten readers that stop after the first part hold one copy of the graph, compressed; its parts are its rows."""
    monkeypatch.setattr(packed_rows, "PART_ROWS", 3)
    async with opened(tmp_path) as application:
        receipt = await application.publish([document("g", str(number), Random(number)) for number in range(20)])
        assert (await application.token_state("g", receipt.token, WAIT_S)).reached
        packed = application._feed._rows._recent
        query = ChangeQuery(rows=True, follow=False)
        async with AsyncExitStack() as readers:
            for _ in range(10):
                items = await readers.enter_async_context(aclosing(application.changes("g", query)))  # type: ignore[type-var]
                assert isinstance(await anext(items), FeedOpened) and isinstance(await anext(items), GraphRows)
            [shared] = packed.values()
            assert all(zlib.decompress(part) for part in shared.parts)
            parts = [shared.part(number) for number in range(1, len(shared.parts) + 1)]
            del shared
        view = application._runtime.views.get("g")
        assert view is not None
        whole: dict[str, list[Any]] = {kind: [] for kind in KINDS}
        for part in parts:
            for kind, rows in part.rows.items():
                whole[kind] += rows
        wanted = json.loads(dump(rows_out(view.rows())))
        assert whole == {kind: wanted.get(kind, []) for kind in KINDS} and len(parts) > 10

        async def is_empty() -> bool:
            return not packed

        await eventually(is_empty)  # the thread that packed the rows still holds its result for a moment


async def test_graphs_take_turns_at_the_thread_of_feeds(tmp_path: Path) -> None:
    """Work of another graph is done after one piece of a graph that has many waiting."""
    done: list[str] = []
    async with opened(tmp_path) as application, asyncio.TaskGroup() as tasks:
        for graph in "g" * 20 + "h":
            tasks.create_task(application._feed._run(graph, lambda graph=graph: done.append(graph)))  # type: ignore[misc]
    assert done.index("h") <= 2


def test_kept_summaries_are_bounded_by_their_entities_and_by_their_number(monkeypatch: pytest.MonkeyPatch) -> None:
    """The newest ones stay; one that is beyond the bound alone is not kept."""
    monkeypatch.setattr(feed, "REMEMBERED_ITEMS", 1000)
    recent = RecentSummaries()

    def keep(version: int, size: int) -> None:
        added = tuple(ChangedEntity(f"e{number}", "n", "t", 1) for number in range(size))
        recent.keep(("g", version, 0), Change(version, f"v{version}", "", entities=Changed(added)))

    for version in range(100):
        keep(version, 300)
    assert len(recent) == 3 and ("g", 99, 0) in recent and ("g", 96, 0) not in recent
    keep(100, 1001)
    assert len(recent) == 0
    for version in range(1000):
        recent.keep(("g", version, 0), None)
    assert len(recent) == feed.REMEMBERED
    keep(1001, 300)
    recent.clear()
    for version in range(3):
        keep(version, 300)
    assert len(recent) == 3
