"""The uvicorn server of every HTTP endpoint of the project: one configuration for the service, the gateway and the
workers.

The invariants: data that a client sends or does not read is bounded in memory (`header_limits.py`), and the address in
`X-Forwarded-For` is used only from the proxies in the settings.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from ipaddress import ip_address, ip_network
from ssl import SSLContext

import uvicorn
from starlette.types import ASGIApp

from graphtide.services.api.http.transport.forwarded import ForwardedClient
from graphtide.services.api.http.transport.header_limits import HeaderLimitedProtocol
from graphtide.streams.errors import Broken

KEEP_ALIVE_S = 75
"""Seconds after an answer in which a connection waits for the next request. Proxies and clients keep idle connections
for less (nginx and load balancers of clouds 60 s, httpx 5 s): a server that closes one first loses the request that
arrives at that moment, and the client cannot know whether it was handled."""


def http_server(
    app: ASGIApp, shutdown_timeout_s: float, trusted_proxies: str = "", tls: Callable[[], SSLContext] | None = None
) -> uvicorn.Server:
    """Return a server of `app` that installs no signal handlers. Raises Broken for an invalid list of proxies."""
    proxies = proxy_addresses(trusted_proxies)
    server = uvicorn.Server(
        uvicorn.Config(
            ForwardedClient(app, proxies) if proxies else app,
            http=HeaderLimitedProtocol,
            ws="none",
            proxy_headers=False,
            log_config=None,
            access_log=False,
            lifespan="off",
            timeout_keep_alive=KEEP_ALIVE_S,
            timeout_graceful_shutdown=max(1, round(shutdown_timeout_s)),
            ssl_context_factory=None if tls is None else lambda *_: tls(),
        )
    )
    server.capture_signals = contextlib.nullcontext  # type: ignore[method-assign, assignment]
    return server


def proxy_addresses(listed: str) -> list[str]:
    """Return the addresses and networks in a comma-separated list. Raises Broken for anything else."""
    addresses = [each.strip() for each in listed.split(",") if each.strip()]
    for address in addresses:
        try:
            ip_network(address) if "/" in address else ip_address(address)
        except ValueError:
            raise Broken(
                f"GRAPHTIDE_TRUSTED_PROXIES contains {address[:80]!r}, which is not an IP address or network: "
                "list the proxies as 10.0.0.7 or 10.0.0.0/8, separated by commas"
            ) from None
    return addresses
