"""The HTTP contract on real sockets: on a small in-memory application, and on the service itself."""

from __future__ import annotations

import asyncio
import json
import re
import socket
from collections.abc import AsyncIterator
from pathlib import Path
from urllib.parse import quote

import httpx
import pytest
import pytest_asyncio
from pydantic import BaseModel

from graphtide.services.api.http.app import create_app
from graphtide.services.api.http.documentation import browse_models
from graphtide.services.api.http.documentation import response_models as models
from graphtide.services.application import Application
from graphtide.services.process.servers import listen
from tests.support.serving import KINDS, http_service, opened

DESCRIBED = "/v1/graphs/{graph}/documents/{id}"
CURIE = "Marie Curie discovered polonium."
FACT = {"subject": "Marie Curie", "predicate": "discovered", "object": "polonium", "weight": 2}


@pytest_asyncio.fixture(params=KINDS)
async def application(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Application]:
    """Yield each application in turn."""
    async with opened(request.param, tmp_path) as application:
        yield application


@pytest_asyncio.fixture
async def http(application: Application) -> AsyncIterator[httpx.AsyncClient]:
    """Yield a client of the application's HTTP service."""
    async with http_service(create_app(application)) as url, httpx.AsyncClient(base_url=url, timeout=60) as client:
        yield client


async def put(http: httpx.AsyncClient, doc_id: str = "curie", /, **body: object) -> str:
    """Publish a document with facts; return the token."""
    sent = {"text": CURIE, "facts": [FACT], **body}
    response = await http.put(f"/v1/graphs/notes/documents/{quote(doc_id, safe='/')}", json=sent)
    assert (response.status_code, set(response.json())) == (202, {"token"}), response.text
    return str(response.json()["token"])


async def query(http: httpx.AsyncClient, **body: object) -> httpx.Response:
    """Query the graph `notes`."""
    return await http.post("/v1/graphs/notes/query", json={"question": "What did Marie Curie discover?", **body})


def checked_body(model: type[BaseModel], response: httpx.Response, status: int = 200) -> dict[str, object]:
    """Return the body, which must have the form that OpenAPI describes."""
    assert response.status_code == status, response.text
    model.model_validate_json(response.content)
    body: dict[str, object] = response.json()
    return body


async def test_put_is_queryable_when_its_token_is_named(http: httpx.AsyncClient) -> None:
    """Read your own writes: an answer after the token cites the document, in the form of the contract."""
    token = await put(http)
    body = checked_body(models.AnswerBody, await query(http, after=token))
    assert [each["doc_id"] for each in body["citations"]] == ["curie"]  # type: ignore[attr-defined]
    assert "trace" not in body
    assert body["mode"] == "local"


async def test_query_explains_when_asked_to(http: httpx.AsyncClient) -> None:
    """`explain` adds the trace, `generate` false leaves the answer empty."""
    body = checked_body(models.AnswerBody, await query(http, after=await put(http), explain=True, generate=False))
    assert body["trace"]
    assert body["answer"] == ""
    assert body["passages"]


async def test_query_streams_when_events_are_accepted(http: httpx.AsyncClient) -> None:
    """Context comes first, then pieces; the final answer equals the plain route's."""
    asked = {"question": "What did Marie Curie discover?", "after": await put(http)}
    response = await http.post("/v1/graphs/notes/query", json=asked, headers={"accept": "text/event-stream"})
    assert response.headers["content-type"].startswith("text/event-stream")
    events = [part.split("\n") for part in response.text.strip().split("\n\n")]
    names = [lines[0].removeprefix("event: ") for lines in events]
    data = [json.loads(lines[1].removeprefix("data: ")) for lines in events]
    assert names == ["context", *["token"] * (len(names) - 2), "answer"]
    assert "answer" not in data[0]
    assert data[-1]["answer"] == (await query(http)).json()["answer"]
    models.AnswerBody.model_validate(data[-1])


@pytest.mark.parametrize(
    "doc_id", ["a/b/c.md", "/rooted//twice/", "Ünïcödé/日本語 🚀", "a b?c#d%20+&;", "..%2F", "e\u0301"]
)
async def test_document_keeps_its_id_when_it_is_strange(http: httpx.AsyncClient, doc_id: str) -> None:
    """Slashes, spaces, escapes and combining characters are returned unchanged."""
    token = await put(http, doc_id)
    checked_body(models.AnswerBody, await query(http, after=token))
    body = checked_body(
        models.DocumentStatusBody, await http.get(f"/v1/graphs/notes/documents/{quote(doc_id, safe='')}")
    )
    assert (body["doc_id"], body["state"]) == (doc_id, "applied")


