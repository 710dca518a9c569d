"""Construction of the HTTP application: routes, errors, metrics, and the description at /docs.

`services/process/serve.py` runs it. It holds no state except metrics; the application produces all answers.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from fastapi import Depends, FastAPI
from prometheus_client import CollectorRegistry
from starlette.responses import Response
from starlette.routing import Match, Route
from starlette.types import Scope

from graphtide.infra.sources.decoder import DirectValues
from graphtide.services.access.event_streams import EventStreams
from graphtide.services.access.gate import AccessGate
from graphtide.services.api.chat.routes import chat_routes
from graphtide.services.api.http.access import AccessMiddleware, permission
from graphtide.services.api.http.direct_routes import DirectRoutes
from graphtide.services.api.http.documentation.description import describe
from graphtide.services.api.http.documentation.docs_page import HEADERS, page
from graphtide.services.api.http.documentation.openapi import encode_large, encoded_reply, run_encoder
from graphtide.services.api.http.errors import handle_errors
from graphtide.services.api.http.middleware import Observation
from graphtide.services.api.http.query_parameters import check_parameters
from graphtide.services.api.http.routes.browse import browse_routes
from graphtide.services.api.http.routes.changes import change_routes
from graphtide.services.api.http.routes.dead_letters import letter_routes
from graphtide.services.api.http.routes.documents import document_routes
from graphtide.services.api.http.routes.graphs import graph_routes
from graphtide.services.api.http.routes.operations import operation_routes
from graphtide.services.api.http.routes.page import page_routes
from graphtide.services.api.http.routes.previews import preview_routes
from graphtide.services.api.http.routes.queries import query_routes
from graphtide.services.api.http.routes.questions import question_routes
from graphtide.services.api.http.transport.disconnects import DisconnectCancellation
from graphtide.services.api.http.transport.pacing import RequestPacing
from graphtide.services.api.mcp.http_endpoint import METHODS, PATH, McpEndpoint
from graphtide.services.api.schema.limits import RequestLimits
from graphtide.services.application import Application

if TYPE_CHECKING:
    from fastapi.telemetry import TelemetryConfig  # older versions have none, and pass over the setting

_SUMMARY = "A knowledge graph that stays current while documents stream in, and answers from it."

_NO_TELEMETRY: TelemetryConfig = {
    "tracing": False,
    "metrics": False,
    "logs": False,
    "operation_spans": False,
    "auto_configure": False,
}
"""FastAPI's telemetry is off: it would export error messages and query strings. `middleware.py` replaces it."""


def create_app(
    application: Application,
    limits: RequestLimits | None = None,
    registry: CollectorRegistry | None = None,
    gate: AccessGate | None = None,
    streams: EventStreams | None = None,
    has_page: bool = True,
    values: DirectValues | None = None,
) -> FastAPI:
    """Return the ASGI application over `application`. /metrics shows `registry`, including metrics registered before;
    without a `gate` the service is open to all callers. `streams` admits event streams, shared with gRPC;
    `has_page`: `/` is the page for browsers; `values` maps CloudEvents to documents.
    """
    limits, registry, gate = limits or RequestLimits(), registry or CollectorRegistry(), gate or AccessGate()
    permitted = permission(gate)
    streams = streams or EventStreams(limits.max_event_streams, limits.max_event_streams_per_caller, registry)
    app = FastAPI(
        title="Graphtide",
        version="1",
        summary=_SUMMARY,
        redirect_slashes=False,
        dependencies=[Depends(permitted), Depends(check_parameters)],
        openapi_url=None,
        docs_url=None,
        redoc_url=None,
        generate_unique_id_function=lambda route: route.name,
        telemetry=_NO_TELEMETRY,
    )
    app.state.permitted = permitted
    routers = (
        document_routes(application, limits, values),
        query_routes(application, limits),
        preview_routes(application, limits),
        question_routes(application, limits, streams, gate),
        graph_routes(application),
        browse_routes(application),
        change_routes(application, streams, gate),
        letter_routes(application, limits),
        operation_routes(application, registry, gate),
        page_routes(has_page),
        chat_routes(application, limits, gate),
    )
    app.router.routes.append(DirectRoutes(route for router in routers for route in router.routes))
    for router in routers:
        app.include_router(router)
    agents = McpEndpoint(application, limits, streams)
    app.router.routes.append(_NamedRoute(PATH, agents, methods=METHODS, include_in_schema=False))
    _add_middleware(app, gate, limits, registry)
    handle_errors(app)
    _add_description(app)
    app.openapi = lambda: _described(app, limits)  # type: ignore[method-assign]
    _resolve_routes(app)
    return app


def _add_middleware(app: FastAPI, gate: AccessGate, limits: RequestLimits, registry: CollectorRegistry) -> None:
    """Add the middleware, the innermost first."""
    app.add_middleware(DisconnectCancellation)
    app.add_middleware(AccessMiddleware, gate=gate, limits=limits)
    app.add_middleware(Observation, registry=registry)
    app.add_middleware(RequestPacing)


class _NamedRoute(Route):
    """A route that metrics and the log name, as they name those of FastAPI."""

    def matches(self, scope: Scope) -> tuple[Match, Scope]:
        match, found = super().matches(scope)
        return match, {**found, "route": self}


def _resolve_routes(app: FastAPI) -> None:
    """Build the models of all routes. FastAPI would build them within the first request of each router, in the event
    loop, for a tenth of a second.
    """
    scope: Scope = {"type": "http", "method": "GET", "path": "/", "headers": []}
    for route in app.routes:
        route.matches(scope)


def _add_description(app: FastAPI) -> None:
    """Add the description, for programs and for readers. It is built in a thread: that takes a tenth of a second."""

    @app.get("/openapi.json", include_in_schema=False)
    async def openapi() -> Response:
        return encoded_reply(await encode_large(app.openapi))

    @app.get("/docs", include_in_schema=False)
    async def docs() -> Response:
        """Return the description as a page for readers."""
        return Response(await run_encoder(lambda: page(app.openapi())), headers=HEADERS, media_type="text/html")


def _described(app: FastAPI, limits: RequestLimits) -> dict[str, Any]:
    """Return the OpenAPI description, built once."""
    if app.openapi_schema is None:
        app.openapi_schema = describe(app, limits)
    return app.openapi_schema
