"""Access to a guarded service: every route and call, with every kind of credentials."""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections.abc import AsyncIterator
from pathlib import Path

import grpc
import grpc.aio
import httpx
import pytest
import pytest_asyncio
from grpc_health.v1 import health_pb2, health_pb2_grpc
from grpc_reflection.v1alpha import reflection_pb2

from graphtide.services.access.gate import CallerRateLimits
from graphtide.services.access.policy import Action
from graphtide.services.api.grpc.access import action_of as rpc_action
from graphtide.services.api.grpc.server import SERVICE, create_server
from graphtide.services.api.http.access import OWN_RIGHTS
from graphtide.services.api.http.access import action_of as http_action
from graphtide.services.api.http.app import create_app
from graphtide.services.api.schema import graphtide_pb2 as pb
from graphtide.streams.errors import Retryable
from graphtide.streams.messages import DocumentMessage
from tests.support.application import InMemoryApplication
from tests.support.blocking_grpc import stream_outcome
from tests.support.guarded import KeyFile, gate, token
from tests.support.guarded_service import CALLS, ROUTES, SECRET, GuardedService, bad_credentials, called, requested
from tests.support.serving import http_service

REFLECTION = "/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo"
NEEDED = {
    "read": ["GET /v1/graphs", "POST /v1/graphs/{graph}/query", "GET /v1/graphs/{graph}/stats", "Query", "QueryStream"],
    "write": ["PUT /v1/graphs/{graph}/documents/{id}", "DELETE /v1/graphs/{graph}/documents/{id}", "Publish", "Delete"],
    "admin": [
        "POST /v1/graphs/{graph}/verify",
        "POST /v1/graphs/{graph}/rebuild",
        "POST /v1/purge",
        "Verify",
        "Rebuild",
        "Purge",
    ],
    "metrics": ["GET /metrics"],
}
"""The required actions, repeated by hand: the table below trusts the code's own values."""


@pytest_asyncio.fixture
async def guarded(tmp_path: Path) -> AsyncIterator[GuardedService]:
    """Yield the service on real sockets."""
    keys = KeyFile(tmp_path / "keys.toml")
    keys.add("somebody", "*", "read")
    application = InMemoryApplication()
    for graph in ("notes", "other"):
        await application.publish([DocumentMessage(graph, "curie", "Marie Curie discovered polonium.")])
    guard = gate(keys, tmp_path)
    server = create_server(application, None, guard)
    port = server.add_insecure_port("127.0.0.1:0")
    await server.start()
    async with http_service(create_app(application, None, None, guard)) as url:
        yield GuardedService(url, f"127.0.0.1:{port}", keys, guard, application)
    await server.stop(None)


@pytest.mark.parametrize(("action", "names"), NEEDED.items())
def test_action_is_the_one_that_was_meant(action: str, names: list[str]) -> None:
    """This covers the batch and the stream; an unlisted route needs admin."""
    more = {"write": ["POST /v1/graphs/{graph}/documents", "PublishStream"], "read": ["GetDocument", "ListGraphs"]}
    for name in [*names, *more.get(action, ())]:
        method, _, path = name.partition(" ")
        assert (http_action(method, path) if path else rpc_action(name)).value == action, name
    assert http_action("POST", "/v1/graphs/{graph}/new") is rpc_action("New") is Action.ADMIN


@pytest.mark.parametrize("route", ROUTES, ids=" ".join)
async def test_route_answers_as_the_policy_says_when_credentials_differ(
    guarded: GuardedService, route: tuple[str, str]
) -> None:
    """The status is 401 without a valid credential, 403 for another graph or a lesser action, else the route's.

    Every valid credential may read what it grants.
    """
    action = http_action(*route)
    others = " ".join(each.value for each in Action if each is not action)
    key, other = guarded.keys.add("right", SECRET, action.value), guarded.keys.add("elsewhere", "other", action.value)
    lesser, bearer = guarded.keys.add("lesser", "*", others), token(graphs=[SECRET], actions=[action.value])
    every = guarded.keys.add("everywhere", "*", action.value)
    async with httpx.AsyncClient(base_url=guarded.url, timeout=120) as http:
        for name, headers in bad_credentials(guarded.keys).items():
            response = await requested(http, route, SECRET, headers)
            assert (response.status_code, response.json()["error"]["code"]) == (401, "unauthenticated"), name
            assert response.headers["www-authenticate"].startswith("Bearer")
        expected = 200 if route[1] == OWN_RIGHTS else 403
        assert (await requested(http, route, SECRET, {"x-api-key": lesser})).status_code == expected
        if "{graph}" in route[1]:
            assert (await requested(http, route, SECRET, {"x-api-key": other})).status_code == 403
            assert (await requested(http, route, SECRET, {"x-api-key": key})).status_code not in (401, 403)
            authorised = {"authorization": f"bearer {bearer}"}
            assert (await requested(http, route, SECRET, authorised)).status_code not in (401, 403)
        assert (await requested(http, route, SECRET, {"x-api-key": every})).status_code not in (401, 403)


