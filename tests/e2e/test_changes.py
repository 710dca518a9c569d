"""The change feed of a running application: order, resumption, filters, rows, retention, readers that leave."""

from __future__ import annotations

import asyncio
import gc
import json
import random
import weakref
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import grpc.aio
import httpx
import pytest
from typer.testing import CliRunner

import graphtide
from graphtide.infra.settings import Settings
from graphtide.services.api.http.app import create_app
from graphtide.services.api.schema.shapes import dump, fields_json
from graphtide.services.application import Application, ChangeQuery
from graphtide.services.cli.top_level.app import app as commands
from graphtide.services.cluster.remote_application import RemoteApplication
from graphtide.services.local_application import LocalApplication
from graphtide.services.wiring import open_application
from tests.support.serving import grpc_address, http_service
from tests.support.stages import eventually

NDJSON = {"accept": "application/x-ndjson"}
SEED = 20_261_122
ENDS_S = 120
FACTS = [
    ("Ana Ruiz", "signed", "the contract"),
    ("A. Ruiz", "works for", "Kessel AG"),
    ("Kessel AG", "supplies", "the boiler"),
    ("Ana Ruiz", "lives in", "Bergen"),
    ("Kessel", "owns", "the boiler house"),
]
Event = Mapping[str, Any]


class Client:
    """A client of the service."""

    def __init__(self, http: httpx.AsyncClient) -> None:
        self.http = http

    async def put(self, doc_id: str, *facts: tuple[str, str, str], text: str = "") -> str:
        """Publish a document with these facts, wait until it is applied, and return its token."""
        entities = [{"name": name} for fact in facts for name in (fact[0], fact[2])]
        stated = [{"subject": s, "predicate": p, "object": o} for s, p, o in facts]
        body = {"text": text or f"{doc_id}: {stated}", "entities": entities, "facts": stated}
        return await self._applied(await self.http.put(f"/v1/graphs/g/documents/{doc_id}", json=body))

    async def delete(self, doc_id: str) -> str:
        return await self._applied(await self.http.delete(f"/v1/graphs/g/documents/{doc_id}"))

    async def _applied(self, response: httpx.Response) -> str:
        token = str(response.raise_for_status().json()["token"])
        reached = await self.http.get(f"/v1/graphs/g/tokens/{token}?wait_s=60")
        assert reached.json()["reached"], reached.text
        return token

    async def digest(self, at: str = "") -> str:
        found = await self.http.get("/v1/graphs/g/digest", params={"at": at} if at else {})
        return str(found.raise_for_status().json()["digest"])

    @asynccontextmanager
    async def changes(self, **query: str) -> AsyncIterator[AsyncIterator[Event]]:
        """Yield the events of a feed."""
        async with self.http.stream("GET", "/v1/graphs/g/changes", params=query, headers=NDJSON) as response:
            if response.status_code != 200:
                await response.aread()
            response.raise_for_status()
            yield (json.loads(line) async for line in response.aiter_lines() if line)


@asynccontextmanager
async def service(folder: Path, **settings: Any) -> AsyncIterator[tuple[Client, Application]]:
    """Yield a client of an embedded service with its data in `folder`."""
    async with (
        open_application(Settings(data=folder, **settings)) as application,
        http_service(create_app(application)) as url,
        httpx.AsyncClient(base_url=url, timeout=ENDS_S) as http,
        asyncio.timeout(ENDS_S),
    ):
        yield Client(http), application


async def test_feed_tells_what_each_commit_changed(tmp_path: Path) -> None:
    """Documents, entities, relations and merges come with names and ids, in order, from any token on."""
    async with service(tmp_path) as (client, _):
        first = await client.put("a", FACTS[0])
        async with client.changes(after=first) as feed:
            await client.put("b", FACTS[1], FACTS[0])
            change = await anext(feed)
            assert (change["version"], change["token"]) == (2, "v2")
            assert [(each["id"], each["state"]) for each in change["documents"]] == [("b", "applied")]
            added = {each["name"] for each in change["entities"]["added"]}
            assert "Kessel AG" in added
            stated = {(each["subject_name"], each["predicate"]) for each in change["relations"]["added"]}
            assert ("A. Ruiz", "works for") in stated
            await client.delete("b")
            gone = await anext(feed)
            assert [each["state"] for each in gone["documents"]] == ["deleted"]
            assert "Kessel AG" in {each["name"] for each in gone["entities"]["removed"]}
        async with client.changes(after="v1") as again:
            assert [(await anext(again))["version"] for _ in range(2)] == [2, 3]
        whole = (await client.http.get("/v1/graphs/g/entities")).json()["entities"]
        assert {each["id"] for each in whole}.isdisjoint(each["id"] for each in gone["entities"]["removed"])


