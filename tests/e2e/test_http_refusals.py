"""Refusals of the HTTP service on real sockets: a clear 4xx or 5xx of one form, and nothing accepted in part."""

from __future__ import annotations

import asyncio
import gzip
import json
from collections.abc import AsyncIterator
from dataclasses import replace
from urllib.parse import urlsplit

import httpx
import pytest
import pytest_asyncio

from graphtide.services.api.http.app import create_app
from graphtide.services.api.http.documentation import response_models as models
from graphtide.services.api.schema.limits import RequestLimits
from graphtide.streams.errors import Broken, DeadlineExceeded, GraphtideError, Overloaded, Retryable
from tests.support.application import InMemoryApplication
from tests.support.serving import http_service

LIMITS = RequestLimits(
    max_body_bytes=100_000, max_batch_documents=3, max_batch_bytes=200_000, max_facts=2, max_in_flight=4
)
DOCUMENT = "/v1/graphs/notes/documents/a"
DOCUMENTS = "/v1/graphs/notes/documents"
AS_JSON = {"content-type": "application/json"}
AS_LINES = {"content-type": "application/x-ndjson"}


@pytest.fixture
def application() -> InMemoryApplication:
    return InMemoryApplication()


@pytest_asyncio.fixture
async def http(application: InMemoryApplication) -> AsyncIterator[httpx.AsyncClient]:
    """Yield a client of a service with small limits. No refused request may have reached the application."""
    app = create_app(application, replace(LIMITS, body_timeout_s=0.2))
    async with http_service(app) as url, httpx.AsyncClient(base_url=url, timeout=60) as client:
        yield client
        assert (await client.get("/healthz")).status_code == 200
    assert application.publishes == []


def refused(response: httpx.Response, status: int, field: str | None = None) -> str:
    """Return the message of a refusal, which must have the one form."""
    assert response.status_code == status, response.text
    detail = models.ErrorBody.model_validate_json(response.content).error
    assert detail.field == field
    return detail.message


BAD_FIELDS: list[tuple[bytes, str]] = [
    (b'{"text":3}', "text"),
    (b'{"text":"  \\n"}', "text"),
    (b'{"text":""}', "text"),
    (b"{}", "text"),
    (b"[]", "body"),
    (b"null", "body"),
    (b'{"text":"a\\u0000b"}', "text"),
    (b'{"text":"a\\ud800b"}', "text"),
    (b'{"text":"x","id":"a"}', "id"),
    (b'{"text":"x","graph":"other"}', "graph"),
    (b'{"text":"x","title":["a"]}', "title"),
    (b'{"text":"x","occurred_at":"yesterday"}', "occurred_at"),
    (b'{"text":"x","occurred_at":"2024-02-30"}', "occurred_at"),
    (b'{"text":"x","metadata":[]}', "metadata"),
    (b'{"text":"x","metadata":{"a":NaN}}', "metadata"),
    (b'{"text":"x","metadata":{"a":1e999}}', "metadata"),
    (b'{"text":"x","metadata":{"a":99999999999999999999}}', "metadata"),
    (b'{"text":"x","metadata":{"a":"\\u0000"}}', "metadata"),
    (b'{"text":"x","metadata":{"\\ud800":1}}', "metadata"),
    (b'{"text":"x","metadata":{"a":' + b"[" * 300 + b"]" * 300 + b"}}", "metadata"),
    (b'{"text":"x","facts":{}}', "facts"),
    (b'{"text":"x","facts":[{"subject":"a","predicate":"b"}]}', "facts[0].object"),
    (b'{"text":"x","facts":[{"subject":"a","predicate":" ","object":"c"}]}', "facts[0].predicate"),
    (b'{"text":"x","facts":[{"subject":"a","predicate":"b","object":"c","weight":"1"}]}', "facts[0].weight"),
    (b'{"text":"x","facts":[{"subject":"a","predicate":"b","object":"c","weight":true}]}', "facts[0].weight"),
    (b'{"text":"x","facts":[{"subject":"a","predicate":"b","object":"c","weight":-Infinity}]}', "facts[0].weight"),
    (b'{"text":"x","facts":[{"subject":"a","predicate":"b","object":"c","weight":0}]}', "facts[0].weight"),
    (b'{"text":"x","facts":[{"subject":"a","predicate":"b","object":"c"},{"subjekt":"a"}]}', "facts[1].subjekt"),
    (b'{"text":"x","facts":[{"subject":"' + b"a" * 513 + b'","predicate":"b","object":"c"}]}', "facts[0].subject"),
    (b'{"text":"x","entities":[{"name":"a"},"b"]}', "entities[1]"),
    (b'{"text":"x","facts":[' + b",".join([b'{"subject":"a","predicate":"b","object":"c"}'] * 3) + b"]}", "facts"),
]


