"""CloudEvents 1.0, structured and binary, read by the official SDK."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from urllib.parse import unquote

from graphtide.infra.sources.envelopes import DELETE, Envelope, debezium, is_debezium
from graphtide.infra.sources.logical_types import iso
from graphtide.infra.sources.wire import MAGIC, payload_of
from graphtide.streams.errors import Rejected
from graphtide.streams.json_parts import load_in_parts
from graphtide.streams.sources.types import Headers

DELETED = "graphtide.document.deleted"
"""The type of an event that deletes a document, without a mapping that names others."""
STRUCTURED = "application/cloudevents+json"
BATCH = "application/cloudevents-batch+json"
KAFKA_PREFIX, HTTP_PREFIX = "ce_", "ce-"
Check = Callable[[bytes], None]
"""A check of JSON before it is parsed, which raises for JSON beyond a limit."""
_MALFORMED = (ValueError, TypeError, AttributeError, KeyError, RecursionError, OverflowError)


def unlimited(_: bytes) -> None:
    """Accept JSON of any size: the log limits its records."""


@dataclass(frozen=True, slots=True)
class Event:
    """An event: its attributes as text, and its data (JSON, text or bytes; None without data)."""

    attributes: Mapping[str, str]
    data: object

    @property
    def subject(self) -> str:
        """Return the document id of an event that a mapping does not name otherwise."""
        return self.attributes.get("subject") or self.attributes["id"]


def is_event(value: bytes | None, headers: Headers) -> bool:
    """Return True for a record that may be an event in either mode; `read_event` decides."""
    return _is_binary(headers) or (value is not None and b'"specversion"' in value)


def read_event(value: bytes | None, headers: Headers) -> Event | None:
    """Return the event in a record of Kafka; None for a record that is none. Raises Rejected for a malformed event."""
    if _is_binary(headers):
        attributes = _binary_attributes(headers)
        return _checked(attributes, _data_of(value, attributes.get("datacontenttype", ""), unlimited))
    return structured(value) if value is not None and b'"specversion"' in value else None


def structured(value: bytes, check: Check = unlimited) -> Event | None:
    """Return the event in a structured value; None for other JSON. Raises Rejected, and what `check` raises for the
    JSON in data_base64.
    """
    try:
        body = load_in_parts(value)
    except (ValueError, RecursionError) as error:
        raise Rejected(f"the value is not JSON: {str(error)[:100]}") from error
    if not isinstance(body, dict) or "specversion" not in body:
        return None
    return _structured(body, check)


def binary_http(headers: Mapping[str, str], body: bytes, check: Check) -> Event:
    """Return the event of a request in binary mode. Raises Rejected, and what `check` raises for data that is JSON."""
    attributes = {
        name[len(HTTP_PREFIX) :]: unquote(value) for name, value in headers.items() if name.startswith(HTTP_PREFIX)
    }
    kind = headers.get("content-type", "")
    attributes |= {"datacontenttype": kind} if kind else {}
    return _checked(attributes, _data_of(body, kind, check))


def envelope_of(event: Event, delete_types: frozenset[str]) -> Envelope:
    """Return the envelope in an event: its data is a row, a text, or a Debezium envelope. Raises Rejected."""
    attributes, data = event.attributes, payload_of(event.data)
    if isinstance(data, dict):
        if "op" not in data and "iodebeziumop" in attributes:
            data = {**data, "op": attributes["iodebeziumop"]}
        if is_debezium(data):
            place = {"lsn": attributes.get("iodebeziumlsn"), "ts_ms": attributes.get("iodebeziumtsms")}
            known = data if isinstance(data.get("source"), dict) else {**data, "source": place}
            return debezium(known, None, attributes)
    if attributes["type"] in delete_types:
        return Envelope(DELETE, None, data if isinstance(data, dict) else None, None, attributes)
    if isinstance(data, dict):
        return Envelope("c", data, None, None, attributes)
    if isinstance(data, str):
        return Envelope("c", {"text": data}, None, None, attributes)
    if data is None:
        raise Rejected(
            f"the event {attributes['id'][:80]!r} has no data: send the document as data, or delete it by an event of"
            f" type {DELETED}"
        )
    raise Rejected(
        f"the data of the event {attributes['id'][:80]!r} is {type(data).__name__}: send a JSON object or text"
    )


def _is_binary(headers: Headers) -> bool:
    return any(name.lower().startswith(KAFKA_PREFIX) for name, _ in headers)


def _binary_attributes(headers: Headers) -> dict[str, str]:
    found: dict[str, str] = {}
    try:
        for name, value in headers:
            lower = name.lower()
            if lower.startswith(KAFKA_PREFIX):
                found[lower[len(KAFKA_PREFIX) :]] = value.decode()
            elif lower == "content-type":
                found["datacontenttype"] = value.decode()
    except UnicodeDecodeError as error:
        raise Rejected("a header of the CloudEvent is not UTF-8: correct the producer") from error
    return found


def _data_of(value: bytes | None, kind: str, check: Check) -> object:
    """Return the data of an event in binary mode. Raises Rejected for data that is not the JSON of its type."""
    data = _read_data(value or b"", kind, check)
    if isinstance(data, str) and _is_json(kind):
        raise Rejected("the data of the CloudEvent is not JSON, as its content type says: correct one of them")
    return data


def _read_data(raw: bytes, kind: str, check: Check) -> object:
    """Return JSON by its content type, else text; bytes if they are neither, or in a schema registry's format."""
    from cloudevents.core.formats.json import JSONFormat

    if raw[:1] == bytes([MAGIC]):
        return raw
    if _is_json(kind):
        check(raw)
    try:
        return JSONFormat().read_data(raw, _media(kind) or None)
    except RecursionError as error:
        raise Rejected("the data of the CloudEvent is nested too deeply: send a flat object") from error


