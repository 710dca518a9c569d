"""JSON Schema of a CloudEvent in structured mode: a document or a deletion, in a graph without a mapping of its own."""

from __future__ import annotations

from typing import Any

from graphtide.infra.sources.cloud_events import DELETED
from graphtide.services.api.schema.envelope import ID_SCHEMA
from graphtide.services.api.schema.requests.fields import FILLED, STORED

_TEXT: dict[str, Any] = {"type": "string", "minLength": 1, **STORED}
_DOCUMENT = {"anyOf": [{"$ref": f"#/components/schemas/{name}"} for name in ("DocumentBody", "BatchDocument")]}
_OF_DELETION = {"enum": [DELETED]}
EVENT_SCHEMA: dict[str, Any] = {
    "type": "object",
    "description": "A mapping of the graph in the sources file may read other data.",
    "required": ["specversion", "id", "source", "type"],
    "properties": {
        "specversion": {"type": "string", "enum": ["1.0"]},
        "id": {
            "type": "string",
            **ID_SCHEMA,
            "description": "the document's id, without `subject` and an id in `data`",
        },
        "source": {**_TEXT, "maxLength": "max_description_chars"},
        "type": {**_TEXT, "description": f"{DELETED}: delete the document; others publish it"},
        "subject": {"type": "string", **ID_SCHEMA, "description": "the document's id"},
        "time": {"type": "string", "format": "date-time"},
        "datacontenttype": _TEXT,
        "dataschema": {"type": "string", "format": "uri"},
        "data": {"anyOf": [*_DOCUMENT["anyOf"], {"type": "string", **FILLED}]},
        "data_base64": {"type": "string", "contentEncoding": "base64"},
    },
    "patternProperties": {"^[a-z0-9]{1,20}$": True},
    "additionalProperties": False,
    "anyOf": [
        {"properties": {"type": {"not": _OF_DELETION}}, "required": ["data"]},
        {"properties": {"type": {"not": _OF_DELETION}}, "required": ["data_base64"]},
        {"properties": {"type": _OF_DELETION}},
    ],
}