@pytest.mark.parametrize("route", [route for route in ROUTES if "{graph}" in route[1]], ids=" ".join)
async def test_refusal_is_the_same_when_the_graph_is_not_there(guarded: GuardedService, route: tuple[str, str]) -> None:
    """A caller without permission cannot learn whether a graph exists: only the requested name differs."""
    key = guarded.keys.add("elsewhere", "other", "read write admin metrics")
    async with httpx.AsyncClient(base_url=guarded.url, timeout=120) as http:
        for headers in ({}, {"x-api-key": key}):
            there = await requested(http, route, SECRET, headers)
            nowhere = await requested(http, route, "ghost", headers)
            assert there.status_code == nowhere.status_code
            assert there.text.replace(SECRET, "ghost") == nowhere.text
    assert ("ghost", "curie") not in guarded.application.documents


@pytest.mark.parametrize("call", CALLS, ids=lambda call: call.name)
async def test_call_answers_as_the_policy_says_when_credentials_differ(guarded: GuardedService, call: object) -> None:
    """The table of the routes over gRPC: UNAUTHENTICATED, PERMISSION_DENIED, or the call's own status."""
    action = rpc_action(call.name)  # type: ignore[attr-defined]
    others = " ".join(each.value for each in Action if each is not action)
    key, other = guarded.keys.add("right", SECRET, action.value), guarded.keys.add("elsewhere", "other", action.value)
    lesser, bearer = guarded.keys.add("lesser", "*", others), token(graphs=[SECRET], actions=[action.value])
    denied = ("UNAUTHENTICATED", "PERMISSION_DENIED")
    for name, headers in bad_credentials(guarded.keys).items():
        status, body = await called(guarded.grpc, call, SECRET, headers)
        assert (status, json.loads(body)["error"]["code"]) == ("UNAUTHENTICATED", "unauthenticated"), name
    assert (await called(guarded.grpc, call, SECRET, {"x-api-key": lesser}))[0] == "PERMISSION_DENIED"
    if call.name == "Purge":  # type: ignore[attr-defined] # of all graphs at once
        assert (await called(guarded.grpc, call, SECRET, {"x-api-key": key}))[0] == "PERMISSION_DENIED"
        every = guarded.keys.add("everywhere", "*", action.value)
        assert (await called(guarded.grpc, call, SECRET, {"x-api-key": every}))[0] not in denied
        return
    assert (await called(guarded.grpc, call, SECRET, {"x-api-key": key}))[0] not in denied
    assert (await called(guarded.grpc, call, SECRET, {"authorization": f"Bearer {bearer}"}))[0] not in denied
    if "graph" in call.input_type.fields_by_name:  # type: ignore[attr-defined]
        refused = await called(guarded.grpc, call, SECRET, {"x-api-key": other})
        nowhere = await called(guarded.grpc, call, "ghost", {"x-api-key": other})
        assert (refused[0], refused[1].replace(SECRET, "ghost")) == nowhere
        assert refused[0] == "PERMISSION_DENIED"


async def test_stream_stops_when_a_later_document_is_for_another_graph(guarded: GuardedService) -> None:
    """Each document of a stream is authorized, not only the first."""
    key = guarded.keys.add("writer", SECRET, "write")
    requests = [pb.PublishRequest(graph=graph, id="new", text="x") for graph in (SECRET, "other")]
    ended = await stream_outcome(guarded.grpc, f"/{SERVICE}/PublishStream", requests, {"x-api-key": key})
    assert ended.status is grpc.StatusCode.PERMISSION_DENIED
    assert ("other", "new") not in guarded.application.documents


async def test_listing_shows_what_the_key_may_read_when_there_is_more(guarded: GuardedService) -> None:
    """The listing is the same over HTTP and over gRPC."""
    key = guarded.keys.add("reader", "no*", "read")
    async with httpx.AsyncClient(base_url=guarded.url, headers={"x-api-key": key}, timeout=120) as http:
        assert [each["graph"] for each in (await http.get("/v1/graphs")).json()["graphs"]] == ["notes"]
    async with grpc.aio.insecure_channel(guarded.grpc) as channel:
        listing = channel.unary_unary(
            f"/{SERVICE}/ListGraphs", pb.ListGraphsRequest.SerializeToString, pb.GraphList.FromString
        )
        shown = await listing(pb.ListGraphsRequest(), metadata=(("authorization", f"Bearer {key}"),))
    assert [each.graph for each in shown.graphs] == ["notes"]


