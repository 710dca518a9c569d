"""The messages of the topic `documents`: published documents, with the entities and facts that publishers supply."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, fields
from typing import Any

from graphtide.graph.records import DocumentInfo
from graphtide.graph.text.dates import date_span
from graphtide.streams.errors import Rejected
from graphtide.streams.json_parts import dump
from graphtide.streams.messages.fields import (
    MALFORMED,
    SCHEMA,
    describe,
    info_fields,
    load_record,
    media_type_fields,
    parse_info,
    parse_media_type,
    parse_string,
    parse_text,
)
from graphtide.streams.messages.keys import document_key, split_document_key

MAX_WEIGHT = 1_000_000.0


@dataclass(frozen=True, slots=True)
class GivenEntity:
    """An entity that a publisher supplies."""

    name: str
    type: str = ""
    description: str = ""


@dataclass(frozen=True, slots=True)
class GivenFact:
    """A relation that a publisher supplies. `valid_from` and `valid_to` are ISO dates or empty."""

    subject: str
    predicate: str
    object: str
    description: str = ""
    weight: float = 1.0
    valid_from: str = ""
    valid_to: str = ""


@dataclass(frozen=True, slots=True)
class DocumentMessage:
    """A published document. `entities` or `facts` other than None replace extraction, even when empty.

    `media_type` is the format of the text, such as text/markdown; "" leaves it to the chunker to recognise it.
    """

    graph: str
    doc_id: str
    text: str
    info: DocumentInfo = field(default_factory=DocumentInfo)
    entities: tuple[GivenEntity, ...] | None = None
    facts: tuple[GivenFact, ...] | None = None
    media_type: str = ""

    @property
    def key(self) -> str:
        return document_key(self.graph, self.doc_id)

    def encode(self) -> bytes:
        """Return the body of `PUT /v1/graphs/{graph}/documents/{id}` with the schema number added."""
        body: dict[str, Any] = {"schema": SCHEMA, "text": self.text, **info_fields(self.info)}
        body |= media_type_fields(self.media_type)
        if self.entities is not None:
            body["entities"] = [_members(entity) for entity in self.entities]
        if self.facts is not None:
            body["facts"] = [_filled(_members(fact)) for fact in self.facts]
        return dump(body)


def decode_document(key: str, value: bytes) -> DocumentMessage:
    """Return the document in a `documents` record. Raises Rejected with the reason."""
    graph, doc_id = split_document_key(key)
    body = load_record(value)
    try:
        entities, facts = body.get("entities"), body.get("facts")
        return DocumentMessage(
            graph,
            doc_id,
            parse_text(body["text"], "text"),
            parse_info(body),
            None if entities is None else tuple(_entity_in(entity) for entity in entities),
            None if facts is None else tuple(_fact_in(fact) for fact in facts),
            parse_media_type(body),
        )
    except MALFORMED as error:
        raise Rejected(f"the document record is malformed: {describe(error)}") from error


def _members(given: GivenEntity | GivenFact) -> dict[str, Any]:
    """Return the fields by name: `dataclasses.asdict` copies each value, which takes three times as long."""
    return {each.name: getattr(given, each.name) for each in fields(given)}


def _filled(body: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in body.items() if value != ""}


def _entity_in(body: dict[str, Any]) -> GivenEntity:
    return GivenEntity(
        parse_text(body["name"], "name"), parse_string(body.get("type", "")), parse_string(body.get("description", ""))
    )


def _fact_in(body: dict[str, Any]) -> GivenFact:
    subject, predicate, object_ = (parse_text(body[name], name) for name in ("subject", "predicate", "object"))
    weight = float(body.get("weight", 1.0))
    if not (math.isfinite(weight) and 0 < weight <= MAX_WEIGHT):
        raise ValueError(f"weight {weight:g} is not above 0 and at most {MAX_WEIGHT:g}")
    times = [parse_string(body.get(name) or "") for name in ("valid_from", "valid_to")]
    if any(time and date_span(time) is None for time in times):
        raise ValueError("valid_from and valid_to must be ISO dates")
    return GivenFact(subject, predicate, object_, parse_string(body.get("description", "")), weight, *times)
