"""Standing questions by every way to reach a service: Python, HTTP, gRPC and forwarding, the command line."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path

import grpc.aio
import httpx
import numpy as np
import pytest
from numpy.typing import NDArray

import graphtide
from graphtide.infra.models.cache.embeddings import MemoisedEmbedder
from graphtide.infra.sqlite.standing.questions import SqliteQuestionStore
from graphtide.services import wiring
from graphtide.services.api.http.app import create_app
from graphtide.services.application import Application, QueryRequest
from graphtide.services.cluster.remote_application import RemoteApplication
from graphtide.services.standing.types import QuestionDefinition, StandingEvent
from graphtide.streams.errors import Expired, Invalid, NotFound, Retryable
from graphtide.streams.messages import DocumentMessage
from graphtide.streams.standing import stage
from tests.e2e.test_cli import graphtide as command
from tests.support.serving import grpc_address, http_service, opened

ASKED = "Who signed the contract for the boiler?"
FIRST = "Ana Ruiz signed the contract for the boiler."
SECOND = "Kenji Mori signed the contract for the boiler, after Ana Ruiz."


async def test_python_watches_a_question_from_its_registration_to_its_deletion(tmp_path: Path) -> None:
    """An event names its causes and is the evidence of an exact question; an answer comes where one is asked for."""
    async with graphtide.open(tmp_path / "data") as db:
        notes = db.graph("notes")
        with pytest.raises(graphtide.NotFound):
            await notes.questions.put("early", ASKED)
        first = await notes.add("a", FIRST)
        await notes.wait(first.token)
        registered = await notes.questions.put("q", ASKED, answer=True)
        silent = await notes.questions.put("silent", ASKED)
        assert [passage.text for passage in registered.passages] == [FIRST]
        assert (registered.seq, registered.answer, silent.with_answer) == (0, "", False)
        second = await notes.add("b", SECOND)
        asked = await notes.ask(ASKED, after=second.token, generate=False, exact=True)
        event = await anext(notes.questions.watch("q"))
        assert [passage.chunk_id for passage in event.passages] == [passage.chunk_id for passage in asked.passages]
        assert [(cause.doc_id, [p.doc_id for p in event.entered]) for cause in event.causes] == [("b", ["b"])]
        assert (event.seq, event.version, event.token) == (1, asked.version, f"v{asked.version}")
        assert event.answer
        assert not (await anext(notes.questions.watch("silent"))).answer
        assert (await notes.questions.get("q")).answer == event.answer
        await notes.delete("a")
        left = await anext(notes.questions.watch("q", after=event.seq))
        assert [(cause.doc_id, [p.doc_id for p in left.left]) for cause in left.causes] == [("a", ["a"])]
        assert not left.left[0].text
        assert not (await anext(notes.questions.watch("q"))).answer
        page = await notes.questions.list(limit=1)
        assert [each.id for each in page.questions] == ["q"] and page.next
        assert [each.id for each in (await notes.questions.list(cursor=page.next)).questions] == ["silent"]
        await notes.questions.delete("q")
        with pytest.raises(graphtide.NotFound):
            await notes.questions.get("q")


async def test_question_keeps_its_evidence_and_events_when_the_process_ends(tmp_path: Path) -> None:
    """A restart evaluates everything again and reports nothing; a changed question begins anew with the next number."""
    async with graphtide.open(tmp_path / "data") as db:
        notes = db.graph("notes")
        await notes.wait((await notes.add("a", FIRST)).token)
        await notes.questions.put("q", ASKED, mode="vector")
        await notes.wait((await notes.add("b", SECOND)).token)
        event = await anext(notes.questions.watch("q"))
    async with graphtide.open(tmp_path / "data") as db:
        notes = db.graph("notes")
        stored = await notes.questions.get("q")
        assert [passage.chunk_id for passage in stored.passages] == [passage.chunk_id for passage in event.passages]
        again = await notes.questions.put("q", ASKED, mode="vector")
        assert (again.seq, again.changed_version) == (1, event.version)
        other = await notes.questions.put("q", "Who painted the roof?", mode="vector", top_k=1)
        assert other.seq == 1 and len(other.passages) == 1
        await notes.add("c", "Dina Novak painted the roof.")
        assert (await anext(notes.questions.watch("q", after=1))).seq == 2


async def test_http_streams_events_and_resumes_after_the_last(tmp_path: Path) -> None:
    """Server-sent events carry the number as id; refusals name the field and the remedy."""
    async with opened("embedded", tmp_path) as application, http_service(create_app(application)) as url:
        client = httpx.AsyncClient(base_url=f"{url}/v1/graphs/g", timeout=60)
        async with client:
            assert (await client.put("/questions/q", json={"question": ASKED})).status_code == 404
            await publish(application, "a", FIRST)
            for mode in ("global", "auto", "nakg", "nonsense"):
                refused = await client.put("/questions/q", json={"question": ASKED, "mode": mode})
                assert (refused.status_code, refused.json()["error"]["field"]) == (422, "mode")
                assert "vector" in refused.json()["error"]["message"]
            assert (await client.put("/questions/.x", json={"question": ASKED})).status_code == 422
            both = {"question": ASKED, "as_of": "2024", "filters": {"as_of": "2025"}}
            assert (await client.put("/questions/q", json=both)).json()["error"]["field"] == "as_of"
            registered = await client.put("/questions/q", json={"question": ASKED, "filters": {"as_of": "2024"}})
            assert registered.json()["filters"] == {"as_of": "2024"}
            await publish(application, "b", SECOND)
            await publish(application, "c", "Boris Hale signed the contract for the boiler, too.")
            async with client.stream("GET", "/questions/q/events") as response:
                events = [event async for event in lines(response, 2)]
            assert [event["seq"] for event in events] == [1, 2]
            async with client.stream("GET", "/questions/q/events", headers={"last-event-id": "1"}) as response:
                assert [event async for event in lines(response, 1)] == events[1:]
            token = {"after": str(events[0]["token"])}
            async with client.stream("GET", "/questions/q/events", params=token) as response:
                assert [event async for event in lines(response, 1)] == events[1:]
            assert (await client.get("/questions/q/events?after=9")).status_code == 422
            assert (await client.get("/questions/q/events?after=x")).json()["error"]["field"] == "after"
            assert (await client.get("/questions/other/events")).status_code == 404
            assert (await client.get("/questions/q")).json()["seq"] == 2
            assert [each["id"] for each in (await client.get("/questions")).json()["questions"]] == ["q"]
            async with client.stream("GET", "/questions/q/events?after=2") as response:
                assert (await client.delete("/questions/q")).status_code == 204
                assert not [line async for line in response.aiter_lines() if line.startswith("data:")]
            assert (await client.delete("/questions/q")).status_code == 404


async def test_grpc_and_forwarding_have_the_operations_of_http(tmp_path: Path) -> None:
    """A process without graphs forwards every operation, and the errors keep their classes."""
    definition = QuestionDefinition("q", ASKED, "vector", 3)
    async with opened("embedded", tmp_path) as application, forwarding(application) as remote:
        with pytest.raises(NotFound):
            await remote.put_question("g", definition)
        await publish(application, "a", FIRST)
        registered = await remote.put_question("g", definition)
        assert registered == await application.question("g", "q") == await remote.question("g", "q")
        with pytest.raises(Invalid, match="global"):
            await remote.put_question("g", QuestionDefinition("q", ASKED, "global"))
        events = remote.question_events("g", "q", "")
        assert await anext(events) is None
        await publish(application, "b", SECOND)
        event = await anext(events)
        assert isinstance(event, StandingEvent) and event.seq == 1
        assert await remote.list_questions("g", 10, "") == await application.list_questions("g", 10, "")
        await remote.delete_question("g", "q")
        assert [event async for event in events] == []
        with pytest.raises(NotFound):
            await anext(remote.question_events("g", "q", ""))


async def test_reader_that_is_too_far_behind_is_told_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Events beyond the retention are gone, and a reader that resumes before them gets an error, not a gap."""
    for module in ("infra.sqlite.standing.questions", "services.standing.service"):
        monkeypatch.setattr(f"graphtide.{module}.EVENTS_KEPT", 2)
    async with opened("embedded", tmp_path) as application:
        await publish(application, "a", FIRST)
        await application.put_question("g", QuestionDefinition("q", ASKED, "vector"))
        for number in range(4):
            await publish(application, f"d{number}", f"{FIRST} Note {number}.")
        assert (await application.question("g", "q")).seq == 4
        with pytest.raises(Expired):
            await anext(application.question_events("g", "q", "1"))
        events = application.question_events("g", "q", "")
        assert await anext(events) is None
        first = await anext(events)
        assert first is not None and first.seq == 3


