"""Bodies of many wrong items: refused with the item's name, at low memory, while the service answers other requests."""

from __future__ import annotations

from collections.abc import Iterator

import httpx
import pytest

from graphtide.services.api.schema.errors import TooLarge
from graphtide.services.api.schema.limits import RequestLimits
from graphtide.services.api.schema.requests.documents import LineCount
from tests.support.processes import Service, resources_of, service

AS_JSON, AS_LINES = {"content-type": "application/json"}, {"content-type": "application/x-ndjson"}
AS_RPC = {**AS_JSON, "accept": "application/json, text/event-stream"}
AS_EVENT, AS_EVENTS = ({"content-type": f"application/cloudevents{end}"} for end in ("+json", "-batch+json"))
DOCUMENT, DOCUMENTS, QUERY = (f"/v1/graphs/notes/{rest}" for rest in ("documents/a", "documents", "query"))
PREVIEW, STANDING, CHAT = "/v1/graphs/notes/preview", "/v1/graphs/notes/questions/q", "/v1/chat/completions"
MIB = 1 << 20
MAX_GROWTH_BYTES = 160 * MIB
"""The permitted growth over the start: twice the largest body, and the values of a document."""


def listed(item: bytes, count: int) -> bytes:
    """Return a JSON list that repeats one item."""
    return b"[" + b",".join([item] * count) + b"]"


def named(count: int) -> bytes:
    """Return the members of an object with that many keys."""
    return b",".join(b'"k%d":1' % n for n in range(count))


def tool(arguments: bytes) -> bytes:
    """Return a call of a tool with these arguments."""
    params = b'{"name":"ask","arguments":{"graph":"notes","question":"a",' + arguments + b"}}"
    return b'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":' + params + b"}"


def event(data: bytes) -> bytes:
    """Return a CloudEvent with a document."""
    return b'{"specversion":"1.0","id":"a","source":"s","type":"t","data":{"text":"a",' + data + b"}}"


WRONG: dict[str, tuple[str, str, dict[str, str], bytes]] = {
    "empty facts, 0.6 MB": ("PUT", DOCUMENT, AS_JSON, b'{"text":"a","facts":' + listed(b"{}", 200_000) + b"}"),
    "empty facts, 8 MB": ("PUT", DOCUMENT, AS_JSON, b'{"text":"a","facts":' + listed(b"{}", 2_700_000) + b"}"),
    "empty lists": ("PUT", DOCUMENT, AS_JSON, b'{"text":"a","metadata":{"a":' + listed(b"[]", 2_700_000) + b"}}"),
    "unknown keys": ("PUT", DOCUMENT, AS_JSON, b'{"text":"a",' + named(600_000) + b"}"),
    "unknown keys of a fact": ("PUT", DOCUMENT, AS_JSON, b'{"text":"a","facts":[{' + named(90_000) + b"}]}"),
    "a number of a million digits": ("PUT", DOCUMENT, AS_JSON, b'{"text":"a","metadata":{"a":' + b"7" * MIB + b"}}"),
    "filters": ("POST", QUERY, AS_JSON, b'{"question":"a","filters":{"doc_ids":' + listed(b"1", 1_000_000) + b"}}"),
    "few filters": ("POST", QUERY, AS_JSON, b'{"question":"a","filters":{"doc_ids":' + listed(b"1", 30_000) + b"}}"),
    "a list of objects": ("POST", DOCUMENTS, AS_JSON, listed(b"{}", 8_000_000)),
    "a list of crowded documents": (
        "POST",
        DOCUMENTS,
        AS_JSON,
        listed(b'{"id":"a","text":"a","facts":' + listed(b"{}", 50_000) + b"}", 300),
    ),
    "a preview": ("POST", PREVIEW, AS_JSON, b'{"publish":' + listed(b"{}", 2_700_000) + b"}"),
    "a standing question": (
        "PUT",
        STANDING,
        AS_JSON,
        b'{"question":"a","filters":{"doc_ids":' + listed(b"1", 30_000) + b"}}",
    ),
    "a chat": ("POST", CHAT, AS_JSON, b'{"model":"notes","messages":' + listed(b"{}", 2_000_000) + b"}"),
    "arguments of a tool": ("POST", "/mcp", AS_RPC, tool(b'"doc_ids":' + listed(b"1", 800_000))),
    "unknown arguments of a tool": ("POST", "/mcp", AS_RPC, tool(named(400_000))),
    "a list of tool calls": ("POST", "/mcp", AS_RPC, listed(b"{}", 2_600_000)),
    "an event": ("POST", DOCUMENTS, AS_EVENT, event(b'"facts":' + listed(b"{}", 600_000))),
    "events": ("POST", DOCUMENTS, AS_EVENTS, listed(event(b'"facts":' + listed(b"{}", 40_000)), 30)),
    "lines of objects": ("POST", DOCUMENTS, AS_LINES, b"{}\n" * 8_000_000),
    "blank lines": ("POST", DOCUMENTS, AS_LINES, b"\n" * (24 * MIB)),
}


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    """Yield one service for all bodies: memory that one retains counts for the next."""
    with service(tmp_path_factory.mktemp("data")) as started:
        yield started


@pytest.mark.parametrize("name", WRONG)
def test_wrong_body_is_refused_for_little_memory(name: str, running: Service) -> None:
    """The peak of the process stays within twice the largest body; the answer is short, and names the error."""
    method, path, headers, body = WRONG[name]
    answer = httpx.request(method, running.url + path, content=body, headers=headers, timeout=120)
    assert answer.status_code in (400, 413, 422)
    assert answer.json()["error"]["message"]
    assert len(answer.content) < 256 << 10
    now = resources_of(running.process.pid)
    assert now is not None
    assert running.begun is not None
    assert now.peak_bytes - running.begun.peak_bytes < MAX_GROWTH_BYTES


@pytest.mark.parametrize("pieces", [1, 3, 1000])
def test_lines_are_counted_while_they_arrive(pieces: int) -> None:
    """The batch is refused at the first line over the limit, not at its end; blank lines do not count."""
    count, body = LineCount(RequestLimits(max_batch_documents=2)), bytearray()
    text = b' \n{"a": 1}\n\n  {"b":\t2}  \n \r\n'
    for start in range(0, len(text), -(-len(text) // pieces)):
        body += text[start : start + -(-len(text) // pieces)]
        count.check(body)
    body += b"3"
    with pytest.raises(TooLarge, match="more than 2 documents"):
        count.check(body)