async def test_probes_answer_when_nobody_is_known(guarded: GuardedService) -> None:
    """Health needs no credential and contains no names; the description is open; reflection needs a credential."""
    guarded.application.ready = False
    async with httpx.AsyncClient(base_url=guarded.url, timeout=120) as http:
        assert (await http.get("/healthz")).status_code == 200
        unready = await http.get("/readyz")
        outline = {"store": "see its log"}
        assert unready.status_code == 503
        assert unready.json() == {"ready": False, "components": outline, "parts": outline}
        key = guarded.keys.add("prometheus", "*", "metrics")
        known = await http.get("/readyz", headers={"x-api-key": key})
        assert known.json()["components"] == {"store": "the store is replaying"}
        assert (await http.get("/openapi.json")).status_code == 200
        assert (await http.get("/nowhere")).status_code == 401
    async with grpc.aio.insecure_channel(guarded.grpc) as channel:
        health = await health_pb2_grpc.HealthStub(channel).Check(health_pb2.HealthCheckRequest())
        assert health.status == health_pb2.HealthCheckResponse.NOT_SERVING
    asked = [reflection_pb2.ServerReflectionRequest(list_services="")]
    refused = await stream_outcome(guarded.grpc, REFLECTION, asked)
    assert (refused.status, refused.received) == (grpc.StatusCode.UNAUTHENTICATED, [])
    shown = await stream_outcome(guarded.grpc, REFLECTION, asked, {"x-api-key": key})
    answers = [reflection_pb2.ServerReflectionResponse.FromString(each) for each in shown.received]
    assert SERVICE in {each.name for each in answers[0].list_services_response.service}


@pytest.mark.parametrize(
    "headers",
    [
        [(b"x-api-key", b"k" * 40_000)],
        [(b"authorization", b"Bearer " + b"a." * 20_000)],
        [(b"x-api-key", "schlüssel".encode())],
        [(b"authorization", b"Bearer \xff\xfe")],
        [(b"x-api-key", b"a"), (b"x-api-key", b"b")],
        [(b"authorization", b"Bearer")],
        [(b"authorization", b"Bearer a b c")],
        [(b"authorization", b"Bearer eyJhbGciOiJub25lIn0.eyJzdWIiOiJhIn0.")],
        [(b"authorization", b"Bearer e30.e30.e30")],
    ],
    ids=["huge key", "huge token", "not ascii", "not utf-8", "twice", "no token", "spaces", "none", "no header"],
)
async def test_hostile_header_is_refused_like_any_other(
    guarded: GuardedService, headers: list[tuple[bytes, bytes]]
) -> None:
    """The answer is 401, not 500, and the service continues."""
    async with httpx.AsyncClient(base_url=guarded.url, timeout=120) as http:
        response = await http.get("/v1/graphs", headers=headers)
        assert response.status_code == 401, response.text
        assert (await http.get("/healthz")).status_code == 200


@pytest.mark.parametrize("line", [b"x-%d: %b\r\n", b"%d%b"], ids=["many headers", "one header without an end"])
async def test_endless_head_is_refused_before_it_fills_the_memory(guarded: GuardedService, line: bytes) -> None:
    """The answer is 431 or a closed connection after a few hundred kilobytes; a large body is not counted."""
    address = httpx.URL(guarded.url)
    reader, writer = await asyncio.open_connection(address.host, address.port)
    writer.write(b"GET /healthz HTTP/1.1\r\nhost: a\r\nx: ")
    sent = 0
    with contextlib.suppress(ConnectionError):
        while sent < 64 << 20 and not reader.at_eof():
            writer.write(line % (sent, b"a" * 4096))
            await writer.drain()
            sent += 4096
    assert sent < 32 << 20
    writer.close()
    async with httpx.AsyncClient(base_url=guarded.url, timeout=120) as http:
        key = guarded.keys.add("writer", "*", "write")
        for _ in range(2):
            body = {"text": "a" * 1_000_000}
            published = await http.put("/v1/graphs/notes/documents/large", json=body, headers={"x-api-key": key})
            assert published.status_code == 202


async def test_key_stops_working_when_it_is_taken_out_of_the_file(guarded: GuardedService) -> None:
    """No restart is needed; with a damaged file the last valid one stays in effect."""
    key = guarded.keys.add("leaver", "*", "read")
    async with httpx.AsyncClient(base_url=guarded.url, headers={"x-api-key": key}, timeout=120) as http:
        assert (await http.get("/v1/graphs")).status_code == 200
        guarded.keys.path.write_text("[[key]]\nname = 3\n")
        assert (await http.get("/v1/graphs")).status_code == 200
        assert "must be a string" in guarded.gate.problems()["keys"]
        guarded.keys.path.write_text("# no keys\n")
        assert (await http.get("/v1/graphs")).status_code == 401
        assert not any(guarded.gate.problems().values())


