"""Responses of chat completions: the whole answer, and the chunks of a streamed one, with the sources in the text.

The invariant: `[n]` in the text and in the list of sources below it is the same citation, and text of documents in that
list contains no mark, link or image of its own.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from uuid import uuid4

from graphtide.graph.text.quotation import neutralise
from graphtide.services.api.schema.shapes import dump, fields_json
from graphtide.services.application import Answer, Citation, Usage

Json = dict[str, object]


@dataclass(frozen=True, slots=True)
class Completion:
    """The identity of one completion: its id, model, and time of creation."""

    model: str
    id: str = field(default_factory=lambda: f"chatcmpl-{uuid4().hex}")
    created: int = field(default_factory=lambda: int(time.time()))

    def whole(self, answer: Answer) -> Json:
        """Return the response with the whole answer. `citations` and `version` are additions to OpenAI's fields."""
        message: Json = {"role": "assistant", "content": answer.answer + sources_text(answer.citations)}
        choice: Json = {"index": 0, "message": message, "finish_reason": "stop", "logprobs": None}
        return {**self._head("chat.completion"), "choices": [choice], "usage": _usage(answer.usage), **_added(answer)}

    def piece(self, text: str) -> bytes:
        """Return the event with the next piece of text."""
        return self._chunk({"content": text})

    def first(self) -> bytes:
        """Return the event that begins a stream."""
        return self._chunk({"role": "assistant", "content": ""})

    def last(self, answer: Answer, usage_wanted: bool) -> bytes:
        """Return the events that end a stream: sources, the end, the use of tokens if it is wanted."""
        sources = sources_text(answer.citations)
        events = [self.piece(sources)] if sources else []
        events.append(self._chunk({}, "stop", _added(answer)))
        if usage_wanted:
            events.append(_event({**self._head("chat.completion.chunk"), "choices": [], "usage": _usage(answer.usage)}))
        return b"".join((*events, b"data: [DONE]\n\n"))

    def _chunk(self, delta: Json, reason: str | None = None, added: Json | None = None) -> bytes:
        choice: Json = {"index": 0, "delta": delta, "finish_reason": reason, "logprobs": None}
        return _event({**self._head("chat.completion.chunk"), "choices": [choice], **(added or {})})

    def _head(self, kind: str) -> Json:
        return {"id": self.id, "object": kind, "created": self.created, "model": self.model}


def sources_text(citations: tuple[Citation, ...]) -> str:
    """Return the list of sources below an answer, "" without any."""
    if not citations:
        return ""
    return "\n\nSources:\n" + "\n".join(_source(each) for each in sorted(citations, key=lambda each: each.number))


def _source(citation: Citation) -> str:
    title = " ".join(neutralise(citation.title or citation.doc_id).split())
    named = f"{title} ({_plain_id(citation.doc_id)})" if citation.title else title
    quote = " ".join(neutralise(citation.quote).split())
    return f"[{citation.number}] {named}: “{quote}”" if quote else f"[{citation.number}] {named}"


def _plain_id(doc_id: str) -> str:
    return " ".join(neutralise(doc_id).split())


def _usage(usage: Usage) -> Json:
    total = usage.prompt_tokens + usage.completion_tokens
    tokens: Json = {"prompt_tokens": usage.prompt_tokens, "completion_tokens": usage.completion_tokens}
    return {**tokens, "total_tokens": total}


def _added(answer: Answer) -> Json:
    citations = [fields_json(each) for each in answer.citations]
    return {"citations": citations, "version": answer.version, "mode": answer.mode}


def _event(body: Json) -> bytes:
    return b"data: " + dump(body) + b"\n\n"
