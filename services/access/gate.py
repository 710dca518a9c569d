"""The access gate of HTTP and gRPC: authentication, authorization, rate limits and concurrency limits.

The policy is in `policy.py`. One gate serves both protocols, so each limit covers both. The invariants: a closed gate
admits no request without a valid credential; invalid credentials of one client never block a valid credential of
another; no caller holds more than its share of the places, so a place remains for the next caller.
"""

from __future__ import annotations

import ipaddress
import logging
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Protocol

from graphtide.services.access.credentials import CALLER, Caller, Credential, Header, credential_in
from graphtide.services.access.keys import KeyRing, looks_like_key
from graphtide.services.access.limits.places import FairPlaces
from graphtide.services.access.limits.token_bucket import Buckets
from graphtide.services.access.policy import UNRESTRICTED, Action, Principal, refusal
from graphtide.services.access.reloading import WatchedFile
from graphtide.services.access.tokens import TokenVerifier
from graphtide.services.api.schema.disclosure import ADDRESSES_SHOWN
from graphtide.services.api.schema.errors import Unauthenticated
from graphtide.streams.errors import Overloaded

_WRONG = "the credential is not valid"
_log = logging.getLogger("graphtide.access")


@dataclass(frozen=True, slots=True)
class CallerRateLimits:
    """Limits for every caller without limits of its own. `requests_per_second` 0: no limit."""

    places: int = 256
    requests_per_second: float = 0.0
    failed_auth_per_minute: int = 60
    """Requests without a valid credential from one address (IPv6: one /64) before they get 429 instead of 401."""


class Reloaded(Protocol):
    """A value read from files that may change."""

    @property
    def problem(self) -> str:
        """Return why the newest files are not in use, "" when they are."""


class AccessGate:
    """The gate of one process. Without keys and verifier it is open: every caller is UNRESTRICTED.

    Belongs to one event loop."""

    def __init__(
        self,
        keys: WatchedFile[KeyRing] | None = None,
        tokens: TokenVerifier | None = None,
        fairness: CallerRateLimits | None = None,
        now: Callable[[], float] = time.monotonic,
        metrics_public: bool = False,
    ) -> None:
        self._keys = keys
        self._tokens = tokens
        self._fairness = fairness or CallerRateLimits()
        self._now = now
        self._rates = Buckets()
        self._tries = Buckets()
        self._places = FairPlaces(self._fairness.places)
        self.metrics_public = metrics_public
        self.draining = False
        """True while the process shuts down: it reports not ready, and still serves the requests that arrive."""
        self.certificates: Reloaded | None = None
        """The certificates of servers with TLS; read by `problems` only."""

    @property
    def is_open(self) -> bool:
        """Return True when the gate needs no credentials."""
        return self._keys is None and self._tokens is None

    def problems(self) -> dict[str, str]:
        """Return by kind of file why its newest version is not in use, "" where it is or no file is set."""
        guards = {"keys": self._keys, "tokens": self._tokens, "certificate": self.certificates}
        return {name: guard.problem if guard is not None else "" for name, guard in guards.items()}

    def identify(self, headers: Iterable[Header], peer: str) -> Caller:
        """Return the caller that sent these headers from the address `peer`.

        Raises Unauthenticated without a valid credential, and Overloaded after too many such requests from that
        address.
        """
        try:
            credential = credential_in(headers)
            return Caller(UNRESTRICTED if self.is_open else self._principal(credential), credential)
        except Unauthenticated as error:
            if self.is_open:  # the header is meant for a proxy before this process
                return Caller(UNRESTRICTED)
            per_second = self._fairness.failed_auth_per_minute / 60
            wait_s = self._tries.take(network_of(peer), per_second, self._fairness.failed_auth_per_minute, self._now())
            if wait_s:
                raise Overloaded(
                    "too many requests without a valid credential; wait, then send a valid one", wait_s
                ) from None
            _log.info("a request from %s was refused: %s", peer, error)
            raise

    def permit(self, caller: Caller, action: Action, graph: str | None) -> None:
        """Raise Forbidden when the caller may not perform `action` on `graph`."""
        error = refusal(caller.who, action, graph)
        if error is not None:
            raise error

    def charge(self, caller: Caller) -> None:
        """Count one request of the caller. Raises Overloaded when it exceeds the caller's rate."""
        allowed = caller.who.allowance
        per_second = allowed.requests_per_second or self._fairness.requests_per_second
        if not per_second or self.is_open:
            return
        burst = allowed.burst or max(1.0, per_second)
        wait_s = self._rates.take(caller.who.name, per_second, burst, self._now())
        if wait_s:
            raise Overloaded(f"{caller.who.name} may send {per_second:g} requests per second; wait", wait_s)

    def place(self, caller: Caller) -> AbstractContextManager[None]:
        """Hold one of the caller's places while its request is served; the block runs as the caller.

        An open gate counts no caller. Raises Overloaded.
        """
        return _run_as(caller, nullcontext() if self.is_open else self._places.hold(caller.who.name))

    def as_caller(self, caller: Caller) -> AbstractContextManager[None]:
        """Run the block as the caller, without a place."""
        return _run_as(caller, nullcontext())

    def _principal(self, credential: Credential | None) -> Principal:
        if credential is None:
            error = refusal(None, Action.READ, None)
            raise error if error is not None else AssertionError
        if looks_like_key(credential.secret) and self._keys is not None:
            return _holder(self._keys.value(), credential.secret)
        if self._tokens is not None:
            return self._tokens.principal(credential.secret)
        raise Unauthenticated(_WRONG)


@contextmanager
def _run_as(caller: Caller, place: AbstractContextManager[None]) -> Iterator[None]:
    with place:
        ADDRESSES_SHOWN.set(Action.METRICS in caller.who.actions)
        CALLER.set(caller)  # the task serves this request only, so the value is not reset
        yield


def _holder(ring: KeyRing, key: str) -> Principal:
    entry = ring.find(key)
    if entry is None:
        raise Unauthenticated(_WRONG)
    if entry.expires is not None and entry.expires <= datetime.now(UTC):
        raise Unauthenticated("the key has expired; create a new one with graphtide keys create")
    return entry.who


def network_of(peer: str) -> str:
    """Return the address, or the /64 of an IPv6 address: one subscriber controls that many addresses."""
    try:
        address = ipaddress.ip_address(peer.partition("%")[0])
    except ValueError:
        return peer[:64]
    if address.version == 4:
        return str(address)
    return str(address.ipv4_mapped or ipaddress.ip_network((address, 64), strict=False).network_address)