@pytest.mark.parametrize(("body", "field"), BAD_FIELDS)
async def test_put_names_the_field_when_it_is_wrong(http: httpx.AsyncClient, body: bytes, field: str) -> None:
    """The answer is 422 with the field as the caller wrote it, by PUT and in both kinds of batch."""
    message = refused(await http.put(DOCUMENT, content=body, headers=AS_JSON), 422, field)
    assert len(message) > 8
    if field == "id":
        return  # in a batch the document has that field
    in_batch = body.replace(b"{", b'{"id":"a",', 1) if body.startswith(b'{"') else body
    for content, headers in ((b"[" + in_batch + b"]", AS_JSON), (in_batch + b"\n", AS_LINES)):
        response = await http.post(DOCUMENTS, content=content, headers=headers)
        rejected = models.BatchErrorBody.model_validate_json(response.content).rejected
        assert (response.status_code, rejected and rejected[0].index) == (422, 0)


MALFORMED = [
    b"",
    b"  ",
    b"{",
    b'{"text":"a"',
    b'{"text":"\xff"}',
    b'\xef\xbb\xbf{"text":"a"}',
    b"text=a",
    b"[" * 30_000,
]


@pytest.mark.parametrize("body", MALFORMED)
async def test_put_is_malformed_when_the_body_is_not_json(http: httpx.AsyncClient, body: bytes) -> None:
    """The answer is 400 for broken JSON, wrong encodings and deep nesting, by every route with a body."""
    refused(await http.put(DOCUMENT, content=body, headers=AS_JSON), 400)
    refused(await http.post("/v1/graphs/notes/query", content=body, headers=AS_JSON), 400)
    refused(await http.post(DOCUMENTS, content=body, headers=AS_JSON), 400)


@pytest.mark.parametrize(
    "headers",
    [
        {},
        {"content-type": "text/plain"},
        {"content-type": "application/x-www-form-urlencoded"},
        {"content-type": "application/json; charset=utf-16"},
        {**AS_JSON, "content-encoding": "gzip"},
    ],
)
async def test_put_is_unsupported_when_its_type_is(http: httpx.AsyncClient, headers: dict[str, str]) -> None:
    """The answer is 415 for other types and compressed bodies, and names the accepted ones."""
    body = b'{"text":"a"}'
    content = gzip.compress(body) if "content-encoding" in headers else body
    assert "send" in refused(await http.put(DOCUMENT, content=content, headers=headers), 415)
    assert "send" in refused(await http.post(DOCUMENTS, content=content, headers=headers), 415)


@pytest.mark.parametrize("graph", ["a|b", ".hidden", "a%20b", "x" * 65, "%C3%A9", "a%00"])
async def test_graph_is_refused_when_its_name_is_none(http: httpx.AsyncClient, graph: str) -> None:
    """The answer is 422 naming the graph, on every kind of route."""
    sent: dict[str, object] = {"text": "a"}
    refused(await http.put(f"/v1/graphs/{graph}/documents/a", json=sent), 422, "graph")
    refused(await http.get(f"/v1/graphs/{graph}/stats"), 422, "graph")
    refused(await http.post(f"/v1/graphs/{graph}/query", json={"question": "x"}), 422, "graph")


@pytest.mark.parametrize("doc_id", ["", "%20", "a%00b", "a%0Ab", "x" * 513, "%FF"])
async def test_document_is_refused_when_its_id_is_none(http: httpx.AsyncClient, doc_id: str) -> None:
    """The answer is 422 naming the id: empty, control characters, too long, not UTF-8."""
    path = f"/v1/graphs/notes/documents/{doc_id}"
    refused(await http.put(path, json={"text": "a"}), 422, "id")
    refused(await http.get(path), 422, "id")
    refused(await http.delete(path), 422, "id")


