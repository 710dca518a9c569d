"""Published documents: their wire format, and the conversion to `DocumentMessage`.

`Application.publish` stores them. The invariant: after encoding, `streams.messages.decode_document` accepts every
`DocumentMessage` from here, so no document answered with 202 is refused later for its form.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Annotated, Any

from pydantic import AfterValidator, Field
from pydantic_core import PydanticCustomError

from graphtide.graph.records import DocumentInfo
from graphtide.graph.text.dates import GRAMMAR, date_span
from graphtide.services.api.schema.envelope import ID_SCHEMA, document_id
from graphtide.services.api.schema.errors import MalformedRequest, Rejection, TooLarge
from graphtide.services.api.schema.limits import RequestLimits
from graphtide.services.api.schema.requests.fields import (
    Description,
    FilledText,
    Metadata,
    Name,
    StrictModel,
    given,
    limited,
    read_json,
    read_value,
)
from graphtide.services.api.schema.requests.json_structure import check_value_count, elements
from graphtide.services.api.schema.requests.strict_json import parse_json
from graphtide.streams.errors import Invalid
from graphtide.streams.messages import DocumentMessage, GivenEntity, GivenFact, metadata_pairs
from graphtide.streams.model_ports import MEDIA_TYPES

_SPLIT = ": split the document"
BLANKS = b" \t\r\n"
_NOT_BLANK = re.compile(rb"\S")
_MAX_PARSED_FOR_AN_ERROR = 1 << 20


def check_date(value: str) -> str:
    """Return an ISO date (2024, 2024-05 or 2024-05-31) or date and time; the empty string means unknown."""
    if value and date_span(value) is None:
        raise PydanticCustomError("date", "is not an ISO date; write 2024-05-31 or 2024-05-31T12:00:00Z")
    return value


IsoDate = Annotated[str, AfterValidator(check_date), Field(json_schema_extra={"pattern": f"^({GRAMMAR})?$"})]


def check_media_type(value: str) -> str:
    """Return a media type that the service reads; the empty string means unknown."""
    if value and value not in MEDIA_TYPES:
        known = {"known": ", ".join(MEDIA_TYPES)}
        raise PydanticCustomError(
            "media_type", "is not a readable media type; convert the text to one of {known}", known
        )
    return value


MediaType = Annotated[str, AfterValidator(check_media_type), Field(json_schema_extra={"enum": ["", *MEDIA_TYPES]})]


class FactBody(StrictModel):
    """A relation that the publisher states; nothing extracts it from the text."""

    subject: Name = Field(examples=["Marie Curie"])
    predicate: Name = Field(examples=["discovered"])
    object: Name = Field(examples=["polonium"])
    description: Description | None = None
    weight: float | None = Field(default=None, ge=0.001, le=1_000_000)
    valid_from: IsoDate | None = Field(default=None, examples=["1898"])
    valid_to: IsoDate | None = None


class EntityBody(StrictModel):
    """An entity that the publisher names; nothing extracts it from the text."""

    name: Name = Field(examples=["Marie Curie"])
    type: Description | None = Field(default=None, examples=["person"])
    description: Description | None = None


class DocumentBody(StrictModel):
    """A document. With `facts` or `entities`, even empty lists, no model extracts anything from the text."""

    text: FilledText = Field(examples=["Marie Curie discovered polonium in 1898."])
    title: Description | None = Field(default=None, examples=["Marie Curie"])
    source: Description | None = Field(default=None, examples=["notes/curie.md"])
    occurred_at: IsoDate | None = Field(default=None, examples=["1898-07-18"])
    metadata: Metadata | None = Field(default=None, examples=[{"language": "en"}])
    media_type: MediaType | None = Field(default=None, examples=["text/markdown"])
    entities: Annotated[list[EntityBody], *limited("max_entities", _SPLIT)] | None = None
    facts: Annotated[list[FactBody], *limited("max_facts", _SPLIT)] | None = None


class BatchDocument(DocumentBody):
    """A document of a batch: a document with its id."""

    id: str = Field(examples=["curie"], json_schema_extra={**ID_SCHEMA})


@dataclass(frozen=True, slots=True)
class PublishBatch:
    """The valid documents in the order of the batch, and the reason of each rejection."""

    documents: tuple[DocumentMessage, ...]
    rejected: tuple[Rejection, ...]


def read_document(graph: str, doc_id: str, raw: bytes, limits: RequestLimits) -> DocumentMessage:
    """Return the document in the body of a PUT. Raises MalformedRequest and Invalid."""
    return _message(graph, doc_id, read_json(DocumentBody, raw, limits, limits.max_document_values), limits)


def document_of(graph: str, value: object, limits: RequestLimits) -> DocumentMessage:
    """Return the document of a parsed value with an id. Raises Invalid."""
    body = read_value(BatchDocument, value, limits)
    return _message(graph, document_id(body.id), body, limits)


def read_list(graph: str, raw: bytes, limits: RequestLimits) -> PublishBatch:
    """Return the documents in a JSON list, parsed one by one. Raises MalformedRequest, Invalid, TooLarge."""
    text = raw.strip(BLANKS)
    if not text.startswith(b"["):
        if len(text) <= _MAX_PARSED_FOR_AN_ERROR:
            check_value_count(text, limits.max_document_values)
            parse_json(text)
        raise Invalid("body", "must be a list of documents; send a single document by PUT")
    if len(text) < 2 or not text.endswith(b"]"):
        raise MalformedRequest("this is not JSON: the list has no end; close it with ]")
    inner = text[1:-1].strip(BLANKS)
    return _batch(graph, elements(inner) if inner else (), limits, in_list=True)


def read_lines(graph: str, raw: bytes, limits: RequestLimits) -> PublishBatch:
    """Return the documents in NDJSON, one per line; blank lines do not count. Raises Invalid, TooLarge."""
    return _batch(graph, _lines(raw), limits, in_list=False)


class LineCount:
    """Counter of the non-blank lines of NDJSON while it arrives. Cost: each byte is scanned once."""

    def __init__(self, limits: RequestLimits) -> None:
        self._limit = limits.max_batch_documents
        self._lines = 0
        self._at = 0
        self._in_line = False

    def check(self, body: bytearray) -> None:
        """Raise TooLarge when the bytes so far contain too many documents."""
        while self._at < len(body):
            if self._in_line:
                end = body.find(b"\n", self._at)
                self._in_line, self._at = end < 0, len(body) if end < 0 else end
                continue
            found = _NOT_BLANK.search(body, self._at)
            if found is None:
                self._at = len(body)
                return
            self._lines, self._in_line, self._at = self._lines + 1, True, found.start()
            if self._lines > self._limit:
                raise too_many(self._limit)


def _lines(raw: bytes) -> Iterator[bytes]:
    at = 0
    while (found := _NOT_BLANK.search(raw, at)) is not None:
        end = raw.find(b"\n", found.start())
        at = len(raw) if end < 0 else end
        yield raw[found.start() : at]


def _batch(graph: str, texts: Iterable[bytes], limits: RequestLimits, in_list: bool) -> PublishBatch:
    documents: list[DocumentMessage] = []
    rejected: list[Rejection] = []
    for index, text in enumerate(texts):
        if index >= limits.max_batch_documents:
            raise too_many(limits.max_batch_documents)
        try:
            documents.append(_one_of_batch(graph, text, limits))
        except Invalid as error:
            rejected.append(Rejection(index, _id_in(text, limits), error.field, error.message))
        except TooLarge as error:
            rejected.append(Rejection(index, "", "", str(error)))
        except MalformedRequest as error:
            if in_list:  # the list itself is malformed
                raise
            rejected.append(Rejection(index, "", "", str(error)))
    if not documents and not rejected:
        raise Invalid("body", "contains no document; send at least one")
    return PublishBatch(tuple(documents), tuple(rejected))


def too_many(limit: int) -> TooLarge:
    """Return the error of a batch with more documents than the limit."""
    return TooLarge(f"the batch has more than {limit} documents; send it in parts")


def _one_of_batch(graph: str, text: bytes, limits: RequestLimits) -> DocumentMessage:
    if len(text) > limits.max_body_bytes:
        raise TooLarge(f"the document has {len(text)} bytes; the limit is {limits.max_body_bytes}; split it")
    body = read_json(BatchDocument, text, limits, limits.max_document_values)
    return _message(graph, document_id(body.id), body, limits)


def _id_in(text: bytes, limits: RequestLimits) -> str:
    """Return the id of an invalid document, "" if it cannot be determined."""
    try:
        check_value_count(text, limits.max_document_values)
        value = parse_json(text)
        doc_id = value.get("id") if isinstance(value, dict) else None
        return document_id(doc_id) if isinstance(doc_id, str) else ""
    except (Invalid, MalformedRequest, TooLarge):
        return ""


def _message(graph: str, doc_id: str, body: DocumentBody, limits: RequestLimits) -> DocumentMessage:
    _check_sizes(body, limits)
    metadata = metadata_pairs(_ordered(body.metadata)) if body.metadata else ()
    info = DocumentInfo(body.title or "", body.source or "", body.occurred_at or "", metadata)
    entities = None if body.entities is None else tuple(GivenEntity(**given(each)) for each in body.entities)
    facts = None if body.facts is None else tuple(GivenFact(**given(each)) for each in body.facts)
    return DocumentMessage(graph, doc_id, body.text, info, entities, facts, body.media_type or "")


def _ordered(value: Any) -> Any:
    """Return the value with sorted keys: their order has no meaning in JSON, so it must not change the digest."""
    if isinstance(value, dict):
        return {key: _ordered(value[key]) for key in sorted(value)}
    return [_ordered(inner) for inner in value] if isinstance(value, list) else value


def _check_sizes(body: DocumentBody, limits: RequestLimits) -> None:
    if len(body.text) * 4 > limits.max_body_bytes and len(body.text.encode()) > limits.max_body_bytes:
        raise Invalid("text", f"takes more than {limits.max_body_bytes} bytes; split the document")
