"""The gRPC contract on real sockets: on a small in-memory application, and on the service itself."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable
from pathlib import Path

import grpc
import grpc.aio
import pytest
import pytest_asyncio
from google.protobuf.json_format import MessageToDict
from google.protobuf.struct_pb2 import Struct
from grpc_health.v1 import health_pb2, health_pb2_grpc
from grpc_reflection.v1alpha import reflection_pb2, reflection_pb2_grpc

from graphtide.services.api.grpc.server import SERVICE
from graphtide.services.api.schema import graphtide_pb2 as pb
from graphtide.services.api.schema.calls import GraphtideStub
from graphtide.services.api.schema.limits import RequestLimits
from graphtide.services.application import Application
from graphtide.streams.errors import DeadlineExceeded, GraphtideError, Invalid, Overloaded, Retryable
from tests.support.application import InMemoryApplication
from tests.support.blocking_grpc import Message, stream_outcome
from tests.support.serving import KINDS, grpc_address, grpc_service, opened

FACTS = pb.FactList(items=[pb.Fact(subject="Marie Curie", predicate="discovered", object="polonium", weight=2)])


def client_on(channel: grpc.aio.Channel) -> GraphtideStub:
    """Return a client; the generated class has no types."""
    return GraphtideStub(channel)


@pytest_asyncio.fixture(params=KINDS)
async def application(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Application]:
    """Yield each application in turn."""
    async with opened(request.param, tmp_path) as application:
        yield application


@pytest_asyncio.fixture
async def stub(application: Application) -> AsyncIterator[GraphtideStub]:
    """Yield a client of the application's gRPC service."""
    async with grpc_service(application) as channel:
        yield client_on(channel)


def curie(doc_id: str = "curie") -> pb.PublishRequest:
    """Return a document with facts, and metadata with whole numbers."""
    metadata = Struct()
    metadata.update({"page": 3, "share": 0.5})
    text = "Marie Curie discovered polonium."
    return pb.PublishRequest(graph="notes", id=doc_id, text=text, facts=FACTS, metadata=metadata)


async def refused(call: Awaitable[object]) -> tuple[grpc.StatusCode, dict[str, object], dict[str, object]]:
    """Return the status, the error body, and the trailing metadata of a call that must fail."""
    with pytest.raises(grpc.aio.AioRpcError) as failed:
        await call
    trailing = dict(failed.value.trailing_metadata())
    return failed.value.code(), json.loads(trailing["graphtide-error-bin"])["error"], trailing


async def test_published_document_is_queryable_when_its_token_is_named(stub: GraphtideStub) -> None:
    """Publish, query with the token, look the document up, delete it."""
    token = (await stub.Publish(curie("a/ü"))).token
    answer = await stub.Query(pb.QueryRequest(graph="notes", question="Who discovered polonium?", after=token))
    assert [each.doc_id for each in answer.citations] == ["a/ü"]
    assert not answer.trace
    status = await stub.GetDocument(pb.DocumentRef(graph="notes", id="a/ü"))
    assert (status.state, status.facts[0].weight, status.HasField("live_revision")) == ("applied", 2.0, True)
    assert MessageToDict(status.metadata) == {"page": 3, "share": 0.5}
    assert (await stub.Delete(pb.DocumentRef(graph="notes", id="a/ü"))).token


async def test_query_streams_context_then_pieces_then_the_answer(stub: GraphtideStub) -> None:
    """The order is that of HTTP; `explain` adds the trace, `generate` false leaves out the pieces."""
    token = (await stub.Publish(curie())).token
    asked = pb.QueryRequest(graph="notes", question="Who discovered polonium?", after=token, explain=True)
    kinds = [event.WhichOneof("event") async for event in stub.QueryStream(asked)]
    assert kinds == ["context", *["token"] * (len(kinds) - 2), "answer"]
    asked.generate = False
    events = [event async for event in stub.QueryStream(asked)]
    assert [event.WhichOneof("event") for event in events] == ["context", "answer"]
    assert events[-1].answer.answer == ""
    assert events[-1].answer.trace


