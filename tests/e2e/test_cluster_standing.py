"""Standing questions of a cluster whose evaluating workers are down: each version still has its events.

A longer run: GRAPHTIDE_STANDING_STEPS=60 GRAPHTIDE_STANDING_SEED=7 pytest tests/e2e/test_cluster_standing.py
"""

from __future__ import annotations

import asyncio
import os
import random
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from dataclasses import replace
from pathlib import Path

from graphtide.services.application import Application, QueryRequest
from graphtide.streams.standing.records import QuestionDefinition
from tests.support.role_cluster import Cluster, document, opened
from tests.support.standing import DEEDS, PEOPLE, THINGS

SEED = int(os.environ.get("GRAPHTIDE_STANDING_SEED", "20261126"))
STEPS = int(os.environ.get("GRAPHTIDE_STANDING_STEPS", "12"))
ENDS_S = 240
GRAPH = "g"
QUESTIONS = (
    QuestionDefinition("vector", "Who repaired the boiler?", "vector", 2),
    QuestionDefinition("local", "Who signed for the contract?", "local", 3),
)
Expected = list[tuple[int, list[str], str]]


class Oracle:
    """The evidence of each question after each commit, and the events that follow from it."""

    def __init__(self, application: Application) -> None:
        self._application = application
        self._evidence: dict[str, list[str]] = {}
        self.expected: dict[str, Expected] = {each.id: [] for each in QUESTIONS}

    async def register(self) -> None:
        for question in QUESTIONS:
            found = await self._application.put_question(GRAPH, question)
            while not found.version:
                await asyncio.sleep(0.05)
                found = await self._application.question(GRAPH, question.id)
            self._evidence[question.id] = [passage.chunk_id for passage in found.passages]

    async def committed(self, token: str, cause: str) -> None:
        for question in QUESTIONS:
            asked = QueryRequest(question.question, mode=question.mode, top_k=question.top_k, generate=False)
            answer = await self._application.query(GRAPH, replace(asked, exact=True, after=token, timeout_s=60))
            found = [passage.chunk_id for passage in answer.passages]
            if found != self._evidence[question.id]:
                self.expected[question.id].append((answer.version, found, cause))
                self._evidence[question.id] = found


async def change(application: Application, rng: random.Random) -> tuple[str, str]:
    """Publish, edit or delete a document; return its token and id."""
    doc_id = f"d{rng.randrange(5)}"
    listed = {name for name in (f"d{number}" for number in range(5)) if await is_live(application, name)}
    if doc_id in listed and len(listed) > 1 and rng.random() < 0.3:
        return (await application.delete(GRAPH, doc_id)).token, doc_id
    a, b = rng.sample(PEOPLE, 2)
    text = f"{a} {rng.choice(DEEDS)} the {rng.choice(THINGS)}. {b} {rng.choice(DEEDS)} the {rng.choice(THINGS)}."
    return (await application.publish([document(doc_id, text)])).token, doc_id


async def is_live(application: Application, doc_id: str) -> bool:
    try:
        return (await application.document(GRAPH, doc_id)).state == "applied"
    except Exception:  # noqa: BLE001 -- it was never published
        return False


async def events(application: Application, question_id: str, count: int) -> Expected:
    """Return the first events of a question, and check their numbers."""
    found: Expected = []
    if not count:
        return found
    items: AsyncIterator[object] = application.question_events(GRAPH, question_id, "")
    async for event in items:
        if event is not None:
            causes = [cause.doc_id for cause in event.causes]  # type: ignore[attr-defined]
            found.append((event.version, [p.chunk_id for p in event.passages], *causes[:1]))  # type: ignore[attr-defined]
            assert event.seq == len(found)  # type: ignore[attr-defined]
        if len(found) == count:
            break
    return found


async def evaluated_up_to(cluster: Cluster, application: Application) -> None:
    """Return once the workers have noted the present version as evaluated."""
    version = (await application.graphs())[GRAPH]
    while await cluster.backing.questions.evaluated(GRAPH) < version:  # noqa: ASYNC110 -- noted at intervals
        await asyncio.sleep(0.05)


async def test_versions_without_a_worker_have_their_events(tmp_path: Path) -> None:
    """0 missed, 0 more, each once, with its cause: other workers take over after several commits without any."""
    print("seed", SEED)
    rng = random.Random(SEED)
    async with asyncio.timeout(ENDS_S), opened(tmp_path, ("extract", "consolidate")) as cluster:
        one = await cluster.replica("one")
        oracle = Oracle(one)
        token, doc_id = await change(one, rng)
        await one.query(GRAPH, QueryRequest("?", after=token, generate=False, timeout_s=60))
        for life in range(1 + STEPS // 4):
            async with AsyncExitStack() as stack:
                await cluster.start("summarize", f"summarize-{life}", stack)
                if not life:
                    await oracle.register()
                token, doc_id = await change(one, rng)
                await oracle.committed(token, doc_id)
                await evaluated_up_to(cluster, one)
            for _ in range(3):
                token, doc_id = await change(one, rng)
                await oracle.committed(token, doc_id)
        async with AsyncExitStack() as stack:
            await cluster.start("summarize", "last", stack)
            await evaluated_up_to(cluster, one)
            for question in QUESTIONS:
                wanted = oracle.expected[question.id]
                assert await events(one, question.id, len(wanted)) == wanted
                assert (await one.question(GRAPH, question.id)).seq == len(wanted)
        assert sum(map(len, oracle.expected.values())) > STEPS // 3, "too few events: the stream proves nothing"