BAD_QUESTIONS: list[tuple[dict[str, object], str]] = [
    ({}, "question"),
    ({"question": " "}, "question"),
    ({"question": "x" * 8193}, "question"),
    ({"question": "x", "top_k": 0}, "top_k"),
    ({"question": "x", "top_k": 101}, "top_k"),
    ({"question": "x", "top_k": "5"}, "top_k"),
    ({"question": "x", "top_k": 5.5}, "top_k"),
    ({"question": "x", "generate": "no"}, "generate"),
    ({"question": "x", "mode": "x" * 33}, "mode"),
    ({"question": "x", "modus": "local"}, "modus"),
    ({"question": "x", "filters": {"doc_ids": "a"}}, "filters.doc_ids"),
    ({"question": "x", "filters": {"dogs": []}}, "filters.dogs"),
    ({"question": "x", "filters": {"doc_ids": ["a"] * 1001}}, "filters.doc_ids"),
    ({"question": "x", "filters": {"occurred_from": "1.1.2024"}}, "filters.occurred_from"),
    ({"question": "x", "filters": {"occurred_from": "2024-05", "occurred_to": "2023"}}, "filters.occurred_from"),
]


@pytest.mark.parametrize(("body", "field"), BAD_QUESTIONS)
async def test_query_names_the_field_when_it_is_wrong(
    http: httpx.AsyncClient, body: dict[str, object], field: str
) -> None:
    """The answer is 422 with the name of the field."""
    refused(await http.post("/v1/graphs/notes/query", json=body), 422, field)


async def test_parameter_is_named_when_the_framework_refuses_it(http: httpx.AsyncClient) -> None:
    """The error has the form of every other error, not the framework's."""
    path = "/v1/graphs/notes/dead-letters?resolved=maybe"
    assert "boolean" in refused(await http.get(path), 422, "resolved")


@pytest.mark.parametrize(
    ("path", "known"),
    [
        ("/v1/graphs", "cursor, limit"),
        ("/v1/caller", "none"),
        ("/v1/graphs/notes/changes", "after, detail, entity, follow, prefix, type"),
        ("/v1/graphs/notes/entities", "at, cursor, limit, q, sort, type"),
        ("/v1/graphs/notes/documents/a", "none"),
        ("/v1/graphs/notes/documents/a/related", "count"),
        ("/v1/graphs/notes/dead-letters", "after, limit, resolved, settled"),
        ("/v1/graphs/notes/questions/q/events", "after"),
    ],
)
async def test_unknown_query_parameter_is_refused_with_the_known_ones(
    http: httpx.AsyncClient, path: str, known: str
) -> None:
    """A misspelt filter is an error, not a longer list."""
    message = refused(await http.get(path, params={"entitty": "Oslo"}), 422, "entitty")
    assert "unknown query parameter" in message and message.endswith(known)


GRAPH = "/v1/graphs/notes"


@pytest.mark.parametrize(
    ("method", "path", "known"),
    [
        ("PUT", f"{GRAPH}/documents/a", "this path has none; fields of the request belong into its body"),
        ("POST", f"{GRAPH}/documents", "this path has none; fields of the request belong into its body"),
        ("POST", f"{GRAPH}/query", "this path has none; fields of the request belong into its body"),
        ("POST", f"{GRAPH}/preview", "this path has none; fields of the request belong into its body"),
        ("PUT", f"{GRAPH}/questions/q", "this path has none; fields of the request belong into its body"),
        ("DELETE", f"{GRAPH}/documents/a", "this path has none"),
        ("DELETE", GRAPH, "known are wait_s"),
    ],
)
async def test_unknown_query_parameter_of_a_change_is_refused(
    http: httpx.AsyncClient, method: str, path: str, known: str
) -> None:
    """A document would be accepted without it; the client's fixture proves that none reached the application."""
    body = b'{"text": "Ana Ruiz leads."}'
    sent = await http.request(method, path, params={"title": "Boiler"}, content=body, headers=AS_JSON)
    message = refused(sent, 422, "title")
    assert message.endswith(f"is an unknown query parameter; {known}")


async def test_clients_of_language_models_may_append_parameters_of_their_own(http: httpx.AsyncClient) -> None:
    """They name versions of another interface with them."""
    body = {"model": "notes/local", "messages": [{"role": "user", "content": "Who?"}]}
    answered = await http.post("/v1/chat/completions", params={"api-version": "1"}, json=body)
    assert "query parameter" not in answered.text


