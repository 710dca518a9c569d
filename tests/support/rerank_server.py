"""A fake reranking endpoint on loopback: its scores are the shares of the question's words in each text."""

from __future__ import annotations

import json
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler
from typing import Any

from tests.support.endpoints import Endpoint, Replying, status


def shared_words(question: str, text: str) -> float:
    """Return the share of the question's words that a text has."""
    asked = set(question.lower().split())
    return len(asked.intersection(text.lower().split())) / max(len(asked), 1)


@dataclass(slots=True)
class Seen:
    """One request as the server received it."""

    texts: list[str]
    headers: dict[str, str]
    body: dict[str, Any]


@dataclass
class RerankServer(Endpoint[Seen]):
    """``with RerankServer() as server:`` serves ``/rerank`` below ``server.base_url``. See `Endpoint`.

    It answers in the form of the request, the best first: TEI's for `texts`, Cohere's for `documents`.
    """

    def answering(self) -> type[BaseHTTPRequestHandler]:
        return _handler(self)

    def answer(self, seen: Seen) -> Any:
        scores = [(shared_words(seen.body["query"], text), index) for index, text in enumerate(seen.texts)]
        ranked = sorted(scores, key=lambda row: (-row[0], row[1]))
        if "texts" in seen.body:
            return [{"index": index, "score": score} for score, index in ranked]
        return {"id": "r", "results": [{"index": index, "relevance_score": score} for score, index in ranked]}


def _handler(server: RerankServer) -> type[BaseHTTPRequestHandler]:
    class Handler(Replying):
        def reply(self, headers: dict[str, str], body: dict[str, Any]) -> None:
            seen = Seen(body.get("documents") or body["texts"], headers, body)
            fault = server.enter(seen)
            try:
                server.wait(fault)
                if fault.drop or fault.hang:
                    self.hang_up()
                    return
                if not self.path.endswith("/rerank"):
                    fault = status(404, "no such path")
                answer = server.answer(seen)
                answer = fault.edit(answer) if fault.edit is not None else answer
                self.whole(fault, fault.body if fault.body is not None else json.dumps(answer).encode())
            finally:
                server.leave()

    return Handler
