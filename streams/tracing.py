"""The tracing port: spans of documents and queries, and the propagation of traces in record headers.

The composition root of a process installs a tracer (`infra/observability/tracing.py` has that of OpenTelemetry); until
then every call here is a no-op. The tracer is global, like a logger, because a model call does not know its caller.

Invariants: attributes are names, numbers or fixed words, never the text of a document, a question or a secret; an error
is recorded by its class; no function here waits or raises.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from enum import StrEnum
from typing import Protocol, Self

Attributes = str | int | float | bool
Headers = tuple[tuple[str, bytes], ...]
"""Headers of a record, a request or a call; names in lower case. `traceparent`, `tracestate`: W3C Trace Context."""

TRACE_HEADERS = frozenset({"traceparent", "tracestate"})


class SpanRole(StrEnum):
    """The role of a span in the communication between processes."""

    INTERNAL = "internal"
    SERVER = "server"
    CLIENT = "client"
    PRODUCER = "producer"
    CONSUMER = "consumer"


class Span(AbstractContextManager["Span"], Protocol):
    """A piece of work from its start to `end`. As a context manager, it is current in the block and ends with it."""

    def note(self, **attributes: Attributes) -> None:
        """Add attributes to the span."""
        ...

    def rename(self, name: str) -> None: ...

    def current(self) -> AbstractContextManager[object]:
        """Make spans that start in the block children of this one. For work with pauses, which ends elsewhere."""
        ...

    def end(self, error: BaseException | None = None) -> None:
        """End the span, with the error if there is one."""
        ...

    def __enter__(self) -> Self: ...


class Tracer(Protocol):
    """Factory of spans. Its methods are called in any task and thread, must not block, and raise nothing."""

    def begin(
        self,
        name: str,
        kind: SpanRole,
        behind: Sequence[Headers] | None,
        attributes: Mapping[str, Attributes],
        since_ns: int | None,
    ) -> Span:
        """Return a span that starts now, or at `since_ns` (nanoseconds since the epoch).

        It is a child of the current span; or, where `behind` is given, a child of the first recorded span in these
        headers, with links to the others, and sampled as that one is. Headers without a span are ignored.
        """
        ...

    def inject(self) -> Headers:
        """Return the headers that propagate the current span; none without one."""
        ...

    def trace_id(self) -> str:
        """Return the trace of the current span, 32 hexadecimal digits; "" without one."""
        ...


class NoopTracer:
    """The tracer, and the span, of a process without tracing."""

    def begin(
        self,
        name: str,
        kind: SpanRole,
        behind: Sequence[Headers] | None,
        attributes: Mapping[str, Attributes],
        since_ns: int | None,
    ) -> Span:
        """See Tracer.begin."""
        return self

    def inject(self) -> Headers:
        """See Tracer.inject."""
        return ()

    def trace_id(self) -> str:
        """See Tracer.trace_id."""
        return ""

    def note(self, **attributes: Attributes) -> None:
        """See Span.note."""

    def rename(self, name: str) -> None:
        """See Span.rename."""

    def current(self) -> AbstractContextManager[object]:
        """See Span.current."""
        return nullcontext()

    def end(self, error: BaseException | None = None) -> None:
        """See Span.end."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        return None


SILENCE = NoopTracer()
_installed: Tracer = SILENCE


@contextmanager
def installed(tracer: Tracer) -> Iterator[None]:
    """Use `tracer` for the whole process during the block."""
    global _installed  # noqa: PLW0603 - one per process, as with logging
    before, _installed = _installed, tracer
    try:
        yield
    finally:
        _installed = before


def span(name: str, kind: SpanRole = SpanRole.INTERNAL, **attributes: Attributes) -> Span:
    """Return a child of the current span, or the root of a new trace."""
    return _installed.begin(name, kind, None, attributes, None)


def continue_trace(
    name: str, behind: Iterable[Headers], kind: SpanRole = SpanRole.CONSUMER, **attributes: Attributes
) -> Span:
    """Return a span that continues the traces in these headers. See Tracer.begin."""
    return SILENCE if _installed is SILENCE else _installed.begin(name, kind, list(behind), attributes, None)


def record_span(name: str, behind: Iterable[Headers], since_ns: int, **attributes: Attributes) -> None:
    """Record a finished span that continues these traces, from `since_ns` (nanoseconds since the epoch) until now."""
    if _installed is not SILENCE:
        _installed.begin(name, SpanRole.CONSUMER, list(behind), attributes, since_ns).end()


@contextmanager
def ending(span: Span) -> Iterator[Span]:
    """End the span with the block, in which it is not current: for generators, between whose steps other code runs."""
    try:
        yield span
    except BaseException as error:
        span.end(error)
        raise
    span.end()


def inject() -> Headers:
    """See Tracer.inject."""
    return _installed.inject()


def carried_on(headers: Headers) -> Headers:
    """Return the received headers with their trace headers replaced by the current span's, if there is one."""
    ours = _installed.inject()
    return (*(header for header in headers if header[0] not in TRACE_HEADERS), *ours) if ours else headers


def trace_id() -> str:
    """See Tracer.trace_id."""
    return _installed.trace_id()
