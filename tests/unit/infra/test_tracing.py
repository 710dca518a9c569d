"""The OpenTelemetry tracer: propagation in headers, export, and behaviour without a reachable collector."""

from __future__ import annotations

import asyncio
import logging
import socket
import sys
from collections.abc import AsyncGenerator, Iterator

import pytest
from prometheus_client import CollectorRegistry

from graphtide.infra.observability.span_exporter import QUEUED, SpanOutcomes
from graphtide.infra.observability.tracing import CLOSE_S, MAX_HEADER_BYTES, OtlpTracer
from graphtide.infra.settings import Settings, SettingsError, load_settings
from graphtide.services.tracing import traced
from graphtide.streams.errors import Broken, Rejected
from graphtide.streams.tracing import (
    SILENCE,
    Headers,
    carried_on,
    continue_trace,
    ending,
    inject,
    installed,
    record_span,
    span,
    trace_id,
)
from tests.support.collector import Collector

TRACE = "0af7651916cd43dd8448eb211c80319c"
ABOVE: Headers = (("traceparent", f"00-{TRACE}-b7ad6b7169203331-01".encode()),)
AWAY = "the trace collector does not accept spans, or too slowly; they are dropped until it does"
NONSENSE = [
    (),
    (("traceparent", b""),),
    (("traceparent", b"\xff\xfe\x00"),),
    (("traceparent", b"00-" + b"0" * 32 + b"-b7ad6b7169203331-01"),),
    (("traceparent", ABOVE[0][1] * 1000),),
    (("tracestate", b"a=b"),),
    (("part", ABOVE[0][1]),),
]


@pytest.fixture
def collector() -> Iterator[Collector]:
    with Collector() as one:
        yield one


@pytest.mark.parametrize("headers", NONSENSE)
async def test_tracer_begins_anew_behind_headers_that_carry_nothing(collector: Collector, headers: Headers) -> None:
    """Invalid headers raise nothing, and begin a new trace."""
    async with traced(Settings(otlp_endpoint=collector.endpoint), "test"):
        with continue_trace("a", [headers]):
            assert len(trace_id()) == 32 and trace_id() != TRACE
    [seen] = collector.spans
    assert (seen.parent, seen.links) == ("", ())


async def test_tracer_follows_the_first_that_is_recorded_and_links_the_others(collector: Collector) -> None:
    """An unrecorded span does not decide the sampling, and a repeated span is linked once."""
    silent = (("traceparent", f"00-{'1' * 32}-b7ad6b7169203331-00".encode()),)
    other = (("traceparent", f"00-{'2' * 32}-b7ad6b7169203331-01".encode()),)
    async with traced(Settings(otlp_endpoint=collector.endpoint), "test"):
        with continue_trace("a", [silent, ABOVE, other, other]):
            assert trace_id() == TRACE
        record_span("b", [silent], 1)
    [seen] = collector.spans
    assert (seen.trace, seen.parent) == (TRACE, "b7ad6b7169203331")
    assert [trace for trace, _ in seen.links] == ["1" * 32, "2" * 32]


async def test_record_goes_on_with_the_span_it_was_taken_in(collector: Collector) -> None:
    """Other headers stay; a long tracestate is dropped; without a tracer, or a span, all are unchanged."""
    came = (("kind", b"x"), *ABOVE, ("tracestate", b"a=" + b"b" * MAX_HEADER_BYTES))
    assert carried_on(came) == came and inject() == ()
    async with traced(Settings(otlp_endpoint=collector.endpoint), "test"):
        assert carried_on(came) == came and inject() == ()
        with continue_trace("a", [came]):
            on = dict(carried_on(came))
    [seen] = collector.spans
    assert on == {"kind": b"x", "traceparent": f"00-{TRACE}-{seen.id}-01".encode()}


async def test_error_is_told_by_its_class_alone(collector: Collector) -> None:
    """An exception's message is not exported: it may quote a document."""
    async with traced(Settings(otlp_endpoint=collector.endpoint), "test"):
        with pytest.raises(Rejected), span("a", graph="g"):
            raise Rejected("Zyxomma")
        with pytest.raises(Rejected), ending(span("b")):
            raise Rejected("Zyxomma")
    assert [(one.name, one.error, one.events) for one in collector.spans] == [
        ("a", "Rejected", 0),
        ("b", "Rejected", 0),
    ]
    assert not [body for body in collector.bodies if b"Zyxomma" in body]


