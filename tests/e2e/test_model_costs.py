"""Costs of a language model in the whole service: ledger, budgets, crashes, estimates, a trial of an endpoint."""

from __future__ import annotations

import asyncio
import contextlib
import json
import sqlite3
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import httpx
import pytest
from pydantic import SecretStr

from graphtide.graph.records import DocumentInfo
from graphtide.graph.text.token_count import count_tokens
from graphtide.infra.models.usage.expectations import EXTRACTION_RATIO, HEADING_TOKENS
from graphtide.infra.settings import BudgetSetting, PriceSetting, Settings
from graphtide.services.application import Application, QueryRequest, Usage
from graphtide.services.wiring import open_application
from graphtide.streams.errors import Broken, BudgetExceeded
from graphtide.streams.messages import DocumentMessage
from graphtide.streams.ports import RevisionState
from tests.support import llm_faults as fake
from tests.support.endpoints import DROPPED, NOT_JSON, SLOW, Fault, status
from tests.support.llm_server import LlmServer
from tests.support.processes import start_service

TEXT = "Halden Station was founded in 1961 by Ida Moreau. Aurora carried Tor Ruud to Skarv Island."
PRICE = PriceSetting(prompt=2.0, completion=8.0)


@pytest.fixture
def server() -> Iterator[LlmServer]:
    """Yield a language model on loopback."""
    with LlmServer() as running:
        yield running


def settings(data: Path, server: LlmServer, **changed: object) -> Settings:
    named = {"llm_base_url": server.base_url, "llm_model": "m", "llm_api_key": SecretStr("sk-test")}
    return Settings(data=data, prices={"m": PRICE}, **{**named, "llm_timeout_s": 30.0, **changed})  # type: ignore[arg-type]


async def ended(application: Application, graph: str, *doc_ids: str) -> dict[str, RevisionState]:
    """Return the states of documents once none of them is ACCEPTED any longer."""
    while True:
        found = {doc_id: (await application.document(graph, doc_id)).state for doc_id in doc_ids}
        if RevisionState.ACCEPTED not in found.values():
            return found
        await asyncio.sleep(0.02)


def cost(server: LlmServer) -> float:
    return sum(one.prompt_tokens * 2e-6 + one.completion_tokens * 8e-6 for one in server.seen)


# the usage ledger


async def test_books_documents_and_answers_say_what_the_endpoint_says(tmp_path: Path, server: LlmServer) -> None:
    """Calls, tokens and money by stage agree, for a document over two revisions, and for a question."""
    async with open_application(settings(tmp_path, server)) as application:
        await application.publish([DocumentMessage("g", "a", TEXT)])
        await ended(application, "g", "a")
        await application.publish([DocumentMessage("g", "a", f"{TEXT} So it was.")])
        await ended(application, "g", "a")
        read = server.seen[:]
        usage = (await application.document("g", "a")).usage
        tokens = sum(one.prompt_tokens for one in read), sum(one.completion_tokens for one in read)
        assert replace(usage, cost=None) == Usage(2, *tokens)
        assert usage.cost == pytest.approx(cost(server))
        answer = await application.query("g", QueryRequest("Who founded Halden Station?"))
        asked = server.seen[-1]
        assert replace(answer.usage, cost=None) == Usage(1, asked.prompt_tokens, asked.completion_tokens)
        assert answer.usage.cost == pytest.approx(asked.prompt_tokens * 2e-6 + asked.completion_tokens * 8e-6)
        pieces = [piece async for piece in application.stream("g", QueryRequest("Who founded Halden Station?"))]
        assert pieces[-1].usage == answer.usage  # type: ignore[union-attr]
        spending = (await application.stats("g")).spending
    assert spending["extract"] == {
        "calls": 2, "prompt_tokens": tokens[0], "completion_tokens": tokens[1], "cost": pytest.approx(usage.cost),
    }  # fmt: skip
    assert spending["answer"]["calls"] == 2
    assert spending["today"]["calls"] == 4 and spending["today"]["cost"] == pytest.approx(cost(server))