async def test_graph_has_a_bounded_number_of_questions(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A registered question can be replaced at the limit; one more is refused until one is deleted."""
    monkeypatch.setattr(wiring, "SqliteQuestionStore", partial(SqliteQuestionStore, max_questions=1))
    async with opened("embedded", tmp_path) as application:
        await publish(application, "a", FIRST)
        await application.put_question("g", QuestionDefinition("q", ASKED, "vector"))
        await application.put_question("g", QuestionDefinition("q", ASKED, "local"))
        with pytest.raises(Invalid, match="delete one first"):
            await application.put_question("g", QuestionDefinition("r", ASKED, "vector"))
        await application.delete_question("g", "q")
        await application.put_question("g", QuestionDefinition("r", ASKED, "vector"))


async def test_embedder_that_fails_after_a_restart_delays_the_evaluation_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """The consumers neither end nor load snapshots again and again, and the event of the next commit is reported."""
    async with opened("embedded", tmp_path) as application:
        await publish(application, "a", FIRST)
        await application.put_question("g", QuestionDefinition("q", ASKED, "vector"))
    embed, failures = MemoisedEmbedder.embed, [3]

    async def failing(given: MemoisedEmbedder, texts: Sequence[str]) -> NDArray[np.float32]:
        if list(texts) == [ASKED] and failures[0]:
            failures[0] -= 1
            raise Retryable("the endpoint is unreachable")
        return await embed(given, texts)

    monkeypatch.setattr(MemoisedEmbedder, "embed", failing)
    monkeypatch.setattr(stage, "RETRY_S", 0.01)
    async with opened("embedded", tmp_path) as application:
        await publish(application, "b", SECOND)
        question = await application.question("g", "q")
    assert (question.seq, failures) == (1, [0])
    assert not [each for each in caplog.records if "loading a snapshot" in each.message or "restart" in each.message]


async def test_questions_are_deleted_with_their_graph(tmp_path: Path) -> None:
    """Their streams end, and a new graph of the name has none."""
    async with opened("embedded", tmp_path) as application:
        await publish(application, "a", FIRST)
        await application.put_question("g", QuestionDefinition("q", ASKED, "vector"))
        events = application.question_events("g", "q", "")
        assert await anext(events) is None
        await application.delete_graph("g", 30.0)
        with pytest.raises(NotFound, match="graph 'g' was deleted"):
            await anext(events)
        await publish(application, "b", SECOND)
        assert (await application.list_questions("g", 10, "")).questions == ()
        registered = await application.put_question("g", QuestionDefinition("q", ASKED, "vector"))
        assert registered.seq == 0 and [passage.doc_id for passage in registered.passages] == ["b"]


async def test_command_line_registers_lists_watches_and_deletes(tmp_path: Path) -> None:
    """`watch --count` ends after so many events; --json prints one line each."""
    async with opened("embedded", tmp_path) as application, http_service(create_app(application)) as url:
        await publish(application, "a", FIRST)
        put = await command("questions", "put", "q", ASKED, "--graph", "g", "--mode", "vector", "--json", url=url)
        assert put.code == 0 and put.json()["id"] == "q"
        await publish(application, "b", SECOND)
        shown, watched, listed = await asyncio.gather(
            command("questions", "get", "q", "--graph", "g", url=url),
            command("questions", "watch", "q", "--graph", "g", "--count", "1", "--json", url=url),
            command("questions", "list", "--graph", "g", url=url),
        )
        assert "Kenji Mori" in shown.out and ASKED in listed.out
        assert json.loads(watched.out)["causes"][0]["doc_id"] == "b"
        chosen = ("--filter", "sources=wire", "--filter", "sources=desk", "--filter", "metadata.year=1911")
        filtered = await command("questions", "put", "f", ASKED, "--graph", "g", *chosen, "--json", url=url)
        assert json.loads(filtered.out)["filters"] == {"sources": ["wire", "desk"], "metadata": {"year": 1911}}
        refused = await command("questions", "put", "f", ASKED, "--graph", "g", "--filter", "source=wire", url=url)
        assert refused.code == 2 and "'source=wire' is not a filter" in refused.err
        assert (await command("questions", "delete", "q", "--graph", "g", url=url)).code == 0
        with pytest.raises(NotFound):
            await application.question("g", "q")


async def test_program_of_the_page_prints_the_event(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The program of docs/standing-questions.md runs in an empty folder."""
    page = (Path(__file__).parents[2] / "docs" / "standing-questions.md").read_text()
    [program] = re.findall(r"```python\n(.*?)```", page, re.DOTALL)
    monkeypatch.chdir(tmp_path)
    await asyncio.to_thread(exec, program, {})
    assert capsys.readouterr().out == "1 ['correction'] ['correction']\n"


async def publish(application: Application, doc_id: str, text: str) -> None:
    """Publish a document of graph g, and return once the graph includes it."""
    receipt = await application.publish([DocumentMessage("g", doc_id, text)])
    await application.query("g", QueryRequest("?", "vector", 1, receipt.token, generate=False))


@asynccontextmanager
async def forwarding(application: Application) -> AsyncIterator[RemoteApplication]:
    """Yield an application that forwards to one over gRPC."""
    async with grpc_address(application) as address, grpc.aio.insecure_channel(address) as channel:
        yield RemoteApplication(lambda: channel)


async def lines(response: httpx.Response, count: int) -> AsyncIterator[dict[str, object]]:
    """Yield the data of the next `count` events."""
    async for line in response.aiter_lines():
        if line.startswith("data: "):
            yield json.loads(line.removeprefix("data: "))
            count -= 1
        if not count:
            return
