"""Objects of finished requests and closed connections are freed at once, without a full collection, which is rare."""

from __future__ import annotations

import asyncio
import json

import pytest

from graphtide.services.api.http.app import create_app
from graphtide.streams.messages import DocumentMessage
from tests.support.application import InMemoryApplication
from tests.support.garbage import garbage
from tests.support.serving import http_service

QUESTION = {"question": "Who knew Ada Lovelace?"}
REQUESTS = {
    "question": ("POST", "/v1/graphs/g/query", QUESTION, 200),
    "stream": ("POST", "/v1/graphs/g/query", QUESTION, 200),
    "document": ("PUT", "/v1/graphs/g/documents/b", {"text": "Ada wrote."}, 202),
    "look-up": ("GET", "/v1/graphs/g/documents/a", None, 200),
    "unknown graph": ("POST", "/v1/graphs/h/query", QUESTION, 404),
    "wrong body": ("POST", "/v1/graphs/g/query", {"question": 1}, 422),
    "no JSON": ("POST", "/v1/graphs/g/query", "{", 400),
    "unknown path": ("GET", "/nowhere", None, 404),
}
COUNT = 20


@pytest.mark.parametrize("name", REQUESTS)
async def test_finished_requests_leave_no_garbage_that_waits_for_a_collection(name: str) -> None:
    """Each request has a connection of its own, which the client closes."""
    application = InMemoryApplication()
    await application.publish([DocumentMessage("g", "a", "Ada Lovelace knew Charles Babbage.")])
    async with http_service(create_app(application)) as url:
        for _ in range(3):
            await _requested(url, name)
        with garbage() as left:
            for _ in range(COUNT):
                await _requested(url, name)
            await asyncio.sleep(0)
    assert {kind: count for kind, count in left.items() if count >= COUNT} == {}


async def _requested(url: str, name: str) -> None:
    method, path, content, status = REQUESTS[name]
    body = content.encode() if isinstance(content, str) else json.dumps(content).encode() if content else b""
    host, _, port = url.removeprefix("http://").partition(":")
    reader, writer = await asyncio.open_connection(host, int(port))
    head = f"{method} {path} HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\ncontent-length: {len(body)}\r\n"
    accept = "text/event-stream" if name == "stream" else "application/json"
    writer.write(f"{head}accept: {accept}\r\nconnection: close\r\n\r\n".encode() + body)
    answer = await reader.read()
    assert int(answer.split(b" ")[1]) == status, answer
    writer.close()
    await writer.wait_closed()
