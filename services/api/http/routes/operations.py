"""The routes for operators: liveness, readiness, metrics."""

from __future__ import annotations

import asyncio

from fastapi import APIRouter
from prometheus_client import CONTENT_TYPE_LATEST, CollectorRegistry, generate_latest
from starlette.requests import Request
from starlette.responses import Response

from graphtide.services.access.gate import AccessGate
from graphtide.services.access.policy import Action, refusal
from graphtide.services.api.http.access import caller_of
from graphtide.services.api.http.documentation.openapi import errors, reply
from graphtide.services.api.http.documentation.response_models import Alive, CallerBody, HealthBody
from graphtide.services.api.schema.shapes import fields_json
from graphtide.services.application import Application
from graphtide.services.health import in_outline, readiness


def operation_routes(application: Application, registry: CollectorRegistry, gate: AccessGate) -> APIRouter:
    """Routes over `application` and the metrics in `registry`."""
    router = APIRouter(tags=["operation"])

    @router.get("/healthz", responses={200: {"model": Alive}})
    async def get_liveness() -> Response:
        """Report that the process is alive. /readyz reports whether it can serve."""
        return reply({"status": "alive"})

    @router.get("/readyz", responses={200: {"model": HealthBody}, 503: {"model": HealthBody}})
    async def get_readiness(request: Request) -> Response:
        """Report whether every component is ready, and the state of each: with details for callers that may read
        /metrics.
        """
        health = await readiness(application, gate)
        if refusal(caller_of(request).who, Action.METRICS, None) is not None:
            health = in_outline(health)
        return reply(fields_json(health, old_names=True), 200 if health.ready else 503)

    @router.get("/v1/caller", responses={200: {"model": CallerBody}, **errors(429)})
    async def get_caller(request: Request) -> Response:
        """Return what the credential of the request grants: its name, actions, and graphs (names or patterns)."""
        who = caller_of(request).who
        return reply({"name": who.name, "actions": sorted(who.actions), "graphs": list(who.graphs)})

    @router.get("/metrics", responses={200: {"content": {"text/plain": {"schema": {"type": "string"}}}}})
    async def get_metrics() -> Response:
        """Return the Prometheus metrics, in a thread: the sizes of an index wait while it changes."""
        return Response(await asyncio.to_thread(generate_latest, registry), media_type=CONTENT_TYPE_LATEST)

    return router
