"""HTTP responses of errors, all in one format. `services/api/schema/errors.py` maps errors to statuses.

`header_limits.py` drops the rest of a refused body, and closes the connection of a sender that continues.
"""

from __future__ import annotations

import logging
import math

from fastapi import FastAPI
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.routing import Match

from graphtide.services.api.schema.errors import Unauthenticated, error_body, retry_after_s, status_of
from graphtide.services.api.schema.shapes import dump
from graphtide.streams.errors import GraphtideError, Invalid

_CODES = {404: "not_found", 405: "method_not_allowed"}
_log = logging.getLogger("graphtide.http")


def error_response(error: GraphtideError) -> Response:
    """Return the response that reports `error` to the caller."""
    headers = {}
    wait_s = retry_after_s(error)
    if wait_s is not None:
        headers["retry-after"] = str(max(1, math.ceil(wait_s)))  # the header allows whole seconds only
    if isinstance(error, Unauthenticated):
        headers["www-authenticate"] = 'Bearer realm="graphtide"'
    return Response(dump(error_body(error)), status_of(error).http, headers, "application/json")


def handle_errors(app: FastAPI) -> None:
    """Register handlers that return every error of the routes in the format of the contract."""
    app.add_exception_handler(GraphtideError, _ours)
    app.add_exception_handler(RequestValidationError, _parameters)
    app.add_exception_handler(HTTPException, _frameworks)
    app.add_exception_handler(ClientDisconnect, _gone)
    app.add_exception_handler(Exception, _bug)


async def _ours(request: Request, error: Exception) -> Response:
    if not isinstance(error, GraphtideError):
        raise error
    status = status_of(error)
    if status.http == 500:
        _log.error("%s %s failed: %s", request.method, request.url.path, error)
    return error_response(error)


async def _parameters(_: Request, error: Exception) -> Response:
    """Return the response for a parameter that FastAPI refuses, such as a flag that is neither true nor false."""
    if not isinstance(error, RequestValidationError):
        raise error
    first = error.errors()[0]
    return error_response(Invalid(str(first["loc"][-1])[:200], first["msg"].replace("Input should be", "must be")))


async def _frameworks(request: Request, error: Exception) -> Response:
    if not isinstance(error, HTTPException):
        raise error
    path = request.url.path[:200]
    message = {
        404: f"unknown path {path}; /docs lists all paths",
        405: f"{path} does not support {request.method}; /docs lists the methods",
    }.get(error.status_code, str(error.detail))
    body = {"error": {"code": _CODES.get(error.status_code, "refused"), "message": message}}
    headers = {"allow": _allowed(request)} if error.status_code == 405 else error.headers
    return Response(dump(body), error.status_code, headers, "application/json")


def _allowed(request: Request) -> str:
    """Return the methods that any route supports on this path; the framework names those of the first route only."""
    found = [
        method
        for method in ("DELETE", "GET", "POST", "PUT")
        if any(route.matches({**request.scope, "method": method})[0] is Match.FULL for route in request.app.routes)
    ]
    return ", ".join(sorted([*found, "HEAD"] if "GET" in found else found))


async def _gone(_: Request, __: Exception) -> Response:
    return Response(status_code=400)  # the client has disconnected and does not read it


async def _bug(_: Request, __: Exception) -> Response:
    body = {
        "error": {
            "code": "internal",
            "message": "the service failed because of an internal error; its log has the details",
        }
    }
    return Response(dump(body), 500, media_type="application/json")