async def test_feed_resumes_and_filters(tmp_path: Path) -> None:
    """Last-Event-ID continues after an event; filters leave out commits, whose tokens a reader can still pass."""
    async with service(tmp_path) as (client, _):
        for number, fact in enumerate(FACTS):
            await client.put(f"{'x' if number % 2 else 'y'}/{number}", fact)
        headers = {"last-event-id": "v2"}
        async with client.http.stream("GET", "/v1/graphs/g/changes?after=v0", headers=headers) as response:
            rest = response.aiter_lines()
            assert next(line for line in [await anext(rest) for _ in range(8)] if line.startswith("id:")) == "id: v3"
        async with client.changes(after="v0", prefix="x/") as feed:
            assert [(await anext(feed))["version"] for _ in range(2)] == [2, 4]
        async with client.changes(after="v0", entity="bergen") as feed:
            assert (await anext(feed))["version"] == 4
        with pytest.raises(httpx.HTTPStatusError, match="422"):
            async with client.changes(after="v99"):
                pass
        with pytest.raises(httpx.HTTPStatusError, match="422"):
            async with client.changes(after="nonsense"):
                pass


async def test_replayed_feed_gives_the_digest(tmp_path: Path) -> None:
    """The law: a snapshot and the changes after it, in any course of edits and deletions, give the graph's digest."""
    print("seed", SEED)
    rng = random.Random(SEED)
    async with service(tmp_path) as (client, _):
        await client.put("d0", *rng.sample(FACTS, 2))
        early, late = graphtide.GraphReplica(), graphtide.GraphReplica()
        async with client.changes(detail="rows") as feed:
            early.apply(await anext(feed))
            for step in range(14):
                await random_step(client, rng)
                digest = await client.digest()
                version = (await client.http.get("/v1/graphs/g/stats")).json()["version"]
                while early.version < version:
                    part = await anext(feed)
                    early.apply(part)
                    early.apply(part)  # a repeated event changes nothing
                assert early.digest() == digest, step
        async with client.changes(detail="rows") as feed:
            while late.version < version:
                part = await anext(feed)
                late.apply(part)
                while part["part"] < part["parts"]:
                    part = await anext(feed)
                    late.apply(part)
        assert late.digest() == digest


async def random_step(client: Client, rng: random.Random) -> None:
    """Insert, edit, repeat or delete a document."""
    name = f"d{rng.randrange(5)}"
    answer = await client.http.get(f"/v1/graphs/g/documents/{name}")
    if rng.random() < 0.3 and answer.status_code == 200 and answer.json()["state"] == "applied":
        await client.delete(name)
    else:
        await client.put(name, *rng.sample(FACTS, rng.randint(1, 3)), text=f"{name} {rng.randrange(3)}")


async def test_reader_that_is_too_far_behind_is_told(tmp_path: Path) -> None:
    """A token outside the retention is 410 before the start, and an error with the remedy during the stream."""
    async with service(tmp_path, change_retention_commits=2) as (client, application):
        for number in range(4):
            await client.put(f"d{number}", FACTS[number])
        with pytest.raises(httpx.HTTPStatusError, match="410"):
            async with client.changes(after="v0"):
                pass
        async with client.changes(after="v3") as feed:
            assert (await anext(feed))["version"] == 4
        items = application.changes("g", ChangeQuery("v3"))
        await anext(items)
        for number in range(4):  # the reader does not read meanwhile
            await client.put(f"e{number}", FACTS[number])
        with pytest.raises(graphtide.Expired, match="begin without"):
            await anext(items)


