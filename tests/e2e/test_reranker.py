"""A reranker of the caller, and one of the settings, for the questions of an open database."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import graphtide
from tests.support.endpoints import status
from tests.support.rerank_server import RerankServer

NOTES = {f"d{n}": f"Note {n} about the boiler. It has {n} remarks." for n in range(6)}


def last_first(question: str, texts: Sequence[str]) -> list[float]:
    return [float(next(n for n in range(6) if f"Note {n}" in text)) for text in texts]


async def published(graph: graphtide.Graph) -> None:
    receipt = await graph.add_many([{"id": name, "text": text} for name, text in NOTES.items()])
    await graph.wait(receipt.token)


async def test_own_reranker_orders_the_passages_of_questions_alone(tmp_path: Path) -> None:
    """Ranked modes and `auto` use it, a bridge and standing questions do not."""
    async with graphtide.open(tmp_path, reranker=last_first) as db:
        graph = db.graph("notes")
        await published(graph)
        for mode in ("local", "passages", "vector", "auto"):
            answer = await graph.ask("What about the boiler?", mode=mode, top_k=3, generate=False, explain=True)
            assert [each.doc_id for each in answer.passages] == ["d5", "d4", "d3"]
            assert answer.trace is not None and answer.trace[-1]["step"] == "rerank"
        bridge = await graph.ask("What about the boiler?", mode="bridge", generate=False, explain=True)
        assert bridge.trace is not None and "rerank" not in {step["step"] for step in bridge.trace}
        kept = await graph.questions.put("q", "What about the boiler?", mode="vector", top_k=3)
    async with graphtide.open(tmp_path) as db:
        plain = await db.graph("notes").ask(
            "What about the boiler?", mode="vector", top_k=3, exact=True, generate=False
        )
        assert [each.chunk_id for each in kept.passages] == [each.chunk_id for each in plain.passages]


async def test_reranker_of_the_settings_is_used_and_may_fail(tmp_path: Path) -> None:
    """The endpoint receives the candidates; without it the answer is that of the mode."""
    with RerankServer() as server:
        settings = {"rerank_base_url": server.base_url, "rerank_model": "cross-1", "rerank_candidates": 4}
        async with graphtide.open(tmp_path, settings=settings) as db:
            graph = db.graph("notes")
            await published(graph)
            asked = "Has note 3 any remarks?"
            first = await graph.ask(asked, top_k=2, generate=False, explain=True)
            assert [len(seen.texts) for seen in server.seen] == [4]
            assert first.trace is not None and "cross-1" in str(first.trace[-1]["about"])
            server.misbehave(status(500))
            second = await graph.ask(asked, top_k=2, generate=False, explain=True)
            assert second.trace is not None and "failed" in str(second.trace[-1]["about"])
            assert len(second.passages) == 2
