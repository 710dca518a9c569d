"""graphtide.connect: the same results as in the process, retries, redirects, credentials."""

from __future__ import annotations

import asyncio
import contextlib
import json
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

import graphtide
from graphtide.services.access.gate import AccessGate
from graphtide.services.api.http.app import create_app
from graphtide.services.api.schema.limits import RequestLimits
from graphtide.services.sdk.embedded import EmbeddedDatabase
from graphtide.services.sdk.interface import Graph
from graphtide.services.sdk.remote.retries import RetryPolicy, retry_after_s
from tests.e2e.test_python_streams import collect
from tests.support.guarded import KeyFile, gate, token
from tests.support.python_client import FAST, RECEIPT, client
from tests.support.scripted_server import Script, error, reply, scripted
from tests.support.serving import http_service, opened


async def test_results_over_http_equal_those_in_the_process(tmp_path: Path) -> None:
    """Every typed result of a client is the value that the application gave; only ages and uses may differ."""
    async with opened("embedded", tmp_path) as application, http_service(create_app(application)) as url:
        embedded = EmbeddedDatabase(application, RequestLimits())
        async with graphtide.connect(url) as there:
            made = await there.graph("g").add_many(
                {
                    "id": f"n{n}",
                    "text": f"# Team {n % 3}\n\nAna Ruiz met Kenji Mori in Town {n}.",
                    "title": f"Note {n}",
                    "source": "s",
                    "occurred_at": f"20{n + 10}",
                    "metadata": {"n": n, "deep": {"list": [1.5, None, True]}},
                }
                for n in range(12)
            )
            assert await there.graph("g").wait(made.token) == await embedded.graph("g").wait(made.token)
            one, other = embedded.graph("g"), there.graph("g")
            answer = await one.ask("Who met Kenji Mori?", explain=True, mode="local")
            remote_answer = await other.ask("Who met Kenji Mori?", explain=True, mode="local")
            assert json.dumps(remote_answer.trace) == json.dumps(answer.trace)
            assert (remote_answer.answer, remote_answer.citations, remote_answer.passages) == (
                answer.answer,
                answer.citations,
                answer.passages,
            )
            assert (remote_answer.nodes, remote_answer.edges, remote_answer.version) == (
                answer.nodes,
                answer.edges,
                answer.version,
            )
            entity = answer.nodes[0].id
            level = (await one.communities()).communities
            calls: tuple[Callable[[Graph], Awaitable[object]], ...] = (
                lambda graph: graph.document("n3"),
                lambda graph: graph.entity(entity),
                lambda graph: graph.related("n3"),
                lambda graph: graph.documents(limit=5),
                lambda graph: graph.entities(limit=5, q="a"),
                lambda graph: graph.neighbourhood(entity, hops=2),
                lambda graph: graph.communities(),
                lambda graph: graph.community(level[0].community),
                lambda graph: graph.digest(),
                lambda graph: graph.verify(),
            )
            for call in calls:
                assert await call(other) == await call(one)
            assert list(await other.reports()) == list(await one.reports())
            assert (await other.stats()).counts == (await one.stats()).counts
            assert await there.graphs() == await embedded.graphs()


async def test_deferred_requests_are_repeated_after_the_time_that_the_service_asks_for() -> None:
    """Each wait is at least Retry-After; without the header the waits are bounded; the call then succeeds."""
    deferred = error(429, "overloaded", retry_after="3"), error(503, "unavailable", retry_after="2")
    waits: list[float] = []
    async with scripted(*deferred, error(503, "unavailable"), RECEIPT) as script, client(script.url, waits) as db:
        assert await db.graph("g").add("a", "text") == graphtide.Receipt("0:1", 1)
    assert 3 <= waits[0] < 3.4 and 2 <= waits[1] < 2.3 and 0 < waits[2] <= FAST.max_wait_s
    assert len({(one.method, one.path, one.body) for one in script.requests}) == 1 and len(script.requests) == 4


@pytest.mark.parametrize(
    ("answer", "kind", "tries"),
    [
        (error(503, "unavailable", retry_after="1"), graphtide.Retryable, 4),
        (error(429, "overloaded", retry_after="1"), graphtide.Overloaded, 4),
        (error(429, "budget", retry_after="40000"), graphtide.BudgetExceeded, 1),
        (error(401, "unauthenticated"), graphtide.Unauthenticated, 1),
        (error(403, "forbidden"), graphtide.Forbidden, 1),
        (error(404, "not_found"), graphtide.NotFound, 1),
        (error(410, "expired"), graphtide.Expired, 1),
        (error(504, "deadline_exceeded"), graphtide.DeadlineExceeded, 1),
        (error(500, "internal"), graphtide.GraphtideError, 1),
        (reply(502, "<h1>Bad gateway</h1>"), graphtide.Retryable, 4),
        (reply(500, "<h1>oops</h1>"), graphtide.Broken, 1),
        (reply(200, "<h1>Welcome</h1>"), graphtide.Broken, 1),
        (reply(200, "[]"), graphtide.Broken, 1),
        (reply(200, '{"graph": 1}'), graphtide.Broken, 1),
        (reply(200, '{"version": "many", "digest": []}'), graphtide.Broken, 1),
        (b"nonsense\r\n\r\n", graphtide.Unreachable, 4),
        (b"", graphtide.Unreachable, 4),
        (b"HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\n{", graphtide.Unreachable, 4),
    ],
)
async def test_failures_raise_an_error_of_the_tree_after_bounded_tries(
    answer: bytes, kind: type[Exception], tries: int
) -> None:
    """A call that cannot succeed is not repeated; another one is repeated a bounded number of times."""
    async with scripted(answer) as script, client(script.url) as db:
        with pytest.raises(graphtide.GraphtideError) as raised:
            await db.graph("g").digest()
    assert type(raised.value) is kind and len(script.requests) == tries