async def test_published_stream_names_the_bad_when_it_accepts_the_good(stub: GraphtideStub) -> None:
    """There are 600 documents in three batches, one of them wrong and named by its index."""
    documents = [
        pb.PublishRequest(graph="notes", id=str(n), text=f"Text {n}.", facts=pb.FactList()) for n in range(600)
    ]
    documents[17].text = " "
    summary = await stub.PublishStream(iter(documents))
    assert (summary.accepted, len(summary.tokens), summary.token) == (599, 3, summary.tokens[-1])
    assert [(each.index, each.id, each.field) for each in summary.rejected] == [(17, "17", "text")]
    await stub.Query(pb.QueryRequest(graph="notes", question="Text?", after=summary.token))
    stats = await stub.Stats(pb.GraphRef(graph="notes"))
    assert (stats.counts["documents"], stats.lag) == (599, 0)


async def test_graph_views_agree_with_each_other(stub: GraphtideStub) -> None:
    """List, digest, verify and rebuild agree."""
    token = (await stub.Publish(curie())).token
    await stub.Query(pb.QueryRequest(graph="notes", question="x", after=token))
    ref = pb.GraphRef(graph="notes")
    digest = await stub.Digest(ref)
    listed = await stub.ListGraphs(pb.ListGraphsRequest())
    assert [(each.graph, each.version) for each in listed.graphs] == [("notes", digest.version)]
    verified = await stub.Verify(ref)
    assert (verified.digest, verified.recounted, list(verified.differences)) == (digest.digest, digest.digest, [])
    rebuilt = await stub.Rebuild(ref)
    assert (rebuilt.before, rebuilt.after, rebuilt.switched) == (digest.digest, digest.digest, True)
    purged = await stub.Purge(pb.PurgeRequest())
    assert purged.removed and purged.size_after_bytes > 0


async def test_unknown_graph_is_not_found_when_asked_for(stub: GraphtideStub) -> None:
    """Every call that reads returns NOT_FOUND, streamed ones too."""
    ref, asked = pb.GraphRef(graph="none"), pb.QueryRequest(graph="none", question="x")
    for call in (stub.Digest(ref), stub.Verify(ref), stub.Query(asked), stub.QueryStream(asked).read()):
        status, error, _ = await refused(call)
        assert (status, error["code"]) == (grpc.StatusCode.NOT_FOUND, "not_found")


BAD: list[tuple[pb.PublishRequest, str]] = [
    (pb.PublishRequest(graph="a|b", id="a", text="x"), "graph"),
    (pb.PublishRequest(graph="notes", id="", text="x"), "id"),
    (pb.PublishRequest(graph="notes", id="a\0", text="x"), "id"),
    (pb.PublishRequest(graph="notes", id="a"), "text"),
    (pb.PublishRequest(graph="notes", id="a", text="a\0b"), "text"),
    (pb.PublishRequest(graph="notes", id="a", text="x", occurred_at="soon"), "occurred_at"),
    (pb.PublishRequest(graph="notes", id="a", text="x", facts=pb.FactList(items=[pb.Fact()])), "facts[0].subject"),
]


@pytest.mark.parametrize(("request_", "field"), BAD)
async def test_publish_names_the_field_when_it_is_wrong(request_: pb.PublishRequest, field: str) -> None:
    """The errors are those of HTTP, with the same field names, and nothing reaches the application."""
    application = InMemoryApplication()
    async with grpc_service(application) as channel:
        status, error, _ = await refused(client_on(channel).Publish(request_))
    assert (status, error["field"]) == (grpc.StatusCode.INVALID_ARGUMENT, field)
    assert application.publishes == []


async def test_publish_is_refused_when_the_message_is_too_large() -> None:
    """A message over the limit never reaches the service; one below it is checked against the document's limit."""
    application = InMemoryApplication()
    async with grpc_service(application, RequestLimits(max_body_bytes=100_000)) as channel:
        stub = client_on(channel)
        with pytest.raises(grpc.aio.AioRpcError) as failed:
            await stub.Publish(pb.PublishRequest(graph="notes", id="a", text="x" * 2_000_000))
        assert failed.value.code() == grpc.StatusCode.RESOURCE_EXHAUSTED
        _, error, _ = await refused(stub.Publish(pb.PublishRequest(graph="notes", id="a", text="x" * 200_000)))
        assert error["field"] == "text"
    assert application.publishes == []


