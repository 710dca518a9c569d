"""Routing of calls to query replicas: to each in turn, or by the call's graph.

The invariant of routing by graph: calls of one graph reach at most as many ready replicas as the replication factor,
and a replica that joins or leaves changes the replicas of its own graphs only.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterable
from hashlib import blake2b
from itertools import cycle
from typing import Any, cast

import grpc.aio

SERVICE = "graphtide.v1.Graphtide"
GRAPH_HEADER = "graphtide-graph"
RING_SIZE = 4096
"""Entries of the ring that graphs and replicas are hashed to: the most that gRPC allows, for an even division."""
_RING_SWITCH = "GRPC_EXPERIMENTAL_RING_HASH_SET_REQUEST_HASH_KEY"
"""gRPC uses the header of its ring hashing (gRFC A76) only with this variable, read when a channel connects."""
_RETRIES = {
    "maxAttempts": 4,
    "initialBackoff": "0.1s",
    "maxBackoff": "1s",
    "backoffMultiplier": 2,
    "retryableStatusCodes": ["UNAVAILABLE"],
}


def service_config(replication_factor: int) -> str:
    """Return gRPC's service configuration for calls to the replicas.

    With a factor of 0 the replicas are called in turn. Otherwise a call goes to the first ready replica on a ring of
    hashes after the hash of its `GRAPH_HEADER`; without the header, to any. Either way the channel watches each
    replica's health and calls only those that are ready. When a replica becomes unreachable during a call, or is
    starting, the channel retries the call on another one. Errors that a replica itself reports
    (`grpc-retry-pushback-ms`) are not retried.
    """
    ring = {"requestHashHeader": GRAPH_HEADER, "minRingSize": RING_SIZE, "maxRingSize": RING_SIZE}
    balancing = {"ring_hash_experimental": ring} if replication_factor else {"round_robin": {}}
    config = {
        "loadBalancingConfig": [balancing],
        "healthCheckConfig": {"serviceName": SERVICE},
        "methodConfig": [{"name": [{"service": SERVICE}], "retryPolicy": _RETRIES}],
    }
    return json.dumps(config)


def graph_interceptors(replication_factor: int) -> list[grpc.aio.ClientInterceptor]:
    """Return the interceptors of a channel that routes by graph; none for a factor of 0."""
    if not replication_factor:
        return []
    os.environ.setdefault(_RING_SWITCH, "true")
    headers = GraphHeaders(replication_factor)
    return [_UnaryCalls(headers), _StreamedReplies(headers)]


class GraphHeaders:
    """The header of each call: a hash of its graph's name, and a number below the replication factor, in turn.

    A name may have characters that a header may not, so it is hashed.
    """

    def __init__(self, replication_factor: int) -> None:
        self._numbers = cycle(range(replication_factor))

    def added(self, details: grpc.aio.ClientCallDetails, request: object) -> grpc.aio.ClientCallDetails:
        """Return the details of a call with the header of its request's graph; unchanged for a request without one."""
        graph = getattr(request, "graph", "")
        if not graph:
            return details
        value = f"{blake2b(graph.encode(), digest_size=8).hexdigest()}-{next(self._numbers)}"
        metadata = (*cast(Iterable[Any], details.metadata or ()), (GRAPH_HEADER, value))
        return grpc.aio.ClientCallDetails(
            details.method, details.timeout, grpc.aio.Metadata(*metadata), details.credentials, details.wait_for_ready
        )


class _Interceptor:
    """Adds the header to each call. gRPC wants an object of its own for each kind of call."""

    def __init__(self, headers: GraphHeaders) -> None:
        self._headers = headers

    async def _routed(
        self, continuation: Callable[..., Any], client_call_details: grpc.aio.ClientCallDetails, request: object
    ) -> Any:
        return await continuation(self._headers.added(client_call_details, request), request)


class _UnaryCalls(_Interceptor, grpc.aio.UnaryUnaryClientInterceptor):  # type: ignore[misc]
    intercept_unary_unary = _Interceptor._routed


class _StreamedReplies(_Interceptor, grpc.aio.UnaryStreamClientInterceptor):  # type: ignore[misc]
    intercept_unary_stream = _Interceptor._routed