async def test_question_reports_the_reason_when_no_time_is_left_for_a_retry() -> None:
    """The service names an unreachable model; a wait beyond the time limit would end as a mere deadline."""
    deferred = error(503, "unavailable", "the model is unreachable", retry_after="20")
    waits: list[float] = []
    async with scripted(deferred) as script, client(script.url, waits) as db:
        with pytest.raises(graphtide.Retryable, match="the model is unreachable"):
            await db.graph("g").ask("Who?", timeout_s=10)
        with pytest.raises(graphtide.Retryable, match="the model is unreachable"):
            [_ async for _ in db.graph("g").ask_stream("Who?", timeout_s=10)]
    assert waits == [] and len(script.requests) == 2


async def test_unreachable_service_is_reported_with_its_url() -> None:
    """The port was free a moment ago; the number of tries is bounded."""
    async with scripted(b"") as script:
        pass
    waits: list[float] = []
    async with client(script.url, waits) as db:
        with pytest.raises(graphtide.Unreachable, match=script.url):
            await db.graph("g").stats()
    assert len(waits) == FAST.retries


async def test_deletion_whose_receipt_is_lost_counts_as_made() -> None:
    """The repetition finds the document deleted: that is not an error, and its token is that of the deletion."""
    status = {"graph": "g", "doc_id": "a", "state": "deleted", "revision": 2, "reason": "", "token": "0:7"}
    status |= {"live_revision": None, "title": "", "source": "", "occurred_at": "", "metadata": {}, "text": ""}
    gone, found = error(404, "not_found"), reply(200, json.dumps({**status, "facts": []}))
    async with scripted(b"", gone, found) as script, client(script.url) as db:
        assert await db.graph("g").delete("a") == graphtide.Receipt("0:7", 1)
    async with scripted(gone) as script, client(script.url) as db:
        with pytest.raises(graphtide.NotFound):
            await db.graph("g").delete("a")


async def test_rebuild_with_an_unknown_outcome_is_not_repeated() -> None:
    """It costs as much as the graph is large, so a cut connection is reported."""
    async with scripted(b"") as script, client(script.url) as db:
        with pytest.raises(graphtide.Unreachable):
            await db.graph("g").rebuild()
    assert len(script.requests) == 1


@pytest.mark.parametrize("status", [301, 302, 307, 308])
async def test_redirects_to_other_hosts_never_carry_the_key(status: int) -> None:
    """The other host receives nothing at all, and the error names it."""
    async with scripted(RECEIPT) as other, scripted(reply(status, "", location=f"{other.url}/v1")) as script:
        async with client(script.url, api_key="gt_secret") as db:
            with pytest.raises(graphtide.Broken, match="redirects to") as raised:
                await db.graph("g").add("a", "text")
            with pytest.raises(graphtide.Broken, match="redirects to"):
                await collect(db, [])
        assert other.requests == [] and "secret" not in str(raised.value)
        assert script.requests[0].headers["authorization"] == "Bearer gt_secret"


async def test_token_is_renewed_once_when_the_service_refuses_it() -> None:
    """Concurrent requests share one renewal; a token that is refused again is an error."""
    made: list[str] = []

    def jwt() -> str:
        made.append(f"token-{len(made)}")
        return made[-1]

    refused = error(401, "unauthenticated")
    async with scripted(refused, RECEIPT) as script, client(script.url, token=jwt) as db:
        await db.graph("g").add("a", "text")
        await db.graph("g").add("b", "text")
    sent = [one.headers["authorization"] for one in script.requests]
    assert sent == ["Bearer token-0", "Bearer token-1", "Bearer token-1"]
    async with scripted(refused) as script, client(script.url, token=jwt) as db:
        with pytest.raises(graphtide.Unauthenticated):
            await db.graph("g").add("a", "text")
    assert len(script.requests) == 2


@contextlib.asynccontextmanager
async def guarded(folder: Path) -> AsyncIterator[tuple[str, KeyFile]]:
    keys = KeyFile(folder / "keys.toml")
    keys.add("admin", "*", "read write admin")
    async with opened("memory", folder) as application:
        allowed: AccessGate = gate(keys, folder)
        async with http_service(create_app(application, gate=allowed)) as url:
            yield url, keys


