"""The lag of the slowest reader of a change feed and of question events."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import aclosing
from pathlib import Path
from typing import Any

from graphtide.graph.records import DocumentInfo
from graphtide.infra.observability.metrics.readers import CHANGES, QUESTIONS
from graphtide.infra.settings import Settings
from graphtide.services.application import ChangeQuery, QueryRequest
from graphtide.services.local_application import LocalApplication
from graphtide.services.wiring import open_application
from graphtide.streams.messages import DocumentMessage
from graphtide.streams.standing.records import QuestionDefinition


def lag(application: LocalApplication, stream: str) -> float | None:
    """Return what a scrape reads."""
    registry = application._runtime.metrics.registry
    return registry.get_sample_value("graphtide_stream_versions_behind", {"stream": stream})


async def publish(application: LocalApplication, number: int) -> int:
    """Publish a document, and return the version that includes it."""
    text = f"Ana Ruiz repaired boiler {number}."
    receipt = await application.publish([DocumentMessage("g", f"d{number}", text, DocumentInfo("note"))])
    asked = QueryRequest("Who?", after=receipt.token, generate=False, timeout_s=60)
    return (await application.query("g", asked)).version


async def taken(items: AsyncIterator[Any], count: int) -> list[Any]:
    return [await anext(items) for _ in range(count)]


async def test_lag_is_that_of_the_slowest_open_reader(tmp_path: Path) -> None:
    """A reader lags by the versions that it has not taken yet; one that has all of them, or has left, by none."""
    async with open_application(Settings(data=tmp_path)) as application:
        assert isinstance(application, LocalApplication)
        start = await publish(application, 0)
        await application.put_question("g", QuestionDefinition("q", "Who repaired the boiler?", "vector", 9))
        assert (lag(application, CHANGES), lag(application, QUESTIONS)) == (0, 0)
        for number in range(1, 5):
            last = await publish(application, number)
        behind = last - start
        after = ChangeQuery(f"v{start}")
        slow, quick = application.changes("g", after), application.changes("g", after)
        events = application.question_events("g", "q", f"v{start}")
        async with aclosing(events):  # type: ignore[type-var]
            async with aclosing(slow), aclosing(quick):  # type: ignore[type-var]
                await taken(slow, 2)
                await taken(quick, 1 + behind)
                assert lag(application, CHANGES) == behind
                await taken(slow, 2)
                assert lag(application, CHANGES) == behind - 2
            assert lag(application, CHANGES) == 0
            await taken(events, 2)
            assert lag(application, QUESTIONS) == behind
            await taken(events, behind - 1)
            assert lag(application, QUESTIONS) == 1
        assert lag(application, QUESTIONS) == 0
