"""Spans: what is told of a document's way, or a question's, and how records carry it from process to process.

Not a tracer: one is installed where a process is put together (`infra/observability/tracing.py` has the one of
OpenTelemetry), and
until then everything here does nothing. It is reached like a logger, because a call of a model knows nothing of who is
behind it.

Invariants: what a span is told is a name, a number or a word of ours, never a document's text, a question or a secret;
an error is told by its class; and nothing here waits, or raises.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from enum import StrEnum
from typing import Protocol, Self

Attributes = str | int | float | bool
Headers = tuple[tuple[str, bytes], ...]
"""Of a record, a request or a call; names in lower case. `traceparent` and `tracestate` are W3C Trace Context's."""

TRACE_HEADERS = frozenset({"traceparent", "tracestate"})


class SpanRole(StrEnum):
    """What a span is in the traffic between processes."""

    INTERNAL = "internal"
    SERVER = "server"
    CLIENT = "client"
    PRODUCER = "producer"
    CONSUMER = "consumer"


class Span(AbstractContextManager["Span"], Protocol):
    """A piece of work from its beginning to `end`. As a context manager it is current in the block and ends with it."""

    def note(self, **said: Attributes) -> None:
        """What came to be known of it."""
        ...

    def rename(self, name: str) -> None: ...

    def current(self) -> AbstractContextManager[object]:
        """What begins in the block is part of it. For work with pauses, that ends elsewhere."""
        ...

    def end(self, error: BaseException | None = None) -> None:
        """It is over, by that error if there is one."""
        ...

    def __enter__(self) -> Self: ...


class Tracer(Protocol):
    """Called in any task and any thread, must not block, and raises nothing."""

    def begin(
        self,
        name: str,
        kind: SpanRole,
        behind: Sequence[Headers] | None,
        said: Mapping[str, Attributes],
        since_ns: int | None,
    ) -> Span:
        """A span that began now, or at that time since the epoch.

        It is part of the current one; or, where `behind` is given, it follows the first of them that is recorded, is
        linked to the others, and is recorded as that one is. Headers that carry nothing count for nothing.
        """
        ...

    def carried(self) -> Headers:
        """The headers that carry the current span elsewhere; none without one."""
        ...

    def trace_id(self) -> str:
        """The trace of the current span, 32 hexadecimal digits; "" without one."""
        ...


class NoopTracer:
    """The tracer, and the span, of a process that tells nobody."""

    def begin(
        self,
        name: str,
        kind: SpanRole,
        behind: Sequence[Headers] | None,
        said: Mapping[str, Attributes],
        since_ns: int | None,
    ) -> Span:
        """See Tracer.begin."""
        return self

    def carried(self) -> Headers:
        """See Tracer.carried."""
        return ()

    def trace_id(self) -> str:
        """See Tracer.trace_id."""
        return ""

    def note(self, **said: Attributes) -> None:
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
    """What happens in this process during the block is told to `tracer`."""
    global _installed  # noqa: PLW0603 - one a process, as with logging
    before, _installed = _installed, tracer
    try:
        yield
    finally:
        _installed = before


def span(name: str, kind: SpanRole = SpanRole.INTERNAL, **said: Attributes) -> Span:
    """A part of what is going on, or the first of something new."""
    return _installed.begin(name, kind, None, said, None)


def continue_trace(
    name: str, behind: Iterable[Headers], kind: SpanRole = SpanRole.CONSUMER, **said: Attributes
) -> Span:
    """What follows the spans that these headers carry. See Tracer.begin."""
    return SILENCE if _installed is SILENCE else _installed.begin(name, kind, list(behind), said, None)


def told(name: str, behind: Iterable[Headers], since_ns: int, **said: Attributes) -> None:
    """A span that began at that time (nanoseconds since the epoch) and ends now, likewise."""
    if _installed is not SILENCE:
        _installed.begin(name, SpanRole.CONSUMER, list(behind), said, since_ns).end()


@contextmanager
def ending(one: Span) -> Iterator[Span]:
    """Ends the span with the block, in which it is not current: for generators, whose blocks others run in between."""
    try:
        yield one
    except BaseException as error:
        one.end(error)
        raise
    one.end()


def inject() -> Headers:
    """See Tracer.carried."""
    return _installed.carried()


def carried_on(headers: Headers) -> Headers:
    """Headers that were received, with the current span in the place of the one they brought, if there is one."""
    ours = _installed.carried()
    return (*(each for each in headers if each[0] not in TRACE_HEADERS), *ours) if ours else headers


def trace_id() -> str:
    """See Tracer.trace_id."""
    return _installed.trace_id()