async def test_credentials_reach_a_guarded_service(tmp_path: Path) -> None:
    """A key, and a token of an asynchronous callback, do what they grant; nothing else."""

    async def jwt() -> str:
        return token(graphs=("notes",), actions=("read", "write"))

    async with guarded(tmp_path) as (url, keys):
        reader = keys.add("reader", "notes", "read")
        async with graphtide.connect(url, token=jwt) as db:
            await db.graph("notes").add("a", "Ana signed.")
            assert list(await db.graphs()) == ["notes"]
        async with graphtide.connect(url, api_key=reader) as db:
            assert (await db.graph("notes").document("a")).text == "Ana signed."
            with pytest.raises(graphtide.Forbidden):
                await db.graph("notes").add("b", "text")
        async with graphtide.connect(url) as db:
            with pytest.raises(graphtide.Unauthenticated):
                await db.graph("notes").stats()


@pytest.mark.parametrize(
    ("options", "field"),
    [
        ({"url": "127.0.0.1:8080"}, "url"),
        ({"url": "ftp://host"}, "url"),
        ({"url": "http://user:secret@host"}, "url"),
        ({"api_key": "a\nb"}, "api_key"),
        ({"api_key": "é"}, "api_key"),
        ({"api_key": "k", "token": lambda: "t"}, "token"),
        ({"verify": "/no/such/file.pem"}, "verify"),
        ({"cert": "/no/such/file.pem"}, "cert"),
    ],
)
async def test_wrong_options_are_refused_before_the_first_request(options: dict[str, Any], field: str) -> None:
    """The error names the option, and never contains the secret."""
    with pytest.raises(graphtide.Invalid) as raised:
        async with graphtide.connect(**{"url": "http://127.0.0.1:1", **options}):
            pass
    assert raised.value.field == field and "secret" not in str(raised.value)


async def test_bulk_load_waits_for_an_overloaded_service_and_halves_batches_that_are_too_large() -> None:
    """Every document arrives once, in order; the next batch is read only after the one before it was accepted."""
    took: list[list[str]] = []
    read: list[int] = []

    async def limited(script: Script, writer: asyncio.StreamWriter) -> None:
        ids = [json.loads(line)["id"] for line in script.requests[-1].body.splitlines()]
        if len(script.requests) % 3 == 1:
            writer.write(error(429, "overloaded", retry_after="1" if len(script.requests) > 1 else "100"))
        elif len(ids) > 30:
            writer.write(error(413, "too_large"))
        else:
            assert len(read) - sum(map(len, took)) <= 101, "at most one batch and a rejected document are in memory"
            took.append(ids)
            writer.write(reply(202, json.dumps({"token": f"0:{len(took)}", "accepted": len(ids), "rejected": []})))

    def documents() -> Any:
        for n in range(250):
            read.append(n)
            yield {"id": str(n), "text": "x", "metadata": {"bad": {1, 2}} if n == 7 else None}

    waits: list[float] = []
    async with scripted(b"") as script, client(script.url, waits) as db:
        script.replies = [lambda writer: limited(script, writer)]
        made = await db.graph("g").add_many(documents())
    assert waits[0] == 100 and len(waits) > 1
    assert [doc_id for ids in took for doc_id in ids] == [str(n) for n in range(250) if n != 7]
    assert made.accepted == 249 and made.token == f"0:{len(took)}"
    assert [(each.index, each.id, each.field) for each in made.rejected] == [(7, "7", "metadata")]


def test_retry_policy_honours_retry_after_and_is_bounded() -> None:
    """The waits grow, are random below their bound, and end; too long a Retry-After is not waited for."""
    policy = RetryPolicy(retries=6, first_wait_s=1.0, max_wait_s=8.0, max_retry_after_s=30.0)
    longest = [policy.wait_s(n, None, lambda _, high: high) for n in range(8)]
    shortest = [policy.wait_s(n, None, lambda low, _: low) for n in range(6)]
    assert longest == [1, 2, 4, 8, 8, 8, None, None] and shortest == [0.5, 1, 2, 4, 4, 4]
    assert policy.wait_s(0, 30.0, lambda low, _: low) == 30 and policy.wait_s(0, 31.0) is None
    assert [retry_after_s(text) for text in ("5", " 5 ", "soon", "-1", None)] == [5, 5, None, None, None]
    later = time.strftime("%a, %d %b %Y %H:%M:%S GMT", time.gmtime(time.time() + 100))
    assert 0 < (retry_after_s(later) or 0) <= 100 and retry_after_s("Mon, 01 Jan 2001 00:00:00 GMT") == 0


def test_importing_the_client_loads_no_index_no_server_and_no_broker() -> None:
    """A program that only connects pays for no engine: neither in packages nor in modules of the graph."""
    heavy = ["networkit", "hnswlib", "aiokafka", "faust", "neo4j", "fastapi", "grpc", "openai", "uvicorn", "tokenizers"]
    heavy += ["graphtide.graph.view", "graphtide.graph.retrieval.modes.table", "graphtide.graph.resolution"]
    used = "import sys, graphtide, graphtide.sync; graphtide.connect; graphtide.sync.connect"
    script = f"{used}; print([n for n in {heavy} if n in sys.modules])"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
