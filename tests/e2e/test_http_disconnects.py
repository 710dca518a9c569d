"""Clients that disconnect before the response: the service cancels what only reads, and completes what writes."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Sequence
from urllib.parse import urlsplit

import httpx
import pytest
from prometheus_client import CollectorRegistry

from graphtide.services.api.http.app import create_app
from graphtide.services.api.schema.limits import RequestLimits
from graphtide.services.application import Answer, Preview, PreviewRequest, QueryRequest, Receipt, RelatedDocuments
from graphtide.streams.messages import DocumentMessage
from tests.support.application import InMemoryApplication
from tests.support.serving import http_service

Call = tuple[str, str, dict[str, object] | None]

PLACES = 2
QUERY: Call = ("POST", "/v1/graphs/notes/query", {"question": "Who?"})
READS: tuple[Call, ...] = (
    QUERY,
    ("POST", "/v1/graphs/notes/preview", {"delete": ["a"]}),
    ("POST", "/v1/chat/completions", {"model": "graphtide/notes", "messages": [{"role": "user", "content": "Who?"}]}),
    ("GET", "/v1/graphs/notes/documents/a/related", None),
)
WRITE: Call = ("PUT", "/v1/graphs/notes/documents/a", {"text": "Ida Moreau founded Halden Station."})


class _Waiting(InMemoryApplication):
    """An application whose calls wait until `may_end` is set, and which notes how they end."""

    def __init__(self) -> None:
        super().__init__()
        self.began, self.may_end = asyncio.Event(), asyncio.Event()
        self.ends: asyncio.Queue[str] = asyncio.Queue()

    async def _wait(self) -> None:
        self.began.set()
        try:
            await self.may_end.wait()
        except asyncio.CancelledError:
            self.ends.put_nowait("cancelled")
            raise
        self.ends.put_nowait("completed")

    async def query(self, graph: str, ask: QueryRequest) -> Answer:
        await self._wait()
        return await super().query(graph, ask)

    async def preview(self, graph: str, request: PreviewRequest) -> Preview:
        await self._wait()
        return await super().preview(graph, request)

    async def related(self, graph: str, doc_id: str, count: int) -> RelatedDocuments:
        await self._wait()
        return await super().related(graph, doc_id, count)

    async def publish(self, documents: Sequence[DocumentMessage]) -> Receipt:
        await self._wait()
        return await super().publish(documents)


@pytest.fixture
async def application() -> _Waiting:
    application = _Waiting()
    application.may_end.set()
    await application.publish([DocumentMessage("notes", "a", "Ida Moreau founded Halden Station.")])
    application.may_end.clear()
    application.began.clear()
    application.ends.get_nowait()
    return application


@pytest.fixture
def registry() -> CollectorRegistry:
    return CollectorRegistry()


@pytest.fixture
async def url(application: _Waiting, registry: CollectorRegistry) -> AsyncIterator[str]:
    """The service with PLACES places: requests that hold them after their end would block the next."""
    async with http_service(create_app(application, RequestLimits(max_in_flight=PLACES), registry)) as url:
        yield url


async def disconnect(url: str, call: Call, application: _Waiting) -> None:
    """Send a request, and disconnect once the application computes it."""
    method, path, fields = call
    body = b"" if fields is None else json.dumps(fields).encode()
    headers = f"content-type: application/json\r\ncontent-length: {len(body)}\r\n" if body else ""
    address = urlsplit(url)
    application.began.clear()
    _, writer = await asyncio.open_connection(address.hostname, address.port)
    writer.write(f"{method} {path} HTTP/1.1\r\nhost: test\r\n{headers}\r\n".encode() + body)
    await application.began.wait()
    writer.close()
    await writer.wait_closed()


@pytest.mark.parametrize("call", READS, ids=lambda call: call[1])
async def test_disconnect_cancels_what_only_reads(
    call: Call, url: str, application: _Waiting, registry: CollectorRegistry
) -> None:
    for _ in range(PLACES):
        await disconnect(url, call, application)
        assert await application.ends.get() == "cancelled"
    application.may_end.set()
    async with httpx.AsyncClient(base_url=url) as client:
        assert (await client.post(QUERY[1], json=QUERY[2])).status_code == 200
    statuses = {
        sample.labels["status"]: sample.value
        for metric in registry.collect()
        for sample in metric.samples
        if sample.name == "graphtide_http_requests_total"
    }
    assert statuses == {"499": PLACES, "200": 1}


async def test_disconnect_does_not_cancel_a_write(url: str, application: _Waiting) -> None:
    await disconnect(url, WRITE, application)
    await disconnect(url, QUERY, application)
    assert await application.ends.get() == "cancelled", "the server has noticed both disconnects"
    application.may_end.set()
    assert await application.ends.get() == "completed"
    assert (await application.document("notes", "a")).revision


async def test_client_that_waits_receives_its_answer(url: str, application: _Waiting) -> None:
    """The connection of an answer continues to serve further requests."""
    async with httpx.AsyncClient(base_url=url) as client:
        asked = asyncio.create_task(client.post(QUERY[1], json=QUERY[2]))
        await application.began.wait()
        application.may_end.set()
        assert (await asked).status_code == 200
        assert (await client.get(READS[3][1])).status_code == 200
