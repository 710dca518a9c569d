"""The stage of extraction while an endpoint fails or a budget is spent: documents wait visibly."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

import pytest

from graphtide.infra.models.openai.embedder import EmbeddingEndpoint, OpenAIEmbedder
from graphtide.streams.errors import BudgetExceeded, Retryable
from graphtide.streams.extract.stage import ExtractStage
from graphtide.streams.messages import (
    DEAD_LETTERS,
    EXTRACTIONS,
    DocumentMessage,
)
from graphtide.streams.ports import Record, RevisionState
from graphtide.streams.usage import payer
from tests.support.backends import Backend
from tests.support.endpoints import NOT_JSON, status
from tests.support.extract_records import QUICK, _is, all_committed, publish, state_of
from tests.support.openai_server import NAN, OpenAIServer
from tests.support.stages import (
    Minded,
    Seen,
    eventually,
    extract_stage,
    extractions,
    records,
    running,
)


async def test_extract_says_what_it_waits_for_while_an_endpoint_fails(backend: Backend) -> None:
    """5xx, no JSON, NaN: the document stays accepted, the reason names the endpoint, and nothing is half done."""
    with OpenAIServer() as server:
        server.misbehave(status(503), NOT_JSON, NAN)
        embedder = OpenAIEmbedder(EmbeddingEndpoint(server.base_url, "m"))
        seen = Seen()
        stage = extract_stage(backend, embedder, seen=seen)
        await publish(backend, "a")
        async with running(stage.run):
            await eventually(lambda: _is(bool(stage.waiting)))
            assert server.base_url in stage.waiting["g", "a"]
            assert await state_of(backend, "a") is RevisionState.ACCEPTED
            assert not await records(backend, EXTRACTIONS)
            await eventually(lambda: all_committed(backend))
        await embedder.close()
    assert seen.retries == 3 and not stage.waiting
    assert len(await extractions(backend)) == 1 and not await records(backend, DEAD_LETTERS)


async def test_extract_waits_as_long_as_the_endpoint_asks(backend: Backend) -> None:
    """Between a 429 with Retry-After and the next request lies at least that time."""
    arrived = []
    loop = asyncio.get_running_loop()
    with OpenAIServer() as server:
        server.misbehave(status(429, retry_after="0.7"))
        embedder = OpenAIEmbedder(EmbeddingEndpoint(server.base_url, "m"))

        async def mind(_: Sequence[str]) -> None:
            arrived.append(loop.time())

        await publish(backend, "a")
        async with running(extract_stage(backend, Minded(mind, inner=embedder)).run):
            await eventually(lambda: all_committed(backend))
        await embedder.close()
    assert len(arrived) == 2 and arrived[1] - arrived[0] >= 0.7


async def test_extract_writes_no_dead_letter_for_waiting_through_many_restarts(backend: Backend) -> None:
    """A document that waits for a dead endpoint through more lives than crashes are allowed is extracted in the end."""
    dead = True

    async def mind(_: Sequence[str]) -> None:
        if dead:
            raise Retryable("the endpoint is unreachable", 3600.0)

    await publish(backend, "a")
    for _ in range(QUICK.crashes_allowed + 3):
        stage = extract_stage(backend, Minded(mind))

        async def spared(stage: ExtractStage = stage) -> bool:
            entry = await backend.ledger.latest("g", "a")
            return bool(stage.waiting) and entry is not None and entry.attempts == 0

        async with running(stage.run):
            await eventually(spared)
    dead = False
    async with running(extract_stage(backend, Minded(mind)).run):
        await eventually(lambda: all_committed(backend))
    assert [one.doc_id for one in await extractions(backend)] == ["a"]


@pytest.mark.thorough
async def test_extract_lets_documents_wait_for_a_budget_without_holding_up_other_graphs(backend: Backend) -> None:
    """400 documents of a graph without budget wait before three of another graph: those three are done, with two
    slots, while the others wait with their reason and without a counted attempt; then the budget is raised."""
    closed, asked = True, []

    async def mind(_: Sequence[str]) -> None:
        asked.append(payer().graph)
        if closed and payer().graph == "poor":
            raise BudgetExceeded("the budget of graph 'poor' is used up", 0.2)

    documents = [DocumentMessage("poor", f"d{n}", f"Ada wrote {n}.") for n in range(400)]
    documents += [DocumentMessage("rich", f"d{n}", f"Ada wrote {n}.") for n in range(3)]
    await backend.ledger.accept([Record(one.key, one.encode()) for one in documents])
    stage = extract_stage(backend, Minded(mind), QUICK)
    async with running(stage.run):
        await eventually(lambda: _found(backend, "rich", 3))
        await eventually(lambda: _is_so(len(stage.waiting) == 400))
        assert set(stage.waiting.values()) == {"the budget of graph 'poor' is used up"}
        assert len(asked) < 200, "each of them asks again and again"
        entries = [await backend.ledger.latest("poor", f"d{n}") for n in range(0, 400, 40)]
        assert all(one is not None and one.state is RevisionState.ACCEPTED for one in entries)
        assert sum(one.attempts for one in entries if one is not None) <= QUICK.concurrency
        closed = False
        await eventually(lambda: all_committed(backend))
    assert len(await extractions(backend)) == 403 and not stage.waiting


async def test_extract_names_the_refusal_that_holds_up_the_documents_of_a_graph(backend: Backend) -> None:
    """The refusal is that graph's alone, with its remaining time, and not for a revision before the paused ones."""

    async def mind(_: Sequence[str]) -> None:
        if payer().graph == "poor":
            raise BudgetExceeded("the budget of graph 'poor' is used up", 600.0)

    documents = [DocumentMessage(graph, graph, "Ada wrote.") for graph in ("rich", "poor")]
    first, second = await backend.ledger.accept([Record(one.key, one.encode()) for one in documents])
    stage = extract_stage(backend, Minded(mind), QUICK)
    assert stage.refusal("poor") is None
    async with running(stage.run):
        await eventually(lambda: _is_so(stage.refusal("poor") is not None))
        refusal = stage.refusal("poor", [second])
        assert refusal is not None and 0 < (refusal.retry_after_s or 0) <= 600
        assert str(refusal) == "the budget of graph 'poor' is used up"
        assert stage.refusal("poor", [first]) is None and stage.refusal("rich") is None
    assert stage.refusal("poor") is None


async def _found(backend: Backend, graph: str, count: int) -> bool:
    return sum(one.graph == graph for one in await extractions(backend)) == count


async def _is_so(value: bool) -> bool:
    return value
