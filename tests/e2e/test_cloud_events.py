"""CloudEvents over HTTP: both modes and batches, with their limits, tokens and refusals."""

from __future__ import annotations

import base64
import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import httpx
import pytest
import pytest_asyncio
from cloudevents.core.bindings import http as binding
from cloudevents.core.formats.json import JSONFormat
from cloudevents.core.v1.event import CloudEvent

from graphtide.infra.sources.decoder import DirectValues
from graphtide.services.api.http.app import create_app
from graphtide.services.api.schema.limits import RequestLimits
from tests.support.serving import http_service, opened
from tests.support.source_records import change, mapping

DOCUMENTS = "/v1/graphs/notes/documents"
STRUCTURED = {"content-type": "application/cloudevents+json"}
BATCH = {"content-type": "application/cloudevents-batch+json"}
EVENT: dict[str, Any] = {
    "specversion": "1.0",
    "id": "e1",
    "source": "/notes",
    "type": "note.saved",
    "subject": "curie",
    "data": {"text": "Marie Curie discovered polonium.", "facts": []},
}
DELETION = {**EVENT, "type": "graphtide.document.deleted", "data": None}
BINARY = {f"ce-{name}": EVENT[name] for name in ("specversion", "id", "source", "type")}
TABLE = mapping(topic="documents", graph="table", id="{id}", text="{name} was discovered by {by}.")
LIMITS = RequestLimits(
    max_batch_documents=3, max_body_bytes=20_000, max_facts=10, max_entities=10, max_metadata_bytes=4_000
)


@pytest_asyncio.fixture
async def http(tmp_path: Path) -> AsyncIterator[httpx.AsyncClient]:
    """Yield a client of the embedded service; the graph `table` has a mapping."""
    values = DirectValues({"table": TABLE})
    async with opened("embedded", tmp_path) as application:
        app = create_app(application, LIMITS, values=values)
        async with http_service(app) as url, httpx.AsyncClient(base_url=url, timeout=60) as client:
            yield client


async def post(
    http: httpx.AsyncClient, body: object, headers: dict[str, str] | None = None, to: str = DOCUMENTS
) -> httpx.Response:
    """Send the JSON of `body`, or bytes as they are."""
    content = body if isinstance(body, bytes) else json.dumps(body).encode()
    return await http.post(to, content=content, headers=STRUCTURED if headers is None else headers)


async def texts(http: httpx.AsyncClient, token: str, graph: str = "notes") -> dict[str, str]:
    """Return the documents of the graph with their texts, once the token is reached."""
    reached = await http.get(f"/v1/graphs/{graph}/tokens/{token}", params={"wait_s": 60})
    assert reached.json()["reached"]
    listed = (await http.get(f"/v1/graphs/{graph}/documents")).json()["documents"]
    alive = [each["id"] for each in listed if each["state"] == "applied"]
    return {each: (await http.get(f"/v1/graphs/{graph}/documents/{each}")).json()["text"] for each in alive}


@pytest.mark.parametrize("mode", ["structured", "binary"])
async def test_event_of_the_sdk_is_a_document(http: httpx.AsyncClient, mode: str) -> None:
    """As the official SDK sends it; its source and time are those of the document."""
    attributes = {name: EVENT[name] for name in ("id", "source", "type", "subject")}
    event = CloudEvent({**attributes, "datacontenttype": "application/json"}, EVENT["data"])
    write = binding.to_structured if mode == "structured" else binding.to_binary
    message = write(event, JSONFormat())
    response = await post(http, message.body, dict(message.headers))
    assert response.status_code == 202, response.text
    assert await texts(http, response.json()["token"]) == {"curie": EVENT["data"]["text"]}
    status = (await http.get(f"{DOCUMENTS}/curie")).json()
    assert (status["source"], status["occurred_at"][:2]) == ("/notes", "20")


async def test_text_in_binary_mode_is_a_document(http: httpx.AsyncClient) -> None:
    """Attributes are percent-encoded."""
    headers = {**BINARY, "content-type": "text/plain; charset=utf-8", "ce-subject": "caf%C3%A9"}
    response = await post(http, b"Ana signed it.", headers)
    assert response.status_code == 202, response.text
    assert await texts(http, response.json()["token"]) == {"café": "Ana signed it."}