MISBEHAVIOUR: dict[str, tuple[tuple[Fault, ...], RevisionState]] = {
    "slow": ((SLOW,), RevisionState.APPLIED),
    "hanging up": ((DROPPED,), RevisionState.APPLIED),
    "429": ((status(429, retry_after="0.1"),), RevisionState.APPLIED),
    "503": ((status(503),), RevisionState.APPLIED),
    "html": ((NOT_JSON,), RevisionState.APPLIED),
    "duplicated": ((fake.DUPLICATED,), RevisionState.APPLIED),
    "emptied": ((fake.EMPTIED,), RevisionState.APPLIED),
    "no usage": ((fake.NO_USAGE,), RevisionState.APPLIED),
    "cut off": ((fake.CUT_OFF, fake.CUT_OFF), RevisionState.FAILED),
    "malformed": ((fake.MALFORMED, fake.MALFORMED), RevisionState.FAILED),
    "wrong schema": ((fake.WRONG_SCHEMA, fake.WRONG_SCHEMA), RevisionState.FAILED),
    "flood": ((fake.FLOOD, fake.FLOOD), RevisionState.FAILED),
    "filtered": ((fake.FILTERED,), RevisionState.FAILED),
    "too large": ((status(413, "too large"),), RevisionState.FAILED),
}
UNKNOWN = frozenset({"slow", "hanging up", "html"})
"""The cost of these calls is unknown: they count as expected, so the ledger has at least the answered ones."""


@pytest.mark.parametrize("case", MISBEHAVIOUR)
async def test_misbehaviour_ends_one_document_and_the_books_stay_right(
    tmp_path: Path, server: LlmServer, case: str
) -> None:
    """The document is applied, or failed with its cause; the others are applied; and the figures are the endpoint's
    own, plus the expected cost of a call whose end is unknown.
    """
    faults, state = MISBEHAVIOUR[case]
    free = {"llm_tokens_per_minute": 0, "llm_requests_per_minute": 0}
    deadline = time.monotonic() + 120
    limits = {"llm_concurrency": 1, "llm_timeout_s": 4.0 if case == "slow" else 30.0, **free}
    async with open_application(settings(tmp_path, server, **limits)) as application:
        server.misbehave(*faults)
        await application.publish([DocumentMessage("g", "bad", TEXT)])
        for _ in faults:
            await asyncio.to_thread(server.arrived.get)
        await application.publish([DocumentMessage("h", f"good{n}", f"{TEXT} {n}.") for n in range(3)])
        assert set((await ended(application, "h", "good0", "good1", "good2")).values()) == {RevisionState.APPLIED}
        assert (await ended(application, "g", "bad"))["bad"] is state
        found = await application.document("g", "bad")
        # Community reports are requested in the background: the ledger agrees once no call is open.
        while await booked(application, "gh") != (expected := owed(server, case)):
            assert time.monotonic() < deadline, (await booked(application, "gh"), expected)
            await asyncio.sleep(0.02)
    assert bool(found.reason) == (state is RevisionState.FAILED)


async def booked(application: Application, graphs: str) -> list[int]:
    """Return prompt tokens, completion tokens and calls in today's ledger, open calls included."""
    today = [(await application.stats(graph)).spending["today"] for graph in graphs]
    return [sum(int(str(one[name])) for one in today) for name in ("prompt_tokens", "completion_tokens", "calls")]


def owed(server: LlmServer, case: str) -> list[int]:
    """Return the same figures, as the endpoint has them."""
    answered = [one for one in server.seen if one.prompt_tokens]
    figures = [
        sum(one.prompt_tokens for one in answered),
        sum(one.completion_tokens for one in answered),
        len(answered),
    ]
    if case not in UNKNOWN:
        return figures
    again = next(one for one in answered if one.asked == server.seen[0].asked)  # the first call of all, repeated
    guessed = HEADING_TOKENS + round(EXTRACTION_RATIO * count_tokens(again.asked))
    return [figures[0] + again.prompt_tokens, figures[1] + guessed, figures[2] + 1]


# budgets


