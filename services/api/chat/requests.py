"""Requests of chat completions: the conversation, and the fields of a question beside it.

The invariant: fields of other servers (temperature, tools, …) are accepted and have no effect; every field that has one
is checked as for `/query`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from graphtide.services.api.schema.envelope import graph_name
from graphtide.services.api.schema.limits import RequestLimits
from graphtide.services.api.schema.requests.json_structure import check_value_count
from graphtide.services.api.schema.requests.questions import question_of
from graphtide.services.api.schema.requests.strict_json import parse_json
from graphtide.services.application import QueryRequest
from graphtide.streams.errors import Invalid, NotFound

DEFAULT_MODE = "auto"
QUESTION_FIELDS = ("top_k", "after", "filters", "level", "exact", "options")
"""Fields of `/query` that a client may send beside those of OpenAI (`extra_body` of its client)."""


@dataclass(frozen=True, slots=True)
class ChatRequest:
    """A question to a graph. `usage_wanted`: the stream ends with the use of tokens."""

    model: str
    graph: str
    question: QueryRequest
    is_streamed: bool
    usage_wanted: bool


def read_chat(raw: bytes, limits: RequestLimits) -> ChatRequest:
    """Return the question in a request of chat completions. Raises MalformedRequest, Invalid and NotFound."""
    check_value_count(raw, limits.max_question_values)
    body = parse_json(raw)
    if not isinstance(body, dict):
        raise Invalid("body", "must be a JSON object")
    model = body.get("model")
    if not isinstance(model, str):
        raise Invalid("model", "must be a string: the graph and the mode, such as notes/auto")
    graph, mode = graph_and_mode(model)
    given = {name: body[name] for name in QUESTION_FIELDS if body.get(name) is not None}
    question = question_of({"question": last_user_text(body.get("messages")), "mode": mode, **given}, limits)
    options = body.get("stream_options")
    usage_wanted = isinstance(options, dict) and options.get("include_usage") is True
    return ChatRequest(model, graph, question, body.get("stream") is True, usage_wanted)


def graph_and_mode(model: str) -> tuple[str, str]:
    """Return the graph and the mode that a model's name means. Raises NotFound for a name that is no graph's."""
    graph, _, mode = model.partition("/")
    try:
        return graph_name(graph), mode or DEFAULT_MODE
    except Invalid as error:
        raise NotFound(f"there is no model {model[:80]!r}; /v1/models lists them") from error


def last_user_text(messages: object) -> str:
    """Return the text of the last message of the user. Raises Invalid."""
    if not isinstance(messages, list):
        raise Invalid("messages", "must be a list of messages")
    for place in range(len(messages) - 1, -1, -1):
        message = messages[place]
        if isinstance(message, dict) and message.get("role") == "user":
            return _text_of(message.get("content"), f"messages[{place}].content")
    raise Invalid("messages", "contains no message with the role user")


def _text_of(content: Any, field: str) -> str:
    if isinstance(content, str):
        return content
    if isinstance(content, list):
        parts = [part.get("text") for part in content if isinstance(part, dict) and part.get("type") == "text"]
        texts = [text for text in parts if isinstance(text, str)]
        if texts and len(texts) == len(parts):
            return "\n".join(texts)
    raise Invalid(field, "must be a string, or a list with a part of type text")
