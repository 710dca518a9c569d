"""Routing of a gateway's calls by graph, with real gRPC servers that name themselves in each reply."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass

import grpc
import grpc.aio
from grpc_health.v1 import health_pb2, health_pb2_grpc
from grpc_health.v1.health import aio as health

from graphtide.infra.settings import Settings
from graphtide.services.api.schema import graphtide_pb2 as pb
from graphtide.services.api.schema.calls import GraphtideStub
from graphtide.services.cluster.channel import query_channel
from graphtide.services.cluster.graph_routing import SERVICE
from tests.support.stages import eventually

GRAPHS = [f"g{n}" for n in range(60)] + ["Größe 🌊"]
SERVING, STOPPED = health_pb2.HealthCheckResponse.SERVING, health_pb2.HealthCheckResponse.NOT_SERVING


def named(name: str) -> grpc.GenericRpcHandler:
    """Return the handlers of a replica whose digests and answers are its name."""

    async def digest(request: pb.DigestRequest, context: object) -> pb.GraphDigest:
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


@asynccontextmanager
async def replica(name: str, port: int = 0) -> AsyncIterator[Replica]:
    """Serve until the block ends."""
    server, state = grpc.aio.server(), health.HealthServicer()
    server.add_generic_rpc_handlers((named(name),))
    health_pb2_grpc.add_HealthServicer_to_server(state, server)
    one = Replica(name, server, state, server.add_insecure_port(f"127.0.0.1:{port}"))
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
    target = "ipv4:" + ",".join(f"127.0.0.1:{one.port}" for one in replicas)
    async with query_channel(Settings(query_target=target, replication_factor=factor)) as channel:
        yield GraphtideStub(channel.channel())


async def holders(stub: GraphtideStub, calls: int = 6) -> Mapping[str, frozenset[str]]:
    """Return the replicas that each graph's calls reached: unary ones and streams."""
    found = {}
    for graph in GRAPHS:
        reached = {(await stub.Digest(pb.DigestRequest(graph=graph), timeout=60)).digest for _ in range(calls)}
        stream = stub.QueryStream(pb.QueryRequest(graph=graph, question="?"), timeout=60)
        reached.add((await stream.read()).token)
        assert await stream.read() is grpc.aio.EOF
        found[graph] = frozenset(reached)
    return found


async def test_calls_of_one_graph_reach_one_replica_and_only_its_graphs_move_when_it_leaves() -> None:
    """It leaves by its health, and comes back; then another one dies. No call fails, and each replica has a share."""
    async with four() as replicas, gateway(replicas, 1) as stub:

        async def all_reached() -> bool:
            return len(frozenset[str]().union(*(await holders(stub, 1)).values())) == 4

        await eventually(all_reached)
        before = await holders(stub)
        assert all(len(reached) == 1 for reached in before.values())
        await replicas[1].health.set(SERVICE, STOPPED)

        async def b_left() -> bool:
            return not any("b" in reached for reached in (await holders(stub, 1)).values())

        await eventually(b_left)
        without = await holders(stub)
        assert all(without[graph] == before[graph] for graph in GRAPHS if before[graph] != {"b"})
        await replicas[1].health.set(SERVICE, SERVING)

        async def b_returned() -> bool:
            return await holders(stub, 1) == before

        await eventually(b_returned)
        await replicas[2].server.stop(None)
        left = await holders(stub)
        assert all(left[graph] == before[graph] for graph in GRAPHS if before[graph] != {"c"})


async def test_calls_of_one_graph_reach_at_most_as_many_replicas_as_the_factor() -> None:
    """A factor of 0 reaches all in turn."""
    async with four() as replicas:
        for factor in (2, 0):
            async with gateway(replicas, factor) as stub:

                async def all_reached(stub: GraphtideStub = stub) -> bool:
                    return len(frozenset[str]().union(*(await holders(stub, 2)).values())) == 4

                await eventually(all_reached)
                numbers = [len(reached) for reached in (await holders(stub, 12)).values()]
                assert max(numbers) == (factor or 4)
