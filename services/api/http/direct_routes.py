"""Table of the routes of one graph, by method and the word after the graph's name.

FastAPI compares a path with the patterns of all routes before the right one, some of them twice, and enters two exit
stacks for dependencies. Both together cost as much as a look-up. The table tries the few routes with the same word, and
calls the handler of a `DirectRoute`, which has no dependencies to solve.

Invariant: the table finds the route that FastAPI would find, or none; then FastAPI continues, with its errors.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable

from fastapi.routing import APIRoute
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Match
from starlette.types import Receive, Scope, Send

from graphtide.services.api.http.access import DirectRoute

_GRAPH = "/v1/graphs/"
_WORD = 4
"""Place of the word in a path such as /v1/graphs/notes/documents/curie, split at its slashes."""


Handler = Callable[[Request], Awaitable[Response]]

_HANDLER_KEY = "graphtide.handler"
"""The key of the handler in a request's scope, from the match to the call."""


class DirectRoutes(BaseRoute):
    """The table, as the first route of an application, before the routers that have the same routes."""

    def __init__(self, routes: Iterable[BaseRoute]) -> None:
        """Create the table of all `routes` of the application, in their order."""
        self._routes: dict[tuple[str, str], list[tuple[APIRoute, Handler | None]]] = {}
        for route in routes:
            if isinstance(route, APIRoute) and (word := _word(route.path)):
                handler = route.get_route_handler() if isinstance(route, DirectRoute) else None
                for method in route.methods or ():
                    self._routes.setdefault((method, word), []).append((route, handler))

    def matches(self, scope: Scope) -> tuple[Match, Scope]:
        """See BaseRoute. Cost: the routes of the method and the word."""
        path = scope["path"]
        for route, handler in self._routes.get((scope.get("method", ""), _word(path)), ()):
            if found := route.path_regex.match(path):
                return (Match.NONE, {}) if handler is None else (Match.FULL, _scope(route, handler, found.groupdict()))
        return Match.NONE, {}

    async def handle(self, scope: Scope, receive: Receive, send: Send) -> None:
        """See BaseRoute. Errors are those of the handler: the application turns them into responses."""
        handler: Handler = scope[_HANDLER_KEY]
        response = await handler(Request(scope, receive, send))
        await response(scope, receive, send)


def _scope(route: APIRoute, handler: Handler, values: dict[str, str]) -> Scope:
    """Return what the route adds to a request's scope."""
    converters = route.param_convertors
    parameters = {name: converters[name].convert(value) for name, value in values.items()}
    return {"route": route, "endpoint": route.endpoint, "path_params": parameters, _HANDLER_KEY: handler}


def _word(path: str) -> str:
    """Return the word after the graph in a path or a template; "" where there is none."""
    if not path.startswith(_GRAPH):
        return ""
    parts = path.split("/", _WORD + 1)
    return parts[_WORD] if len(parts) > _WORD else ""
