"""Cross-origin requests of browsers: off, or allowed for the origins that the setting `cors_origins` names.

No cookie is ever accepted, so no response allows credentials of the browser; API keys and tokens are headers that a
page sends itself. A preflight request is answered before authentication: browsers send it without credentials.
"""

from __future__ import annotations

from fastapi import FastAPI
from starlette.middleware.cors import CORSMiddleware

METHODS = ("GET", "PUT", "POST", "DELETE")
REQUEST_HEADERS = (
    "authorization",
    "content-type",
    "last-event-id",
    "mcp-protocol-version",
    "mcp-session-id",
    "traceparent",
    "tracestate",
    "x-api-key",
)
RESPONSE_HEADERS = ("mcp-session-id", "retry-after", "www-authenticate", "x-trace-id")
PREFLIGHT_AGE_S = 600


def origins_in(setting: str) -> list[str]:
    """Return the origins in the setting, which separates them by commas."""
    return [origin.strip() for origin in setting.split(",") if origin.strip()]


def allow_origins(app: FastAPI, setting: str) -> None:
    """Let pages of these origins call the application; without any, change nothing."""
    if origins := origins_in(setting):
        app.state.cors_origins = frozenset(origins)
        app.add_middleware(
            CORSMiddleware,
            allow_origins=origins,
            allow_methods=METHODS,
            allow_headers=REQUEST_HEADERS,
            expose_headers=RESPONSE_HEADERS,
            max_age=PREFLIGHT_AGE_S,
        )
