"""A stand-in for an OpenTelemetry collector: OTLP over HTTP on loopback, decoding the received spans.

A real server in threads, so that exporting is tested down to the socket and the bytes.
"""

from __future__ import annotations

import gzip
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType

from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import (
    ExportTraceServiceRequest,
    ExportTraceServiceResponse,
)

Attribute = str | int | float | bool


@dataclass(frozen=True, slots=True)
class Seen:
    """A span as it arrived. Ids are hexadecimal; `links` are (trace, span)."""

    service: str
    name: str
    trace: str
    id: str
    parent: str
    kind: int
    attributes: dict[str, Attribute]
    links: tuple[tuple[str, str], ...]
    error: str | None
    events: int
    began_ns: int
    ended_ns: int


class Collector:
    """The collector as a context manager. `endpoint` is the setting's value; `status` the status of its answers."""

    def __init__(self) -> None:
        self.status = 200
        self.bodies: list[bytes] = []
        self.paths: set[str] = set()
        self._spans: list[Seen] = []
        self._arrived = threading.Condition()
        collector = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["content-length"]))
                if self.headers.get("content-encoding") == "gzip":
                    body = gzip.decompress(body)
                collector._take(self.path, body)
                self.send_response(collector.status)
                answer = ExportTraceServiceResponse().SerializeToString()
                self.send_header("content-type", "application/x-protobuf")
                self.send_header("content-length", str(len(answer)))
                self.end_headers()
                self.wfile.write(answer)

            def log_message(self, *_: object) -> None:
                """Log nothing: tests read spans."""

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.01,))

    @property
    def endpoint(self) -> str:
        return f"http://127.0.0.1:{self._server.server_port}"

    @property
    def spans(self) -> list[Seen]:
        """Return all spans that have arrived."""
        with self._arrived:
            return list(self._spans)

    def until(self, holds: Callable[[list[Seen]], bool], timeout_s: float = 120.0) -> list[Seen]:
        """Return all spans as soon as the condition holds for them. Blocks: call it in a thread from an event loop."""
        deadline = time.monotonic() + timeout_s
        with self._arrived:
            while not holds(self._spans):
                left_s = deadline - time.monotonic()
                assert left_s > 0, f"they did not come; there are {[(span.name, span.trace) for span in self._spans]}"
                self._arrived.wait(left_s)
            return list(self._spans)

    def until_asked(self, times: int, timeout_s: float = 120.0) -> None:
        """Return once the collector has received that many export requests, whatever it answered."""
        with self._arrived:
            assert self._arrived.wait_for(lambda: len(self.bodies) >= times, timeout_s), (
                "too few export requests arrived"
            )

    def _take(self, path: str, body: bytes) -> None:
        with self._arrived:
            self.paths.add(path)
            self.bodies.append(body)
            if self.status == 200:
                self._spans += _decoded(body)
            self._arrived.notify_all()

    def __enter__(self) -> Collector:
        self._thread.start()
        return self

    def __exit__(self, _: type[BaseException] | None, __: BaseException | None, ___: TracebackType | None) -> None:
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()


def _decoded(body: bytes) -> Iterator[Seen]:
    for resource in ExportTraceServiceRequest.FromString(body).resource_spans:
        about = {attribute.key: attribute.value.string_value for attribute in resource.resource.attributes}
        for scope in resource.scope_spans:
            for span in scope.spans:
                yield Seen(
                    about["service.name"],
                    span.name,
                    span.trace_id.hex(),
                    span.span_id.hex(),
                    span.parent_span_id.hex(),
                    span.kind,
                    {
                        attribute.key: getattr(attribute.value, attribute.value.WhichOneof("value"))
                        for attribute in span.attributes
                    },
                    tuple((link.trace_id.hex(), link.span_id.hex()) for link in span.links),
                    span.status.message if span.status.code == 2 else None,
                    len(span.events),
                    span.start_time_unix_nano,
                    span.end_time_unix_nano,
                )
