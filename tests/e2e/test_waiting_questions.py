"""Questions that wait for a token do not delay those that can be answered."""

from __future__ import annotations

import asyncio
import contextlib
from pathlib import Path

import pytest
from pydantic import SecretStr

from graphtide.infra.settings import Settings
from graphtide.services.application import QueryRequest
from graphtide.services.local_application import LocalApplication
from graphtide.services.runtime import RuntimeLimits
from graphtide.services.wiring import open_application
from graphtide.streams.messages import DocumentMessage, GivenFact
from tests.support.ports import free_ports


@pytest.mark.parametrize("streams", [False, True])
async def test_question_that_waits_for_a_token_holds_no_place(streams: bool, tmp_path: Path) -> None:
    """With one slot for questions, one is answered while others wait for a document that is not extracted."""
    settings = Settings(
        data=tmp_path,
        llm_base_url=f"http://127.0.0.1:{free_ports(1)[0]}/v1",
        llm_model="unreachable",
        llm_api_key=SecretStr("none-needed"),
    )
    async with open_application(settings) as opened:
        assert isinstance(opened, LocalApplication)
        application = LocalApplication(opened._runtime, RuntimeLimits(running_queries=1))
        given = DocumentMessage("notes", "a", "Ada met Bob.", facts=(GivenFact("Ada", "met", "Bob"),))
        applied = await application.publish([given])
        later = await application.publish([DocumentMessage("notes", "b", "Ada met Cid.")])

        async def wait() -> None:
            ask = QueryRequest("Who met Ada?", after=later.token, generate=False)
            if streams:
                async for _ in application.stream("notes", ask):
                    pass
            else:
                await application.query("notes", ask)

        waiting = [asyncio.create_task(wait()) for _ in range(3)]
        await asyncio.sleep(0)
        answer = await application.query("notes", QueryRequest("Who met Ada?", after=applied.token, generate=False))
        assert [passage.doc_id for passage in answer.passages] == ["a"]
        assert not any(task.done() for task in waiting)
        for task in waiting:
            task.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await task
