"""Replicas without graphs: real gRPC servers that name themselves in each reply, and a gateway's channel to them."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass

import grpc
import grpc.aio
from grpc_health.v1 import health_pb2, health_pb2_grpc
from grpc_health.v1.health import aio as health

from graphtide.infra.settings import Settings
from graphtide.services.api.grpc.errors import reporting_errors
from graphtide.services.api.schema import graphtide_pb2 as pb
from graphtide.services.api.schema.calls import GraphtideStub
from graphtide.services.cluster.channel import query_channel
from graphtide.services.cluster.graph_routing import SERVICE
from graphtide.streams.errors import NotLoaded
from graphtide.streams.follow.load_policy import LOAD_POLICY, LoadPolicy, load_policy

SERVING, STOPPED = health_pb2.HealthCheckResponse.SERVING, health_pb2.HealthCheckResponse.NOT_SERVING


def named(name: str, missing: set[str]) -> grpc.GenericRpcHandler:
    """Return the handlers of a replica whose digests and answers are its name.

    It has not loaded the graphs in `missing`, and says so to a call that does not wait.
    """

    async def digest(request: pb.DigestRequest, context: grpc.aio.ServicerContext) -> pb.GraphDigest:
        metadata = tuple(context.invocation_metadata() or ())
        async with reporting_errors(context):
            with load_policy(metadata):
                if request.graph in missing and LOAD_POLICY.get() is not LoadPolicy.WAIT:
                    raise NotLoaded(f"{name} has not loaded it")
        return pb.GraphDigest(digest=name)

    async def answer(request: pb.QueryRequest, context: object) -> AsyncIterator[pb.AnswerEvent]:
        yield pb.AnswerEvent(token=name)

    return grpc.method_handlers_generic_handler(
        SERVICE,
        {
            "Digest": grpc.unary_unary_rpc_method_handler(
                digest, pb.DigestRequest.FromString, pb.GraphDigest.SerializeToString
            ),
            "QueryStream": grpc.unary_stream_rpc_method_handler(
                answer, pb.QueryRequest.FromString, pb.AnswerEvent.SerializeToString
            ),
        },
    )


@dataclass
class Replica:
    name: str
    server: grpc.aio.Server
    health: health.HealthServicer
    port: int
    missing: set[str]


@asynccontextmanager
async def replica(name: str, port: int = 0) -> AsyncIterator[Replica]:
    """Serve until the block ends."""
    server, state = grpc.aio.server(), health.HealthServicer()
    missing: set[str] = set()
    server.add_generic_rpc_handlers((named(name, missing),))
    health_pb2_grpc.add_HealthServicer_to_server(state, server)
    one = Replica(name, server, state, server.add_insecure_port(f"127.0.0.1:{port}"), missing)
    await state.set(SERVICE, SERVING)
    await server.start()
    try:
        yield one
    finally:
        await server.stop(None)


@asynccontextmanager
async def four() -> AsyncIterator[list[Replica]]:
    """Serve four replicas."""
    async with replica("a") as a, replica("b") as b, replica("c") as c, replica("d") as d:
        yield [a, b, c, d]


@asynccontextmanager
async def gateway(replicas: list[Replica], factor: int) -> AsyncIterator[GraphtideStub]:
    target = "ipv4:" + ",".join(f"127.0.0.1:{each.port}" for each in replicas)
    async with query_channel(Settings(query_target=target, replication_factor=factor)) as channel:
        yield GraphtideStub(channel.channel())
