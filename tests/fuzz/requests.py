"""Fuzz targets of requests: bodies of chats, agents, questions and documents, parameters, and cursors."""

from __future__ import annotations

import json
from base64 import urlsafe_b64encode
from collections.abc import Callable, Sequence
from contextlib import suppress
from urllib.parse import parse_qsl

from pydantic import ValidationError

from graphtide.services.api.chat.requests import read_chat
from graphtide.services.api.mcp.tools import BY_NAME
from graphtide.services.api.schema.errors import MalformedRequest, TooLarge
from graphtide.services.api.schema.limits import RequestLimits
from graphtide.services.api.schema.requests import browsing
from graphtide.services.api.schema.requests.documents import read_document, read_lines, read_list
from graphtide.services.api.schema.requests.preview import read_preview
from graphtide.services.api.schema.requests.questions import read_question
from graphtide.services.api.schema.requests.standing import read_standing_question
from graphtide.services.inspection import cursors
from graphtide.streams.errors import Invalid, NotFound
from graphtide.streams.messages import DocumentMessage, decode_document
from graphtide.streams.standing.records import QuestionDefinition

_LIMITS = RequestLimits()
_REFUSALS = (Invalid, MalformedRequest, TooLarge)


def chat_body(data: bytes) -> None:
    with suppress(*_REFUSALS, NotFound):
        read_chat(data, _LIMITS).question.question.encode()


def tool_arguments(data: bytes) -> None:
    """The first line is the name of an agent's tool, the rest its arguments."""
    name, _, arguments = data.partition(b"\n")
    tool = BY_NAME.get(name.decode("utf-8", "replace"))
    with suppress(ValueError, RecursionError):
        given = json.loads(arguments)
        if tool is not None:
            with suppress(ValidationError):
                tool.arguments.model_validate(given).scope  # noqa: B018 -- the property may fail


def standing_question(data: bytes) -> None:
    with suppress(*_REFUSALS):
        found = read_standing_question("q", data, _LIMITS)
        assert QuestionDefinition.decode("q", found.encode()) == found and isinstance(hash(found.options), int)


def question_body(data: bytes) -> None:
    with suppress(*_REFUSALS):
        asked = read_question(data, _LIMITS)
        assert asked.question.encode() and isinstance(hash(asked.options), int)


def preview_body(data: bytes) -> None:
    with suppress(*_REFUSALS):
        read_preview("g", data, _LIMITS)


def document_body(data: bytes) -> None:
    """A body as a single document, as a list and as lines: whatever is accepted can be stored."""
    readers: tuple[Callable[[bytes], Sequence[DocumentMessage]], ...] = (
        lambda raw: [read_document("g", "d", raw, _LIMITS)],
        lambda raw: read_list("g", raw, _LIMITS).documents,
        lambda raw: read_lines("g", raw, _LIMITS).documents,
    )
    for read in readers:
        with suppress(*_REFUSALS):
            for message in read(data):
                assert decode_document(message.key, message.encode()) == message


def parameters(data: bytes) -> None:
    """A query string, read by every operation that has parameters."""
    given = dict(parse_qsl(data.decode("utf-8", "replace")))
    after = given.get("after", "")
    readers: tuple[Callable[[], object], ...] = (
        lambda: browsing.document_query(given),
        lambda: browsing.entity_query(given),
        lambda: browsing.change_query(given, after),
        lambda: browsing.neighbourhood_size(given),
        lambda: browsing.community_page(given),
        lambda: browsing.graph_page(given),
        lambda: browsing.wait_seconds(given),
    )
    for read in readers:
        with suppress(Invalid):
            read()


def cursor(data: bytes) -> None:
    """A cursor with a valid check value, whatever it contains, and the text itself."""
    listing = ("entities", "g")
    sealed = urlsafe_b64encode(cursors._check(listing, data) + data).decode().rstrip("=")
    for text in (sealed, data.decode("utf-8", "replace")):
        for kinds in ((str,), (int,), (int, int, str, str)):
            with suppress(Invalid):
                place = cursors.decode_cursor(listing, kinds, text)
                assert cursors.decode_cursor(listing, kinds, cursors.encode_cursor(listing, place)) == place


TARGETS = (
    chat_body,
    tool_arguments,
    standing_question,
    question_body,
    preview_body,
    document_body,
    parameters,
    cursor,
)
