"""Installation of the tracer that the settings configure; a part of the wiring.

The invariant: without an endpoint nothing of OpenTelemetry is loaded.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from prometheus_client import CollectorRegistry

from graphtide.infra.settings import Settings
from graphtide.streams.errors import Broken
from graphtide.streams.tracing import installed


@asynccontextmanager
async def traced(settings: Settings, process: str, registry: CollectorRegistry | None = None) -> AsyncIterator[None]:
    """Export the spans of this process to the collector in the settings, if one is set, until the block ends.

    `registry` counts their outcomes.

    Raises Broken when the packages for it are not installed.
    """
    if not settings.otlp_endpoint:
        yield
        return
    try:
        from graphtide.infra.observability.span_exporter import SpanOutcomes
        from graphtide.infra.observability.tracing import OtlpTracer
    except ImportError as error:
        raise Broken(
            f"GRAPHTIDE_OTLP_ENDPOINT is set, and {error.name} is not installed: pip install 'graphtide[tracing]'"
        ) from error
    outcomes = SpanOutcomes(registry or CollectorRegistry())
    tracer = OtlpTracer(settings.otlp_endpoint, settings.otlp_sample_ratio, process, outcomes)
    try:
        with installed(tracer):
            yield
    finally:
        await tracer.close()
