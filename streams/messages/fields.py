"""The fields that several messages share, checked as they are read: records are untrusted."""

from __future__ import annotations

import json
import logging
import math
from collections.abc import Mapping
from typing import Any

from graphtide.graph.records import DocumentInfo
from graphtide.graph.text.dates import date_span
from graphtide.streams.errors import Rejected
from graphtide.streams.json_parts import UNCONVERTED, Convert, dump, load_in_parts
from graphtide.streams.model_ports import MEDIA_TYPES

SCHEMA = 1
MAX_METADATA_DEPTH = 32
log = logging.getLogger("graphtide.streams")
MALFORMED = (KeyError, TypeError, ValueError, IndexError, AttributeError, ArithmeticError, RecursionError)


def parse_media_type(body: dict[str, Any]) -> str:
    """Return the format of the text, "" without one. Raises ValueError for one that no reader knows."""
    media_type = parse_string(body.get("media_type") or "")
    if media_type and media_type not in MEDIA_TYPES:
        raise ValueError(f"media_type {media_type[:80]!r} is not readable: convert to {', '.join(MEDIA_TYPES)}")
    return media_type


def media_type_fields(media_type: str) -> dict[str, str]:
    """Return the field of the format; no field for ""."""
    return {"media_type": media_type} if media_type else {}


def info_fields(info: DocumentInfo) -> dict[str, Any]:
    """Return the description of a document as fields, without empty ones."""
    metadata = {key: json.loads(value) for key, value in info.metadata}
    fields = {"title": info.title, "source": info.source, "occurred_at": info.occurred_at, "metadata": metadata}
    return {name: value for name, value in fields.items() if value}


def parse_info(body: dict[str, Any]) -> DocumentInfo:
    """Return the description of a document in its fields."""
    metadata = body.get("metadata") or {}
    return DocumentInfo(
        parse_string(body.get("title") or ""),
        parse_string(body.get("source") or ""),
        _date(parse_string(body.get("occurred_at") or "")),
        metadata_pairs(metadata),
    )


def _date(value: str) -> str:
    """Return the date as it is stored, so that rebuilt equals incremental; a malformed one counts as no date."""
    if value and date_span(value) is None:
        log.warning(
            "occurred_at %.40r is not an ISO date and counts as no date; publish the document with an ISO date", value
        )
    return value


def metadata_pairs(metadata: dict[str, Any]) -> tuple[tuple[str, str], ...]:
    """Return metadata as it is stored: sorted pairs of key and JSON value. Raises ValueError for non-JSON values."""
    _check_json(metadata, 0)
    return tuple(sorted((parse_string(key), dump(value).decode()) for key, value in metadata.items()))


def parse_text(value: object, field: str) -> str:
    """Return the string, which must have more than white space."""
    text = parse_string(value)
    if not text.strip():
        raise ValueError(f"{field} is empty")
    return text


def parse_string(value: object) -> str:
    """Return the string, which every store can hold. Raises TypeError or ValueError."""
    if not isinstance(value, str):
        raise TypeError(f"expected a string, got {type(value).__name__}")
    if "\0" in value:
        raise ValueError("a text contains a NUL character")
    value.encode()  # a lone surrogate has no UTF-8 form: UnicodeEncodeError is a ValueError
    return value


def _check_json(value: object, depth: int) -> None:
    if depth > MAX_METADATA_DEPTH:
        raise ValueError(f"metadata is nested deeper than {MAX_METADATA_DEPTH} levels")
    if isinstance(value, dict):
        for key, inner in value.items():
            parse_string(key)
            _check_json(inner, depth + 1)
    elif isinstance(value, list):
        for inner in value:
            _check_json(inner, depth + 1)
    elif isinstance(value, str):
        parse_string(value)
    elif isinstance(value, float) and not math.isfinite(value):
        raise ValueError("metadata contains a number that is not finite, which JSON does not allow")


def describe(error: Exception) -> str:
    """Return an error in a few words. (The repr of a UnicodeEncodeError would hold the whole text.)"""
    return f"{type(error).__name__}: {str(error)[:200]}"


def load_record(*pieces: bytes | memoryview, elements: Mapping[str, Convert] = UNCONVERTED) -> dict[str, Any]:
    """Return the JSON object of a record with a known schema; see `load_in_parts`. Raises Rejected with the reason."""
    try:
        body = load_in_parts(*pieces, elements=elements)
    except (ValueError, RecursionError) as error:
        raise Rejected(f"the record is not JSON: {error}") from error
    if not isinstance(body, dict):
        raise Rejected(f"the record is a JSON {type(body).__name__}, not an object")
    schema = body.get("schema", SCHEMA)
    if schema != SCHEMA:
        named = repr(schema)[:40] if isinstance(schema, int | str) else type(schema).__name__
        raise Rejected(f"the record has schema {named}; this version reads schema {SCHEMA}")
    return body