async def test_budget_pauses_its_graph_says_so_and_goes_on_when_it_is_raised(tmp_path: Path, server: LlmServer) -> None:
    """Documents wait as accepted, with the reason in their status, in stats and in readyz; another graph continues;
    questions are answered; a restart with a larger budget continues where it stopped, and pays for no call twice.
    """
    small = {"g": BudgetSetting(tokens=5_000)}
    names = [f"d{n}" for n in range(12)]
    async with open_application(settings(tmp_path, server, budgets=small, llm_concurrency=1)) as application:
        await application.publish([DocumentMessage("g", name, f"{TEXT} {name}.") for name in names])
        await application.publish([DocumentMessage("h", f"h{n}", f"{TEXT} h{n}.") for n in range(20)])
        assert set((await ended(application, "h", *(f"h{n}" for n in range(20)))).values()) == {RevisionState.APPLIED}
        waiting: list[str] = []
        stats = await application.stats("g")
        while (
            not waiting
            or "paused" not in stats.spending["budget"]
            or not all("budget of graph 'g'" in one for one in waiting)
        ):
            await asyncio.sleep(0.02)
            found = [await application.document("g", name) for name in names]
            waiting = [one.reason for one in found if one.state is RevisionState.ACCEPTED]
            stats = await application.stats("g")
        parts = (await application.health()).components
        applied = len(names) - len(waiting)
        assert 0 < applied < len(names) and stats.lag == len(waiting)
        assert "budget of graph 'g'" in str(stats.spending["budget"]["paused"]) and "budget" in parts["extract"].text
        # There is one call at a time: the budget is exceeded only by the last call's difference from its estimate.
        assert int(str(stats.spending["today"]["llm_tokens"])) <= 5_000 + max(
            one.completion_tokens for one in server.seen
        )
        assert (await application.query("g", QueryRequest("Who founded Halden Station?"))).usage.llm_calls == 1
        before = len(server.read)
    larger = {"g": BudgetSetting(tokens=500_000)}
    async with open_application(settings(tmp_path, server, budgets=larger)) as application:
        assert set((await ended(application, "g", *names)).values()) == {RevisionState.APPLIED}
    assert len(server.read) == before + len(waiting)  # reports may follow, on a busy machine before the end


async def test_budget_in_money_pauses_too_and_stops_questions_when_told_to(tmp_path: Path, server: LlmServer) -> None:
    """Without prices the start is refused. With the setting a question gets the reason, not an answer."""
    bare = settings(tmp_path, server, budget_cost_per_day=0.01).model_copy(update={"prices": {}})
    with pytest.raises(Broken, match="has no price"):
        async with open_application(bare):
            raise AssertionError("opened")
    bounded = {"budgets": {"g": BudgetSetting(cost=0.007)}, "budget_blocks_queries": True, "llm_concurrency": 1}
    chosen = settings(tmp_path, server, **bounded)
    async with open_application(chosen) as application:
        await application.publish([DocumentMessage("g", f"d{n}", f"{TEXT} d{n}.") for n in range(4)])
        stats = await application.stats("g")
        while "paused" not in stats.spending.get("budget", {}):
            await asyncio.sleep(0.02)
            stats = await application.stats("g")
        longest = max(one.completion_tokens for one in server.seen)  # the last may be longer than expected
        assert float(str(stats.spending["today"]["cost"])) <= 0.007 + longest * PRICE.completion / 1e6
        with pytest.raises(BudgetExceeded, match="budget of graph 'g'"):
            await application.query("g", QueryRequest("Who founded Halden Station?"))


async def test_budget_that_pauses_the_first_document_of_a_graph_refuses_its_questions(
    tmp_path: Path, server: LlmServer
) -> None:
    """The graph has nothing to answer from before the next day: with a token, without one, and without an answer, a
    question gets the budget's refusal, which names the time that is left, as soon as the document is known to wait.
    """
    async with open_application(settings(tmp_path, server, budgets={"g": BudgetSetting(tokens=10)})) as application:
        receipt = await application.publish([DocumentMessage("g", "a", TEXT)])
        for ask in (
            QueryRequest("Who?", after=receipt.token, timeout_s=60.0),
            QueryRequest("Who?"),
            QueryRequest("Who?", generate=False),
        ):
            with pytest.raises(BudgetExceeded, match="budget of graph 'g'") as refused:
                await application.query("g", ask)
            assert 0 < (refused.value.retry_after_s or 0) <= 86_400
        assert (await application.document("g", "a")).state is RevisionState.ACCEPTED
    assert not server.seen


