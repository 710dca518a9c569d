"""Previews: what they say happens when the documents are published, and nothing is written before."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from random import Random
from typing import Any

import httpx
import pytest

from graphtide.services.api.http.app import create_app
from graphtide.services.api.http.documentation.preview_models import PreviewReply
from graphtide.services.api.schema.limits import RequestLimits
from graphtide.services.application import ChangeQuery, Preview, QueryRequest
from graphtide.services.changes.types import Change
from graphtide.services.cluster.remote_application import RemoteApplication
from graphtide.services.local_application import LocalApplication
from graphtide.services.preview import local
from graphtide.services.preview.messages import preview_body
from graphtide.services.preview.types import PreviewRequest
from graphtide.services.sdk.embedded import EmbeddedDatabase
from graphtide.services.sdk.remote.decoding import decode
from graphtide.streams.errors import DeadlineExceeded, Invalid
from graphtide.streams.extract.pipeline import extract
from graphtide.streams.messages import DocumentMessage
from graphtide.streams.standing.records import QuestionDefinition
from tests.e2e.test_graph_deletion import WAIT_S, document, opened
from tests.support.extractions import NAMES
from tests.support.serving import grpc_service

QUESTIONS = tuple(
    QuestionDefinition(mode, f"What about {NAMES[0]} and {NAMES[1]}?", mode, 3)
    for mode in ("vector", "local", "passages")
)


async def asked(application: LocalApplication) -> list[list[str]]:
    """Return the passages of the exact answer to each question."""
    requests = (QueryRequest(each.question, each.mode, each.top_k, generate=False, exact=True) for each in QUESTIONS)
    return [[part.chunk_id for part in (await application.query("g", one)).passages] for one in requests]


async def last_change(application: LocalApplication, version: int) -> Change:
    feed = application.changes("g", ChangeQuery(f"v{version}", follow=False))
    [change] = [item async for item in feed if isinstance(item, Change)]
    return change


@pytest.mark.parametrize("seed", [1, 2, 3])
async def test_preview_equals_what_happens_when_it_is_published(tmp_path: Path, seed: int) -> None:
    """Along a random stream of new, edited and deleted documents: change and evidence are those of the commit."""
    print("seed", seed)
    rng, live = Random(seed), dict[str, DocumentMessage]()
    async with opened(tmp_path) as application:
        receipt = await application.publish([document("g", "first", rng)])
        assert (await application.token_state("g", receipt.token, WAIT_S)).reached
        for _ in range(10):
            delete = bool(live) and rng.random() < 0.3
            doc_id = rng.choice(sorted(live)) if delete else rng.choice("abcdefgh")
            given = document("g", doc_id, rng)
            request = PreviewRequest(() if delete else (given,), (doc_id,) if delete else (), QUESTIONS)
            state = (await application.digest("g"), await application.stats("g"))
            before = await asked(application)
            found = await application.preview("g", request)
            assert (await application.digest("g")) == state[0]
            assert (await application.stats("g")).revisions == state[1].revisions
            assert [[part.chunk_id for part in each.before] for each in found.questions] == before
            receipt = await application.delete("g", doc_id) if delete else await application.publish([given])
            assert (await application.token_state("g", receipt.token, WAIT_S)).reached
            live.pop(doc_id) if delete else live.update({doc_id: given})
            assert [[part.chunk_id for part in each.after] for each in found.questions] == await asked(application)
            happened = await last_change(application, found.version)
            wanted = replace(happened, token="", committed_at="", documents=())
            assert replace(found.change, documents=()) == wanted
            assert [(one.id, one.state) for one in found.change.documents] == [
                (one.id, one.state) for one in happened.documents
            ]


async def test_preview_refuses_what_it_cannot_bound_or_find(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A document to delete that is not there, and a graph beyond the limit."""
    async with opened(tmp_path) as application:
        receipt = await application.publish([document("g", "a", Random(1))])
        assert (await application.token_state("g", receipt.token, WAIT_S)).reached
        with pytest.raises(Invalid, match="no live document"):
            await application.preview("g", PreviewRequest(delete=("b",)))
        monkeypatch.setattr("graphtide.services.preview.local.MAX_PASSAGES", 0)
        with pytest.raises(Invalid, match="passages"):
            await application.preview("g", PreviewRequest(delete=("a",)))