async def test_document_says_what_it_holds_when_applied(http: httpx.AsyncClient) -> None:
    """Title, source, date, metadata and facts are returned; the description is derived from the same data."""
    given: dict[str, object] = {
        "title": "Curie",
        "source": "book",
        "occurred_at": "1898-07",
        "metadata": {"page": 3, "tags": ["x"]},
    }
    token = await put(http, "curie", **given)
    await query(http, after=token)
    body = checked_body(models.DocumentStatusBody, await http.get("/v1/graphs/notes/documents/curie"))
    assert {name: body[name] for name in given} == given
    assert (body["text"], body["token"], body["live_revision"]) == (CURIE, token, body["revision"])
    fact = body["facts"][0]  # type: ignore[index]
    assert (fact["predicate"], fact["weight"]) == ("discovered", 2.0)


async def test_delete_takes_the_document_out_when_it_is_there(http: httpx.AsyncClient) -> None:
    """After the deletion's token no answer cites the document, and a second deletion finds nothing."""
    await put(http, "other", text="Pierre Curie was born in Paris.", facts=[])
    await put(http)
    response = await http.delete("/v1/graphs/notes/documents/curie")
    body = checked_body(
        models.AnswerBody, await query(http, after=checked_body(models.TokenBody, response, 202)["token"])
    )
    assert "curie" not in {each["doc_id"] for each in body["passages"]}  # type: ignore[attr-defined]
    status = checked_body(models.DocumentStatusBody, await http.get("/v1/graphs/notes/documents/curie"))
    assert status["state"] == "deleted"
    assert (await http.delete("/v1/graphs/notes/documents/curie")).status_code == 404


@pytest.mark.parametrize("kind", ["application/json", "application/x-ndjson"])
async def test_batch_names_the_bad_when_it_accepts_the_good(http: httpx.AsyncClient, kind: str) -> None:
    """The valid documents are accepted, each invalid one is named by its index, and the last of one id wins."""
    documents = [
        {"id": "a", "text": "First.", "facts": []},
        {"id": "b", "text": 3},
        {"id": "a", "text": "Second.", "facts": []},
        {"text": "No id."},
    ]
    lines = "\n\n".join(json.dumps(each) for each in documents).replace("\n\n", "\r\n\n", 1)
    sent = json.dumps(documents) if kind == "application/json" else lines
    response = await http.post("/v1/graphs/notes/documents", content=sent, headers={"content-type": kind})
    body = checked_body(models.BatchReceipt, response, 202)
    assert body["accepted"] == 2
    assert [(r["index"], r.get("id"), r["field"]) for r in body["rejected"]] == [(1, "b", "text"), (3, None, "id")]  # type: ignore[attr-defined]
    await query(http, after=body["token"])
    assert (await http.get("/v1/graphs/notes/documents/a")).json()["text"] == "Second."
    assert (await http.get("/v1/graphs/notes/documents/b")).status_code == 404


async def test_batch_is_refused_when_all_of_it_is_bad(http: httpx.AsyncClient) -> None:
    """Nothing is accepted, and the list gives the reasons."""
    response = await http.post("/v1/graphs/notes/documents", json=[{"id": "a"}, 7])
    body = checked_body(models.BatchErrorBody, response, 422)
    assert (body["accepted"], len(body["rejected"])) == (0, 2)  # type: ignore[arg-type]
    assert (await http.get("/v1/graphs")).json() == {"graphs": []}


async def test_graph_views_have_the_shapes_of_the_description(http: httpx.AsyncClient) -> None:
    """Graphs, stats, digest, verify and rebuild answer as OpenAPI describes, and agree with each other."""
    await query(http, after=await put(http))
    listed = checked_body(browse_models.GraphPageBody, await http.get("/v1/graphs"))
    digest = checked_body(models.DigestBody, await http.get("/v1/graphs/notes/digest"))
    assert listed == {"graphs": [{"graph": "notes", "version": digest["version"], "documents": 1}]}
    stats = checked_body(models.StatsBody, await http.get("/v1/graphs/notes/stats"))
    assert (stats["version"], stats["lag"]) == (digest["version"], 0)
    verified = checked_body(models.VerificationBody, await http.post("/v1/graphs/notes/verify"))
    assert (verified["digest"], verified["recounted"], verified["differences"]) == (digest["digest"],) * 2 + ([],)
    rebuilt = checked_body(models.RebuiltBody, await http.post("/v1/graphs/notes/rebuild"))
    assert (rebuilt["before"], rebuilt["after"], rebuilt["switched"]) == (digest["digest"],) * 2 + (True,)
    purged = checked_body(models.PurgedBody, await http.post("/v1/purge"))
    assert purged["removed"] and purged["size_after_bytes"] > 0  # type: ignore[operator]


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("GET", "/v1/graphs/none/documents/a"),
        ("DELETE", "/v1/graphs/none/documents/a"),
        ("GET", "/v1/graphs/none/stats"),
        ("GET", "/v1/graphs/none/digest"),
        ("POST", "/v1/graphs/none/verify"),
        ("POST", "/v1/graphs/none/rebuild"),
    ],
)
async def test_unknown_graph_is_not_found_when_asked_for(http: httpx.AsyncClient, method: str, path: str) -> None:
    """Every request for a graph that does not exist gets 404 with its name."""
    body = checked_body(models.ErrorBody, await http.request(method, path), 404)
    assert body["error"]["code"] == "not_found"  # type: ignore[index]
    assert "none" in body["error"]["message"]  # type: ignore[index]


