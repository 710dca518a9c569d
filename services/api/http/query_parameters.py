"""Refusal of unknown query parameters: a misspelt filter is an error and not a longer list, and a field of a body that
is sent as a parameter an error and not a default.

A route knows the parameters that its description names. Only routes of the API are checked: probes and scrapers append
parameters of their own to `/healthz` and `/metrics`, as clients of language models do to `/v1/models`.
"""

from __future__ import annotations

from fastapi.routing import APIRoute
from starlette.requests import Request

from graphtide.streams.errors import Invalid

_API = "/v1/"


async def check_parameters(request: Request) -> None:
    """Raise Invalid for a query parameter that the route's description does not name, before a body is read."""
    if not request.query_params:
        return
    route = request.scope["route"]
    if not isinstance(route, APIRoute) or not route.include_in_schema or not route.path.startswith(_API):
        return
    known = _named_parameters(route)
    unknown = next((name for name in request.query_params if name not in known), None)
    if unknown is not None:
        remedy = f"known are {', '.join(sorted(known))}" if known else "this path has none"
        if request.method in {"PUT", "POST"}:
            remedy += "; fields of the request belong into its body"
        raise Invalid(unknown[:200], f"is an unknown query parameter; {remedy}")


def _named_parameters(route: APIRoute) -> frozenset[str]:
    described = (route.openapi_extra or {}).get("parameters", ())
    named = {parameter["name"] for parameter in described if parameter["in"] == "query"}
    return frozenset(named | {field.alias for field in route.dependant.query_params})
