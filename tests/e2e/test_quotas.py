"""Quotas of documents, bytes and graphs: over HTTP and gRPC, by keys and tokens, exact after edits and deletions."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

import grpc
import grpc.aio
import httpx
import pytest
from prometheus_client import CollectorRegistry

from graphtide.infra.settings import Settings
from graphtide.services.api.http.app import create_app
from graphtide.services.api.schema import graphtide_pb2 as pb
from graphtide.services.api.schema.calls import GraphtideStub
from graphtide.services.application import Application
from graphtide.services.wiring import open_application
from tests.support.guarded import KeyFile, gate, token
from tests.support.serving import grpc_service, http_service

TEXT = "Ada met Bob in Paris."
SIZE = len(TEXT.encode())


@dataclass
class Tenant:
    """A caller of a running service, with one credential."""

    http: httpx.AsyncClient
    calls: GraphtideStub
    secret: str

    async def put(self, graph: str, doc_id: str, text: str = TEXT) -> httpx.Response:
        return await self.http.put(f"/v1/graphs/{graph}/documents/{doc_id}", json={"text": text, "facts": []})

    async def store(self, graph: str, doc_id: str, text: str = TEXT) -> None:
        """Publish, and wait until it is applied."""
        await self.settle(graph, await self.put(graph, doc_id, text))

    async def delete(self, graph: str, doc_id: str) -> None:
        """Delete, and wait until it is applied."""
        await self.settle(graph, await self.http.delete(f"/v1/graphs/{graph}/documents/{doc_id}"))

    async def settle(self, graph: str, answer: httpx.Response) -> None:
        assert answer.status_code == httpx.codes.ACCEPTED, answer.text
        asked = {"question": "?", "generate": False, "mode": "vector", "after": answer.json()["token"]}
        found = await self.http.post(f"/v1/graphs/{graph}/query", json=asked)
        assert found.status_code == httpx.codes.OK, found.text

    async def call(self, graph: str, doc_id: str) -> grpc.StatusCode:
        """Publish over gRPC; return the status code."""
        request = pb.PublishRequest(graph=graph, id=doc_id, text=TEXT)
        try:
            await self.calls.Publish(request, metadata=(("authorization", f"Bearer {self.secret}"),))
        except grpc.aio.AioRpcError as error:
            return error.code()
        return grpc.StatusCode.OK


@asynccontextmanager
async def tenant(application: Application, folder: Path, secret: str, keys: KeyFile) -> AsyncIterator[Tenant]:
    guard = gate(keys, folder)
    app = create_app(application, None, CollectorRegistry(), guard)
    async with (
        http_service(app) as url,
        grpc_service(application, gate=guard) as channel,
        httpx.AsyncClient(base_url=url, headers={"authorization": f"Bearer {secret}"}, timeout=60) as http,
    ):
        stub = GraphtideStub(channel)
        yield Tenant(http, stub, secret)


@asynccontextmanager
async def opened(folder: Path, quota: Mapping[str, int], secret: str = "") -> AsyncIterator[Tenant]:
    """Yield the embedded service, and a caller whose key has the quota on the graphs t-*."""
    keys = KeyFile(folder / "keys.toml")
    key = keys.add("tenant", "t-*", "read write metrics", **quota)
    async with (
        open_application(Settings(data=folder / "data")) as application,
        tenant(application, folder, secret or key, keys) as one,
    ):
        yield one


def refused(answer: httpx.Response, kind: str, figures: str) -> None:
    """Assert a permanent refusal with cause, figures and remedy."""
    body = answer.json()["error"]
    assert (answer.status_code, body["code"]) == (403, "quota_exceeded"), answer.text
    assert kind in body["message"] and figures in body["message"] and "delete documents" in body["message"]
    assert "retry-after" not in answer.headers


async def test_documents_are_bounded_and_room_comes_back_with_a_deletion(tmp_path: Path) -> None:
    """All graphs of the key count together; an edit needs no room; the same holds over gRPC."""
    async with opened(tmp_path, {"max_documents": 2}) as one:
        await one.store("t-a", "a")
        await one.store("t-b", "b")
        refused(await one.put("t-a", "c"), "2 documents", "hold 2, and 1 more")
        assert await one.call("t-a", "c") is grpc.StatusCode.PERMISSION_DENIED
        await one.store("t-a", "a", TEXT + " Eve met Ada.")
        await one.delete("t-b", "b")
        assert await one.call("t-a", "c") is grpc.StatusCode.OK


async def test_bytes_are_bounded_to_the_last_one(tmp_path: Path) -> None:
    """The exact limit is accepted; one byte more is not; a shorter edit always is, and frees its bytes."""
    async with opened(tmp_path, {"max_bytes": 2 * SIZE}) as one:
        await one.store("t-a", "a")
        refused(await one.put("t-a", "b", TEXT + "!"), f"{2 * SIZE} bytes", f"hold {SIZE}, and {SIZE + 1} more")
        await one.store("t-a", "b")
        refused(await one.put("t-a", "a", TEXT + "!"), "bytes", f"hold {2 * SIZE}, and 1 more")
        await one.store("t-a", "a", TEXT[:-1])
        await one.store("t-a", "b", TEXT + "!")
        await one.delete("t-a", "a")
        await one.store("t-c", "c", TEXT[:-1])


async def test_graphs_are_bounded_and_an_emptied_one_does_not_count(tmp_path: Path) -> None:
    """A graph counts from its first document to its last."""
    async with opened(tmp_path, {"max_graphs": 1}) as one:
        await one.store("t-a", "a")
        await one.store("t-a", "b")
        refused(await one.put("t-b", "a"), "1 graphs", "hold 1, and 1 more")
        for doc_id in ("a", "b"):
            await one.delete("t-a", doc_id)
        await one.store("t-b", "a")


async def test_batch_beyond_the_quota_is_refused_whole(tmp_path: Path) -> None:
    """Nothing is accepted in part; the same documents in a batch that fits are."""
    async with opened(tmp_path, {"max_documents": 2}) as one:
        batch = [{"id": f"d{number}", "text": TEXT, "facts": []} for number in range(3)]
        refused(await one.http.post("/v1/graphs/t-a/documents", json=batch), "documents", "hold 0, and 3 more")
        assert (await one.http.post("/v1/graphs/t-a/documents", json=batch[:2])).status_code == httpx.codes.ACCEPTED


async def test_quota_is_never_exceeded_by_many_at_once_and_counts_after_a_restart(tmp_path: Path) -> None:
    """There are thirty callers and room for five: five succeed, the others get a retry time or a quota error."""
    async with opened(tmp_path, {"max_documents": 5}) as one:
        answers = await asyncio.gather(*(one.put("t-a", f"d{number}") for number in range(30)))
        accepted = [answer for answer in answers if answer.status_code == httpx.codes.ACCEPTED]
        assert len(accepted) == 5
        assert {answer.status_code for answer in answers} <= {202, 403, 429}
        for answer in accepted:
            await one.settle("t-a", answer)
    async with opened(tmp_path, {"max_documents": 5}) as one:
        refused(await one.put("t-a", "late"), "documents", "hold 5, and 1 more")
        shown = (await one.http.get("/v1/graphs/t-a/stats")).json()
        assert shown["counts"]["documents"] == 5


async def test_what_another_key_wrote_counts_and_a_key_without_a_quota_is_not_bounded(tmp_path: Path) -> None:
    """The quota applies to the graphs; by default there is none."""
    keys = KeyFile(tmp_path / "keys.toml")
    free = keys.add("free", "*", "read write")
    bound = keys.add("bound", "t-*", "read write", max_documents=1)
    async with open_application(Settings(data=tmp_path / "data")) as application:
        async with tenant(application, tmp_path, free, keys) as one:
            await one.store("other", "a")
            await one.store("t-a", "a")
            await one.store("t-a", "b")
        async with tenant(application, tmp_path, bound, keys) as one:
            refused(await one.put("t-a", "c"), "1 documents", "hold 2, and 1 more")


async def test_token_brings_its_quota_in_its_claim(tmp_path: Path) -> None:
    """The claim has the same names as the file of keys; a value that is not a number is refused."""
    claim = {"graphs": ["t-*"], "actions": ["read", "write"]}
    async with opened(tmp_path, {}, token(graphtide=claim | {"max_documents": 1})) as one:
        await one.store("t-a", "a")
        refused(await one.put("t-a", "b"), "1 documents", "hold 1, and 1 more")
        wrong = token(graphtide=claim | {"max_documents": "many"})
        answer = await one.http.get("/v1/graphs", headers={"authorization": f"Bearer {wrong}"})
        assert answer.status_code == httpx.codes.UNAUTHORIZED


@pytest.mark.parametrize("quota", [{}, {"max_documents": 0}])
async def test_no_quota_is_no_limit(tmp_path: Path, quota: dict[str, int]) -> None:
    """A quota that is left out or 0 sets no limit."""
    async with opened(tmp_path, quota) as one:
        for number in range(5):
            await one.store(f"t-{number}", "a")