async def test_readers_are_told_that_the_graph_was_deleted(tmp_path: Path) -> None:
    """A waiting reader, one that reads only after the name was used again, and a token of the deleted graph."""
    async with service(tmp_path) as (client, application):
        await client.put("a", FACTS[0])
        late = application.changes("g", ChangeQuery("v1"))
        await anext(late)
        async with client.changes(after="v1") as feed:
            deleted = await client.http.delete("/v1/graphs/g", params={"wait_s": 60})
            assert deleted.raise_for_status().json()["deleted"]
            assert "graph 'g' was deleted" in str(await anext(feed))
        token = await client.put("b", FACTS[1])
        with pytest.raises(graphtide.Expired, match="was deleted"):
            await anext(late)
        response = await client.http.get("/v1/graphs/g/changes", params={"after": "v1"})
        assert response.status_code == 410 and "was deleted" in response.text
        async with client.changes(follow="false", detail="rows") as feed:
            copy = graphtide.GraphReplica()
            async for event in feed:
                copy.apply(event)
        assert copy.digest() == await client.digest()
        assert token


async def test_opened_earlier_view_of_a_deleted_graph_is_released(tmp_path: Path) -> None:
    """Its memory is free as soon as the graph is deleted; those of other graphs stay open."""
    async with service(tmp_path) as (client, application):
        await client.put("a", FACTS[0])
        await client.put("b", FACTS[1])
        assert isinstance(application, LocalApplication)
        opened = weakref.ref(await application._past.view_at("g", 1))
        assert opened() is not None
        deleted = await client.http.delete("/v1/graphs/g", params={"wait_s": 60})
        assert deleted.json()["deleted"]

        async def is_free() -> bool:
            gc.collect()
            return opened() is None

        await eventually(is_free)  # a thread that has just returned it may hold it a moment longer


async def test_feed_survives_a_restart_and_an_unread_connection(tmp_path: Path) -> None:
    """A reader resumes with its token after a restart; an unread connection delays neither writes nor other readers."""
    async with service(tmp_path) as (client, _):
        await client.put("a", FACTS[0])
        host, port = str(client.http.base_url).removeprefix("http://").split(":")
        _, writer = await asyncio.open_connection(host, int(port), limit=256)
        writer.write(b"GET /v1/graphs/g/changes?after=v0&detail=rows HTTP/1.1\r\nhost: a\r\n\r\n")
        await writer.drain()
        for number in range(5):
            await client.put(f"b{number}", FACTS[number], text="x" * 50_000)
        async with client.changes(after="v1") as feed:
            assert [(await anext(feed))["version"] for _ in range(5)] == [2, 3, 4, 5, 6]
        writer.transport.abort()
    async with service(tmp_path) as (client, _), client.changes(after="v5") as feed:
        assert (await anext(feed))["version"] == 6
        await client.put("c", FACTS[1])
        assert (await anext(feed))["version"] == 7


async def test_every_interface_gives_the_same_changes(tmp_path: Path) -> None:
    """HTTP, gRPC through a process without graphs, the Python interface and the command line, with and without rows."""
    async with service(tmp_path) as (client, application):
        for number, fact in enumerate(FACTS):
            await client.put(f"d{number}", fact)
        await client.delete("d1")
        url = str(client.http.base_url)
        for rows in (False, True):
            query = ChangeQuery("v0", rows=rows, follow=False)
            ours = [item async for item in application.changes("g", query)]
            async with grpc_address(application) as address, grpc.aio.insecure_channel(address) as channel:
                remote = RemoteApplication(lambda channel=channel: channel)  # type: ignore[misc]
                theirs = [item async for item in remote.changes("g", query)]
            assert [plain(item) for item in theirs] == [plain(item) for item in ours]
            async with graphtide.connect(url) as db:
                found = db.graph("g").changes(after="v0", rows=rows, follow=False)
                assert [plain(item) async for item in found] == [plain(item) for item in ours[1:]]
        arguments = ["changes", "--graph", "g", "--after", "v0", "--url", url, "--json"]
        shown = await asyncio.to_thread(CliRunner().invoke, commands, arguments)
        assert [json.loads(line)["version"] for line in shown.stdout.splitlines()] == [1, 2, 3, 4, 5, 6]
        line = (await asyncio.to_thread(CliRunner().invoke, commands, arguments[:-1])).stdout.splitlines()[5]
        assert line.startswith("v6  ") and "deleted d1" in line


