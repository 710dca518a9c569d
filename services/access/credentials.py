"""A caller's credential: where it stands in a request, and how it is handed on.

Not whether it is good: `gate.py` asks `keys.py` and `tokens.py`. The invariants: a request brings one credential or
none, never two that could be judged apart; and a credential is in no repr.
"""

from __future__ import annotations

from collections.abc import Iterable
from contextvars import ContextVar
from dataclasses import dataclass, field

from graphtide.services.access.policy import ANYONE, Principal
from graphtide.services.api.schema.errors import Unauthenticated

AUTHORIZATION = "authorization"
API_KEY = "x-api-key"
MAX_CHARS = 8192

_NAMES = frozenset({AUTHORIZATION, API_KEY, AUTHORIZATION.encode(), API_KEY.encode()})

Header = tuple[str | bytes, str | bytes]
Metadata = tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class Credential:
    """What a caller sent, as it was sent."""

    secret: str = field(repr=False)


@dataclass(frozen=True, slots=True)
class Caller:
    """Who is behind a request, and what it came with, for those who must ask on its behalf."""

    who: Principal
    credential: Credential | None = None


NOBODY_ASKED = Caller(ANYONE)
CALLER: ContextVar[Caller] = ContextVar("graphtide-caller", default=NOBODY_ASKED)
"""Set around every request; the default stands for what the process does by itself."""


def credential_in(headers: Iterable[Header]) -> Credential | None:
    """The one credential among the headers (or gRPC metadata), None without any. Names are lower case.

    Raises Unauthenticated for several, for another scheme than Bearer, and for what cannot be one. A header that is
    there and empty is a mistake too, not an anonymous request.
    """
    found = [each for name, value in headers if (each := _credential(name, value)) is not None]
    if len(found) > 1:
        raise Unauthenticated("the request has several credentials; send one")
    return found[0] if found else None


def credentials_sent(headers: Iterable[Header]) -> bool:
    """Whether there is anything among the headers that means to be a credential."""
    return any(name in _NAMES for name, _ in headers)


def _credential(name: str | bytes, value: str | bytes) -> Credential | None:
    if name not in _NAMES:
        return None
    text = _ascii(value) if len(value) <= MAX_CHARS else None
    if text is None:
        raise Unauthenticated(f"the credential is longer than {MAX_CHARS} bytes, or not ASCII")
    if name in (API_KEY, API_KEY.encode()):
        return Credential(text.strip())
    scheme, _, secret = text.strip().partition(" ")
    if scheme.lower() != "bearer":
        raise Unauthenticated("the Authorization header is not of the scheme Bearer")
    return Credential(secret.strip())


def _ascii(value: str | bytes) -> str | None:
    if isinstance(value, bytes):
        try:
            value = value.decode("ascii")
        except UnicodeDecodeError:
            return None
    return value if value.isascii() and value.isprintable() else None


def call_metadata(caller: Caller) -> Metadata:
    """The gRPC metadata under which a call on behalf of `caller` is judged as the caller's own."""
    return ((AUTHORIZATION, f"Bearer {caller.credential.secret}"),) if caller.credential else ()


def forwarded_metadata() -> Metadata:
    """`call_metadata` of the request that is being served in this task; empty outside of one."""
    return call_metadata(CALLER.get())
