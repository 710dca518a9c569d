"""A small OpenAI embeddings endpoint on loopback, with faults on request.

A real HTTP server in threads, so that clients are tested down to the socket. Vectors are a deterministic function of
the text.
"""

from __future__ import annotations

import base64
import hashlib
import json
import struct
from collections.abc import Callable
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler
from typing import Any

import numpy as np

from tests.support.endpoints import Edit, Endpoint, Fault, Replying, status

DIMENSIONS = 16


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


NO_DATA = Fault(body=b'{"object": "list"}')
BAD_BASE64 = Fault(edit=lambda answer: {"data": [{**item, "embedding": "!!"} for item in answer["data"]]})
WRONG_COUNT = Fault(edit=_drop_last)
SAME_INDEX = Fault(edit=_same_index)
NAN = Fault(edit=_first_vector(lambda vector: [float("nan"), *vector[1:]]))
ZERO = Fault(edit=_first_vector(lambda vector: [0.0] * len(vector)))
SHORT_VECTOR = Fault(edit=_first_vector(lambda vector: vector[:-1]))
REVERSED = Fault(edit=lambda answer: {**answer, "data": answer["data"][::-1]})


def vector_of(text: str, dimensions: int = DIMENSIONS) -> np.ndarray:
    """Return this endpoint's vector of ``text``: float32, not of unit length, the same in every process."""
    digest = hashlib.shake_128(text.encode()).digest(4 * dimensions)
    numbers = struct.unpack(f"<{dimensions}I", digest)
    return np.asarray([number / 2**31 - 1 for number in numbers], np.float32) * np.float32(3)


@dataclass(slots=True)
class Seen:
    """One request as the server received it."""

    texts: list[str]
    headers: dict[str, str]
    body: dict[str, Any]


@dataclass
class OpenAIServer(Endpoint[Seen]):
    """``with OpenAIServer() as server:`` serves ``server.base_url`` until the block ends. See `Endpoint`."""

    dimensions: int = DIMENSIONS
    gives_base64: bool = True
    usage: int = 1

    def answering(self) -> type[BaseHTTPRequestHandler]:
        return _handler(self)

    def answer(self, seen: Seen) -> dict[str, Any]:
        packed = seen.body.get("encoding_format") == "base64" and self.gives_base64
        data: list[dict[str, Any]] = []
        for index, text in enumerate(seen.texts):
            vector = vector_of(text, self.dimensions)
            value = base64.b64encode(vector.tobytes()).decode() if packed else vector.tolist()
            data.append({"object": "embedding", "index": index, "embedding": value})
        return {"object": "list", "model": seen.body["model"], "data": data, "usage": {"prompt_tokens": self.usage}}


def _handler(server: OpenAIServer) -> type[BaseHTTPRequestHandler]:
    class Handler(Replying):
        def reply(self, headers: dict[str, str], body: dict[str, Any]) -> None:
            seen = Seen([body["input"]] if isinstance(body["input"], str) else body["input"], headers, body)
            fault = server.enter(seen)
            try:
                self._respond(seen, fault)
            finally:
                server.leave()

        def _respond(self, seen: Seen, fault: Fault) -> None:
            server.wait(fault)
            if fault.drop or fault.hang:
                self.hang_up()
                return
            if not self.path.endswith("/embeddings"):
                fault = status(404, "no such path")
            answer: object = server.answer(seen)
            if fault.edit is not None:
                answer = fault.edit(server.answer(seen))
            self.whole(fault, fault.body if fault.body is not None else json.dumps(answer).encode())

    return Handler
