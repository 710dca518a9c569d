"""Clients that occupy the gRPC service without using it: other clients are still served."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator
from pathlib import Path

import grpc
import grpc.aio
import pytest
from grpc_health.v1 import health_pb2, health_pb2_grpc

from graphtide.services.api.grpc.access import HEALTH_CALLS
from graphtide.services.api.grpc.server import ConnectionLimits
from graphtide.services.api.schema import graphtide_pb2 as pb
from graphtide.services.api.schema.calls import GraphtideStub
from graphtide.services.api.schema.limits import RequestLimits
from graphtide.streams.messages import DocumentMessage
from tests.support.application import InMemoryApplication
from tests.support.guarded import KeyFile, gate
from tests.support.raw_grpc import raw_client
from tests.support.serving import grpc_address

PLACES = 8
LIMITS = RequestLimits(max_in_flight=PLACES)
HURRIED = RequestLimits(max_in_flight=1, body_timeout_s=0.3)
QUERY = "/graphtide.v1.Graphtide/Query"
STREAM = "/graphtide.v1.Graphtide/QueryStream"
UPLOAD = "/graphtide.v1.Graphtide/PublishStream"
CHECK = "/grpc.health.v1.Health/Check"
WATCH = "/grpc.health.v1.Health/Watch"
ASKED = pb.QueryRequest(graph="notes", question="Who discovered polonium?").SerializeToString()


def client_on(channel: grpc.aio.Channel) -> GraphtideStub:
    """Return a client; the generated class has no types."""
    return GraphtideStub(channel)


@contextlib.asynccontextmanager
async def channel_to(address: str) -> AsyncIterator[grpc.aio.Channel]:
    async with grpc.aio.insecure_channel(address, options=(("grpc.use_local_subchannel_pool", 1),)) as channel:
        yield channel


async def check_served(address: str) -> None:
    """Assert that a newcomer's call and a probe are answered."""
    async with channel_to(address) as channel:
        await client_on(channel).ListGraphs(pb.ListGraphsRequest(), timeout=30)
        health = health_pb2_grpc.HealthStub(channel)
        assert (await health.Check(health_pb2.HealthCheckRequest(), timeout=30)).status == 1


@pytest.mark.parametrize("method", [QUERY, STREAM, UPLOAD, CHECK, WATCH])
async def test_newcomer_is_served_when_messages_of_others_never_come(method: str) -> None:
    """The calls are four times the slots, from the newcomer's own address, on several connections."""
    async with grpc_address(InMemoryApplication(), LIMITS) as address, contextlib.AsyncExitStack() as stack:
        for _ in range(max(4 * PLACES, 2 * HEALTH_CALLS if "Health" in method else 0) // PLACES):
            client = await stack.enter_async_context(raw_client(address))
            for _ in range(PLACES):
                await client.open(method)
            await client.ping()
            await client.receive()
        await check_served(address)


async def test_newcomer_is_served_when_health_is_watched_by_many() -> None:
    """One network gets half of the slots for watches; the rest is refused, and probes are not counted among them."""
    async with grpc_address(InMemoryApplication(), LIMITS) as address, contextlib.AsyncExitStack() as stack:
        served, refused = 0, set()
        for _ in range(HEALTH_CALLS // PLACES):
            health = health_pb2_grpc.HealthStub(await stack.enter_async_context(channel_to(address)))
            for _ in range(PLACES):
                watch = health.Watch(health_pb2.HealthCheckRequest())
                try:
                    served += (await watch.read()).status == health_pb2.HealthCheckResponse.SERVING
                except grpc.aio.AioRpcError as error:
                    refused.add(error.code())
        assert (served, refused) == (HEALTH_CALLS // 2, {grpc.StatusCode.RESOURCE_EXHAUSTED})
        await check_served(address)


@pytest.mark.parametrize("method", [QUERY, STREAM, UPLOAD])
async def test_stranger_is_refused_before_its_message_is_awaited(method: str, tmp_path: Path) -> None:
    """The metadata alone is checked: no credential, a wrong one, one without the action."""
    keys = KeyFile(tmp_path / "keys.toml")
    other = keys.add("metrics", "*", "metrics")
    sent = [((), 16), ((("x-api-key", "wrong"),), 16), ((("x-api-key", other),), 7)]
    guarded = grpc_address(InMemoryApplication(), LIMITS, gate(keys, tmp_path))
    async with guarded as address, raw_client(address) as client, asyncio.timeout(30):
        for metadata, status in sent:
            assert await client.status(await client.open(method, metadata)) == status


async def test_call_ends_when_its_message_does_not_come_in_time() -> None:
    """This includes the second message of a stream; a call that ends without any message is invalid."""
    async with grpc_address(InMemoryApplication(), HURRIED) as address, raw_client(address) as client:
        async with asyncio.timeout(30):
            for method in (QUERY, STREAM, CHECK, UPLOAD):
                assert await client.status(await client.open(method)) == 4
            upload = await client.open(UPLOAD)
            await client.send(upload, pb.PublishRequest(graph="notes", id="a", text="x").SerializeToString())
            assert await client.status(upload) == 4
        await check_served(address)


async def test_message_is_refused_by_name_when_it_is_none() -> None:
    """Bytes that are not protobuf get INVALID_ARGUMENT, as broken JSON over HTTP."""
    async with grpc_address(InMemoryApplication()) as address, raw_client(address) as client, asyncio.timeout(30):
        for method in (QUERY, STREAM, UPLOAD, CHECK):
            stream = await client.open(method)
            await client.send(stream, b"\xff\xff", end=True)
            assert await client.status(stream) == 3, method


async def test_reader_that_stalls_loses_its_place() -> None:
    """With one slot in all, and a reader that never opens its window, the next call is served."""
    application = InMemoryApplication()
    await application.publish([DocumentMessage("notes", "a", "polonium " * 20_000)])
    served = grpc_address(application, HURRIED)
    async with served as address, raw_client(address, window=100) as client, asyncio.timeout(60):
        stalled = await client.open(STREAM)
        await client.send(stalled, ASKED, end=True)
        while not client.headers[stalled]:
            await client.receive()
        await application.stream_closed.wait()
        await check_served(address)


async def test_connection_ends_when_it_is_old() -> None:
    """Calls still open after the grace period are cancelled, and a new connection is accepted."""
    limits = ConnectionLimits(age_s=0.2, grace_s=0.2)
    async with grpc_address(InMemoryApplication(), None, None, limits) as address:
        async with raw_client(address) as client, asyncio.timeout(60):
            await client.open(WATCH)
            while not client.closed:
                await client.receive()
        await check_served(address)


async def test_connection_ends_when_it_pings_all_the_time() -> None:
    """The error code is that of RFC 9113, section 7: ENHANCE_YOUR_CALM."""
    async with grpc_address(InMemoryApplication()) as address:
        async with raw_client(address) as client, asyncio.timeout(60):
            while client.goaway is None and not client.closed:
                await client.ping()
                await client.receive()
            assert client.goaway == b"too_many_pings"
        await check_served(address)