FAILURES = [
    (Overloaded("busy", 2.5), grpc.StatusCode.RESOURCE_EXHAUSTED, "2.5"),
    (DeadlineExceeded("late"), grpc.StatusCode.DEADLINE_EXCEEDED, None),
    (Retryable("the embedding endpoint at http://models:9 is unreachable", 7), grpc.StatusCode.UNAVAILABLE, "7"),
    (Invalid("mode", "is ünknown"), grpc.StatusCode.INVALID_ARGUMENT, None),
]


@pytest.mark.parametrize(("failure", "status", "wait"), FAILURES)
async def test_failure_of_the_application_is_told_when_it_happens(
    failure: GraphtideError, status: grpc.StatusCode, wait: str | None
) -> None:
    """The call has a status, an error body, and a retry time."""
    application = InMemoryApplication()
    application.fail_with = failure
    question = pb.QueryRequest(graph="notes", question="x")
    calls: dict[str, Message] = {
        "Publish": curie(),
        "Query": question,
        "QueryStream": question,
        "PublishStream": curie(),
    }
    async with grpc_address(application) as address:
        for name, request in calls.items():
            ended = await stream_outcome(address, f"/{SERVICE}/{name}", [request])
            assert (ended.status, ended.trailing.get("retry-after")) == (status, wait)
            body = ended.trailing["graphtide-error-bin"]
            assert isinstance(body, bytes)
            assert json.loads(body)["error"]["message"] in str(failure)


async def test_stream_is_closed_when_the_client_leaves() -> None:
    """The application's stream is closed though it had more items."""
    application = InMemoryApplication()
    application.gate = asyncio.Event()
    async with grpc_service(application) as channel:
        stub = client_on(channel)
        await stub.Publish(curie())
        call = stub.QueryStream(pb.QueryRequest(graph="notes", question="polonium"))
        assert (await call.read()).WhichOneof("event") == "context"
        call.cancel()
        async with asyncio.timeout(30):
            while application.streams_closed == 0:
                await stub.ListGraphs(pb.ListGraphsRequest())


async def test_health_follows_readiness_when_it_changes() -> None:
    """The status is SERVING exactly while the application is ready; unknown services are not found."""
    application = InMemoryApplication()
    async with grpc_service(application) as channel:
        health = health_pb2_grpc.HealthStub(channel)
        request = health_pb2.HealthCheckRequest(service=SERVICE)
        assert (await health.Check(request)).status == health_pb2.HealthCheckResponse.SERVING
        application.ready = False
        assert (await health.Check(request)).status == health_pb2.HealthCheckResponse.NOT_SERVING
        watch = health.Watch(health_pb2.HealthCheckRequest())
        assert (await watch.read()).status == health_pb2.HealthCheckResponse.NOT_SERVING
        application.ready = True
        assert (await watch.read()).status == health_pb2.HealthCheckResponse.SERVING
        watch.cancel()
        with pytest.raises(grpc.aio.AioRpcError):
            await health.Check(health_pb2.HealthCheckRequest(service="other"))


async def test_reflection_lists_the_services() -> None:
    """A client without the proto finds the service, its health, and the description of its file."""
    async with grpc_service(InMemoryApplication()) as channel:
        stub = reflection_pb2_grpc.ServerReflectionStub(channel)
        asked = [
            reflection_pb2.ServerReflectionRequest(list_services=""),
            reflection_pb2.ServerReflectionRequest(file_containing_symbol=SERVICE),
        ]
        listed, described = [answer async for answer in stub.ServerReflectionInfo(iter(asked))]
    assert {each.name for each in listed.list_services_response.service} >= {SERVICE, "grpc.health.v1.Health"}
    assert described.file_descriptor_response.file_descriptor_proto
