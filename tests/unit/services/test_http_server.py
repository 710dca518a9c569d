"""The configuration of every HTTP server of the project."""

from __future__ import annotations

import httpx

from graphtide.services.api.http.transport.server import KEEP_ALIVE_S, http_server


def test_server_closes_idle_connections_later_than_clients_and_proxies_do() -> None:
    """A server that closes first loses the request that arrives in that moment."""

    async def app(*_: object) -> None:
        """Answer nothing."""

    expiry_s = httpx.Limits().keepalive_expiry
    assert expiry_s is not None
    assert http_server(app, 1.0).config.timeout_keep_alive == KEEP_ALIVE_S > max(60, expiry_s)
