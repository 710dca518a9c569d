"""Objects of finished gRPC calls are freed at once, without a full collection, which is rare."""

from __future__ import annotations

import grpc
import grpc.aio
import pytest

from graphtide.services.api.schema import graphtide_pb2 as pb
from graphtide.services.api.schema.calls import GraphtideStub
from graphtide.streams.messages import DocumentMessage
from tests.support.application import InMemoryApplication
from tests.support.garbage import garbage
from tests.support.serving import grpc_service

COUNT = 20
STATUSES = {"g": grpc.StatusCode.OK, "unknown": grpc.StatusCode.NOT_FOUND, "no/name": grpc.StatusCode.INVALID_ARGUMENT}


@pytest.mark.parametrize("graph", STATUSES)
@pytest.mark.parametrize("call", ["Query", "QueryStream"])
async def test_finished_calls_leave_no_garbage_that_waits_for_a_collection(call: str, graph: str) -> None:
    """Calls that fail leave none either: grpcio keeps the error with which a call was aborted in the call's state."""
    application = InMemoryApplication()
    await application.publish([DocumentMessage("g", "a", "Ada Lovelace knew Charles Babbage.")])
    question = pb.QueryRequest(graph=graph, question="Who knew Ada Lovelace?")
    async with grpc_service(application) as channel:
        stub = GraphtideStub(channel)
        for _ in range(3):
            assert await _status(getattr(stub, call)(question)) == STATUSES[graph]
        with garbage() as left:
            for _ in range(COUNT):
                await _status(getattr(stub, call)(question))
    assert {kind: count for kind, count in left.items() if count >= COUNT and not _made_by_grpcio(kind)} == {}


async def _status(call: grpc.aio.Call) -> grpc.StatusCode:
    """Read the whole answer and return its status."""
    try:
        if isinstance(call, grpc.aio.UnaryStreamCall):
            async for _ in call:
                pass
        else:
            await call
    except grpc.aio.AioRpcError:
        pass
    status: grpc.StatusCode = await call.code()
    return status


def _made_by_grpcio(kind: str) -> bool:
    """Return whether the kind is among the few that grpcio leaves for every call, also one that succeeds: the names
    and values of the call's metadata and the look-up of its method.
    """
    kinds = (
        "importlib._bootstrap._Metadatum",
        "_frozen_importlib._Metadatum",  # its name since Python 3.13
        "grpc._cython.cygrpc.__pyx",
        "grpc._cython.cygrpc._HandlerCall",
        "_cython",
    )
    return kind.startswith(kinds)
