"""A caller's credential: its extraction from a request and its forwarding to another process.

`gate.py` verifies it with `keys.py` and `tokens.py`. The invariants: a request has at most one credential, so no two
components can judge different ones; and no repr contains a credential.
"""

from __future__ import annotations

from collections.abc import Iterable
from contextvars import ContextVar
from dataclasses import dataclass, field

from graphtide.services.access.policy import UNRESTRICTED, Principal
from graphtide.services.api.schema.errors import Unauthenticated

AUTHORIZATION = "authorization"
API_KEY = "x-api-key"
MAX_CHARS = 8192

_NAMES = frozenset({AUTHORIZATION, API_KEY, AUTHORIZATION.encode(), API_KEY.encode()})

Header = tuple[str | bytes, str | bytes]
Metadata = tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class Credential:
    """The secret exactly as the caller sent it."""

    secret: str = field(repr=False)


@dataclass(frozen=True, slots=True)
class Caller:
    """The principal of a request and its credential, for calls to other processes on the caller's behalf."""

    who: Principal
    credential: Credential | None = None


NO_REQUEST = Caller(UNRESTRICTED)
CALLER: ContextVar[Caller] = ContextVar("graphtide-caller", default=NO_REQUEST)
"""Set around every request; the default is the process itself."""


def credential_in(headers: Iterable[Header]) -> Credential | None:
    """Return the credential in the headers (or gRPC metadata), None without one. Header names are lower case.

    Raises Unauthenticated for several credentials, for a scheme other than Bearer, and for malformed values. An empty
    header is an error too, not an anonymous request.
    """
    found = [each for name, value in headers if (each := _credential(name, value)) is not None]
    if len(found) > 1:
        raise Unauthenticated(f"the request has {len(found)} credentials; send one")
    return found[0] if found else None


def credentials_sent(headers: Iterable[Header]) -> bool:
    """Return True when a header that carries credentials is present, valid or not."""
    return any(name in _NAMES for name, _ in headers)


def _credential(name: str | bytes, value: str | bytes) -> Credential | None:
    if name not in _NAMES:
        return None
    text = _ascii(value) if len(value) <= MAX_CHARS else None
    if text is None:
        raise Unauthenticated(f"the credential is longer than {MAX_CHARS} bytes or not ASCII; send it unchanged")
    if name in (API_KEY, API_KEY.encode()):
        return Credential(text.strip())
    scheme, _, secret = text.strip().partition(" ")
    if scheme.lower() != "bearer":
        raise Unauthenticated("the Authorization header does not use the scheme Bearer; send Authorization: Bearer …")
    return Credential(secret.strip())


def _ascii(value: str | bytes) -> str | None:
    if isinstance(value, bytes):
        try:
            value = value.decode("ascii")
        except UnicodeDecodeError:
            return None
    return value if value.isascii() and value.isprintable() else None


def call_metadata(caller: Caller) -> Metadata:
    """Return the gRPC metadata with which another process authorizes a call as the caller's own."""
    return ((AUTHORIZATION, f"Bearer {caller.credential.secret}"),) if caller.credential else ()


def forwarded_metadata() -> Metadata:
    """Return `call_metadata` of the request that this task serves; empty outside of a request."""
    return call_metadata(CALLER.get())