async def test_query_is_not_found_when_the_graph_is_unknown(http: httpx.AsyncClient) -> None:
    """Plain or streamed, the status comes before any content."""
    for accept in ("application/json", "text/event-stream"):
        response = await http.post("/v1/graphs/none/query", json={"question": "x"}, headers={"accept": accept})
        checked_body(models.ErrorBody, response, 404)


async def test_query_names_the_field_when_mode_or_token_is_wrong(http: httpx.AsyncClient) -> None:
    """Errors that the application alone can detect are named like those of every other field."""
    await query(http, after=await put(http))
    response = await query(http, mode="bogus")
    assert checked_body(models.ErrorBody, response, 422)["error"]["field"] == "mode"  # type: ignore[index]
    response = await query(http, after="garbage")
    assert checked_body(models.ErrorBody, response, 422)["error"]["field"] == "after"  # type: ignore[index]


async def test_operations_answer_when_the_service_runs(http: httpx.AsyncClient) -> None:
    """Liveness, readiness, and metrics by route template."""
    checked_body(models.Alive, await http.get("/healthz"))
    assert checked_body(models.HealthBody, await http.get("/readyz"))["ready"] is True
    await put(http, "some/long/id")
    metrics = (await http.get("/metrics")).text
    assert 'method="PUT",route="/v1/graphs/{graph}/documents/{id:document_id}",status="202"' in metrics
    assert "some/long/id" not in metrics


async def test_description_names_every_route_and_schema(http: httpx.AsyncClient) -> None:
    """OpenAPI has the routes of the contract, error schemas, and no reference to a schema that is missing."""
    described = (await http.get("/openapi.json")).json()
    assert len(described["paths"]) >= 29
    schemas = described["components"]["schemas"]
    named = {part.split('"')[0] for part in json.dumps(described).split("#/components/schemas/")[1:]}
    assert named <= set(schemas)
    assert {"DocumentBody", "QueryBody", "ErrorBody", "FactBody"} <= named
    assert (await http.get("/docs")).status_code == 200
    assert (await http.get("/")).headers["location"] == "/docs"


async def test_description_says_what_names_and_texts_look_like(http: httpx.AsyncClient) -> None:
    """A client generated from it sends nothing that is refused for its form."""
    described = (await http.get("/openapi.json")).json()
    fields = described["components"]["schemas"]["DocumentBody"]["properties"]
    assert re.search(fields["text"]["pattern"], "\x00 ok") is None
    assert re.search(fields["text"]["pattern"], " \n ") is None
    assert re.search(fields["text"]["pattern"], "One.\nTwo.")
    in_path = {each["name"]: each["schema"] for each in described["paths"][DESCRIBED]["put"]["parameters"]}
    assert re.search(in_path["graph"]["pattern"], "a b") is None
    assert re.search(in_path["id"]["pattern"], "a\x85b") is None
    assert re.search(in_path["id"]["pattern"], "/notes/a b.md")


async def test_connection_sends_at_once_when_it_is_accepted() -> None:
    """Nagle's algorithm is off: an answer in two writes does not wait for the caller's delayed acknowledgement."""
    accepted: asyncio.Future[bool] = asyncio.get_running_loop().create_future()

    def look(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        connection = writer.get_extra_info("socket")
        accepted.set_result(bool(connection.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)))
        writer.close()

    listener = listen("127.0.0.1", 0)
    async with await asyncio.start_server(look, sock=listener):
        _, writer = await asyncio.open_connection(*listener.getsockname())
        assert await accepted
        writer.close()
