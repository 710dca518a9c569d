"""The routes of whole graphs: statistics, entities, reports, digest, deletion, verification, rebuild and purge."""

from __future__ import annotations

from fastapi import APIRouter
from starlette.requests import Request
from starlette.responses import Response

from graphtide.services.api.http.documentation.openapi import AT, GraphPath, errors, graph_in, large_reply, reply
from graphtide.services.api.http.documentation.response_models import (
    DeletedGraphBody,
    DigestBody,
    EntityDetailsBody,
    PurgedBody,
    RebuiltBody,
    ReportList,
    StatsBody,
    VerificationBody,
)
from graphtide.services.api.schema.requests import browsing as requests
from graphtide.services.api.schema.shapes import fields_json, reports_json
from graphtide.services.application import Application

_ERRORS = errors(404, 422, 429, 503)
REPORT_CHARS = 1_000
"""Approximate size of a report in a response."""


def graph_routes(application: Application) -> APIRouter:
    """Routes over `application`."""
    router = APIRouter(tags=["graphs"])
    _add_views(router, application)
    _add_deletion(router, application)
    _add_checks(router, application)
    return router


def _add_views(router: APIRouter, application: Application) -> None:
    @router.get("/v1/graphs/{graph}/stats", responses={200: {"model": StatsBody}, **_ERRORS})
    async def get_stats(request: Request, graph: GraphPath) -> Response:
        """Return the counts of live content, the graph's version, and its lag."""
        return reply(fields_json(await application.stats(graph_in(request, graph))))

    @router.get(
        "/v1/graphs/{graph}/entities/{entity_id}",
        responses={200: {"model": EntityDetailsBody}, **_ERRORS, **errors(410, 504)},
        openapi_extra={"parameters": [AT]},
    )
    async def get_entity(request: Request, graph: GraphPath, entity_id: str) -> Response:
        """Return an entity by its id in a subgraph: its labels, and the evidence of each merge."""
        at = requests.past_version(request.query_params.get("at"))
        return reply(fields_json(await application.entity(graph_in(request, graph), entity_id, at), old_names=True))

    @router.get("/v1/graphs/{graph}/reports", responses={200: {"model": ReportList}, **_ERRORS})
    async def list_reports(request: Request, graph: GraphPath) -> Response:
        """Return the reports of the graph's communities, the coarsest first. Each cites live chunks only."""
        found = await application.reports(graph_in(request, graph))
        return await large_reply(lambda: reports_json(found), REPORT_CHARS * len(found))

    @router.get(
        "/v1/graphs/{graph}/digest",
        responses={200: {"model": DigestBody}, **_ERRORS, **errors(410, 504)},
        openapi_extra={"parameters": [AT]},
    )
    async def get_digest(request: Request, graph: GraphPath) -> Response:
        """Return the canonical digest of the graph: equal for equal sets of live documents in any order."""
        at = requests.past_version(request.query_params.get("at"))
        return reply(fields_json(await application.digest(graph_in(request, graph), at)))


def _add_deletion(router: APIRouter, application: Application) -> None:
    @router.delete(
        "/v1/graphs/{graph}",
        status_code=202,
        responses={202: {"model": DeletedGraphBody}, **_ERRORS},
        openapi_extra={"parameters": [_WAIT]},
    )
    async def delete_graph(request: Request, graph: GraphPath) -> Response:
        """Delete a graph with all its documents. The name may be used again at once.

        The deletion covers what was accepted before it. It continues after a crash; `deleted` says whether it is done.
        """
        wait_s = requests.wait_seconds(request.query_params, requests.DELETION_WAIT_S)
        return reply(fields_json(await application.delete_graph(graph_in(request, graph), wait_s)), 202)


_WAIT = {
    "name": "wait_s",
    "in": "query",
    "required": False,
    "description": "how long to wait until nothing of the graph is left, in seconds",
    "schema": {
        "type": "number",
        "minimum": 0,
        "maximum": requests.MAX_WAIT_S,
        "default": requests.DELETION_WAIT_S,
    },
}


def _add_checks(router: APIRouter, application: Application) -> None:
    @router.post("/v1/graphs/{graph}/verify", responses={200: {"model": VerificationBody}, **_ERRORS})
    async def verify_graph(request: Request, graph: GraphPath) -> Response:
        """Compute all derived data again, and return the differences from the stored data."""
        return reply(fields_json(await application.verify(graph_in(request, graph))))

    @router.post("/v1/purge", responses={200: {"model": PurgedBody}, **errors(429, 503)})
    async def purge() -> Response:
        """Delete the remains of deleted documents from the files, in all graphs. Needs `admin` of every graph."""
        return reply(fields_json(await application.purge()))

    @router.post("/v1/graphs/{graph}/rebuild", responses={200: {"model": RebuiltBody}, **_ERRORS})
    async def rebuild_graph(request: Request, graph: GraphPath) -> Response:
        """Rebuild the graph from the extractions of its live documents, and replace it by the result."""
        return reply(fields_json(await application.rebuild(graph_in(request, graph))))
