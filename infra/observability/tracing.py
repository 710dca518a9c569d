"""Spans to an OpenTelemetry collector, by OTLP over HTTP. Loaded only if an endpoint is set.

The stages decide what has a span (`streams/tracing.py`); `infra/observability/span_exporter.py` sends them. Invariant:
no exception's message is sent, since it may quote a document.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar, Token
from threading import Thread
from types import TracebackType
from typing import Self

from opentelemetry.context import Context
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.sampling import ParentBased, TraceIdRatioBased
from opentelemetry.trace import Link, NonRecordingSpan, SpanContext, SpanKind, StatusCode
from opentelemetry.trace import Span as OtelSpan
from opentelemetry.trace.propagation import get_current_span, set_span_in_context
from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

from graphtide.infra.observability.span_exporter import BoundedSpanExporter, SpanOutcomes
from graphtide.streams.tracing import TRACE_HEADERS, Attributes, Headers, Span, SpanRole

PATH = "/v1/traces"
TIMEOUT_S = 5.0
"""Timeout of one request to the collector, its retries included."""
CLOSE_S = 3.0
MAX_HEADER_BYTES = 512
"""The minimum that W3C Trace Context asks to propagate; more would be stored with every record."""

_KINDS = {
    SpanRole.INTERNAL: SpanKind.INTERNAL,
    SpanRole.SERVER: SpanKind.SERVER,
    SpanRole.CLIENT: SpanKind.CLIENT,
    SpanRole.PRODUCER: SpanKind.PRODUCER,
    SpanRole.CONSUMER: SpanKind.CONSUMER,
}
# OpenTelemetry's own context variable is not used: its tokens fail when a generator is closed in another task's
# context.
_current: ContextVar[OtelSpan | None] = ContextVar("graphtide-span", default=None)
_propagator = TraceContextTextMapPropagator()


class OtlpTracer:
    """See Tracer. `close` sends waiting spans, for at most a few seconds.

    `sampled_share` of the traces that begin here are recorded; a trace that began elsewhere keeps its own decision.
    """

    def __init__(self, endpoint: str, sampled_share: float, process: str, outcomes: SpanOutcomes) -> None:
        # `BoundedSpanExporter` logs the library's messages about a collector once.
        logging.getLogger("opentelemetry").setLevel(logging.CRITICAL)
        self._provider = TracerProvider(
            sampler=ParentBased(TraceIdRatioBased(sampled_share)),
            resource=Resource.create({"service.name": f"graphtide-{process}"}),
            shutdown_on_exit=False,
        )
        exporter = OTLPSpanExporter(endpoint=endpoint.rstrip("/") + PATH, timeout=TIMEOUT_S)
        self._provider.add_span_processor(BoundedSpanExporter(exporter, outcomes))
        self._tracer = self._provider.get_tracer("graphtide")

    def begin(
        self,
        name: str,
        kind: SpanRole,
        behind: Sequence[Headers] | None,
        attributes: Mapping[str, Attributes],
        since_ns: int | None,
    ) -> Span:
        """See Tracer.begin."""
        parent: OtelSpan | None = _current.get()
        links: list[Link] = []
        if behind is not None:
            parents = [parent_span for parent_span in map(_context_in, behind) if parent_span.is_valid]
            found = list({(parent_span.trace_id, parent_span.span_id): parent_span for parent_span in parents}.values())
            first = next(
                (parent_span for parent_span in found if parent_span.trace_flags.sampled), found[0] if found else None
            )
            links = [Link(parent_span) for parent_span in found if parent_span is not first]
            parent = NonRecordingSpan(first) if first else None
        context = Context() if parent is None else set_span_in_context(parent, Context())
        return _OtlpSpan(
            self._tracer.start_span(name, context, _KINDS[kind], attributes, links, since_ns, record_exception=False)
        )

    def inject(self) -> Headers:
        """See Tracer.inject."""
        span = _current.get()
        if span is None:
            return ()
        carrier: dict[str, str] = {}
        _propagator.inject(carrier, set_span_in_context(span, Context()))
        return tuple((name, value.encode()) for name, value in carrier.items())

    def trace_id(self) -> str:
        """See Tracer.trace_id."""
        span = _current.get()
        return "" if span is None else f"{span.get_span_context().trace_id:032x}"

    async def close(self) -> None:
        """Send waiting spans. Those that cannot be sent within a few seconds are dropped."""
        # A daemon thread: at the end of the process, the loop's own threads are waited for.
        ending = Thread(target=self._provider.shutdown, name="spans-end", daemon=True)
        ending.start()
        await asyncio.to_thread(ending.join, CLOSE_S)


class _OtlpSpan:
    """See Span."""

    def __init__(self, span: OtelSpan) -> None:
        self._span = span
        self._token: Token[OtelSpan | None] | None = None

    def note(self, **attributes: Attributes) -> None:
        """See Span.note."""
        self._span.set_attributes(attributes)

    def rename(self, name: str) -> None:
        """See Span.rename."""
        self._span.update_name(name)

    @contextmanager
    def current(self) -> Iterator[None]:
        """See Span.current."""
        token = _current.set(self._span)
        try:
            yield
        finally:
            _reset(token)

    def end(self, error: BaseException | None = None) -> None:
        """See Span.end."""
        if error is not None:
            self._span.set_status(StatusCode.ERROR, type(error).__name__)
        self._span.end()

    def __enter__(self) -> Self:
        self._token = _current.set(self._span)
        return self

    def __exit__(self, _: type[BaseException] | None, error: BaseException | None, __: TracebackType | None) -> None:
        if self._token is not None:
            _reset(self._token)
        self.end(error)


def _reset(token: Token[OtelSpan | None]) -> None:
    try:
        _current.reset(token)
    except ValueError:  # a generator is closed in a context where the span was never current
        return


def _context_in(headers: Headers) -> SpanContext:
    """Return the span in the headers; an invalid one for headers without one, or with invalid values."""
    kept = [header for header in headers if header[0] in TRACE_HEADERS and len(header[1]) <= MAX_HEADER_BYTES]
    carrier = {name: value.decode("ascii", "replace") for name, value in kept}
    return get_current_span(_propagator.extract(carrier, Context())).get_span_context()
