"""Health and metrics of a process without another HTTP interface: no application, and no credentials.

The pages contain no document and no secret, but are meant for operators: the process listens on loopback unless the
settings change that.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

from prometheus_client import CONTENT_TYPE_LATEST, CollectorRegistry, generate_latest
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from graphtide.services.api.schema.shapes import dump, fields_json
from graphtide.services.application import Health
from graphtide.services.component_state import degraded
from graphtide.streams.errors import GraphtideError

JSON = "application/json"


def probes(health: Callable[[], Awaitable[Health]], registry: CollectorRegistry) -> Starlette:
    """Return the ASGI application of the probes."""

    async def healthz(_: Request) -> Response:
        return Response(dump({"status": "alive"}), media_type=JSON)

    async def readyz(_: Request) -> Response:
        try:
            state = await health()
        except GraphtideError as error:
            state = Health(False, {"worker": degraded(str(error))})
        return Response(dump(fields_json(state, old_names=True)), 200 if state.ready else 503, media_type=JSON)

    async def metrics(_: Request) -> Response:
        return Response(await asyncio.to_thread(generate_latest, registry), media_type=CONTENT_TYPE_LATEST)

    routes = {"/healthz": healthz, "/readyz": readyz, "/metrics": metrics}
    return Starlette(routes=[Route(path, answer) for path, answer in routes.items()])
