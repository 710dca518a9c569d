"""Streamed answers on real sockets: a failure in the middle, and a client that disconnects."""

from __future__ import annotations

import asyncio
import json

import httpx

from graphtide.services.api.http.app import create_app
from graphtide.streams.errors import Retryable
from tests.support.application import InMemoryApplication
from tests.support.serving import http_service

ASK = {"question": "one"}
EVENTS = {"accept": "text/event-stream"}
PATH = "/v1/graphs/notes/query"


async def publish(http: httpx.AsyncClient) -> None:
    """Publish a document of three words, so that an answer has three pieces."""
    assert (await http.put("/v1/graphs/notes/documents/a", json={"text": "one two three"})).status_code == 202


async def test_stream_ends_with_an_error_event_when_it_fails_in_the_middle() -> None:
    """The sent pieces stay valid, and the last event has the body of the error."""
    application = InMemoryApplication()
    application.fail_after_context = Retryable("the chat endpoint at http://models:9 is unreachable", 1)
    async with http_service(create_app(application)) as url, httpx.AsyncClient(base_url=url, timeout=120) as http:
        await publish(http)
        response = await http.post(PATH, json=ASK, headers=EVENTS)
    events = response.text.strip().split("\n\n")
    assert [each.split("\n")[0] for each in events] == ["event: context", "event: error"]
    error = json.loads(events[1].split("\ndata: ")[1])["error"]
    assert (error["code"], "models:9" in error["message"]) == ("unavailable", True)
    assert application.streams_closed == 1


async def test_stream_is_closed_when_the_client_leaves() -> None:
    """The application's stream is closed though it had more items, and the service continues."""
    application = InMemoryApplication()
    application.gate = asyncio.Event()
    async with http_service(create_app(application)) as url, httpx.AsyncClient(base_url=url, timeout=120) as http:
        await publish(http)
        async with http.stream("POST", PATH, json=ASK, headers=EVENTS) as response:
            assert await anext(response.aiter_lines()) == "event: context"
            assert application.streams_closed == 0
        async with asyncio.timeout(30):
            while application.streams_closed == 0:
                await http.get("/healthz")
        application.gate.set()
        assert (await http.post(PATH, json=ASK)).json()["answer"].split() == ["one", "two", "three"]


async def test_stream_is_finished_when_the_service_is_asked_to_end() -> None:
    """A graceful shutdown lets an answer in progress finish."""
    application = InMemoryApplication()
    application.gate = asyncio.Event()
    async with httpx.AsyncClient(timeout=120) as http:
        async with http_service(create_app(application)) as url:
            http.base_url = httpx.URL(url)
            await publish(http)
            sending = http.stream("POST", PATH, json=ASK, headers=EVENTS)
            response = await sending.__aenter__()
            lines = response.aiter_lines()
            assert await anext(lines) == "event: context"
            asyncio.get_running_loop().call_later(0.2, application.gate.set)
        assert "event: answer" in [line async for line in lines]
        await sending.__aexit__(None, None, None)