async def test_key_is_held_to_its_limits_and_another_is_not(guarded: GuardedService) -> None:
    """The answers are 429 with Retry-After, and 413; neither affects the other key."""
    slow = guarded.keys.add("slow", "*", "read write", requests_per_second=0.01, burst=2, max_body_bytes=200)
    free = guarded.keys.add("free", "*", "read write")
    async with httpx.AsyncClient(base_url=guarded.url, timeout=120) as http:
        path = "/v1/graphs/notes/documents/big"
        large = {"text": "x" * 500}
        assert (await http.put(path, json=large, headers={"x-api-key": slow})).status_code == 413
        assert (await http.put(path, json=large, headers={"x-api-key": free})).status_code == 202
        assert (await http.get("/v1/graphs", headers={"x-api-key": slow})).status_code == 200
        refused = await http.get("/v1/graphs", headers={"x-api-key": slow})
        assert (refused.status_code, 1 <= int(refused.headers["retry-after"]) <= 100) == (429, True)
        assert (await http.get("/v1/graphs", headers={"x-api-key": free})).status_code == 200
    one_bucket, _ = await called(guarded.grpc, CALLS[-1], "notes", {"x-api-key": slow})
    assert one_bucket == "RESOURCE_EXHAUSTED"
    async with grpc.aio.insecure_channel(guarded.grpc) as channel:
        big = pb.PublishRequest(graph="notes", id="big", text="x" * 500)
        other = guarded.keys.add("small", "*", "write", max_body_bytes=200)
        publish = channel.unary_unary(f"/{SERVICE}/Publish", pb.PublishRequest.SerializeToString, pb.Receipt.FromString)
        with pytest.raises(grpc.aio.AioRpcError, match="OUT_OF_RANGE"):
            await publish(big, metadata=(("x-api-key", other),))


async def test_tries_are_limited_and_a_good_key_is_not_when_they_come_from_one_address(tmp_path: Path) -> None:
    """Guessing is answered with 429; a caller with a key and the same address is served."""
    keys = KeyFile(tmp_path / "keys.toml")
    good = keys.add("good", "*", "read")
    guard = gate(keys, tmp_path, CallerRateLimits(failed_auth_per_minute=3))
    app = create_app(InMemoryApplication(), None, None, guard)
    async with http_service(app) as url, httpx.AsyncClient(base_url=url, timeout=120) as http:
        tried = [await http.get("/v1/graphs", headers={"x-api-key": "x"}) for _ in range(5)]
        assert [each.status_code for each in tried] == [401, 401, 401, 429, 429]
        assert int(tried[-1].headers["retry-after"]) >= 1
        assert (await http.get("/v1/graphs", headers={"x-api-key": good})).status_code == 200


async def test_metrics_need_a_key_unless_the_settings_say_otherwise(guarded: GuardedService) -> None:
    """`metrics_public` opens them; they contain the names of graphs."""
    async with httpx.AsyncClient(base_url=guarded.url, timeout=120) as http:
        assert (await http.get("/metrics")).status_code == 401
        guarded.gate.metrics_public = True
        assert (await http.get("/metrics")).status_code == 200


@pytest.mark.parametrize(("actions", "shown"), [("read", False), ("read metrics", True)])
async def test_address_of_a_model_endpoint_is_told_to_those_who_see_details_only(
    guarded: GuardedService, actions: str, shown: bool
) -> None:
    """This covers HTTP and gRPC, body and status; every caller sees the rest of the message."""
    key = guarded.keys.add("asker", "*", actions)
    guarded.application.fail_with = Retryable("the embedding endpoint http://models:9/v1 cannot be reached", 3)
    async with httpx.AsyncClient(base_url=guarded.url, headers={"x-api-key": key}, timeout=120) as http:
        texts = [(await http.post("/v1/graphs/notes/query", json={"question": "Who?"})).text]
    async with grpc.aio.insecure_channel(guarded.grpc) as channel:
        asked = pb.QueryRequest(graph="notes", question="Who?")
        query = channel.unary_unary(f"/{SERVICE}/Query", pb.QueryRequest.SerializeToString, pb.Answer.FromString)(
            asked, metadata=(("x-api-key", key),)
        )
        texts += [str(await query.details()), str(dict(await query.trailing_metadata())["graphtide-error-bin"])]
    assert ["the embedding endpoint" in text for text in texts] == [True] * 3
    assert ["models:9" in text for text in texts] == [shown] * 3
