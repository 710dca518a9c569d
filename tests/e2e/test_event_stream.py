"""The writer of event streams over real connections: formats, errors, heartbeats, limits, readers that leave."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack

import httpx
import pytest
from fastapi import FastAPI
from prometheus_client import CollectorRegistry
from starlette.requests import Request
from starlette.responses import Response

from graphtide.services.access.event_streams import EventStreams
from graphtide.services.access.gate import AccessGate
from graphtide.services.api.http.app import create_app
from graphtide.services.api.http.event_stream import OPENED, StreamEvent, event_response, last_event_id
from graphtide.services.api.schema.limits import RequestLimits
from graphtide.streams.errors import Expired
from tests.support.application import InMemoryApplication
from tests.support.serving import http_service

PATH = "/v1/graphs/g/numbers"
ENDS_S = 60


class Source:
    """Numbers from the position after the caller's; it waits at `end`, or raises Expired there."""

    def __init__(self, end: int = 3, fails: bool = False, text: str = "") -> None:
        self.end, self.fails, self.text = end, fails, text
        self.made = 0
        self.closed = asyncio.Event()
        self.proceed = asyncio.Event()

    async def events(self, after: str) -> AsyncIterator[StreamEvent]:
        """Yield the events after that number."""
        try:
            if after == "gone":
                raise Expired("too old; begin again without `after`")
            yield OPENED
            for number in range(int(after or 0) + 1, self.end + 1):
                self.made = number
                yield StreamEvent("number", json.dumps({"n": number, "text": self.text}).encode(), str(number))
            if self.fails:
                raise Expired("too far behind; begin again without `after`")
            await self.proceed.wait()
        finally:
            self.closed.set()


def app_of(source: Source, streams: EventStreams, limits: RequestLimits | None = None) -> FastAPI:
    """Return the real application with one more route, which streams the source."""
    gate = AccessGate()
    app = create_app(InMemoryApplication(), limits, CollectorRegistry(), gate, streams)

    after = {"name": "after", "in": "query", "schema": {"type": "string"}}

    @app.get("/v1/graphs/{graph}/numbers", openapi_extra={"parameters": [after]})
    async def numbers(request: Request) -> Response:
        return event_response(request, source.events(last_event_id(request)), streams, gate, "numbers")

    return app


async def lines(response: httpx.Response, count: int) -> list[str]:
    """Return the next `count` lines that are not empty."""
    found: list[str] = []
    async for line in response.aiter_lines():
        if line:
            found.append(line)
        if len(found) == count:
            break
    return found


async def test_stream_sends_events_with_ids_and_resumes_after_the_last() -> None:
    """Server-Sent Events carry id, name and data; Last-Event-ID has precedence over the parameter; NDJSON by Accept."""
    source = Source()
    async with (
        http_service(app_of(source, EventStreams())) as url,
        httpx.AsyncClient(base_url=url, timeout=ENDS_S) as client,
    ):
        async with client.stream("GET", PATH) as response:
            assert response.headers["content-type"].startswith("text/event-stream")
            found = await lines(response, 4)
            assert found == ["retry: 2000", "id: 1", "event: number", 'data: {"n": 1, "text": ""}']
        async with client.stream("GET", f"{PATH}?after=0", headers={"last-event-id": "2"}) as response:
            assert (await lines(response, 4))[1] == "id: 3"
        async with client.stream("GET", f"{PATH}?after=1", headers={"accept": "application/x-ndjson"}) as response:
            assert [json.loads(line)["n"] for line in await lines(response, 2)] == [2, 3]
        refused = await client.get(f"{PATH}?after={'9' * 9000}")
        assert (refused.status_code, refused.json()["error"]["field"]) == (422, "after")


