"""The grpc.health.v1 service: SERVING exactly when /readyz reports ready."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

from grpc.aio import ServicerContext
from grpc_health.v1 import health_pb2, health_pb2_grpc

from graphtide.services.access.gate import AccessGate
from graphtide.services.application import Application
from graphtide.services.health import readiness
from graphtide.streams.errors import GraphtideError, NotFound

_WATCH_S = 1.0


class ApplicationHealth(health_pb2_grpc.HealthServicer):  # type: ignore[misc]
    """Health service that queries the application at each call, so it is never out of date."""

    def __init__(self, application: Application, services: tuple[str, ...], gate: AccessGate) -> None:
        self._application = application
        self._services = services
        self._gate = gate

    async def Check(  # noqa: N802
        self, request: health_pb2.HealthCheckRequest, _: ServicerContext
    ) -> health_pb2.HealthCheckResponse:
        if request.service not in self._services:
            raise NotFound(
                f"unknown service {request.service[:80]}; known are {', '.join(filter(None, self._services))}"
            )
        return await self._response()

    async def Watch(  # noqa: N802
        self, request: health_pb2.HealthCheckRequest, _: ServicerContext
    ) -> AsyncIterator[health_pb2.HealthCheckResponse]:
        """Yield the status, and again after each change; end the stream when the process drains.

        Otherwise the server would wait for it at shutdown.
        """
        last = None
        while True:
            response = await self._response()
            if request.service not in self._services:
                response = health_pb2.HealthCheckResponse(status=health_pb2.HealthCheckResponse.SERVICE_UNKNOWN)
            if response.status != last:
                last = response.status
                yield response
            if self._gate.draining:
                return
            await asyncio.sleep(_WATCH_S)

    async def _response(self) -> health_pb2.HealthCheckResponse:
        try:
            ready = (await readiness(self._application, self._gate)).ready
        except GraphtideError:
            ready = False
        known = health_pb2.HealthCheckResponse
        return known(status=known.SERVING if ready else known.NOT_SERVING)
