"""Clients that hang up in the middle of gRPC calls, a thousand times: the process continues to serve."""

from __future__ import annotations

import asyncio
import contextlib
import random
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path

import grpc.aio
from grpc_health.v1 import health_pb2, health_pb2_grpc
from grpc_reflection.v1alpha import reflection_pb2, reflection_pb2_grpc

from graphtide.services.api.schema import graphtide_pb2 as pb
from graphtide.services.api.schema.calls import GraphtideStub
from tests.support.processes import service

HANG_UPS = 1000
AT_ONCE = 20
ASKED = pb.QueryRequest(graph="notes", question="Who discovered polonium?")

HangUp = Callable[[grpc.aio.Channel], Awaitable[None]]


def client_on(channel: grpc.aio.Channel) -> GraphtideStub:
    """Return a client; the generated class has no types."""
    return GraphtideStub(channel)


async def stream_dropped_after_one(channel: grpc.aio.Channel) -> None:
    call = client_on(channel).QueryStream(ASKED)
    await call.read()
    call.cancel()


async def stream_dropped_at_once(channel: grpc.aio.Channel) -> None:
    call = client_on(channel).QueryStream(ASKED)
    await call.wait_for_connection()
    call.cancel()


async def answer_cancelled(channel: grpc.aio.Channel) -> None:
    call = client_on(channel).Query(ASKED)
    await asyncio.sleep(0)
    call.cancel()


async def answer_late(channel: grpc.aio.Channel) -> None:
    await client_on(channel).Query(ASKED, timeout=0.001)


async def stream_late(channel: grpc.aio.Channel) -> None:
    async for _ in client_on(channel).QueryStream(ASKED, timeout=0.001):
        pass


async def upload_cancelled(channel: grpc.aio.Channel) -> None:
    call = client_on(channel).PublishStream()
    await call.write(pb.PublishRequest(graph="notes", id="never", text=" "))
    call.cancel()


async def reflection_dropped(channel: grpc.aio.Channel) -> None:
    call = reflection_pb2_grpc.ServerReflectionStub(channel).ServerReflectionInfo()
    await call.write(reflection_pb2.ServerReflectionRequest(list_services=""))
    await call.read()
    call.cancel()


async def watch_dropped(channel: grpc.aio.Channel) -> None:
    call = health_pb2_grpc.HealthStub(channel).Watch(health_pb2.HealthCheckRequest())
    await call.read()
    call.cancel()


async def refused_stream_dropped(channel: grpc.aio.Channel) -> None:
    call = client_on(channel).QueryStream(pb.QueryRequest(graph="none", question="x"))
    await call.wait_for_connection()
    call.cancel()


HANG_UPS_OF_EACH_KIND: tuple[HangUp, ...] = (
    stream_dropped_after_one,
    stream_dropped_at_once,
    answer_cancelled,
    answer_late,
    stream_late,
    upload_cancelled,
    reflection_dropped,
    watch_dropped,
    refused_stream_dropped,
)


@contextlib.asynccontextmanager
async def channel_to(address: str) -> AsyncIterator[grpc.aio.Channel]:
    """Yield a connection of its own, closed abruptly."""
    own = (("grpc.use_local_subchannel_pool", 1),)
    async with grpc.aio.insecure_channel(address, options=own) as channel:
        yield channel


async def hang_up(address: str, channel: grpc.aio.Channel, kind: HangUp, alone: bool) -> None:
    """Hang up once; `alone`: close the whole connection instead of cancelling the call."""
    with contextlib.suppress(grpc.aio.AioRpcError, asyncio.CancelledError, grpc.aio.UsageError):
        if not alone:
            await kind(channel)
            return
        async with channel_to(address) as own:
            call = client_on(own).QueryStream(ASKED)
            await call.read()


async def test_process_serves_when_a_thousand_clients_hung_up(tmp_path: Path) -> None:
    """Every kind of call and of hang-up, many at once; slots are released, and the log has no failure."""
    seed = random.randrange(1 << 32)
    print(f"seed {seed}")
    chance, log = random.Random(seed), tmp_path / "service.log"
    with service(tmp_path / "data", {"GRAPHTIDE_MAX_IN_FLIGHT": str(2 * AT_ONCE)}, log) as running:
        async with channel_to(running.grpc) as channel:
            stub = client_on(channel)
            text = "Marie Curie discovered polonium."
            token = (await stub.Publish(pb.PublishRequest(graph="notes", id="curie", text=text))).token
            await stub.Query(pb.QueryRequest(graph="notes", question="x", after=token))
            for _ in range(0, HANG_UPS, AT_ONCE):
                kinds = [chance.choice(HANG_UPS_OF_EACH_KIND) for _ in range(AT_ONCE)]
                calls = (hang_up(running.grpc, channel, kind, chance.random() < 0.1) for kind in kinds)
                await asyncio.gather(*calls)
                assert running.process.poll() is None, f"the process ended with {running.process.poll()}"
            async with asyncio.timeout(60):
                answers = await asyncio.gather(*(stub.Query(ASKED) for _ in range(AT_ONCE)))
            assert {each.citations[0].doc_id for each in answers} == {"curie"}
        assert running.stop() == 0
    written = log.read_text()
    assert "Traceback" not in written, written[-4000:]
