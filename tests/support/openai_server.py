"""A small OpenAI embeddings endpoint on loopback that answers, and misbehaves when a test asks for it.

Not a mock: a real HTTP server in threads, so that clients are tested down to the socket. Vectors are a deterministic
function of the text. Faults are queued and each spoils one request, in order; then the server is well again.
"""

from __future__ import annotations

import base64
import hashlib
import json
import queue
import socket
import struct
import threading
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any

import numpy as np

DIMENSIONS = 16
Edit = Callable[[dict[str, Any]], object]


@dataclass(frozen=True, slots=True)
class Fault:
    """What happens to one request: ``edit`` spoils the right answer, ``body`` replaces it, ``hang`` never answers."""

    status: int = 200
    headers: tuple[tuple[str, str], ...] = ()
    body: bytes | None = None
    edit: Edit | None = None
    hang: bool = False
    drop: bool = False


def status(code: int, message: str = "so it is", **headers: str) -> Fault:
    """An error in OpenAI's form; ``retry_after="2"`` becomes the header ``retry-after``."""
    body = json.dumps({"error": {"message": message, "type": "test", "code": None}}).encode()
    return Fault(code, tuple((name.replace("_", "-"), value) for name, value in headers.items()), body)


def _first_vector(change: Callable[[list[float]], list[float]]) -> Edit:
    def edit(answer: dict[str, Any]) -> object:
        answer["data"][0]["embedding"] = change(_as_list(answer["data"][0]["embedding"]))
        return answer

    return edit


def _as_list(value: str | list[float]) -> list[float]:
    return value if isinstance(value, list) else np.frombuffer(base64.b64decode(value), "<f4").tolist()


def _drop_last(answer: dict[str, Any]) -> object:
    answer["data"].pop()
    return answer


def _same_index(answer: dict[str, Any]) -> object:
    for item in answer["data"]:
        item["index"] = 0
    return answer


SLOW = Fault(hang=True)
DROPPED = Fault(drop=True)
NOT_JSON = Fault(body=b"<html>gateway</html>")
NO_DATA = Fault(body=b'{"object": "list"}')
BAD_BASE64 = Fault(edit=lambda answer: {"data": [{**item, "embedding": "!!"} for item in answer["data"]]})
WRONG_COUNT = Fault(edit=_drop_last)
SAME_INDEX = Fault(edit=_same_index)
NAN = Fault(edit=_first_vector(lambda vector: [float("nan"), *vector[1:]]))
ZERO = Fault(edit=_first_vector(lambda vector: [0.0] * len(vector)))
SHORT_VECTOR = Fault(edit=_first_vector(lambda vector: vector[:-1]))
REVERSED = Fault(edit=lambda answer: {**answer, "data": answer["data"][::-1]})


def vector_of(text: str, dimensions: int = DIMENSIONS) -> np.ndarray:
    """The vector this endpoint gives ``text``: float32, not of unit length, the same in every process."""
    digest = hashlib.shake_128(text.encode()).digest(4 * dimensions)
    numbers = struct.unpack(f"<{dimensions}I", digest)
    return np.asarray([number / 2**31 - 1 for number in numbers], np.float32) * np.float32(3)


@dataclass(slots=True)
class Seen:
    """One request as the server got it."""

    texts: list[str]
    headers: dict[str, str]
    body: dict[str, Any]


@dataclass
class OpenAIServer:
    """``with OpenAIServer() as server:`` serves ``server.base_url`` until the block ends.

    Requests wait for ``hold``, if there is one, to be set; ``arrived`` gets the number under way as each comes in.
    """

    dimensions: int = DIMENSIONS
    gives_base64: bool = True
    usage: int = 1
    faults: deque[Fault] = field(default_factory=deque)
    seen: list[Seen] = field(default_factory=list)
    most_at_once: int = 0
    hold: threading.Event | None = None
    arrived: queue.SimpleQueue[int] = field(default_factory=queue.SimpleQueue)

    def __enter__(self) -> OpenAIServer:
        self._lock = threading.Lock()
        self._at_once = 0
        self.released = threading.Event()
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), _handler(self))
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
        """Spoils the next requests, one each."""
        self.faults.extend(faults)

    def enter(self, seen: Seen) -> Fault:
        with self._lock:
            self.seen.append(seen)
            self._at_once += 1
            self.most_at_once = max(self.most_at_once, self._at_once)
            self.arrived.put(self._at_once)
            return self.faults.popleft() if self.faults else Fault()

    def leave(self) -> None:
        with self._lock:
            self._at_once -= 1

    def answer(self, seen: Seen) -> dict[str, Any]:
        packed = seen.body.get("encoding_format") == "base64" and self.gives_base64
        data: list[dict[str, Any]] = []
        for index, text in enumerate(seen.texts):
            vector = vector_of(text, self.dimensions)
            value = base64.b64encode(vector.tobytes()).decode() if packed else vector.tolist()
            data.append({"object": "embedding", "index": index, "embedding": value})
        return {"object": "list", "model": seen.body["model"], "data": data, "usage": {"prompt_tokens": self.usage}}


def _handler(server: OpenAIServer) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            texts = [body["input"]] if isinstance(body["input"], str) else body["input"]
            seen = Seen(texts, {name.lower(): value for name, value in self.headers.items()}, body)
            fault = server.enter(seen)
            try:
                self._respond(seen, fault)
            finally:
                server.leave()

        def _respond(self, seen: Seen, fault: Fault) -> None:
            if server.hold is not None:
                server.hold.wait(timeout=60)
            if fault.hang:
                server.released.wait(timeout=60)
            if fault.drop or fault.hang:
                self.close_connection = True
                self.connection.shutdown(socket.SHUT_RDWR)
                return
            if not self.path.endswith("/embeddings"):
                fault = status(404, "no such path")
            answer: object = server.answer(seen)
            if fault.edit is not None:
                answer = fault.edit(server.answer(seen))
            content = fault.body if fault.body is not None else json.dumps(answer).encode()
            self.send_response(fault.status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(content)))
            for name, value in fault.headers:
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(content)

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002 -- the name the base class gives it
            """Tests read ``seen``, not a log."""

    return Handler
