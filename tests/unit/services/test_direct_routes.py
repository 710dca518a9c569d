"""The table of a graph's routes chooses the routes that FastAPI chooses, with the same responses."""

from __future__ import annotations

import asyncio

import httpx
import pytest
from fastapi import FastAPI
from starlette.types import Receive, Scope, Send

from graphtide.services.api.http.access import DirectRoute
from graphtide.services.api.http.app import create_app
from graphtide.services.api.http.direct_routes import DirectRoutes
from tests.support.application import InMemoryApplication

METHODS = ("DELETE", "GET", "HEAD", "PATCH", "POST", "PUT")
ENDS = (
    *("documents", "documents/a", "documents/a/b", "documents/a/related", "documents/a/b/related", "documents/"),
    *("entities", "entities/e", "entities/e/group", "entities/e/neighbourhood", "entities/e/other", "documents%0A"),
    *("communities", "communities/7", "tokens/0:1", "tokens/0:1/x", "tokens/0:1?wait=1", "query", "stats", "other", ""),
    *("dead-letters", "dead-letters/l/retry", "questions", "questions/q/events", "changes", "digest"),
)
PATHS = (
    "/v1/graphs",
    "/v1/graphs/g",
    *(f"/v1/graphs/{graph}/{end}" for graph in ("g", "a%2Fb", "%20") for end in ENDS),
)


@pytest.mark.parametrize("method", METHODS)
def test_table_changes_no_route_and_no_response(method: str) -> None:
    with_table, without = create_app(InMemoryApplication()), create_app(InMemoryApplication())
    without.router.routes[:] = [route for route in without.routes if not isinstance(route, DirectRoutes)]
    for path in PATHS:
        expected = asyncio.run(asked(without, method, path))
        assert asyncio.run(asked(with_table, method, path)) == expected, path


@pytest.mark.parametrize(
    ("method", "path", "template"),
    [
        ("PUT", "/v1/graphs/g/documents/a/b", "/v1/graphs/{graph}/documents/{id:document_id}"),
        ("GET", "/v1/graphs/g/documents/a/related", "/v1/graphs/{graph}/documents/{id:document_id}/related"),
        ("GET", "/v1/graphs/g/tokens/0:1", "/v1/graphs/{graph}/tokens/{token}"),
        ("POST", "/v1/graphs/g/query", "/v1/graphs/{graph}/query"),
    ],
)
def test_table_has_the_routes_that_are_called_most(method: str, path: str, template: str) -> None:
    [table] = (route for route in create_app(InMemoryApplication()).routes if isinstance(route, DirectRoutes))
    route = table.matches({"type": "http", "method": method, "path": path})[1]["route"]
    assert isinstance(route, DirectRoute)
    assert route.path == template


async def asked(app: FastAPI, method: str, path: str) -> tuple[object, ...]:
    """Return the status and the body of the response, the route and the parameters in its path."""
    scopes: list[Scope] = []

    async def observed(scope: Scope, receive: Receive, send: Send) -> None:
        scopes.append(scope)
        await app(scope, receive, send)

    async with httpx.AsyncClient(transport=httpx.ASGITransport(observed), base_url="http://service") as client:
        response = await client.request(method, path, timeout=30)
    route = getattr(scopes[0].get("route"), "path", None)
    return response.status_code, response.content, route, scopes[0].get("path_params")
