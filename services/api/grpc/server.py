"""Construction of the gRPC server: the service, reflection, and health. The caller starts and stops it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any

import grpc
import grpc.aio
from grpc_health.v1 import health_pb2_grpc
from grpc_health.v1.health import SERVICE_NAME as HEALTH_SERVICE
from grpc_reflection.v1alpha import reflection

from graphtide.services.access.event_streams import EventStreams
from graphtide.services.access.gate import AccessGate
from graphtide.services.api.grpc.access import AccessInterceptor
from graphtide.services.api.grpc.calls import CallHandler
from graphtide.services.api.grpc.health import ApplicationHealth
from graphtide.services.api.grpc.large_messages.wire_bounds import bounded
from graphtide.services.api.grpc.servicer import Servicer
from graphtide.services.api.schema import graphtide_pb2 as pb
from graphtide.services.api.schema.calls import add_calls
from graphtide.services.api.schema.limits import RequestLimits
from graphtide.services.application import Application

SERVICE = str(pb.DESCRIPTOR.services_by_name["Graphtide"].full_name)

_ENVELOPE_BYTES = 1 << 20


@dataclass(frozen=True, slots=True)
class ConnectionLimits:
    """Limits of a connection, in seconds.

    After `age_s` (plus or minus 10 %, at random) the server asks the client to reconnect; its calls continue for
    `grace_s`, then the connection is closed and unread data is dropped. A connection without calls is closed after
    `idle_s`. A connection whose client does not answer a ping within `ping_timeout_s` is closed, and so is one that
    pings more often than every `min_ping_interval_s`.
    """

    age_s: float = 1800.0
    grace_s: float = 3600.0
    idle_s: float = 600.0
    ping_s: float = 60.0
    ping_timeout_s: float = 20.0
    min_ping_interval_s: float = 10.0

    def options(self, streams: int) -> list[tuple[str, int]]:
        """Return the options of a gRPC server, with at most `streams` concurrent calls per connection."""
        return [
            ("grpc.max_connection_age_ms", _ms(self.age_s)),
            ("grpc.max_connection_age_grace_ms", _ms(self.grace_s)),
            ("grpc.max_connection_idle_ms", _ms(self.idle_s)),
            ("grpc.keepalive_time_ms", _ms(self.ping_s)),
            ("grpc.keepalive_timeout_ms", _ms(self.ping_timeout_s)),
            ("grpc.keepalive_permit_without_calls", 1),
            ("grpc.http2.min_recv_ping_interval_without_data_ms", _ms(self.min_ping_interval_s)),
            ("grpc.http2.max_ping_strikes", 2),
            ("grpc.max_concurrent_streams", streams),
        ]


def create_server(
    application: Application,
    limits: RequestLimits | None = None,
    gate: AccessGate | None = None,
    connections: ConnectionLimits | None = None,
    streams: EventStreams | None = None,
) -> grpc.aio.Server:
    """Return a server over `application`, without a port. Call this in the event loop that runs it.

    Without a `gate` it is open to all callers. `streams` admits event streams, shared with HTTP.
    """
    limits, gate = limits or RequestLimits(), gate or AccessGate()
    options = [
        ("grpc.max_receive_message_length", limits.max_body_bytes + _ENVELOPE_BYTES),
        ("grpc.max_send_message_length", -1),
        ("grpc.so_reuseport", 0),  # a second server on the port must fail instead of sharing it
        *(connections or ConnectionLimits()).options(2 * limits.max_in_flight),
    ]
    # `maximum_concurrent_rpcs` would count probes and calls whose message never arrives; `AccessInterceptor` counts.
    server = grpc.aio.server(options=options, interceptors=[Calls(AccessInterceptor(gate, limits, streams), limits)])
    add_calls(Servicer(application, limits), server)
    health_pb2_grpc.add_HealthServicer_to_server(ApplicationHealth(application, (SERVICE, ""), gate), server)
    reflection.enable_server_reflection((SERVICE, HEALTH_SERVICE, reflection.SERVICE_NAME), server)
    return server


class Calls(grpc.aio.ServerInterceptor):  # type: ignore[misc]
    """Interceptor that replaces the handler of every method by a `CallHandler`."""

    def __init__(self, access: AccessInterceptor, limits: RequestLimits) -> None:
        self._access = access
        self._limits = limits
        self._handlers: dict[str, grpc.RpcMethodHandler] = {}

    async def intercept_service(
        self, continuation: Callable[[Any], Awaitable[Any]], handler_call_details: grpc.HandlerCallDetails
    ) -> Any:
        method = str(handler_call_details.method)
        if method not in self._handlers:
            inner = await continuation(handler_call_details)
            if inner is None:  # not cached: the number of unknown names is unbounded
                return None
            parse, admission = bounded(inner.request_deserializer, self._limits), self._access.admission(method)
            handling = CallHandler(method, inner, parse, admission, self._limits.body_timeout_s)
            self._handlers[method] = handling.handler()
        return self._handlers[method]


def _ms(seconds: float) -> int:
    return round(seconds * 1000)
