"""The calls of graphtide.proto for clients and servers, built from the descriptor of the service."""

from __future__ import annotations

from typing import Any

import grpc
import grpc.aio
from google.protobuf.message_factory import GetMessageClass

from graphtide.services.api.schema import graphtide_pb2 as pb

SERVICE = pb.DESCRIPTOR.services_by_name["Graphtide"]


class GraphtideStub:
    """The calls of a channel, blocking or asynchronous, by their names in the protocol."""

    def __init__(self, channel: grpc.Channel | grpc.aio.Channel) -> None:
        for method in SERVICE.methods:
            call = getattr(channel, _arity(method))
            encode, decode = GetMessageClass(method.input_type), GetMessageClass(method.output_type)
            path = f"/{SERVICE.full_name}/{method.name}"
            setattr(self, method.name, call(path, encode.SerializeToString, decode.FromString))

    def __getattr__(self, name: str) -> Any:
        raise AttributeError(f"graphtide.proto has no call {name}")


def add_calls(servicer: object, server: grpc.aio.Server) -> None:
    """Serve every call of the protocol by the method of its name. Raises AttributeError for a missing method."""
    handlers = {}
    for method in SERVICE.methods:
        decode, encode = GetMessageClass(method.input_type), GetMessageClass(method.output_type)
        handler = getattr(grpc, f"{_arity(method)}_rpc_method_handler")
        handlers[method.name] = handler(getattr(servicer, method.name), decode.FromString, encode.SerializeToString)
    server.add_generic_rpc_handlers((grpc.method_handlers_generic_handler(SERVICE.full_name, handlers),))


def _arity(method: Any) -> str:
    """Return `unary_unary`, `unary_stream`, `stream_unary` or `stream_stream`."""
    sides = (method.client_streaming, method.server_streaming)
    return "_".join("stream" if streaming else "unary" for streaming in sides)