async def test_budget_refuses_to_wait_for_a_document_that_it_pauses(tmp_path: Path, server: LlmServer) -> None:
    """A question without the token is answered from the other documents of the graph."""
    bounded = settings(tmp_path, server, budgets={"g": BudgetSetting(tokens=2_500)}, llm_concurrency=1)
    async with open_application(bounded) as application:
        first = await application.publish([DocumentMessage("g", "a", TEXT)])
        await application.query("g", QueryRequest("Who?", after=first.token, timeout_s=60.0))
        receipt = await application.publish([DocumentMessage("g", f"b{n}", f"{TEXT} {n}.") for n in range(4)])
        with pytest.raises(BudgetExceeded, match="budget of graph 'g'"):
            await application.query("g", QueryRequest("Who?", after=receipt.token, timeout_s=60.0))
        assert (await application.query("g", QueryRequest("Who?"))).passages


# crashes


def rows(data: Path, query: str) -> list[tuple[object, ...]]:
    """Return the content of the database, read beside the service."""
    file = data / "graphtide.sqlite"
    if not file.exists():
        return []
    try:
        with contextlib.closing(sqlite3.connect(f"file:{file}?mode=ro", uri=True)) as connection:
            return connection.execute(query).fetchall()
    except sqlite3.OperationalError:
        return []


def test_crash_pays_for_no_finished_call_again_and_counts_the_unfinished_as_expected(tmp_path: Path) -> None:
    """kill -9 comes with three passages of a document read and a fourth in flight: after the restart only the fourth is
    requested again, and the ledger has both of its calls.
    """
    paragraphs = [f"Person{n} founded Station{n} in 19{n}. " + f"Station{n} is a place. " * 42 for n in range(10, 14)]
    with LlmServer() as server:
        server.misbehave(Fault(), Fault(), Fault(), SLOW)
        settings = {"BASE_URL": server.base_url, "MODEL": "m", "CONCURRENCY": "1"}
        environment = {f"GRAPHTIDE_LLM_{name}": value for name, value in settings.items()}
        running = start_service(tmp_path, environment)
        try:
            body = {"text": "\n\n".join(paragraphs)}
            httpx.put(f"{running.url}/v1/graphs/g/documents/a", json=body, timeout=120).raise_for_status()
            for _ in range(4):
                server.arrived.get(timeout=60)
            wait_until(lambda: rows(tmp_path, "SELECT count(*) FROM extraction_memo") == [(3,)])
            wait_until(lambda: rows(tmp_path, "SELECT count(*) FROM spending_open") == [(1,)])
        finally:
            running.kill()
        lost = server.seen[3].asked
        (guess,) = rows(tmp_path, "SELECT prompt_tokens, completion_tokens FROM spending_open")
        running = start_service(tmp_path, environment)
        try:
            with httpx.Client(base_url=running.url, timeout=120) as client:
                wait_until(lambda: client.get("/v1/graphs/g/documents/a").json()["state"] == "applied")
                spent = client.get("/v1/graphs/g/stats").json()["spending"]["extract"]
        finally:
            running.stop()
    assert [one.asked for one in server.seen[4:]] == [lost]
    answered = [one for one in server.seen if one.prompt_tokens]
    assert len(answered) == 4
    assert spent == {
        "calls": 5,
        "prompt_tokens": sum(one.prompt_tokens for one in answered) + int(str(guess[0])),
        "completion_tokens": sum(one.completion_tokens for one in answered) + int(str(guess[1])),
    }


