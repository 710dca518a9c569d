"""Entities and reports over HTTP, on the real service: every merge names its rule, every report its sources."""

from __future__ import annotations

from pathlib import Path

import grpc
import httpx
from google.protobuf.json_format import MessageToDict
from prometheus_client import CollectorRegistry

from graphtide.infra.settings import Settings
from graphtide.services.api.grpc.server import create_server
from graphtide.services.api.http.app import create_app
from graphtide.services.api.schema import graphtide_pb2 as pb
from graphtide.services.api.schema.calls import GraphtideStub
from graphtide.services.application import Application
from graphtide.services.inspection.entity_details import RELATIONS_SHOWN
from graphtide.services.wiring import open_application
from tests.support.serving import http_service

FACTS = [
    {"subject": "Dr. Ada Lovelace", "predicate": "wrote about", "object": "Analytical Engine"},
    {"subject": "Charles Babbage", "predicate": "designed", "object": "the Analytical Engine"},
]


async def over_grpc(application: Application, entity_id: str) -> pb.EntityStatus:
    """Return the same entity over a real gRPC socket."""
    server = create_server(application)
    port = server.add_insecure_port("127.0.0.1:0")
    await server.start()
    try:
        async with grpc.aio.insecure_channel(f"127.0.0.1:{port}") as channel:
            stub = GraphtideStub(channel)
            assert not (await stub.Reports(pb.GraphRef(graph="g"))).reports
            found: pb.EntityStatus = await stub.GetEntity(pb.EntityRef(graph="g", id=entity_id))
            return found
    finally:
        await server.stop(1)


async def test_entity_names_its_labels_merges_and_relations_until_their_document_goes(tmp_path: Path) -> None:
    """Two spellings are one entity, by a named rule; when one document is deleted, so is the merge."""
    async with (
        open_application(Settings(data=tmp_path), CollectorRegistry()) as application,
        http_service(create_app(application)) as url,
        httpx.AsyncClient(base_url=f"{url}/v1/graphs/g", timeout=120) as client,
    ):
        for doc_id, fact in zip(("a", "b"), FACTS, strict=True):
            body = {"text": f"{fact['subject']} {fact['predicate']} {fact['object']}.", "facts": [fact]}
            body["entities"] = [{"name": fact["object"], "description": f"said by {doc_id}"}]
            token = (await client.put(f"/documents/{doc_id}", json=body)).json()["token"]
        found = (await client.post("/query", json={"question": "Analytical Engine?", "after": token})).json()
        engine = next(node for node in found["subgraph"]["nodes"] if "Analytical" in node["name"])
        entity = (await client.get(f"/entities/{engine['id']}")).json()
        spellings = {label["name"]: label["chunks"] for label in entity["labels"]}
        assert len(spellings) == 2 and all(spellings.values())
        assert [(merge["holds"], bool(merge["rule"])) for merge in entity["merges"]] == [(True, True)]
        assert {edge["predicate"] for edge in entity["relations"]} == {"wrote about", "designed"}
        assert entity["communities"]
        assert sorted(entity["description"].split(". ")) == ["said by a", "said by b."]
        mirrored = await over_grpc(application, engine["id"])
        assert mirrored.description == entity["description"]
        assert MessageToDict(mirrored)["merges"][0]["rule"] == entity["merges"][0]["rule"]
        assert [label.name for label in mirrored.labels] == [label["name"] for label in entity["labels"]]
        token = (await client.delete("/documents/b")).json()["token"]
        await client.post("/query", json={"question": "Analytical Engine?", "after": token})
        nodes = (await client.post("/query", json={"question": "Analytical Engine?"})).json()["subgraph"]["nodes"]
        left = next(node for node in nodes if "Analytical" in node["name"])
        entity = (await client.get(f"/entities/{left['id']}")).json()
        assert len(entity["labels"]) == 1 and entity["merges"] == []
        assert entity["description"] == "said by a."
        assert (await client.get("/entities/e-nothing")).status_code == 404
        assert (await client.get("/reports")).json()["reports"] == []


async def test_entity_says_how_many_relations_it_has_beyond_the_strongest(tmp_path: Path) -> None:
    """The relations are the strongest twenty; their number is that of all."""
    total = RELATIONS_SHOWN + 5
    facts = [{"subject": "Hub", "predicate": "contains", "object": f"part {n}", "weight": 1 + n} for n in range(total)]
    async with (
        open_application(Settings(data=tmp_path), CollectorRegistry()) as application,
        http_service(create_app(application)) as url,
        httpx.AsyncClient(base_url=f"{url}/v1/graphs/g", timeout=120) as client,
    ):
        token = (await client.put("/documents/a", json={"text": "Hub contains parts.", "facts": facts})).json()["token"]
        assert (await client.get(f"/tokens/{token}?wait_s=60")).json()["reached"]
        hub = (await client.get("/entities?q=hub")).json()["entities"][0]
        entity = (await client.get(f"/entities/{hub['id']}")).json()
        assert [edge["weight"] for edge in entity["relations"]] == [total - n for n in range(RELATIONS_SHOWN)]
        assert entity["relation_count"] == total
        assert (await over_grpc(application, hub["id"])).relation_count == total
