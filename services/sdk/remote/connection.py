"""Options of a connection: the URL, the credential and TLS, checked before the first request.

The invariant: a credential is in the header of a request only; no repr and no message contains it.
"""

from __future__ import annotations

import asyncio
import inspect
import ssl
from collections.abc import AsyncGenerator, Awaitable, Callable, Generator
from pathlib import Path
from typing import TypeAlias

import httpx

from graphtide.streams.errors import Invalid, Retryable

TokenSource: TypeAlias = Callable[[], str | Awaitable[str]]
"""Returns a valid JWT. It is called before the first request, and again when the service refuses the token."""

Verify: TypeAlias = bool | str | Path | ssl.SSLContext
"""True: the system's CAs; a path: the CAs of that PEM file; False: no verification, for tests alone."""

Certificate: TypeAlias = str | Path | tuple[str | Path, str | Path]
"""A client certificate: one PEM file with its key, or two files."""


def base_url(url: str) -> str:
    """Return the URL of the service without a slash at its end. Raises Invalid."""
    try:
        parsed = httpx.URL(url)
    except (httpx.InvalidURL, TypeError) as error:
        raise Invalid("url", f"{str(url)[:80]!r} is not a URL; use one such as http://127.0.0.1:8080") from error
    if parsed.scheme not in ("http", "https") or not parsed.host:
        raise Invalid("url", f"{url[:80]!r} is not a URL; use one such as http://127.0.0.1:8080")
    if parsed.userinfo or parsed.query or parsed.fragment:
        raise Invalid("url", "contains a user, a query or a fragment; pass the credential as api_key or token")
    return url.rstrip("/")


def credential(api_key: str, token: TokenSource | None) -> httpx.Auth | None:
    """Return the credential of every request, None without one. Raises Invalid."""
    if api_key and token is not None:
        raise Invalid("token", "is given beside api_key; give one of them")
    if token is not None:
        return TokenCredential(token)
    return KeyCredential(checked_secret(api_key, "api_key")) if api_key else None


def checked_secret(secret: object, field: str) -> str:
    """Return a key or token that a header can carry. Raises Invalid."""
    if not isinstance(secret, str) or not secret.strip() or not (secret.isascii() and secret.strip().isprintable()):
        raise Invalid(field, "contains characters that no key has; copy the key again")
    return secret.strip()


class KeyCredential(httpx.Auth):
    """An API key, or a token that is not renewed."""

    def __init__(self, key: str) -> None:
        self._header = f"Bearer {key}"

    def auth_flow(self, request: httpx.Request) -> Generator[httpx.Request, httpx.Response, None]:
        request.headers["authorization"] = self._header
        yield request


class TokenCredential(httpx.Auth):
    """Tokens of a callback. A refused one is renewed once per request; concurrent requests share the renewal."""

    def __init__(self, source: TokenSource) -> None:
        self._source = source
        self._token = ""
        self._renewing = asyncio.Lock()

    async def async_auth_flow(self, request: httpx.Request) -> AsyncGenerator[httpx.Request, httpx.Response]:
        """Send the request with the current token; after 401 send it again with a new one."""
        used = self._token or await self._renewed("")
        request.headers["authorization"] = f"Bearer {used}"
        response = yield request
        if response.status_code == 401:
            request.headers["authorization"] = f"Bearer {await self._renewed(used)}"
            yield request

    async def _renewed(self, refused: str) -> str:
        async with self._renewing:
            if self._token == refused:
                self._token = checked_secret(await self._called(), "token")
            return self._token

    async def _called(self) -> str:
        try:
            made = self._source()
            return await made if inspect.isawaitable(made) else made
        except Exception as error:
            raise Retryable(f"the callback token failed: {type(error).__name__}") from error


def tls_trust(verify: Verify, cert: Certificate | None) -> ssl.SSLContext | bool:
    """Return the CAs to trust and the client certificate to present. Raises Invalid for unusable files."""
    if isinstance(verify, ssl.SSLContext):
        return _with_certificate(verify, cert)
    if verify is True and cert is None:
        return True
    try:
        context = ssl.create_default_context(cafile=None if isinstance(verify, bool) else str(verify))
    except OSError as error:  # ssl.SSLError is one
        raise Invalid("verify", f"cannot be used: {error.strerror or error}") from error
    if verify is False:
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
    return _with_certificate(context, cert)


def _with_certificate(context: ssl.SSLContext, cert: Certificate | None) -> ssl.SSLContext:
    if cert is None:
        return context
    try:
        context.load_cert_chain(*map(str, cert)) if isinstance(cert, tuple) else context.load_cert_chain(str(cert))
    except OSError as error:
        raise Invalid("cert", f"cannot be used: {error.strerror or error}") from error
    return context
