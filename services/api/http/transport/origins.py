"""Which web pages may call a service that asks for no credentials: those of this machine, its own, and `cors_origins`.

Every browser on the machine reaches a service on loopback, and sends what any page wants: a form's POST without a
preflight request, or, after the page's name was bound to 127.0.0.1 (DNS rebinding), every request. Browsers name the
page in Origin, and the name that was called in Host. Programs send no Origin. With credentials nothing is checked here:
they are headers, which no page has.
"""

from __future__ import annotations

from ipaddress import ip_address
from urllib.parse import urlsplit

from starlette.datastructures import Headers
from starlette.types import Scope

from graphtide.services.api.schema.errors import Forbidden

_THIS_MACHINE = frozenset({"localhost", "127.0.0.1", "::1"})
_SHOWN_CHARS = 80


def check_origin(origin: str | None, allowed: frozenset[str], path: str) -> None:
    """Raise Forbidden for a page that is neither of this machine nor allowed by `cors_origins`."""
    if not (origin is None or origin in allowed or "*" in allowed or host_of(origin) in _THIS_MACHINE):
        raise Forbidden(
            f"pages of {origin[:_SHOWN_CHARS]!r} may not use {path}; call it from a program,"
            " or name the origin in cors_origins"
        )


def check_page(scope: Scope) -> None:
    """Raise Forbidden for a request that a page of another site may have caused. Reads only the headers."""
    headers, state = Headers(scope=scope), scope["app"].state
    allowed: frozenset[str] = getattr(state, "cors_origins", frozenset())
    origin, called = headers.get("origin"), headers.get("host", "")
    if getattr(state, "loopback_names_only", False) and called and not _is_loopback_name(called):
        raise Forbidden(
            f"this service answers under names of this machine only, not as {called[:_SHOWN_CHARS]!r}, since it asks"
            " for no credentials; call 127.0.0.1 or localhost, or configure credentials"
        )
    if origin is not None and _is_own_page(origin, called, headers.get("sec-fetch-site", "")):
        return
    check_origin(origin, allowed, scope["path"])


def host_of(origin: str) -> str:
    """Return the host in an origin, "" without a valid one."""
    try:
        return urlsplit(origin).hostname or ""
    except ValueError:
        return ""


def _is_own_page(origin: str, called: str, fetched_from: str) -> bool:
    """Return whether the page came from this service. A browser states it (`sec-fetch-site`) to a service that is
    called by HTTPS or on loopback, also behind a proxy that does not pass on Host.
    """
    return fetched_from == "same-origin" or (bool(called) and origin.partition("://")[2] == called)


def _is_loopback_name(called: str) -> bool:
    name = host_of(f"//{called}")
    try:
        return ip_address(name).is_loopback
    except ValueError:
        return name == "localhost" or name.endswith(".localhost")
