"""Access control of gRPC calls: the same gate and the same policy as HTTP.

The table below maps each call to the action it needs; any other call needs `admin`. Health is open to probes and
returns only ready or not. Reflection describes a public interface, but needs a valid credential with any grants. The
invariants: a caller is identified before its message is awaited; and each document of a stream is authorized before
anything is done with it.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import Any

from graphtide.services.access.credentials import Caller
from graphtide.services.access.event_streams import EventStreams
from graphtide.services.access.gate import AccessGate, network_of
from graphtide.services.access.limits.places import FairPlaces
from graphtide.services.access.policy import EVERY_GRAPH, Action
from graphtide.services.api.grpc.batching import BATCH_DOCUMENTS
from graphtide.services.api.grpc.calls import Admission, Admitted
from graphtide.services.api.grpc.context import CallContext
from graphtide.services.api.grpc.waiting import MessageWaits
from graphtide.services.api.schema.errors import TooLarge
from graphtide.services.api.schema.limits import RequestLimits

OURS = "/graphtide.v1.Graphtide/"
HEALTH = "/grpc.health.v1.Health/"
LISTING = "ListGraphs"
ENDLESS = {"FollowChanges": "changes"}
"""Calls whose answers have no end, and the kind of their stream: they hold a place for streams, none for calls."""
HEALTH_CALLS = 64
"""Maximum concurrent health calls of each method, shared among networks, so that one network leaves half to others."""

_ACTIONS = {
    "Publish": Action.WRITE,
    "PublishStream": Action.WRITE,
    "PublishAll": Action.WRITE,
    "Delete": Action.WRITE,
    "DeleteGraph": Action.WRITE,
    "GetDocument": Action.READ,
    "RelatedDocuments": Action.READ,
    "Query": Action.READ,
    "QueryStream": Action.READ,
    "Preview": Action.READ,
    "PutQuestion": Action.WRITE,
    "GetQuestion": Action.READ,
    "DeleteQuestion": Action.WRITE,
    "ListQuestions": Action.READ,
    "WatchQuestion": Action.READ,
    "GetEntity": Action.READ,
    "Reports": Action.READ,
    "Stats": Action.READ,
    "Digest": Action.READ,
    LISTING: Action.READ,
    "ListDocuments": Action.READ,
    "ListEntities": Action.READ,
    "GetNeighbourhood": Action.READ,
    "GetGroup": Action.READ,
    "ListCommunities": Action.READ,
    "GetCommunity": Action.READ,
    "GetToken": Action.READ,
    "FollowChanges": Action.READ,
    "ListDeadLetters": Action.READ,
    "GetDeadLetter": Action.READ,
    "RetryDeadLetter": Action.WRITE,
    "DiscardDeadLetter": Action.WRITE,
    "DropDeadLetter": Action.WRITE,
}


def action_of(name: str) -> Action:
    """Return the action that a call of the service needs, by its name. Pure."""
    return _ACTIONS.get(name, Action.ADMIN)


class AccessInterceptor:
    """The admission rules of a server's methods. One instance per server."""

    def __init__(self, gate: AccessGate, limits: RequestLimits, streams: EventStreams | None = None) -> None:
        self._gate = gate
        self._streams = streams or EventStreams(limits.max_event_streams, limits.max_event_streams_per_caller)
        self._places = FairPlaces(limits.max_in_flight, "calls")
        self._waits = MessageWaits(limits.max_in_flight, limits.body_timeout_s)
        self._health_waits = MessageWaits(HEALTH_CALLS, limits.body_timeout_s)

    def admission(self, method: str) -> Admission:
        """Return the admission rules for calls of the method."""
        if method.startswith(HEALTH):
            return _HealthAdmission(self._health_waits, FairPlaces(HEALTH_CALLS, f"calls of {method}"))
        return _GateAdmission(self._gate, method, self._places, self._waits, self._streams)


class _GateAdmission:
    """Admission by a valid credential, the action of the method, then a place among the calls of all callers."""

    quiet = False

    def __init__(
        self, gate: AccessGate, method: str, places: FairPlaces, waits: MessageWaits, streams: EventStreams
    ) -> None:
        self.streams = streams
        self.gate = gate
        self.name = method.removeprefix(OURS) if method.startswith(OURS) else ""
        self.places = places
        self.waits = waits
        self.endless = streams if self.name in ENDLESS else None

    def admit(self, call: CallContext) -> Admitted:
        caller = self.gate.identify(call.metadata, call.peer)
        self.gate.charge(caller)
        if self.name:
            self.gate.permit(caller, action_of(self.name), None)
        return _GatedCall(self, caller, call)


class _GatedCall:
    """One call of an identified caller."""

    def __init__(self, rules: _GateAdmission, caller: Caller, call: CallContext) -> None:
        self._rules = rules
        self._caller = caller
        self._call = call
        self._graph: str | None = None

    def judge(self, message: Any, number: int) -> None:
        """Raise Forbidden for a graph that was not granted, TooLarge, or Overloaded.

        A stream is charged once per BATCH_DOCUMENTS documents, as one request over HTTP is.
        """
        gate, name, who = self._rules.gate, self._rules.name, self._caller.who
        if not name:
            return
        if number % BATCH_DOCUMENTS == 0:
            gate.charge(self._caller)
        graph = self._graph = getattr(message, "graph", None if name == LISTING else EVERY_GRAPH)
        gate.permit(self._caller, action_of(name), graph)
        limit = who.allowance.max_body_bytes
        if limit and message.ByteSize() > limit:
            raise TooLarge(f"the request exceeds the {limit} bytes that {who.name} may send; split it")

    def check(self) -> None:
        """Verify the credential again, for a stream that is open for long. Raises Unauthenticated, Forbidden."""
        gate = self._rules.gate
        gate.permit(gate.identify(self._call.metadata, self._call.peer), action_of(self._rules.name), self._graph)

    @contextmanager
    def place(self) -> Iterator[None]:
        if kind := ENDLESS.get(self._rules.name):
            name = self._caller.who.name or network_of(self._call.peer)
            with self._rules.streams.hold(name, kind), self._rules.gate.as_caller(self._caller):
                yield
            return
        with self._rules.places.hold(""), self._rules.gate.place(self._caller):
            yield


class _HealthAdmission:
    """Admission without a credential. Its own places separate probes from other calls, so neither blocks the other."""

    quiet = True
    endless: EventStreams | None = None

    def __init__(self, waits: MessageWaits, places: FairPlaces) -> None:
        self.waits = waits
        self._places = places

    def admit(self, call: CallContext) -> Admitted:
        return _HealthCall(self._places, network_of(call.peer))


class _HealthCall:
    def __init__(self, places: FairPlaces, network: str) -> None:
        self._places = places
        self._network = network

    def judge(self, message: Any, number: int) -> None:
        """Accept every message: health needs no permission."""

    def check(self) -> None:
        """Accept every call: health needs no permission."""

    def place(self) -> AbstractContextManager[None]:
        return self._places.hold(self._network)
