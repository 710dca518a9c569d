"""The related documents of one: the same over HTTP, gRPC and the command line, on the real service."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote

import grpc
import httpx
import pytest
import pytest_asyncio
from google.protobuf.json_format import MessageToDict
from prometheus_client import CollectorRegistry

from graphtide.infra.settings import Settings
from graphtide.services.api.grpc.server import create_server
from graphtide.services.api.http.app import create_app
from graphtide.services.api.http.documentation import response_models as models
from graphtide.services.api.schema import graphtide_pb2 as pb
from graphtide.services.api.schema.calls import GraphtideStub
from graphtide.services.application import Application
from graphtide.services.wiring import open_application
from tests.support.command import graphtide
from tests.support.serving import http_service

FACTS = {
    "mill": ("Ada Lovelace", "wrote about", "Difference Engine"),
    "mill/related": ("Charles Babbage", "designed", "Difference Engine"),
    "curie": ("Marie Curie", "discovered", "polonium"),
}
"""The first two documents share an entity; the second's id equals the path of the first's related documents."""


@dataclass(frozen=True, slots=True)
class Running:
    """The service and its addresses."""

    application: Application
    url: str


@pytest_asyncio.fixture
async def running(tmp_path: Path) -> AsyncIterator[Running]:
    """Yield a service that holds the documents of FACTS."""
    async with (
        open_application(Settings(data=tmp_path), CollectorRegistry()) as application,
        http_service(create_app(application)) as url,
        httpx.AsyncClient(base_url=f"{url}/v1/graphs/g", timeout=60) as client,
    ):
        for doc_id, (subject, predicate, object_) in FACTS.items():
            facts = [{"subject": subject, "predicate": predicate, "object": object_}]
            body = {"text": f"{subject} {predicate} the {object_}.", "title": f"On {subject}", "facts": facts}
            token = (await client.put(f"/documents/{quote(doc_id, safe='')}", json=body)).json()["token"]
        await client.post("/query", json={"question": "Who?", "after": token})
        yield Running(application, url)


async def get(running: Running, path: str) -> httpx.Response:
    """Return the service's answer under the graph's path."""
    async with httpx.AsyncClient(timeout=60) as client:
        return await client.get(f"{running.url}/v1/graphs/g{path}")


async def over_grpc(application: Application, request: pb.RelatedRequest) -> pb.RelatedList:
    """Return the same over a real gRPC socket."""
    server = create_server(application)
    port = server.add_insecure_port("127.0.0.1:0")
    await server.start()
    try:
        async with grpc.aio.insecure_channel(f"127.0.0.1:{port}") as channel:
            found: pb.RelatedList = await GraphtideStub(channel).RelatedDocuments(request)
            return found
    finally:
        await server.stop(1)


async def test_related_documents_are_the_same_wherever_they_are_asked_for(running: Running) -> None:
    """Those that share an entity come first, naming it; HTTP, gRPC and the command line agree."""
    response = await get(running, "/documents/mill/related?count=2")
    models.RelatedList.model_validate_json(response.content)
    body = response.json()
    assert [one["doc_id"] for one in body["documents"]] == ["mill/related", "curie"]
    nearest, other = body["documents"]
    assert nearest["title"] == "On Charles Babbage" and nearest["entities"] == ["Difference Engine"]
    assert nearest["shared"] > 0 and other["shared"] == 0 and other["entities"] == []
    assert nearest["score"] == nearest["weight"] + nearest["shared"]

    mirrored = await over_grpc(running.application, pb.RelatedRequest(graph="g", id="mill", count=2))
    options = {"preserving_proto_field_name": True, "always_print_fields_with_no_presence": True}
    assert MessageToDict(mirrored, **options) == body | {"version": str(body["version"])}

    command = ("related", "mill", "-n", "2", "--graph", "g", "--url", running.url)
    printed = await asyncio.to_thread(graphtide, *command, "--json")
    assert json.loads(printed.stdout) == body, printed.stderr
    shown = await asyncio.to_thread(graphtide, *command)
    assert "On Charles Babbage" in shown.stdout and "Difference Engine" in shown.stdout


async def test_document_whose_id_ends_like_the_route_is_looked_up_when_its_slash_is_escaped(running: Running) -> None:
    """Every id is reachable: an escaped slash belongs to the id, whose own related documents are found under it."""
    looked_up = (await get(running, "/documents/mill%2Frelated")).json()
    assert (looked_up["doc_id"], looked_up["title"]) == ("mill/related", "On Charles Babbage")
    relatives = (await get(running, "/documents/mill%2Frelated/related?count=1")).json()
    assert (relatives["doc_id"], relatives["documents"][0]["doc_id"]) == ("mill/related", "mill")
    shown = await asyncio.to_thread(graphtide, "document", "mill/related", "-g", "g", "--url", running.url, "--json")
    assert json.loads(shown.stdout)["doc_id"] == "mill/related", shown.stderr


@pytest.mark.parametrize("count", ["0", "101", "-1", "x", "", "1.5"])
async def test_related_documents_are_refused_when_the_count_is_out_of_bounds(running: Running, count: str) -> None:
    """The field is named, over gRPC, too."""
    response = await get(running, f"/documents/mill/related?count={count}")
    assert (response.status_code, response.json()["error"]["field"]) == (422, "count")
    if count.lstrip("-").isdigit():
        with pytest.raises(grpc.aio.AioRpcError) as raised:
            await over_grpc(running.application, pb.RelatedRequest(graph="g", id="mill", count=int(count)))
        assert raised.value.code() is grpc.StatusCode.INVALID_ARGUMENT


async def test_related_documents_are_not_found_when_the_document_is_not_live(running: Running) -> None:
    """This covers an unknown document and a deleted one; the others' lists no longer name it."""
    assert (await get(running, "/documents/nobody/related")).status_code == 404
    async with httpx.AsyncClient(base_url=f"{running.url}/v1/graphs/g", timeout=60) as client:
        token = (await client.delete("/documents/mill%2Frelated")).json()["token"]
        await client.post("/query", json={"question": "Who?", "after": token})
    assert (await get(running, "/documents/mill%2Frelated/related")).status_code == 404
    left = (await get(running, "/documents/mill/related")).json()
    assert [one["doc_id"] for one in left["documents"]] == ["curie"]