async def test_stream_reports_errors_before_and_after_its_start() -> None:
    """A position that is not retained is 410; a reader that falls too far behind gets an event."""
    source = Source(fails=True)
    async with (
        http_service(app_of(source, EventStreams())) as url,
        httpx.AsyncClient(base_url=url, timeout=ENDS_S) as client,
    ):
        refused = await client.get(f"{PATH}?after=gone")
        assert (refused.status_code, refused.json()["error"]["code"]) == (410, "expired")
        whole = (await client.get(f"{PATH}?after=3")).text
        assert whole.split("\n\n")[1].startswith('event: error\ndata: {"error":{"code":"expired"')
        last = (await client.get(f"{PATH}?after=3", headers={"accept": "application/x-ndjson"})).text.strip()
        assert "begin again" in json.loads(last)["error"]["message"]
        assert (await client.head(PATH)).status_code == 200


async def test_quiet_stream_sends_heartbeats_and_ends_at_shutdown() -> None:
    """Comments come while nothing happens; closing the streams ends the response in good order and frees the places."""
    source, streams = Source(end=0), EventStreams(heartbeat_s=0.01)
    async with (
        http_service(app_of(source, streams)) as url,
        httpx.AsyncClient(base_url=url, timeout=ENDS_S) as client,
        client.stream("GET", PATH) as response,
    ):
        rest = response.aiter_lines()
        found = [await anext(rest) for _ in range(8)]
        assert ": heartbeat" in found
        assert streams.running == 1
        streams.close()
        async for _ in rest:
            pass
        await source.closed.wait()
    assert streams.running == 0


async def test_open_streams_are_limited_and_hold_no_place_for_requests() -> None:
    """With one place for requests, a caller has two streams and requests are served; a third stream gets 429."""
    source, streams = Source(), EventStreams(per_caller=2)
    async with (
        http_service(app_of(source, streams, RequestLimits(max_in_flight=1))) as url,
        httpx.AsyncClient(base_url=url, timeout=ENDS_S) as client,
        AsyncExitStack() as stack,
    ):
        for _ in range(2):
            await stack.enter_async_context(client.stream("GET", PATH))
        refused = await client.get(PATH)
        assert (refused.status_code, refused.json()["error"]["code"]) == (429, "overloaded")
        assert "retry-after" in refused.headers
        assert (await client.get("/v1/graphs")).status_code == 200


@pytest.mark.parametrize("leaves", [True, False])
async def test_reader_that_does_not_read_stops_its_source_alone(leaves: bool) -> None:
    """An unread stream requests no further events; a reader that leaves closes its source."""
    source, streams = Source(end=10_000, text="x" * 10_000), EventStreams()
    async with http_service(app_of(source, streams)) as url, asyncio.timeout(ENDS_S):
        host, port = url.removeprefix("http://").split(":")
        reader, writer = await asyncio.open_connection(host, int(port), limit=1024)
        writer.write(f"GET {PATH} HTTP/1.1\r\nhost: a\r\n\r\n".encode())
        await reader.readline()
        made = -1
        while made != source.made:  # the buffers of both ends fill up
            made = source.made
            async with httpx.AsyncClient(base_url=url) as client:
                assert (await client.get("/healthz")).status_code == 200
        assert source.made < source.end
        if leaves:
            writer.transport.abort()
            await source.closed.wait()
        else:
            streams.close()
            writer.close()


async def test_stream_ends_when_its_credential_is_revoked() -> None:
    """The credential is verified again at intervals; a stream whose caller lost the permission ends with an error."""
    source, streams, valid = Source(end=0), EventStreams(heartbeat_s=0.01), [True]
    gate = AccessGate()
    app = create_app(InMemoryApplication(), None, CollectorRegistry(), gate, streams)

    class Revocable(AccessGate):
        def permit(self, *_: object) -> None:
            if not valid[0]:
                raise Expired("revoked")

    after = {"name": "after", "in": "query", "schema": {"type": "string"}}

    @app.get("/v1/graphs/{graph}/numbers", openapi_extra={"parameters": [after]})
    async def numbers(request: Request) -> Response:
        return event_response(request, source.events(""), streams, Revocable(), "numbers")

    async with (
        http_service(app) as url,
        httpx.AsyncClient(base_url=url, timeout=ENDS_S) as client,
        client.stream("GET", PATH) as response,
    ):
        rest = response.aiter_lines()
        while await anext(rest) != ": heartbeat":
            pass
        valid[0] = False
        assert "event: error" in [line async for line in rest]
        await source.closed.wait()
