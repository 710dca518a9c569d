"""The client's address of a request that came through a trusted proxy.

The invariant: the address is a valid one in its canonical form, or that of the connection: arbitrary text from a header
reaches neither the log nor the limits.
"""

from __future__ import annotations

from collections.abc import Sequence
from ipaddress import ip_address

from starlette.types import ASGIApp, Receive, Scope, Send
from uvicorn.middleware.proxy_headers import ProxyHeadersMiddleware


class ForwardedClient:
    """ASGI middleware that replaces `client` by the address that the nearest trusted proxy reports."""

    def __init__(self, app: ASGIApp, proxies: Sequence[str]) -> None:
        self._app = app
        self._forwarded = ProxyHeadersMiddleware(self._checked, list(proxies))  # type: ignore[arg-type]

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        await self._forwarded({**scope, _CONNECTION: scope.get("client")}, receive, send)  # type: ignore[arg-type]

    async def _checked(self, scope: Scope, receive: Receive, send: Send) -> None:
        client, connection = scope.get("client"), scope.pop(_CONNECTION)
        if client != connection:
            scope["client"] = _address(client, connection)
        await self._app(scope, receive, send)


_CONNECTION = "graphtide.connection"
_Client = tuple[str, int] | None


def _address(client: _Client, connection: _Client) -> _Client:
    try:
        return (str(ip_address(client[0])), client[1]) if client is not None else connection
    except ValueError:
        return connection
