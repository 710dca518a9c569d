"""The gate that HTTP and gRPC ask before anything else: who calls, may they, and not too much at once.

Not the policy (`policy.py`) and no protocol. One gate serves both faces, so that a limit is one limit. The invariants:
without credentials nobody comes past a closed gate; a good credential is never refused for somebody else's bad ones; no
caller holds more than its share of the places, so that there is always one for who comes next.
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
from graphtide.services.access.places import FairPlaces
from graphtide.services.access.policy import ANYONE, Action, Principal, refusal
from graphtide.services.access.reloading import WatchedFile
from graphtide.services.access.token_bucket import Buckets
from graphtide.services.access.tokens import TokenVerifier
from graphtide.services.api.schema.disclosure import ADDRESSES_SHOWN
from graphtide.services.api.schema.errors import Unauthenticated
from graphtide.streams.errors import Overloaded

_WRONG = "the credential is not valid"
_log = logging.getLogger("graphtide.access")


@dataclass(frozen=True, slots=True)
class CallerRateLimits:
    """Limits that hold for every caller that brings none of its own. 0 requests a second: no limit."""

    places: int = 256
    requests_per_second: float = 0.0
    tries_per_minute: int = 60
    """Requests without a valid credential from one address (IPv6: one /64) before they get 429 instead of 401."""


class Troubled(Protocol):
    """Whatever is read from files again and again."""

    @property
    def problem(self) -> str:
        """Why the newest files are not in force, "" when they are."""


class AccessGate:
    """Open when there are neither keys nor a verifier: everybody is ANYONE then. Belongs to one event loop."""

    def __init__(
        self,
        keys: WatchedFile[KeyRing] | None = None,
        tokens: TokenVerifier | None = None,
        fairness: CallerRateLimits | None = None,
        now: Callable[[], float] = time.monotonic,
        metrics_open: bool = False,
    ) -> None:
        self._keys = keys
        self._tokens = tokens
        self._fairness = fairness or CallerRateLimits()
        self._now = now
        self._rates = Buckets()
        self._tries = Buckets()
        self._places = FairPlaces(self._fairness.places)
        self.metrics_open = metrics_open
        self.draining = False
        """Whether the process is about to end: nobody new is to be sent here, whoever comes is still served."""
        self.certificates: Troubled | None = None
        """What the servers show, where they speak TLS: for `problems` only."""

    @property
    def is_open(self) -> bool:
        """Whether no credentials are asked for."""
        return self._keys is None and self._tokens is None

    def problems(self) -> dict[str, str]:
        """Why the newest of each kind of file is not in force, "" where it is, or where there is none."""
        guards = {"keys": self._keys, "tokens": self._tokens, "certificate": self.certificates}
        return {name: guard.problem if guard is not None else "" for name, guard in guards.items()}

    def identify(self, headers: Iterable[Header], peer: str) -> Caller:
        """Who sends these headers from the address `peer`.

        Raises Unauthenticated without a valid credential, and Overloaded when that came too often from there.
        """
        try:
            credential = credential_in(headers)
            return Caller(ANYONE if self.is_open else self._principal(credential), credential)
        except Unauthenticated as error:
            if self.is_open:  # the header is for a proxy in front
                return Caller(ANYONE)
            per_second = self._fairness.tries_per_minute / 60
            wait_s = self._tries.take(network_of(peer), per_second, self._fairness.tries_per_minute, self._now())
            if wait_s:
                raise Overloaded("too many requests without a valid credential; come back later", wait_s) from None
            _log.info("a request from %s was refused: %s", peer, error)
            raise

    def permit(self, caller: Caller, action: Action, graph: str | None) -> None:
        """Raises Forbidden when the caller may not."""
        error = refusal(caller.who, action, graph)
        if error is not None:
            raise error

    def charge(self, caller: Caller) -> None:
        """Count one request of the caller. Raises Overloaded when it was one too many."""
        allowed = caller.who.allowance
        per_second = allowed.requests_per_second or self._fairness.requests_per_second
        if not per_second or self.is_open:
            return
        burst = allowed.burst or max(1.0, per_second)
        wait_s = self._rates.take(caller.who.name, per_second, burst, self._now())
        if wait_s:
            raise Overloaded(f"{caller.who.name} may send {per_second:g} requests a second; wait", wait_s)

    def place(self, caller: Caller) -> AbstractContextManager[None]:
        """Hold one of the caller's places while its request is served; the block runs as the caller.

        An open gate counts nobody. Raises Overloaded.
        """
        return _run_as(caller, nullcontext() if self.is_open else self._places.hold(caller.who.name))

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
        CALLER.set(caller)  # the task serves this request alone, so nothing is set back
        yield


def _holder(ring: KeyRing, key: str) -> Principal:
    entry = ring.find(key)
    if entry is None:
        raise Unauthenticated(_WRONG)
    if entry.expires is not None and entry.expires <= datetime.now(UTC):
        raise Unauthenticated("the key has expired")
    return entry.who


def network_of(peer: str) -> str:
    """The address, or of an IPv6 address its /64: one household has that many addresses to try from."""
    try:
        address = ipaddress.ip_address(peer.partition("%")[0])
    except ValueError:
        return peer[:64]
    if address.version == 4:
        return str(address)
    return str(address.ipv4_mapped or ipaddress.ip_network((address, 64), strict=False).network_address)
