"""Look-ups and questions at earlier versions: graphs take turns, waits end, and no place is held meanwhile."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from pathlib import Path
from random import Random
from typing import Any

import pytest

from graphtide.graph.earlier.view import EarlierView
from graphtide.graph.view import LiveView
from graphtide.services.access.limits.places import FairPlaces
from graphtide.services.application import QueryRequest
from graphtide.services.changes.past_views import open_earlier
from graphtide.services.local_application import LocalApplication
from graphtide.streams.errors import DeadlineExceeded
from tests.e2e.test_graph_deletion import WAIT_S, document, opened
from tests.support.stages import eventually

VERSIONS = 8


async def fill(application: LocalApplication, graph: str, versions: int) -> None:
    """Publish one document after the other, each a version."""
    for version in range(versions):
        receipt = await application.publish([document(graph, str(version), Random(version))])
        assert (await application.token_state(graph, receipt.token, WAIT_S)).reached


async def test_graphs_take_turns_at_opening_earlier_versions(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A reader of another graph does not wait until all versions of a graph that were asked before are open."""
    async with opened(tmp_path) as application:
        await fill(application, "g", VERSIONS)
        await fill(application, "h", 1)
        order = list[str]()

        async def noted(present: LiveView, version: int, *parts: Any) -> EarlierView:
            order.append(present.graph)
            return await open_earlier(present, version, *parts)

        monkeypatch.setattr("graphtide.services.changes.past_views.open_earlier", noted)
        async with asyncio.TaskGroup() as tasks:
            for version in range(1, VERSIONS):
                tasks.create_task(application.digest("g", str(version)))
            tasks.create_task(application.digest("h", "1"))
        assert sorted(order) == ["g"] * (VERSIONS - 1) + ["h"]
        assert order.index("h") <= 2


async def test_look_up_at_an_earlier_version_ends_by_its_deadline(tmp_path: Path) -> None:
    """Also while it waits for its turn."""
    async with opened(tmp_path) as application:
        await fill(application, "g", 2)
        limits = application._limits
        application._limits = replace(limits, lookup_timeout_s=0.1)
        async with application._past._opening.one("other"):
            with pytest.raises(DeadlineExceeded):
                await application.digest("g", "1")
        application._limits = limits
        assert (await application.digest("g", "1")).version == 1


@pytest.mark.parametrize("streamed", [False, True])
async def test_question_that_waits_for_an_earlier_version_holds_no_place(streamed: bool, tmp_path: Path) -> None:
    """With one place for questions, another question is answered meanwhile."""
    async with opened(tmp_path) as application:
        await fill(application, "g", 2)
        application._questions._places = FairPlaces(1, "questions")
        past, present = QueryRequest("Who?", "vector", at="1", generate=False), QueryRequest("Who?", "vector")

        async def asked() -> int:
            if not streamed:
                return (await application.query("g", past)).version
            return [step async for step in application.stream("g", past)][-1].version  # type: ignore[union-attr]

        async with application._past._opening.one("other"):
            waiting = asyncio.create_task(asked())
            for _ in range(100):
                await asyncio.sleep(0)
            assert (await application.query("g", present)).version == 2
            assert not waiting.done()
        assert await waiting == 1


async def test_opened_version_is_dropped_when_it_is_not_asked_any_more(tmp_path: Path) -> None:
    """Otherwise it would hold what every later commit overwrites, as long as the process runs."""
    async with opened(tmp_path) as application:
        await fill(application, "g", 2)
        past, present = application._past, await application._view("g")
        past._idle_s = 0.0
        assert (await application.digest("g", "1")).version == 1

        async def is_dropped() -> bool:
            return not past._opened and not present.undo_logs

        await eventually(is_dropped)  # the thread that opened it may still have it
        assert (await application.digest("g", "1")).version == 1
