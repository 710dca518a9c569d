"""Lists, neighbourhoods and communities over HTTP and gRPC, on the service itself, while documents change."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import grpc
import grpc.aio
import httpx
import pytest
import pytest_asyncio
from pydantic import BaseModel

from graphtide.graph.browsing.entity_order import EntityOrder
from graphtide.services.api.http.app import create_app
from graphtide.services.api.http.documentation import browse_models as models
from graphtide.services.api.schema import graphtide_pb2 as pb
from graphtide.services.api.schema.calls import GraphtideStub
from graphtide.services.application import Application
from tests.support.serving import grpc_address, http_service, opened

TOWNS = ["Aarhus", "Bergen", "Cork", "Delft", "Essen", "Faro", "Ghent", "Hull", "Izmir", "Jena"]


@pytest_asyncio.fixture
async def application(tmp_path: Path) -> AsyncIterator[Application]:
    async with opened("embedded", tmp_path) as application:
        yield application


@pytest_asyncio.fixture
async def http(application: Application) -> AsyncIterator[httpx.AsyncClient]:
    async with http_service(create_app(application)) as url, httpx.AsyncClient(base_url=url, timeout=60) as client:
        yield client


async def publish(http: httpx.AsyncClient, *names: str, text: str = "") -> str:
    """Publish a document per name, in which its town borders the next one; return the token."""
    body = [
        {
            "id": f"towns/{name}",
            "title": f"About {name}",
            "source": "atlas",
            "text": text or f"{name} borders {TOWNS[(TOWNS.index(name) + 1) % len(TOWNS)]}.",
            "facts": [
                {"subject": name, "predicate": "borders", "object": TOWNS[(TOWNS.index(name) + step) % len(TOWNS)]}
                for step in (1, 2)
            ],
        }
        for name in names
    ]
    response = await http.post("/v1/graphs/notes/documents", json=body)
    return str(response.json()["token"])


async def get(http: httpx.AsyncClient, path: str, model: type[BaseModel], /, **parameters: object) -> dict[str, Any]:
    """Return the body, which must have the form that OpenAPI describes."""
    response = await http.get(f"/v1/graphs{path}", params={name: str(value) for name, value in parameters.items()})
    assert response.status_code == 200, response.text
    model.model_validate_json(response.content)
    body: dict[str, Any] = response.json()
    return body


async def reach(http: httpx.AsyncClient, token: str) -> int:
    body = await get(http, f"/notes/tokens/{token}", models.TokenStateBody, wait_s=60)
    assert body["reached"]
    return int(body["version"])


async def test_token_is_waited_for_once(http: httpx.AsyncClient) -> None:
    """After the wait the graph includes the documents; without time to wait the state is reported at once."""
    token = await publish(http, *TOWNS)
    version = await reach(http, token)
    listed = await get(http, "", models.GraphPageBody)
    assert listed == {"graphs": [{"graph": "notes", "version": version, "documents": len(TOWNS)}]}
    assert (await get(http, f"/notes/tokens/{token}", models.TokenStateBody, wait_s=0))["reached"]
    wrong = await http.get("/v1/graphs/notes/tokens/0:99")
    assert (wrong.status_code, wrong.json()["error"]["field"]) == (422, "token")
    assert (await http.get(f"/v1/graphs/none/tokens/{token}")).status_code == 404


async def test_documents_are_listed_in_pages_while_they_change(http: httpx.AsyncClient) -> None:
    """Each is on one page; deleted ones are left out unless they are asked for; filters select."""
    await reach(http, await publish(http, *TOWNS))
    seen: list[str] = []
    cursor = ""
    for step in range(len(TOWNS) + 1):
        page = await get(http, "/notes/documents", models.DocumentPageBody, limit=3, cursor=cursor)
        seen += [document["id"] for document in page["documents"]]
        await reach(http, await publish(http, TOWNS[step % len(TOWNS)], text=f"Another text {step}."))
        cursor = page.get("next", "")
        if not cursor:
            break
    assert seen == [f"towns/{name}" for name in TOWNS]
    token = (await http.delete("/v1/graphs/notes/documents/towns/Cork")).json()["token"]
    await reach(http, token)
    remaining = await get(http, "/notes/documents", models.DocumentPageBody, prefix="towns/")
    assert [each["id"] for each in remaining["documents"]] == [f"towns/{name}" for name in TOWNS if name != "Cork"]
    assert {(each["state"], each["title"][:5], each["source"]) for each in remaining["documents"]} == {
        ("applied", "About", "atlas")
    }
    deleted = await get(http, "/notes/documents", models.DocumentPageBody, state="deleted")
    assert [each["id"] for each in deleted["documents"]] == ["towns/Cork"]
    for filters in ({"prefix": "x"}, {"source": "other"}, {"state": "failed"}):
        assert (await get(http, "/notes/documents", models.DocumentPageBody, **filters)) == {"documents": []}


async def test_entities_are_listed_once_in_the_first_pages_order(http: httpx.AsyncClient) -> None:
    """Edits between the pages change degrees and mentions; every entity that remains is listed once."""
    await reach(http, await publish(http, *TOWNS))
    for sort in ("mentions", "degree", "name"):
        first = await get(http, "/notes/entities", models.EntityPageBody, sort=sort)
        wanted = [each["name"] for each in first["entities"]]
        assert set(TOWNS) <= set(wanted)
        seen: list[str] = []
        cursor, step = "", 0
        while True:
            page = await get(http, "/notes/entities", models.EntityPageBody, sort=sort, limit=3, cursor=cursor)
            seen += [each["name"] for each in page["entities"]]
            await reach(http, await publish(http, TOWNS[step], text=f"{TOWNS[step]} is old. Edit {sort}."))
            cursor, step = page.get("next", ""), step + 1
            if not cursor:
                break
        assert [name for name in seen if name in TOWNS] == [name for name in wanted if name in TOWNS]
    found = await get(http, "/notes/entities", models.EntityPageBody, q="GHEN")
    assert [each["name"] for each in found["entities"]] == ["Ghent"]


async def test_neighbourhood_and_communities_agree_with_the_entities(http: httpx.AsyncClient) -> None:
    """A neighbourhood names both ends of each edge; the communities of a level hold every entity."""
    await reach(http, await publish(http, *TOWNS))
    [ghent] = (await get(http, "/notes/entities", models.EntityPageBody, q="ghent"))["entities"]
    path = f"/notes/entities/{ghent['id']}/neighbourhood"
    near = await get(http, path, models.NeighbourhoodBody, hops=1)
    assert {node["name"] for node in near["nodes"]} == {"Ghent", "Hull", "Izmir", "Faro", "Essen"}
    assert len(near["nodes"]) == ghent["degree"] + 1 and not near["truncated"]
    assert {"source_name", "target_name", "trussness", "community"} <= near["edges"][0].keys()
    assert all(edge["predicates"] == ["borders"] for edge in near["edges"])
    assert len((await get(http, path, models.NeighbourhoodBody, hops=3, limit=2))["nodes"]) == 2
    communities = await get(http, "/notes/communities", models.CommunityPageBody, level=0)
    listed = [each["community"] for each in communities["communities"]]
    paged: list[int] = []
    cursor = ""
    while True:
        page = await get(http, "/notes/communities", models.CommunityPageBody, level=0, limit=1, cursor=cursor)
        paged += [each["community"] for each in page["communities"]]
        if not (cursor := page.get("next", "")):
            break
    assert paged == listed
    details = await get(http, f"/notes/communities/{ghent['community']}", models.CommunityDetailsBody)
    assert "Ghent" in {member["name"] for member in details["members"]}
    if details["parent"]:
        above = await get(http, f"/notes/communities/{details['parent']}", models.CommunityDetailsBody)
        assert ghent["community"] in {child["community"] for child in above["children"]}


WRONG = [
    ("/notes/documents?limit=0", 422, "limit"),
    ("/notes/documents?limit=x", 422, "limit"),
    ("/notes/documents?state=gone", 422, "state"),
    ("/notes/documents?cursor=abc", 422, "cursor"),
    ("/notes/entities?sort=age", 422, "sort"),
    ("/notes/entities?cursor=%00", 422, "cursor"),
    ("/notes/communities?level=77", 422, "level"),
    ("/notes/communities/99999", 404, None),
    ("/notes/communities/x", 422, "community"),
    ("/notes/entities/e-none/neighbourhood", 404, None),
    ("/notes/tokens/x", 422, "token"),
    ("/notes/tokens/0:0?wait_s=-1", 422, "wait_s"),
    ("/none/documents", 404, None),
    ("/none/entities", 404, None),
    ("?cursor=zz", 422, "cursor"),
]


async def test_wrong_parameters_are_named(http: httpx.AsyncClient) -> None:
    """Each gets the status and the field of the error; a cursor of another listing is refused, too."""
    await reach(http, await publish(http, *TOWNS))
    for path, status, field in WRONG:
        response = await http.get(f"/v1/graphs{path}")
        assert (response.status_code, response.json()["error"].get("field")) == (status, field), path
    other = (await http.get("/v1/graphs/notes/documents", params={"limit": 1})).json()["next"]
    for path, more in (("entities", {}), ("documents", {"prefix": "t"}), ("communities", {})):
        response = await http.get(f"/v1/graphs/notes/{path}", params={"cursor": other, **more})
        assert response.status_code == 422, path


async def test_grpc_lists_what_http_lists(application: Application, http: httpx.AsyncClient) -> None:
    """Both follow the same parameters, and each continues the cursors of the other."""
    await reach(http, await publish(http, *TOWNS))
    async with grpc_address(application) as address, grpc.aio.insecure_channel(address) as channel:
        stub = GraphtideStub(channel)
        first = await stub.ListEntities(pb.EntityQuery(graph="notes", sort="name", limit=4))
        rest = await get(http, "/notes/entities", models.EntityPageBody, sort="name", cursor=first.next)
        whole = await get(http, "/notes/entities", models.EntityPageBody, sort="name")
        names = [each.name for each in first.entities] + [each["name"] for each in rest["entities"]]
        assert names == [each["name"] for each in whole["entities"]]
        documents = await stub.ListDocuments(pb.DocumentQuery(graph="notes", prefix="towns/G"))
        assert [each.id for each in documents.documents] == ["towns/Ghent"]
        entity = first.entities[0].id
        near = await stub.GetNeighbourhood(pb.NeighbourhoodRequest(graph="notes", id=entity, hops=2))
        assert near.center == entity and near.nodes[0].id == entity
        levels = await stub.ListCommunities(pb.CommunityQuery(graph="notes"))
        details = await stub.GetCommunity(pb.CommunityRef(graph="notes", community=levels.communities[0].community))
        assert details.size == levels.communities[0].size
        token = await publish(http, "Jena", text="Jena again.")
        state = await stub.GetToken(pb.TokenRef(graph="notes", token=token, wait_s=60))
        assert state.reached
        graphs = await stub.ListGraphs(pb.ListGraphsRequest())
        assert [(each.graph, each.documents) for each in graphs.graphs] == [("notes", len(TOWNS))]
        with pytest.raises(grpc.aio.AioRpcError) as refused:
            await stub.ListEntities(pb.EntityQuery(graph="notes", limit=5000))
        assert refused.value.code() is grpc.StatusCode.INVALID_ARGUMENT


async def test_page_from_before_the_history_has_expired(
    http: httpx.AsyncClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A listing that is older than the history gets 410 with the remedy."""
    monkeypatch.setattr(EntityOrder.__init__, "__defaults__", (20,))
    await reach(http, await publish(http, *TOWNS))
    page = await get(http, "/notes/entities", models.EntityPageBody, limit=1)
    for step in range(6):
        deleted = await http.delete(f"/v1/graphs/notes/documents/towns/{TOWNS[step]}")
        await reach(http, deleted.json()["token"])
    response = await http.get("/v1/graphs/notes/entities", params={"limit": 1, "cursor": page["next"]})
    assert (response.status_code, response.json()["error"]["code"]) == (410, "expired")
    assert "begin again" in response.json()["error"]["message"]
    async with asyncio.timeout(60):
        assert await get(http, "/notes/entities", models.EntityPageBody, limit=1)
