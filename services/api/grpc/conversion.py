"""Conversion between protobuf messages and the JSON bodies of HTTP.

Messages have the fields of the JSON bodies, so requests are validated by the functions of HTTP and answers take the
shapes of `services/api/schema/shapes.py`; a new field needs no code here. A request's field that proto3 cannot
distinguish from an unset one counts as omitted.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from functools import cache
from typing import Any, TypeVar

from google.protobuf.descriptor import Descriptor
from google.protobuf.message import Message
from google.protobuf.struct_pb2 import Struct, Value

from graphtide.graph.retrieval.options.fields import options_json
from graphtide.services.api.schema import graphtide_pb2 as pb
from graphtide.services.api.schema.shapes import Json
from graphtide.services.application import Filters, QueryRequest

M = TypeVar("M", bound=Message)

_REQUIRED = frozenset({"id", "text", "name", "subject", "predicate", "object", "question"})
"""Fields that a JSON body must hold: an empty one is invalid, and not omitted."""


def message_of(kind: type[M], body: Mapping[str, Any]) -> M:
    """Return the message with the fields of a JSON body. Raises ValueError for a field that the message lacks."""
    free = _free_form_maps(kind.DESCRIPTOR)
    message: M = kind(**{name: value for name, value in body.items() if name not in free})
    for name in free & body.keys():
        entries = getattr(message, name)
        for key, value in body[name].items():
            entries[key].update(value)
    return message


@cache
def _free_form_maps(message: Descriptor) -> frozenset[str]:
    """Return the map fields with free-form values, which a constructor does not accept as dicts."""
    kinds = {each.name: each.message_type for each in message.fields if each.message_type}
    entries = {name: kind for name, kind in kinds.items() if kind.GetOptions().map_entry}
    return frozenset(
        name for name, kind in entries.items() if kind.fields_by_name["value"].message_type == Struct.DESCRIPTOR
    )


def question_message(graph: str, ask: QueryRequest) -> pb.QueryRequest:
    """Return the question as a forwarding process sends it; the deadline of the call carries the timeout."""
    body = asdict(ask)
    del body["timeout_s"]
    filters = body.pop("filters") | {"metadata": dict(ask.filters.metadata)}
    body["options"] = options_json(ask.options) or None
    return pb.QueryRequest(graph=graph, filters=None if ask.filters == Filters() else filters, **body)


def request_value(request: pb.PublishRequest | pb.QueryRequest | pb.StandingQuestionRequest) -> Json:
    """Return the document or question as the JSON value of a request over HTTP; a document has its id."""
    body = _value(request)
    body.pop("graph", None)
    return body


def _value(message: Message) -> Json:
    body: Json = {}
    for field in message.DESCRIPTOR.fields:
        name, value = field.name, getattr(message, field.name)
        if message.HasField(name) if field.has_presence else value or name in _REQUIRED:
            body[name] = list(value) if field.is_repeated else _part(value)
    return body


def _part(value: object) -> object:
    if isinstance(value, Struct):
        return _struct_value(value)
    if isinstance(value, pb.EntityList | pb.FactList):
        return [_value(item) for item in value.items]
    return _value(value) if isinstance(value, Message) else value


def _struct_value(struct: Struct) -> Json:
    return {name: _plain(value) for name, value in struct.fields.items()}


def _plain(value: Value) -> object:
    """Return the JSON value. A Struct holds doubles only: whole numbers become integers, as over HTTP."""
    kind = value.WhichOneof("kind")
    if kind == "struct_value":
        return _struct_value(value.struct_value)
    if kind == "list_value":
        return [_plain(inner) for inner in value.list_value.values]
    if kind == "number_value":
        return int(value.number_value) if value.number_value.is_integer() else value.number_value
    return None if kind in (None, "null_value") else getattr(value, kind)


def parameters(request: Message) -> dict[str, str]:
    """Return the fields of a request that are set, as the query parameters that HTTP reads."""
    return {field.name: _parameter(value) for field, value in request.ListFields()}


def _parameter(value: object) -> str:
    return f"{value:.9f}" if isinstance(value, float) else str(value)
