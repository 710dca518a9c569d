"""Routing of calls to query replicas: to each in turn, or by the call's graph.

The invariant of routing by graph: calls of one graph reach at most as many ready replicas as the replication factor,
and a replica that joins or leaves changes the replicas of its own graphs only.

A replica that has just become the holder of a graph, because another one joined or left, must load it. A call asks it
first, which begins the load; when that takes longer than a moment, the call asks other replicas that have the graph in
memory, such as the former holder; when there is none, it waits for the first. Only holders load the graph.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from hashlib import blake2b
from itertools import count, cycle
from typing import Any, cast

import grpc.aio

from graphtide.streams.follow.load_policy import LOAD_KEY, LoadPolicy

SERVICE = "graphtide.v1.Graphtide"
GRAPH_HEADER = "graphtide-graph"
RING_SIZE = 4096
"""Entries of the ring that graphs and replicas are hashed to: the most that gRPC allows, for an even division."""
PROBES = 12
"""Other replicas to ask, with repetitions: any one of four is missed by 3 % of the calls. Cost: a millisecond each."""
HOLDER_KEY = "graphtide-holder"
"""Metadata of an attempt: the number of its call, and of the attempt within it."""
_RING_SWITCH = "GRPC_EXPERIMENTAL_RING_HASH_SET_REQUEST_HASH_KEY"
"""gRPC uses the header of its ring hashing (gRFC A76) only with this variable, read when a channel connects."""
_RETRIES = {
    "maxAttempts": 4,
    "initialBackoff": "0.1s",
    "maxBackoff": "1s",
    "backoffMultiplier": 2,
    "retryableStatusCodes": ["UNAVAILABLE"],
}

_calls = count()


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


@dataclass(frozen=True, slots=True)
class Attempt:
    """One attempt of a call. The last one returns whatever the replica answers."""

    call: int
    number: int
    policy: LoadPolicy
    is_last: bool = False

    @property
    def metadata(self) -> tuple[tuple[str, str], ...]:
        return ((HOLDER_KEY, f"{self.call}/{self.number}"), (LOAD_KEY, self.policy.value))


def attempts() -> Iterator[Attempt]:
    """Yield the attempts of one call: the next one is made when a replica answers that it has not loaded the graph."""
    call = next(_calls)
    yield Attempt(call, 0, LoadPolicy.BRIEFLY)
    for number in range(1, PROBES + 1):
        yield Attempt(call, number, LoadPolicy.NEVER)
    yield Attempt(call, 0, LoadPolicy.WAIT, is_last=True)


def place_of(metadata: dict[str, str], replication_factor: int) -> int | None:
    """Return the place of an attempt among those that a graph's name is hashed to; None for a call without attempts.

    The first attempt of a call goes to one of the graph's holders, which are the places below the replication factor,
    in turn; the following ones to the other holders, then to further places.
    """
    call, _, number = metadata.get(HOLDER_KEY, "").partition("/")
    if not number:
        return None
    return (int(call) + int(number)) % replication_factor if int(number) < replication_factor else int(number)


class GraphHeaders:
    """The header of each call: a hash of its graph's name, and a number, that of the attempt.

    A call without attempts gets the numbers below the replication factor, in turn. A name may have characters that a
    header may not, so it is hashed.
    """

    def __init__(self, replication_factor: int) -> None:
        self._factor = replication_factor
        self._numbers = cycle(range(replication_factor))

    def added(self, details: grpc.aio.ClientCallDetails, request: object) -> grpc.aio.ClientCallDetails:
        """Return the details of a call with the header of its request's graph; unchanged for a request without one."""
        graph = getattr(request, "graph", "")
        if not graph:
            return details
        given = tuple(cast(Iterable[Any], details.metadata or ()))
        place = place_of(dict(given), self._factor)
        number = next(self._numbers) if place is None else place
        metadata = (*given, (GRAPH_HEADER, f"{blake2b(graph.encode(), digest_size=8).hexdigest()}-{number}"))
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
