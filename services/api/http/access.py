"""Access control of HTTP requests: authentication and authorization before a route runs.

The policy is in `services/access`. The action that a route needs follows from its method and path; a route missing from
the table below needs `admin`, so a new route is closed by default. The invariant: no body is read, and no graph looked
up, for a caller without permission.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Coroutine, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext
from typing import Any

from fastapi.routing import APIRoute
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import ASGIApp, Receive, Scope, Send

from graphtide.services.access.credentials import Caller, credentials_sent
from graphtide.services.access.gate import AccessGate, network_of
from graphtide.services.access.limits.body_bytes import BodyBytes, BodyShare
from graphtide.services.access.limits.places import FairPlaces
from graphtide.services.access.policy import ANONYMOUS, EVERY_GRAPH, UNRESTRICTED, Action
from graphtide.services.api.http.errors import error_response
from graphtide.services.api.http.query_parameters import check_parameters
from graphtide.services.api.http.transport.origins import check_page
from graphtide.services.api.schema.limits import RequestLimits
from graphtide.streams.errors import QueryError

OPEN = frozenset({"/", "/healthz", "/readyz", "/docs", "/openapi.json", "/page/{file}"})
"""Path templates without authentication: probes, and the description and the page, which are the same everywhere."""

_PAGE_FILES = "/page/"

METRICS = "/metrics"
LISTING = "/v1/graphs"
CHAT = ("/v1/chat/completions", "/v1/models", "/v1/models/{model:path}")
"""Routes that name the graph in the body or the model's name, and check its permission themselves."""
OWN_RIGHTS = "/v1/caller"
"""The path of what the caller may do. Every caller with a valid credential may read it."""

_BY_METHOD = {"GET": Action.READ, "PUT": Action.WRITE, "DELETE": Action.WRITE}
_BY_ROUTE = {
    ("POST", "/v1/graphs/{graph}/documents"): Action.WRITE,
    ("POST", "/v1/graphs/{graph}/query"): Action.READ,
    ("POST", "/v1/graphs/{graph}/preview"): Action.READ,
    ("POST", "/v1/chat/completions"): Action.READ,
    ("POST", "/v1/graphs/{graph}/dead-letters/{letter}/retry"): Action.WRITE,
}

CALLER_KEY = "graphtide.caller"
"""The key of the caller in a request's scope, for the log and the limits."""


def action_of(method: str, template: str) -> Action:
    """Return the action that a route needs, by its method and path template. Pure."""
    if template == METRICS:
        return Action.METRICS
    return _BY_ROUTE.get((method, template)) or _BY_METHOD.get(method, Action.ADMIN)


def caller_of(request: Request) -> Caller:
    """Return the caller of the request."""
    caller: Caller = request.scope.get(CALLER_KEY, Caller(UNRESTRICTED))
    return caller


SEAT_KEY = "graphtide.seat"
"""The key of the place in a request's scope, released while the body arrives."""

BODIES_A_PLACE = 4
"""Maximum requests with an incomplete body, per request that may be in progress."""


class Seat:
    """The place of one request, released while its body arrives, and the bytes of its body."""

    def __init__(
        self,
        place: Callable[[], AbstractContextManager[None]],
        body: Callable[[], AbstractContextManager[None]],
        received: BodyShare,
    ) -> None:
        self._place = place
        self._body = body
        self.received = received
        self._place_taken = ExitStack()

    def take(self) -> None:
        """Take a place. Raises Overloaded."""
        self._place_taken.enter_context(self._place())

    def leave(self) -> None:
        """Release the place, if one is held."""
        self._place_taken.close()

    def end(self) -> None:
        """Release the place and the bytes of the body: the request is served."""
        self.leave()
        self.received.close()

    @contextmanager
    def waiting(self) -> Iterator[None]:
        """Exchange the place for one of arriving bodies during the block. Raises Overloaded at its beginning and its
        end.
        """
        self.leave()
        with self._body():
            yield
        self.take()


