"""Puts the gRPC server together: the service, reflection, and health. Not its life: the caller starts and stops it."""

from __future__ import annotations

import grpc.aio
from grpc_health.v1 import health_pb2_grpc
from grpc_health.v1.health import SERVICE_NAME as HEALTH_SERVICE
from grpc_reflection.v1alpha import reflection

from services.access.gate import Gate
from services.application import Application
from services.protocol import graphtide_pb2 as pb
from services.protocol import graphtide_pb2_grpc
from services.protocol.limits import Limits
from services.rpc.access import Access
from services.rpc.health import ApplicationHealth
from services.rpc.observation import Observation
from services.rpc.servicer import Servicer

SERVICE = str(pb.DESCRIPTOR.services_by_name["Graphtide"].full_name)

_ENVELOPE_BYTES = 1 << 20


def create_server(application: Application, limits: Limits | None = None, gate: Gate | None = None) -> grpc.aio.Server:
    """A server over `application`, without a port yet. To be called inside the event loop that will run it.

    Without a `gate` it is for everybody.
    """
    limits, gate = limits or Limits(), gate or Gate()
    interceptors = [Observation(), Access(gate)]
    options = [
        ("grpc.max_receive_message_length", limits.max_body_bytes + _ENVELOPE_BYTES),
        ("grpc.max_send_message_length", -1),
        ("grpc.so_reuseport", 0),  # a second server on the port must fail, not share it
    ]
    most = limits.max_in_flight
    server = grpc.aio.server(options=options, interceptors=interceptors, maximum_concurrent_rpcs=most)
    graphtide_pb2_grpc.add_GraphtideServicer_to_server(Servicer(application, limits), server)  # type: ignore[no-untyped-call]
    health_pb2_grpc.add_HealthServicer_to_server(ApplicationHealth(application, (SERVICE, ""), gate), server)
    reflection.enable_server_reflection((SERVICE, HEALTH_SERVICE, reflection.SERVICE_NAME), server)
    return server
