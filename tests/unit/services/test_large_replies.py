"""A large reply is made outside the event loop, leaves in slices, and arrives as it was."""

from __future__ import annotations

import random
import threading
from collections.abc import AsyncGenerator, Sequence

import httpx
import pytest
from starlette.types import Message

from graphtide.services.api.grpc.servicer import Servicer
from graphtide.services.api.http.app import create_app
from graphtide.services.api.http.documentation.openapi import SENT_BYTES, encoded_reply
from graphtide.services.api.schema import graphtide_pb2 as pb
from graphtide.services.api.schema.limits import RequestLimits
from graphtide.services.api.schema.shapes import reports_json
from graphtide.services.application import Change, ChangeQuery, CommunityReport, FeedItem, GraphRows
from graphtide.services.changes.messages import change_event
from graphtide.services.changes.types import Changed, ChangedEntity
from tests.support.application import InMemoryApplication


async def _nothing() -> Message:
    return {"type": "http.disconnect"}


@pytest.mark.parametrize("size", [0, 1, SENT_BYTES, SENT_BYTES + 1, 3 * SENT_BYTES])
async def test_no_step_sends_more_than_a_slice_of_a_reply(size: int) -> None:
    """The server copies what it is given in one step of the event loop."""
    body, sent = random.Random(size).randbytes(size), list[Message]()

    async def send(message: Message) -> None:
        sent.append(message)

    await encoded_reply(body, 203)({"type": "http"}, _nothing, send)
    start, *parts = sent
    assert (start["status"], dict(start["headers"])[b"content-length"]) == (203, str(size).encode())
    assert b"".join(part["body"] for part in parts) == body
    assert max(len(part["body"]) for part in parts) <= SENT_BYTES
    assert [part.get("more_body", False) for part in parts] == [True] * (len(parts) - 1) + [False]


@pytest.mark.parametrize("count", [1, 500])
async def test_many_reports_are_encoded_outside_the_event_loop(count: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Over HTTP and gRPC: the reports of a large graph would occupy the loop for seconds; a few are made at once."""
    threads: list[int] = []

    def noted(reports: Sequence[CommunityReport]) -> object:
        threads.append(threading.get_ident())
        return reports_json(reports)

    class Application(InMemoryApplication):
        async def reports(self, graph: str) -> Sequence[CommunityReport]:
            return [CommunityReport(number, 0, "t", "s", (), 0, ()) for number in range(count)]

    for module in ("http.routes.graphs", "grpc.servicer"):
        monkeypatch.setattr(f"graphtide.services.api.{module}.reports_json", noted)
    application = Application()
    transport = httpx.ASGITransport(create_app(application))
    async with httpx.AsyncClient(transport=transport, base_url="http://test") as http:
        assert len((await http.get("/v1/graphs/g/reports")).json()["reports"]) == count
    found = await Servicer(application, RequestLimits()).Reports(pb.GraphRef(graph="g"), None)
    assert len(found.reports) == count
    assert len(threads) == 2
    assert (threading.get_ident() in threads) == (count == 1)


async def test_large_change_is_encoded_outside_the_event_loop(monkeypatch: pytest.MonkeyPatch) -> None:
    """Over gRPC, a commit of thousands of entities, and a part of a graph's rows."""
    threads: list[int] = []

    def noted(item: FeedItem) -> pb.ChangeEvent:
        threads.append(threading.get_ident())
        return change_event(item)

    added = tuple(ChangedEntity(f"e{number}", "n", "t", 1) for number in range(500))
    items = (
        Change(1, "v1", "", entities=Changed(added)),
        GraphRows(1, "v1", 1, 1, {"entities": [[n] for n in range(500)]}),
    )

    class Application(InMemoryApplication):
        async def changes(self, graph: str, query: ChangeQuery) -> AsyncGenerator[FeedItem, None]:
            for item in items:
                yield item

    monkeypatch.setattr("graphtide.services.api.grpc.servicer.change_event", noted)
    servicer = Servicer(Application(), RequestLimits())
    found = [event async for event in servicer.FollowChanges(pb.ChangeQuery(graph="g"), None)]
    assert found == [change_event(item) for item in items]
    assert len(threads) == 2 and threading.get_ident() not in threads
