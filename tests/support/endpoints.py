"""The common part of the fake model endpoints on loopback: a real HTTP server, requests in flight, and faults.

Clients are tested down to the socket. Faults are queued and each spoils one request, in order; then the server answers
normally again. `openai_server.py` (embeddings) and `llm_server.py` (chat) define the answers.
"""

from __future__ import annotations

import json
import queue
import socket
import threading
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any, Generic, Self, TypeVar

Edit = Callable[[dict[str, Any]], object]
S = TypeVar("S")


@dataclass(frozen=True, slots=True)
class Fault:
    """The fault of one request: ``edit`` spoils the right answer, ``body`` replaces it, ``hang`` never answers."""

    status: int = 200
    headers: tuple[tuple[str, str], ...] = ()
    body: bytes | None = None
    edit: Edit | None = None
    hang: bool = False
    drop: bool = False


def status(code: int, message: str = "so it is", **headers: str) -> Fault:
    """Return an error in OpenAI's form; ``retry_after="2"`` becomes the header ``retry-after``."""
    body = json.dumps({"error": {"message": message, "type": "test", "code": None}}).encode()
    return Fault(code, tuple((name.replace("_", "-"), value) for name, value in headers.items()), body)


SLOW = Fault(hang=True)
DROPPED = Fault(drop=True)
NOT_JSON = Fault(body=b"<html>gateway</html>")


@dataclass(kw_only=True)
class Endpoint(Generic[S]):
    """A server that serves ``base_url`` during a ``with`` block. ``seen`` are the requests, each an ``S``.

    Requests wait until ``hold``, if there is one, is set; ``arrived`` receives the number in flight as each arrives.
    """

    port: int = 0
    faults: deque[Fault] = field(default_factory=deque)
    seen: list[S] = field(default_factory=list)
    max_concurrent: int = 0
    hold: threading.Event | None = None
    arrived: queue.SimpleQueue[int] = field(default_factory=queue.SimpleQueue)

    def answering(self) -> type[BaseHTTPRequestHandler]:
        """Return the handler class that answers each request."""
        raise NotImplementedError

    def __enter__(self) -> Self:
        self._lock = threading.Lock()
        self._at_once = 0
        self.released = threading.Event()
        self._server = ThreadingHTTPServer(("127.0.0.1", self.port), self.answering())
        self._server.daemon_threads = True
        self._thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
        self._thread.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.released.set()
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    @property
    def base_url(self) -> str:
        return f"http://127.0.0.1:{self._server.server_port}/v1"

    def misbehave(self, *faults: Fault) -> None:
        """Spoil the next requests, one fault each."""
        self.faults.extend(faults)

    def enter(self, seen: S) -> Fault:
        """Begin a request and return its fault, if any. The request ends with `leave`."""
        with self._lock:
            self.seen.append(seen)
            self._at_once += 1
            self.max_concurrent = max(self.max_concurrent, self._at_once)
            self.arrived.put(self._at_once)
            return self.refusal(seen) or (self.faults.popleft() if self.faults else Fault())

    def leave(self) -> None:
        with self._lock:
            self._at_once -= 1

    def wait(self, fault: Fault) -> None:
        """Wait as long as the test, or the fault, holds the answer back."""
        if self.hold is not None:
            self.hold.wait(timeout=60)
        if fault.hang:
            self.released.wait(timeout=60)

    def refusal(self, seen: S) -> Fault | None:
        """Return why a request is refused apart from queued faults; a refusal uses up no fault."""
        return None


class Replying(BaseHTTPRequestHandler):
    """The common part of the request handlers."""

    protocol_version = "HTTP/1.1"

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        try:
            self.reply({name.lower(): value for name, value in self.headers.items()}, body)
        except ConnectionError:  # the client has disconnected, as in tests of time-outs and of early ends
            self.close_connection = True

    def reply(self, headers: dict[str, str], body: dict[str, Any]) -> None:
        """Answer a request; the names of the headers are in lower case."""
        raise NotImplementedError

    def hang_up(self) -> None:
        self.close_connection = True
        self.connection.shutdown(socket.SHUT_RDWR)

    def head(self, fault: Fault, content_type: str, *framing: tuple[str, str]) -> None:
        """Send everything before the body."""
        self.send_response(fault.status)
        for name, value in (("Content-Type", content_type), *framing, *fault.headers):
            self.send_header(name, value)
        self.end_headers()

    def whole(self, fault: Fault, content: bytes) -> None:
        """Send the answer in one piece."""
        self.head(fault, "application/json", ("Content-Length", str(len(content))))
        self.wfile.write(content)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 -- the name the base class gives it
        """Log nothing: tests read ``seen``."""
