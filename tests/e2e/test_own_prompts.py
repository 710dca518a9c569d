"""Prompts of a graph's own in the whole service: extraction, answers at once and streamed, and reports."""

from __future__ import annotations

from pathlib import Path

from prometheus_client import CollectorRegistry
from pydantic import SecretStr

from graphtide.infra.settings import Settings
from graphtide.services.application import QueryRequest
from graphtide.services.wiring import open_application
from graphtide.streams.messages import DocumentMessage, GivenFact
from tests.support.llm_server import LlmServer
from tests.support.stages import eventually

FACTS = (GivenFact("Egil", "knew", "Arinbjorn"), GivenFact("Arinbjorn", "knew", "Gunnhild"))
ASKED = QueryRequest("Whom did Egil know?")


async def test_graph_is_read_answered_and_reported_by_its_own_prompts(tmp_path: Path) -> None:
    """One of two graphs has a topic: each prompt of its calls contains it, none of the other's does."""
    folder = tmp_path / "prompts" / "sagas"
    folder.mkdir(parents=True)
    for kind in ("extraction", "answer", "report"):
        (folder / f"{kind}.toml").write_text(f'domain = "{kind} of sagas"')
    with LlmServer() as server:
        settings = Settings(
            data=tmp_path / "data",
            prompts_dir=str(tmp_path / "prompts"),
            llm_base_url=server.base_url,
            llm_model="test-model",
            llm_api_key=SecretStr("sk-test"),
        )
        async with open_application(settings, CollectorRegistry()) as application:
            for graph in ("sagas", "notes"):
                receipt = await application.publish(
                    [
                        DocumentMessage(graph, "read", f"Egil Skallagrimsson knew Arinbjorn. So says {graph}."),
                        DocumentMessage(graph, "given", f"Egil knew Arinbjorn in {graph}.", facts=FACTS),
                    ]
                )
                await application.query(graph, QueryRequest("?", generate=False, after=receipt.token, timeout_s=60))
                before = len(server.seen)
                await application.query(graph, ASKED)
                [_ async for _ in application.stream(graph, ASKED)]
                answered = [
                    seen.instructions for seen in server.seen[before:] if "report about" not in seen.instructions
                ]
                assert len(answered) == 2 and all(("answer of sagas" in one) == (graph == "sagas") for one in answered)

            async def reported() -> bool:
                return sum("community-" in seen.asked for seen in server.seen) >= 2

            await eventually(reported)
    for word, kind in (("<document-", "extraction"), ("<community-", "report")):
        own = [f"{kind} of sagas" in seen.instructions for seen in server.seen if word in seen.asked]
        assert sorted(set(own)) == [False, True], kind