def seat_of(request: Request) -> AbstractContextManager[None]:
    """Return the block in which a request waits for its body."""
    seat: Seat | None = request.scope.get(SEAT_KEY)
    return nullcontext() if seat is None else seat.waiting()


def receive_bytes(request: Request, size: int) -> None:
    """Count bytes of the request's body, which has arrived in part. Raises Overloaded."""
    seat: Seat | None = request.scope.get(SEAT_KEY)
    if seat is not None:
        seat.received.add(size)


class AccessMiddleware:
    """ASGI middleware between observation and the routes: authentication, rate limit, place."""

    def __init__(self, app: ASGIApp, gate: AccessGate, limits: RequestLimits) -> None:
        self._app = app
        self._gate = gate
        self._places = FairPlaces(limits.max_in_flight)
        self._bodies = FairPlaces(BODIES_A_PLACE * limits.max_in_flight, "bodies")
        self._bytes = BodyBytes(limits.max_arriving_bytes)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        gate, path = self._gate, scope["path"]
        if path in OPEN or path.startswith(_PAGE_FILES) or (path == METRICS and gate.metrics_public):
            scope[CALLER_KEY] = self._guest(scope)
            await self._app(scope, receive, send)
            return
        try:
            if gate.is_open:
                check_page(scope)
            caller = scope[CALLER_KEY] = gate.identify(scope["headers"], _peer(scope))
            gate.charge(caller)
            seat = scope[SEAT_KEY] = self._seat(scope, caller)
            seat.take()
        except QueryError as error:
            await error_response(error)(scope, receive, send)
            return
        try:
            await self._app(scope, receive, send)
        finally:
            seat.end()

    def _seat(self, scope: Scope, caller: Caller) -> Seat:
        """Return the place of a request: one of the total and one of the caller's; without credentials, of the
        address's.
        """

        is_call = scope["path"].startswith("/v1/")  # not read in the block: the scope refers to its seat

        @contextmanager
        def place() -> Iterator[None]:
            with self._places.hold("") if is_call else nullcontext(), self._gate.place(caller):
                yield

        name = caller.who.name or network_of(_peer(scope))
        return Seat(place, lambda: self._bodies.hold(name), self._bytes.body(name))

    def _guest(self, scope: Scope) -> Caller:
        """Return the caller of an open path: identified with a valid credential, else anonymous. Refuses no request."""
        if not self._gate.is_open and credentials_sent(scope["headers"]):
            try:
                return self._gate.identify(scope["headers"], _peer(scope))
            except QueryError:
                return Caller(ANONYMOUS)
        return Caller(UNRESTRICTED if self._gate.is_open else ANONYMOUS)


def _peer(scope: Scope) -> str:
    return str((scope.get("client") or ("",))[0])


def permission(gate: AccessGate) -> Callable[[Request], Awaitable[None]]:
    """Return a dependency of every route that raises Forbidden before the route runs if the caller lacks permission."""

    async def permitted(request: Request) -> None:
        template = str(getattr(request.scope["route"], "path", ""))
        if template in OPEN or template == OWN_RIGHTS or (template == METRICS and gate.metrics_public):
            return
        graph = request.path_params.get("graph")
        if graph is None and template not in (LISTING, METRICS, *CHAT):
            graph = EVERY_GRAPH
        gate.permit(caller_of(request), action_of(request.method, template), graph)

    return permitted


class DirectRoute(APIRoute):
    """A route whose endpoint takes the request and the path's parameters, and validates them itself.

    FastAPI describes it. Solving its dependencies, which are only the permission and the check of query parameters,
    would cost as much as a look-up.
    """

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        """See APIRoute."""
        endpoint = self.endpoint
        names = {field.alias: field.name for field in self.dependant.path_params}

        async def handle(request: Request) -> Response:
            await request.app.state.permitted(request)
            await check_parameters(request)
            response: Response = await endpoint(
                request, **{names[alias]: value for alias, value in request.path_params.items()}
            )
            return response

        return handle
