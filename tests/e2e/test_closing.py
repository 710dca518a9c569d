"""The end of an application with model calls in flight."""

from __future__ import annotations

import asyncio
import threading
from pathlib import Path

from graphtide.infra.settings import Settings
from graphtide.services.wiring import open_application
from graphtide.streams.messages import DocumentMessage, GivenEntity
from tests.support.openai_server import OpenAIServer

LONG_S = 120


async def test_application_ends_its_embedding_calls_before_it_closes_their_client(tmp_path: Path) -> None:
    """The caches of vectors shield their calls from callers that are cancelled; none outlives the application."""
    with OpenAIServer() as server:
        server.hold = threading.Event()
        settings = Settings(data=tmp_path / "data", embedding_base_url=server.base_url, embedding_model="m")
        async with open_application(settings) as application:
            await application.publish([DocumentMessage("g", "a", "Ada met Bob.", entities=(GivenEntity("Ada"),))])
            await asyncio.to_thread(server.arrived.get, True, LONG_S)
            embedder = application._runtime.embedder  # type: ignore[attr-defined]
            asked = asyncio.create_task(embedder.embed(["Who met Bob?"]))
            await asyncio.to_thread(server.arrived.get, True, LONG_S)
            asked.cancel()
            await asyncio.gather(asked, return_exceptions=True)
            calls = {task for task in asyncio.all_tasks() if "MemoisedEmbedder._look_up" in repr(task)}
            assert len(calls) == 2
            ends = {task: asyncio.create_task(_outcome(task)) for task in calls}
        assert [await end for end in ends.values()] == ["cancelled"] * 2
        server.hold.set()


async def _outcome(task: asyncio.Task[object]) -> str:
    await asyncio.wait([task])
    return "cancelled" if task.cancelled() else repr(task.exception())