async def test_generator_that_is_left_ends_its_span_in_another_context(collector: Collector) -> None:
    """A generator closed elsewhere, as when a client leaves a stream, raises nothing and changes no current span."""

    async def pieces() -> AsyncGenerator[int, None]:
        with span("left"):
            yield 1

    async with traced(Settings(otlp_endpoint=collector.endpoint), "test"):
        left = pieces()
        await asyncio.create_task(anext(left))
        with span("here"):
            before = trace_id()
            await left.aclose()
            assert trace_id() == before
    assert sorted(one.name for one in collector.spans) == ["here", "left"]


@pytest.mark.thorough
async def test_tracer_drops_what_a_hanging_collector_does_not_take_and_ends_in_time(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """With a collector that never answers, ending spans beyond the capacity does not wait, and closing waits for a
    bound.
    """
    loop = asyncio.get_running_loop()
    with socket.create_server(("127.0.0.1", 0)) as hanging, caplog.at_level(logging.WARNING):
        registry = CollectorRegistry()
        tracer = OtlpTracer(f"http://127.0.0.1:{hanging.getsockname()[1]}", 1.0, "test", SpanOutcomes(registry))
        with installed(tracer):
            for _ in range(2 * QUEUED):
                span("a").end()
        closing = loop.time()
        await tracer.close()
        assert loop.time() - closing < 10 * CLOSE_S
    assert not [record for record in caplog.records if record.name.startswith("opentelemetry")]
    assert [record.getMessage() for record in caplog.records] == [AWAY]
    assert outcomes(registry)["overflowed"] >= QUEUED and not outcomes(registry)["sent"]


async def test_spans_are_counted_by_what_became_of_them(collector: Collector, caplog: pytest.LogCaptureFixture) -> None:
    """With a collector that refuses spans and accepts them again, each span has one outcome, and both changes are
    logged once.
    """
    registry = CollectorRegistry()
    collector.status = 400
    with caplog.at_level(logging.INFO, "graphtide"):
        async with traced(Settings(otlp_endpoint=collector.endpoint), "test", registry):
            for _ in range(3):
                span("a").end()
            async with asyncio.timeout(30):
                while not outcomes(registry)["refused"]:  # noqa: ASYNC110 -- a thread's counter sets no event
                    await asyncio.sleep(0.01)
            assert outcomes(registry) == {"sent": 0, "refused": 3, "overflowed": 0}
            collector.status = 200
            for _ in range(2):
                span("b").end()
        assert outcomes(registry) == {"sent": 2, "refused": 3, "overflowed": 0}
    messages = [record.getMessage() for record in caplog.records if "collector" in record.getMessage()]
    assert messages == [AWAY, "the trace collector accepts spans again"]


def outcomes(registry: CollectorRegistry) -> dict[str, float]:
    """Return the number of spans by outcome."""
    samples = [sample for family in registry.collect() for sample in family.samples]
    return {sample.labels["outcome"]: sample.value for sample in samples if sample.name == "graphtide_spans_total"}


async def test_missing_package_is_named_with_its_cure(monkeypatch: pytest.MonkeyPatch) -> None:
    """An endpoint without the optional package is refused before anything runs."""
    monkeypatch.delitem(sys.modules, "graphtide.infra.observability.tracing")
    monkeypatch.setitem(sys.modules, "opentelemetry.sdk.trace", None)
    with pytest.raises(Broken, match=r"opentelemetry\.sdk\.trace is not installed: pip install 'graphtide\[tracing\]'"):
        async with traced(Settings(otlp_endpoint="http://127.0.0.1:9"), "test"):
            pass


@pytest.mark.parametrize("wrong", ["collector:4318", "ftp://collector", "http://a b"])
def test_endpoint_that_is_no_http_url_is_refused(wrong: str) -> None:
    """The error names the setting."""
    with pytest.raises(SettingsError, match="otlp_endpoint"):
        load_settings({"otlp_endpoint": wrong})


def test_silence_is_everything_a_tracer_and_a_span_is() -> None:
    """Without a tracer every call is accepted and does nothing."""
    with span("a", graph="g") as one, one.current(), ending(continue_trace("b", [ABOVE])) as two:
        one.note(version=1)
        two.rename("c")
        record_span("d", [ABOVE], 0)
        assert one is two is SILENCE and inject() == () and trace_id() == ""