def _media(kind: str) -> str:
    return kind.partition(";")[0].strip().lower()


def _is_json(kind: str) -> bool:
    return not _media(kind) or _media(kind).endswith("json")


def _structured(body: dict[str, Any], check: Check) -> Event:
    attributes = {name: value for name, value in body.items() if name not in ("data", "data_base64")}
    data = body.get("data")
    if data is None and "data_base64" in body:
        import base64
        import binascii

        try:
            raw = base64.b64decode(body["data_base64"], validate=True)
        except (binascii.Error, TypeError, ValueError) as error:
            raise Rejected("data_base64 of the CloudEvent is not base64: correct the producer") from error
        kind = attributes.get("datacontenttype")
        data = _read_data(raw, kind if isinstance(kind, str) else "", check)
    return _checked(attributes, data)


def _checked(attributes: Mapping[str, Any], data: object) -> Event:
    """Return the event if the SDK finds its attributes valid. The SDK would invent an id and a time: both are kept
    from the event alone.
    """
    from cloudevents.core.exceptions import BaseCloudEventException
    from cloudevents.core.v1.event import CloudEvent
    from dateutil.parser import isoparse  # type: ignore[import-untyped]  # the SDK's own parser

    if not attributes.get("id"):
        raise Rejected("the CloudEvent has no id: set the attribute id")
    # Debezium sends attributes that are null, and names with capitals, which the specification forbids.
    present = {name.lower(): value for name, value in attributes.items() if value is not None}
    try:
        if "time" in present:
            present["time"] = isoparse(present["time"])
        event = CloudEvent(dict(present), None)
    except (BaseCloudEventException, *_MALFORMED) as error:
        raise Rejected(
            f"the CloudEvent is invalid ({str(error)[:200]}): send CloudEvents 1.0 with id, source, type and"
            " specversion"
        ) from error
    checked = {name: value for name, value in event.get_attributes().items() if name in present}
    return Event({name: _text(value) for name, value in checked.items()}, data)


def _text(value: object) -> str:
    if isinstance(value, datetime):
        return iso(value)
    return str(value).lower() if isinstance(value, bool) else str(value)
