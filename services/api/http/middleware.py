"""Observation of every request: counts, latencies and one log line.

A request to the API begins a span or continues the caller's trace (`traceparent`), and its response names the trace.
The invariants: labels are bounded (route templates, known methods, statuses), and neither bodies nor headers are
logged.
"""

from __future__ import annotations

import logging
import time

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from graphtide.services.api.http.access import CALLER_KEY
from graphtide.streams.tracing import SILENCE, TRACE_HEADERS, Headers, Span, SpanRole, continue_trace, trace_id

_BUCKETS_S = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0)
_METHODS = frozenset({"GET", "PUT", "POST", "DELETE", "HEAD", "OPTIONS"})
TRACE_ID = "x-trace-id"
HEAD_KEY = "graphtide.head"
"""The key in a request's scope that is set for HEAD, which routes see as GET: an endless response ends at once."""
_CARRIERS = frozenset(name.encode() for name in TRACE_HEADERS)
_access = logging.getLogger("graphtide.access")


class Observation:
    """ASGI middleware that measures, logs and traces the requests."""

    def __init__(self, app: ASGIApp, registry: CollectorRegistry) -> None:
        labels = ("method", "route", "status")
        self._app = app
        self._requests = Counter("graphtide_http_requests", "HTTP requests", labels, registry=registry)
        self._seconds = Histogram(
            "graphtide_http_request_seconds", "Time to answer", labels[:2], registry=registry, buckets=_BUCKETS_S
        )
        self._in_flight = Gauge("graphtide_http_requests_in_flight", "HTTP requests in progress", registry=registry)
        self._running = 0

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        status, started = 500, time.perf_counter()

        async def watched(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                message = _naming_its_trace(message)
            await send(message)

        self._count_running(1)
        # HEAD is GET without the body, which the server omits, so the routes only implement GET.
        asked = {**scope, "method": "GET", HEAD_KEY: True} if scope["method"] == "HEAD" else scope
        with _begun(scope) as span:
            try:
                await self._app(asked, receive, watched)
            finally:
                self._count_running(-1)
                self._note({**asked, "method": scope["method"]}, status, time.perf_counter() - started)
                _tell(span, asked, status)

    def _count_running(self, change: int) -> None:
        self._running += change
        self._in_flight.set(self._running)

    def _note(self, scope: Scope, status: int, seconds: float) -> None:
        route = getattr(scope.get("route"), "path", "unmatched")
        method = _method(scope)
        self._requests.labels(method, route, str(status)).inc()
        self._seconds.labels(method, route).observe(seconds)
        if _access.isEnabledFor(logging.INFO):
            client, caller = (scope.get("client") or ("",))[0], scope.get(CALLER_KEY)
            attributes = {"method": scope["method"][:16], "path": scope["path"][:600], "route": route, "status": status}
            attributes |= {"ms": round(seconds * 1000, 2), "client": client, "key": caller.who.name if caller else ""}
            _access.info("request", extra=attributes)


def _begun(scope: Scope) -> Span:
    """Return the span of a request. Probes and metrics, which are polled, have none."""
    if not scope["path"].startswith("/v1/"):
        return SILENCE
    headers: Headers = tuple((name.decode(), value) for name, value in scope["headers"] if name in _CARRIERS)
    return continue_trace(f"HTTP {_method(scope)}", [headers], SpanRole.SERVER)


def _method(scope: Scope) -> str:
    return scope["method"] if scope["method"] in _METHODS else "OTHER"


def _tell(span: Span, scope: Scope, status: int) -> None:
    route = getattr(scope.get("route"), "path", "unmatched")
    span.rename(f"{_method(scope)} {route}")
    span.note(**{"http.request.method": _method(scope), "http.route": route, "http.response.status_code": status})


def _naming_its_trace(message: Message) -> Message:
    trace = trace_id()
    named = (TRACE_ID.encode(), trace.encode())
    return {**message, "headers": [*message.get("headers", ()), named]} if trace else message
