"""The routes of lists: graphs, documents, entities, the neighbourhood of one, communities; the wait for a token."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Path
from starlette.requests import Request
from starlette.responses import Response

from graphtide.graph.browsing.group import MAX_K
from graphtide.graph.browsing.neighbourhood import MAX_NODES
from graphtide.graph.communities.types import DEPTH
from graphtide.services.access.policy import visible
from graphtide.services.api.http.access import DirectRoute, caller_of
from graphtide.services.api.http.documentation.browse_models import (
    CohesiveGroupBody,
    CommunityDetailsBody,
    CommunityPageBody,
    DocumentPageBody,
    EntityPageBody,
    GraphPageBody,
    NeighbourhoodBody,
    TokenStateBody,
)
from graphtide.services.api.http.documentation.openapi import (
    AT,
    CURSOR,
    GraphPath,
    errors,
    graph_in,
    large_reply,
    reply,
)
from graphtide.services.api.schema.requests import browsing as requests
from graphtide.services.api.schema.shapes import fields_json, page_json
from graphtide.services.application import Application
from graphtide.services.browsing import DEFAULT_LIMIT, DEFAULT_NODES, MAX_HOPS, MAX_LIMIT, EntitySort
from graphtide.services.inspection.graph_pages import graphs_page
from graphtide.streams.errors import Invalid
from graphtide.streams.ports import RevisionState

CommunityNumber = Annotated[
    str,
    Path(description="a community's number", examples=["1"], json_schema_extra={"pattern": "^[0-9]{1,18}$"}),
]
TokenPath = Annotated[
    str,
    Path(
        description="a token of publishing, or of a change",
        examples=["0:1"],
        json_schema_extra={"pattern": f"^{requests.TOKEN_PATTERN}$"},
    ),
]
_ERRORS = errors(404, 410, 422, 429, 503, 504)
ROW_CHARS = 150
"""Approximate size of a listed item in a response, in characters."""


def browse_routes(application: Application) -> APIRouter:
    """Routes over `application`."""
    router = APIRouter(tags=["browse"], route_class=DirectRoute)
    _add_lists(router, application)
    _add_entity(router, application)
    _add_communities(router, application)
    _add_token(router, application)
    return router


def _add_lists(router: APIRouter, application: Application) -> None:
    @router.get(
        "/v1/graphs",
        responses={200: {"model": GraphPageBody}, **errors(422, 429, 503)},
        openapi_extra=_parameters(*_paged(MAX_LIMIT)),
    )
    async def list_graphs(request: Request) -> Response:
        """List the graphs that the caller may read, with their versions and numbers of live documents."""
        limit, cursor = requests.graph_page(request.query_params)
        found = await application.graph_summaries()
        names = visible(caller_of(request).who, sorted(found))
        return reply(page_json(graphs_page([found[name] for name in names], limit, cursor)))

    @router.get(
        "/v1/graphs/{graph}/documents",
        responses={200: {"model": DocumentPageBody}, **_ERRORS},
        openapi_extra=_parameters(
            _text("prefix", "only ids that begin with it"),
            _enum("state", [state.value for state in RevisionState], "state of the newest revision; not deleted"),
            _text("source", "only documents of this source"),
            *_paged(DEFAULT_LIMIT),
        ),
    )
    async def list_documents(request: Request, graph: GraphPath) -> Response:
        """List the documents of a graph by id. Deleted ones are listed only with `state=deleted`."""
        query = requests.document_query(request.query_params)
        found = await application.list_documents(graph_in(request, graph), query)
        return await large_reply(lambda: page_json(found), ROW_CHARS * len(found.documents))

    @router.get(
        "/v1/graphs/{graph}/entities",
        responses={200: {"model": EntityPageBody}, **_ERRORS},
        openapi_extra=_parameters(
            _text("q", "only entities with it in their name or a label"),
            _text("type", "only entities of this type"),
            _enum("sort", [sort.value for sort in EntitySort], "order of the list"),
            AT,
            *_paged(DEFAULT_LIMIT),
        ),
    )
    async def list_entities(request: Request, graph: GraphPath) -> Response:
        """List the entities of a graph. The order is that of the first page, while the graph changes."""
        query = requests.entity_query(request.query_params)
        found = await application.list_entities(graph_in(request, graph), query)
        return await large_reply(lambda: page_json(found), ROW_CHARS * len(found.entities))


def _add_entity(router: APIRouter, application: Application) -> None:
    @router.get(
        "/v1/graphs/{graph}/entities/{entity_id}/neighbourhood",
        responses={200: {"model": NeighbourhoodBody}, **_ERRORS},
        openapi_extra=_parameters(_number("hops", 1, 1, MAX_HOPS), _number("limit", DEFAULT_NODES, 1, MAX_NODES)),
    )
    async def get_neighbourhood(request: Request, graph: GraphPath, entity_id: str) -> Response:
        """Return the entities around one, the nearest and most strongly connected first, and the edges between them."""
        hops, limit = requests.neighbourhood_size(request.query_params)
        found = await application.neighbourhood(graph_in(request, graph), entity_id, hops, limit)
        return await large_reply(lambda: fields_json(found), ROW_CHARS * (len(found.nodes) + len(found.edges)))

    @router.get(
        "/v1/graphs/{graph}/entities/{entity_id}/group",
        responses={200: {"model": CohesiveGroupBody}, **_ERRORS},
        openapi_extra=_parameters(_number("k", None, 2, MAX_K), _number("limit", DEFAULT_NODES, 1, MAX_NODES)),
    )
    async def get_group(request: Request, graph: GraphPath, entity_id: str) -> Response:
        """Return the cohesive group of an entity: the connected k-truss that holds it, by default of the largest k."""
        k, limit = requests.group_size(request.query_params)
        found = await application.group(graph_in(request, graph), entity_id, k, limit)
        return await large_reply(lambda: fields_json(found), ROW_CHARS * (len(found.nodes) + len(found.edges)))


def _add_communities(router: APIRouter, application: Application) -> None:
    @router.get(
        "/v1/graphs/{graph}/communities",
        responses={200: {"model": CommunityPageBody}, **_ERRORS},
        openapi_extra=_parameters(_number("level", 0, 0, DEPTH - 1), *_paged(DEFAULT_LIMIT)),
    )
    async def list_communities(request: Request, graph: GraphPath) -> Response:
        """List the communities of a level, 0 the finest, in the order of their numbers."""
        level, limit, cursor = requests.community_page(request.query_params)
        found = await application.list_communities(graph_in(request, graph), level, limit, cursor)
        return await large_reply(lambda: page_json(found), ROW_CHARS * len(found.communities))

    @router.get(
        "/v1/graphs/{graph}/communities/{community}",
        responses={200: {"model": CommunityDetailsBody}, **_ERRORS},
    )
    async def get_community(request: Request, graph: GraphPath, community: CommunityNumber) -> Response:
        """Return a community: its sub-communities, its entities, its report."""
        if not community.isascii() or not community.isdigit() or len(community) > 18:
            raise Invalid("community", f"{community[:40]!r} is not the number of a community")
        found = await application.community(graph_in(request, graph), int(community))
        return await large_reply(lambda: fields_json(found), ROW_CHARS * (len(found.members) + len(found.children)))


def _add_token(router: APIRouter, application: Application) -> None:
    @router.get(
        "/v1/graphs/{graph}/tokens/{token}",
        responses={200: {"model": TokenStateBody}, **_ERRORS},
        openapi_extra=_parameters(
            {
                "name": "wait_s",
                "in": "query",
                "required": False,
                "description": "how long to wait for the token, in seconds",
                "schema": {
                    "type": "number",
                    "minimum": 0,
                    "maximum": requests.MAX_WAIT_S,
                    "default": requests.DEFAULT_WAIT_S,
                },
            }
        ),
    )
    async def get_token(request: Request, graph: GraphPath, token: TokenPath) -> Response:
        """Wait until the graph includes a token of publishing: one wait for a whole bulk load."""
        wait_s = requests.wait_seconds(request.query_params)
        return reply(fields_json(await application.token_state(graph_in(request, graph), token, wait_s)))


def _parameters(*parameters: dict[str, Any]) -> dict[str, Any]:
    return {"parameters": list(parameters)}


def _parameter(name: str, schema: dict[str, Any], description: str) -> dict[str, Any]:
    return {"name": name, "in": "query", "required": False, "description": description, "schema": schema}


def _text(name: str, description: str) -> dict[str, Any]:
    return _parameter(name, {"type": "string", "maxLength": requests.MAX_TEXT}, description)


def _enum(name: str, values: list[str], description: str) -> dict[str, Any]:
    return _parameter(name, {"type": "string", "enum": values}, description)


def _number(name: str, default: int | None, minimum: int, maximum: int) -> dict[str, Any]:
    schema = {"type": "integer", "minimum": minimum, "maximum": maximum}
    schema |= {} if default is None else {"default": default}
    return _parameter(name, schema, f"{minimum} to {maximum}")


def _paged(default: int) -> tuple[dict[str, Any], dict[str, Any]]:
    return _number("limit", default, 1, MAX_LIMIT), _parameter("cursor", CURSOR, "the `next` of the page before")