async def test_batch_is_applied_in_its_order(http: httpx.AsyncClient) -> None:
    """Documents and deletions; one token for all; the refused event is named by its index."""
    other = {**EVENT, "subject": "other", "data": {"text": "Pierre Curie."}}
    assert (await post(http, other)).status_code == 202
    response = await post(http, [EVENT, {**DELETION, "subject": "other"}, {"id": "no event"}], BATCH)
    body = response.json()
    assert (response.status_code, body["accepted"], [each["index"] for each in body["rejected"]]) == (202, 2, [2])
    assert await texts(http, body["token"]) == {"curie": EVENT["data"]["text"]}


async def test_row_of_debezium_is_mapped_when_the_graph_has_a_mapping(http: httpx.AsyncClient) -> None:
    """A change in an event, as Debezium Server sends it; a deletion follows."""
    at, row = "/v1/graphs/table/documents", {"id": 7, "name": "Polonium", "by": "Marie Curie"}
    for operation, after, before, expected in (
        ("c", row, None, {"7": "Polonium was discovered by Marie Curie."}),
        ("d", None, row, {}),
    ):
        response = await post(http, {**EVENT, "data": change(operation, after, before=before)}, to=at)
        assert response.status_code == 202, response.text
        assert await texts(http, response.json()["token"], "table") == expected


async def test_commas_of_a_text_are_no_values(http: httpx.AsyncClient) -> None:
    """The limit of JSON values is none of tables and prose."""
    text = "a,b\n" * 4_000
    assert text.count(",") > LIMITS.max_document_values
    response = await post(http, text.encode(), {**BINARY, "content-type": "text/csv"})
    assert response.status_code == 202, response.text


MANY = b'{"text":"x","facts":[%s[]]}' % (b"[]," * 3_000)
DEEP = "[" * 600 + "]" * 600
DEEP_SCHEMA = '{"type":"array","items":' * 600 + "{}" + "}" * 600
DEEP_EVENT = f'{json.dumps({**EVENT, "data": None})[:-1]},"data":{{"schema":{DEEP_SCHEMA},"payload":{DEEP}}}}}'.encode()

REFUSALS: list[tuple[object, dict[str, str], int]] = [
    ({**EVENT, "specversion": "0.3"}, STRUCTURED, 422),
    ({**EVENT, "data": {"text": "x", "color": "red"}}, STRUCTURED, 422),
    ({**EVENT, "data": {"text": 5}}, STRUCTURED, 422),
    ({**EVENT, "subject": "a\x00b"}, STRUCTURED, 422),
    ({**EVENT, "data": None}, STRUCTURED, 422),
    ({**EVENT, "data": {"text": "x" * 21_000}}, STRUCTURED, 413),
    (b"[" * 2_000, STRUCTURED, 422),
    (b"\xff", STRUCTURED, 422),
    (b"", STRUCTURED, 422),
    ([], BATCH, 422),
    ({}, BATCH, 422),
    ([EVENT] * 4, BATCH, 413),
    ([{}, []], BATCH, 422),
    (DELETION | {"subject": "never"}, STRUCTURED, 404),
    (b"x", {"ce-specversion": "1.0", "content-type": "text/plain"}, 422),
    (b"x", {"ce-specversion": "1.0", "content-type": "image/png"}, 415),
    (b"{", {**BINARY, "content-type": "application/json"}, 422),
    (MANY, {**BINARY, "content-type": "application/json"}, 413),
    ({**EVENT, "data": json.loads(MANY)}, STRUCTURED, 413),
    ({**EVENT, "data": None, "data_base64": base64.b64encode(MANY).decode()}, STRUCTURED, 413),
    ([1] * 1_000, BATCH, 413),
    (DEEP_EVENT, STRUCTURED, 422),
    (b'{"a":' * 2_000, {**BINARY, "content-type": "application/json"}, 422),
    (b"[" * 2_000, BATCH, 422),
    ({**EVENT, "source": "\ud800"}, STRUCTURED, 422),
    ({**EVENT, "\ud800": "x"}, STRUCTURED, 422),
    ([{**EVENT, "\ud800": "x"}], BATCH, 422),
    ({**EVENT, "data": {"text": "x", "\ud800": 1}}, STRUCTURED, 422),
    ({**EVENT, "data": {"op": "c", "after": {"\ud800": 1}}}, STRUCTURED, 422),
    ([{"id": "a", "text": "x", "\ud800": 1}], {"content-type": "application/json"}, 422),
]


async def test_wrong_event_is_refused_with_its_status(http: httpx.AsyncClient) -> None:
    """Nothing is accepted, and the body of the reply is that of every error."""
    for body, headers, status in REFUSALS:
        response = await post(http, body, headers)
        assert response.status_code == status, (body, response.text)
        assert response.json()["error"]["message"]