def plain(item: Any) -> Any:
    """Return an item as JSON."""
    return json.loads(dump(fields_json(item)))


def test_changes_in_a_program(tmp_path: Path) -> None:
    """The embedded database and its blocking twin: what docs/changes.md shows."""
    with graphtide.sync.open(tmp_path) as db:
        notes = db.graph("notes")
        token = notes.add("a", "Ana Ruiz signed the contract.").token
        version = notes.wait(token)
        notes.wait(notes.add("b", "Kessel AG supplies the boiler.").token)
        replica = graphtide.GraphReplica()
        for item in notes.changes(rows=True, follow=False):
            replica.apply(plain(item))
            replica.apply(item)
        assert replica.digest() == notes.digest().digest
        listed = {(each.id, each.name, each.type, each.mentions) for each in notes.entities().entities}
        assert {(each.id, each.name, each.type, each.mentions) for each in replica.entities()} == listed
        [ana] = (each.id for each in replica.entities() if each.name == "Ana Ruiz")
        around = {(edge.u, edge.v, edge.weight) for edge in replica.edges() if ana in (edge.u, edge.v)}
        assert {frozenset(edge[:2]) for edge in around} == {
            frozenset((edge.source, edge.target)) for edge in notes.neighbourhood(ana).edges
        }
        with pytest.raises(TypeError, match="event of the change feed"):
            replica.apply("v1")
        [change] = notes.changes(after=token, follow=False)
        assert isinstance(change, graphtide.Change)
        assert (change.version, [document.id for document in change.documents]) == (version + 1, ["b"])


async def test_earlier_versions_answer_as_they_did(tmp_path: Path) -> None:
    """Digest, entities and questions at a version are those of that time, equal to a build of the first documents."""
    print("seed", SEED + 1)
    rng, digests = random.Random(SEED + 1), dict[int, str]()
    async with service(tmp_path / "one", change_retention_commits=12) as (client, _):
        first = await client.put("a", ("Kessel AG", "supplies", "the boiler"), text="Kessel AG supplies the boiler.")
        digests[1] = await client.digest()
        await client.put("a", ("Nord AG", "supplies", "the boiler"), text="Nord AG supplies the boiler.")
        digests[2] = await client.digest()
        for _ in range(8):
            await random_step(client, rng)
            version = (await client.http.get("/v1/graphs/g/stats")).json()["version"]
            digests[version] = await client.digest()
        for version, digest in digests.items():
            assert await client.digest(f"v{version}") == digest
        assert await client.digest(first) == digests[1]
        await check_past_answers(client)
        for at, status in (("v99", 422), ("x", 422), ("0:999", 422)):
            assert (await client.http.get("/v1/graphs/g/digest", params={"at": at})).status_code == status
        for number in range(12):
            await client.put(f"e{number}", FACTS[0])
        assert (await client.http.get("/v1/graphs/g/digest", params={"at": "1"})).status_code == 410
    async with service(tmp_path / "two") as (client, _):
        await client.put("a", ("Nord AG", "supplies", "the boiler"), text="Nord AG supplies the boiler.")
        assert await client.digest() == digests[2]


async def check_past_answers(client: Client) -> None:
    """Ask what the document said in its first version, and look up an entity that exists only there."""
    asked = {"question": "Who supplies the boiler?", "generate": False, "mode": "passages"}
    now = (await client.http.post("/v1/graphs/g/query", json=asked)).json()
    past = (await client.http.post("/v1/graphs/g/query", json=asked | {"at": "1"})).json()
    assert past["version"] == 1 and [each["text"] for each in past["passages"]] == ["Kessel AG supplies the boiler."]
    assert "Nord AG supplies the boiler." in [each["text"] for each in now["passages"]]
    listed = (await client.http.get("/v1/graphs/g/entities", params={"at": "v1"})).json()
    [kessel] = [each for each in listed["entities"] if each["name"] == "Kessel AG"]
    path = f"/v1/graphs/g/entities/{kessel['id']}"
    assert (await client.http.get(path, params={"at": "v1"})).json()["name"] == "Kessel AG"
    refused = await client.http.post("/v1/graphs/g/query", json=asked | {"at": "v1", "mode": "global"})
    assert refused.json()["error"]["field"] == "mode"