def wait_until(holds: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 60
    while not holds():
        assert time.monotonic() < deadline
        time.sleep(0.02)


# before a run


def command(environment: dict[str, str], *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run a module of the project with these settings alone."""
    kept = {"PATH": "", "PYTHONPATH": str(Path(__file__).parents[2])}
    return subprocess.run(
        [sys.executable, "-m", *arguments], env=kept | environment, capture_output=True, text=True, check=False
    )


@pytest.mark.thorough
async def test_estimate_names_the_calls_and_prompts_that_a_run_then_takes(tmp_path: Path, server: LlmServer) -> None:
    """It agrees to the call and the token; after the run it shows that the cache saves all of them."""
    texts = [" ".join(f"{TEXT} {n}.{k}" for k in range(1 + 9 * n)) for n in range(5)]
    lines: list[dict[str, Any]] = [
        {"id": f"d{n}", "title": f"Notes {n % 3}", "text": text} for n, text in enumerate(texts)
    ]
    lines += [{**lines[0], "id": "same text"}, {"id": "brought", "text": TEXT, "facts": []}]
    file, data = tmp_path / "notes.jsonl", tmp_path / "data"
    file.write_text("\n".join(map(json.dumps, lines)))
    named = {"GRAPHTIDE_LLM_BASE_URL": server.base_url, "GRAPHTIDE_LLM_MODEL": "m", "GRAPHTIDE_DATA": str(data)}
    named |= {"GRAPHTIDE_PRICES": json.dumps({"m": PRICE.model_dump()})}
    asked = ("graphtide.services.cli", "estimate", str(file), "--graph", "g", "--json")
    before = json.loads((await asyncio.to_thread(command, named, *asked)).stdout)
    async with open_application(settings(data, server, llm_tokens_per_minute=0, llm_timeout_s=60)) as application:
        messages = [
            DocumentMessage("g", one["id"], one["text"], DocumentInfo(one.get("title", "")), facts=one.get("facts"))
            for one in lines
        ]
        await application.publish(messages)
        await ended(application, "g", *(one["id"] for one in lines))
        spent = (await application.stats("g")).spending["extract"]
    assert not server.faults and before["documents"] == 7 and before["with_facts"] == 1
    assert (before["calls"], before["prompt_tokens"]) == (spent["calls"], spent["prompt_tokens"])
    assert before["saved"]["calls"] == 1 and before["cost"] > 0 and before["embedding_tokens"] > 0
    after = json.loads((await asyncio.to_thread(command, named, *asked)).stdout)
    assert (after["calls"], after["saved"]["calls"]) == (0, before["calls"] + 1)
    assert after["answers_guessed_from"].startswith(str(before["calls"]))


@pytest.mark.parametrize(
    ("refuses", "support"),
    [((), "structured outputs"), (("json_schema",), "JSON mode"), (("response_format",), "plain text")],
)
async def test_trial_says_what_an_endpoint_takes_and_costs(refuses: tuple[str, ...], support: str) -> None:
    """Five documents, three questions: the answers, calls and tokens by stage, and the supported schemas."""
    with LlmServer(refuses=refuses) as server:
        settings = {
            "GRAPHTIDE_LLM_BASE_URL": server.base_url,
            "GRAPHTIDE_LLM_MODEL": "m",
            "GRAPHTIDE_LLM_API_KEY": "sk-x",
        }
        ran = await asyncio.to_thread(command, settings, "graphtide.services.demo.try_llm")
    assert ran.returncode == 0, ran.stderr
    assert support in ran.stdout and "entities" in ran.stdout and "sk-x" not in ran.stdout + ran.stderr
    lines = {line.split()[0]: line.split()[1:] for line in ran.stdout.splitlines() if line.strip()}
    read = [one for one in server.seen if one.asked.startswith("<document-") and one.prompt_tokens]
    tokens = sum(one.prompt_tokens for one in read), sum(one.completion_tokens for one in read)
    assert lines["extract"] == [str(len(read)), f"{tokens[0]:,}", f"{tokens[1]:,}"] and lines["answer"][0] == "3"


async def test_trial_says_what_is_wrong_with_an_endpoint(server: LlmServer) -> None:
    """It prints one sentence and an exit code; without an endpoint, the setting to change."""
    server.misbehave(status(401))
    settings = {"GRAPHTIDE_LLM_BASE_URL": server.base_url, "GRAPHTIDE_LLM_MODEL": "m"}
    ran = await asyncio.to_thread(command, settings, "graphtide.services.demo.try_llm")
    assert ran.returncode == 1 and "check the base URL, the key and the model" in ran.stderr
    ran = await asyncio.to_thread(command, {}, "graphtide.services.demo.try_llm")
    assert ran.returncode == 2 and "GRAPHTIDE_LLM_BASE_URL" in ran.stderr