async def test_probes_and_scrapers_may_append_parameters_of_their_own(http: httpx.AsyncClient) -> None:
    """Load balancers avoid caches with them, and Prometheus sends those of its configuration."""
    for path in ("/healthz", "/metrics"):
        assert (await http.get(path, params={"once": "1"})).status_code == 200, path


async def chunked(chunks: int) -> AsyncIterator[bytes]:
    """Yield a body without a length: 64 KiB at a time."""
    for _ in range(chunks):
        yield b" " * 65536


@pytest.mark.parametrize("size", [100_001, 20_000_000])
async def test_put_is_too_large_when_its_length_says_so(http: httpx.AsyncClient, size: int) -> None:
    """The answer is 413 with the limit, and the sender can read it, however much it sends."""
    assert "100000" in refused(await http.put(DOCUMENT, content=b"x" * size, headers=AS_JSON), 413)


async def test_put_is_too_large_when_it_comes_in_chunks(http: httpx.AsyncClient) -> None:
    """The answer is 413 without Content-Length too, and 20 MB later the sender can still read it."""
    refused(await http.put(DOCUMENT, content=chunked(300), headers=AS_JSON), 413)


async def test_put_is_cut_off_when_it_never_ends(http: httpx.AsyncClient) -> None:
    """The answer comes while the body is still being sent, and the connection of an endless body is closed."""
    url = urlsplit(str(http.base_url))
    reader, writer = await asyncio.open_connection(url.hostname, url.port)
    head = f"PUT {DOCUMENT} HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\n"
    writer.write(head.encode() + b"transfer-encoding: chunked\r\n\r\n")
    answering = asyncio.create_task(reader.readline())
    with pytest.raises(ConnectionError):
        while True:
            writer.write(b"10000\r\n" + b" " * 65536 + b"\r\n")
            await writer.drain()
    assert (await answering).startswith(b"HTTP/1.1 413")
    writer.close()


async def test_batch_is_too_large_when_it_has_too_much(http: httpx.AsyncClient) -> None:
    """The answer is 413 for too many documents and for too many bytes."""
    four = [{"id": str(n), "text": "x"} for n in range(4)]
    assert "3" in refused(await http.post(DOCUMENTS, json=four), 413)
    lines = "\n".join(map(json.dumps, four))
    refused(await http.post(DOCUMENTS, content=lines, headers=AS_LINES), 413)
    refused(await http.post(DOCUMENTS, content=b"x" * 200_001, headers=AS_LINES), 413)


async def test_batch_rejects_a_document_when_it_alone_is_too_large(http: httpx.AsyncClient) -> None:
    """The limit of one document applies in a batch as well."""
    body = [{"id": "a", "text": "ä" * 60_000}]
    for response in (
        await http.post(DOCUMENTS, json=body),
        await http.post(DOCUMENTS, content=json.dumps(body[0], ensure_ascii=False), headers=AS_LINES),
    ):
        assert response.status_code == 422
        assert "100000" in response.json()["rejected"][0]["message"]


async def test_body_is_given_up_when_it_does_not_arrive(http: httpx.AsyncClient) -> None:
    """The answer is 408 for a body that stops in the middle."""
    url = urlsplit(str(http.base_url))
    reader, writer = await asyncio.open_connection(url.hostname, url.port)
    head = f"PUT {DOCUMENT} HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\ncontent-length: 100\r\n\r\n"
    writer.write(head.encode() + b'{"text":')
    assert (await reader.readline()).startswith(b"HTTP/1.1 408")
    writer.close()


FAILURES = [
    (Overloaded("busy", 2.5), 429, "3"),
    (DeadlineExceeded("late"), 504, None),
    (Retryable("the embedding endpoint at http://models:9 is unreachable", 7), 503, "7"),
    (Retryable("the embedding endpoint at http://models:9 is unreachable"), 503, "2"),
    (Broken("the log has a gap"), 500, None),
]


@pytest.mark.parametrize(("failure", "status", "wait"), FAILURES)
async def test_failure_of_the_application_is_told_when_it_happens(
    http: httpx.AsyncClient, application: InMemoryApplication, failure: GraphtideError, status: int, wait: str | None
) -> None:
    """Each error has its status and message, and a retry time if a retry helps."""
    application.fail_with = failure
    for response in (
        await http.put(DOCUMENT, json={"text": "a"}),
        await http.post("/v1/graphs/notes/query", json={"question": "x"}),
        await http.post("/v1/graphs/notes/query", json={"question": "x"}, headers={"accept": "text/event-stream"}),
    ):
        assert refused(response, status) == str(failure)
        assert response.headers.get("retry-after") == wait