async def test_waiting_previews_hold_few_documents_and_graphs_take_turns(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Extract few of many previews of one graph at a time; one of another graph does not wait for all of them."""
    begun, are_full, may_go_on = list[str](), asyncio.Event(), asyncio.Event()

    async def extracted(given: DocumentMessage, *rest: Any) -> Any:
        begun.append(given.graph)
        if len(begun) == local.EXTRACTED:
            are_full.set()
        await may_go_on.wait()
        return await extract(given, *rest)

    async with opened(tmp_path) as application:
        for graph in ("g", "h"):
            receipt = await application.publish([document(graph, "a", Random(1))])
            assert (await application.token_state(graph, receipt.token, WAIT_S)).reached
        monkeypatch.setattr(local, "extract", extracted)
        requests = [(graph, PreviewRequest((document(graph, "b", Random(2)),))) for graph in "g" * 12 + "h"]
        async with asyncio.TaskGroup() as tasks:
            for graph, request in requests:
                tasks.create_task(application.preview(graph, request))
            await are_full.wait()
            for _ in range(1000):  # more would begin meanwhile
                await asyncio.sleep(0)
            assert begun == ["g"] * local.EXTRACTED
            may_go_on.set()
        assert len(begun) == len(requests) and begun.index("h") <= local.EXTRACTED + 1


async def test_preview_ends_by_its_deadline(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A preview whose model never answers is refused, and the next one is served."""
    async with opened(tmp_path) as application:
        receipt = await application.publish([document("g", "a", Random(1))])
        assert (await application.token_state("g", receipt.token, WAIT_S)).reached
        request = PreviewRequest((document("g", "b", Random(2)),))
        with monkeypatch.context() as patched:
            patched.setattr(local, "extract", lambda *_: asyncio.Event().wait())
            patched.setattr(application._previews, "_timeout_s", 0.1)
            with pytest.raises(DeadlineExceeded, match="preview fewer documents"):
                await application.preview("g", request)
        assert (await application.preview("g", request)).version == 1


@asynccontextmanager
async def over_http(application: LocalApplication) -> AsyncIterator[httpx.AsyncClient]:
    transport = httpx.ASGITransport(create_app(application))
    async with httpx.AsyncClient(transport=transport, base_url="http://test", timeout=60) as http:
        yield http


async def test_http_grpc_gateway_and_python_give_the_same_preview(tmp_path: Path) -> None:
    """One request in every interface; Python takes mappings."""
    async with opened(tmp_path) as application:
        receipt = await application.publish([document("g", "a", Random(1)), document("g", "b", Random(2))])
        assert (await application.token_state("g", receipt.token, WAIT_S)).reached
        given = document("g", "c", Random(3), "A title")
        request = PreviewRequest((given,), ("a",), QUESTIONS)
        wanted = await application.preview("g", request)
        async with grpc_service(application) as channel, over_http(application) as http:
            assert await RemoteApplication(lambda: channel).preview("g", request) == wanted
            response = await http.post(
                "/v1/graphs/g/preview", content=preview_body(request), headers={"content-type": "application/json"}
            )
            assert response.status_code == 200, response.text
            PreviewReply.model_validate(response.json())
            assert decode(Preview, response.json()) == wanted
        body = json.loads(preview_body(request))
        graph = EmbeddedDatabase(application, RequestLimits()).graph("g")
        assert await graph.preview(**body) == wanted


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({}, "publish"),
        ({"publish": [{"id": "c", "text": "One."}], "delete": ["c"]}, "publish"),
        ({"delete": ["a"], "questions": [{"question": "Who?", "mode": "global"}]}, "mode"),
        ({"delete": [f"d{n}" for n in range(21)]}, "delete"),
        ({"publish": [{"id": "c", "text": "word " * 50_000}]}, "publish"),
    ],
)
async def test_wrong_preview_is_refused(tmp_path: Path, body: dict[str, object], field: str) -> None:
    """Nothing to do, a document twice, a mode whose evidence depends on history, and too much."""
    async with opened(tmp_path) as application, over_http(application) as http:
        receipt = await application.publish([document("g", "a", Random(1))])
        assert (await application.token_state("g", receipt.token, WAIT_S)).reached
        response = await http.post("/v1/graphs/g/preview", json=body)
        assert (response.status_code, response.json()["error"]["field"]) == (422, field), response.text
        assert (await http.post("/v1/graphs/unknown/preview", json={"delete": ["a"]})).status_code == 404