async def test_readiness_is_refused_when_a_part_is_not_ready(
    http: httpx.AsyncClient, application: InMemoryApplication
) -> None:
    """The answer is 503 with the name of the part; liveness is not affected."""
    application.ready = False
    response = await http.get("/readyz")
    assert (response.status_code, response.json()["components"]) == (503, {"store": "the store is replaying"})
    assert (await http.get("/healthz")).status_code == 200


async def test_path_is_not_found_when_there_is_no_route(http: httpx.AsyncClient) -> None:
    """The errors 404 and 405 have the form of every other error."""
    refused(await http.get("/v2/graphs"), 404)
    response = await http.patch(DOCUMENT, json={})
    refused(response, 405)
    assert response.headers["allow"] == "DELETE, GET, HEAD, PUT"


async def test_request_is_refused_when_too_many_are_in_progress(application: InMemoryApplication) -> None:
    """The answer is 429 with Retry-After beyond the limit, while those in progress are served to the end."""
    app = create_app(application, replace(LIMITS, max_in_flight=1))
    async with http_service(app) as url, httpx.AsyncClient(base_url=url, timeout=120) as http:
        await http.put(DOCUMENT, json={"text": "one two"})
        application.gate = asyncio.Event()
        ask, accept = {"question": "one"}, {"accept": "text/event-stream"}
        async with http.stream("POST", "/v1/graphs/notes/query", json=ask, headers=accept) as answer:
            lines = answer.aiter_lines()
            assert await anext(lines) == "event: context"
            response = await http.put(DOCUMENT, json={"text": "b"})
            refused(response, 429)
            assert response.headers["retry-after"] == "1"
            assert (await http.get("/healthz")).status_code == 200
            application.gate.set()
            assert "event: answer" in [line async for line in lines]


@pytest.mark.parametrize("begun", [b"", b"GET /healthz HTTP/1.1\r\nhost: a\r\nx-slow: "], ids=["silent", "dripping"])
async def test_connection_that_never_ends_its_head_is_closed(
    http: httpx.AsyncClient, begun: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The client sends nothing, or a byte now and then; a second head on the connection has the same limit."""
    monkeypatch.setattr("graphtide.services.api.http.transport.header_limits.HEAD_TIMEOUT_S", 0.3)
    place = urlsplit(str(http.base_url))
    for first in (b"", b"GET /healthz HTTP/1.1\r\nhost: a\r\n\r\n"):
        if first and not begun:
            continue  # the server closes idle connections by a limit of its own
        reader, writer = await asyncio.open_connection(place.hostname, place.port)
        writer.write(first)
        if first:
            head = await reader.readuntil(b"\r\n\r\n")
            assert head.startswith(b"HTTP/1.1 200")
            await reader.readuntil(b"}")
        writer.write(begun)
        dripping = asyncio.create_task(drip(writer if begun else None))
        async with asyncio.timeout(30):
            assert await gone(reader)
        dripping.cancel()
        writer.close()


async def drip(writer: asyncio.StreamWriter | None) -> None:
    """Send a byte at intervals until the connection is closed."""
    while writer is not None and not writer.is_closing():
        writer.write(b"a")
        await asyncio.sleep(0.02)


async def gone(reader: asyncio.StreamReader) -> bool:
    """Return whether the other side closed without sending."""
    try:
        return await reader.read(1) == b""
    except ConnectionError:
        return True


async def test_body_that_is_slow_is_not_cut_by_the_patience_with_heads(
    application: InMemoryApplication, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A complete head is answered, however long the body takes within its own limit."""
    monkeypatch.setattr("graphtide.services.api.http.transport.header_limits.HEAD_TIMEOUT_S", 0.3)

    async def slowly() -> AsyncIterator[bytes]:
        yield b'{"text": '
        await asyncio.sleep(0.9)
        yield b'"Ada met Bob."}'

    async with http_service(create_app(application)) as url, httpx.AsyncClient(base_url=url, timeout=120) as client:
        answered = await client.put(DOCUMENT, content=slowly(), headers=AS_JSON)
    assert answered.status_code == 202
