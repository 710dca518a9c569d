"""Envelopes: the operation, the rows before and after it, and the attributes, whatever format a record has.

Formats: a Debezium envelope (with its schema or without), a row without an envelope (ExtractNewRecordState, or plain
JSON), and a CloudEvent, whose data is a row, a text, or again a Debezium envelope.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from graphtide.infra.sources.templates import is_unavailable
from graphtide.streams.errors import Rejected
from graphtide.streams.sources.types import RowVersion

READ, DELETE, UPDATE = "r", "d", "u"
Row = Mapping[str, object]


@dataclass(frozen=True, slots=True)
class Envelope:
    """A record's content. `after` is None for a deletion, `before` where the source does not give it.

    `is_row` marks a record whose key identifies the row: a Debezium envelope.
    """

    operation: str
    after: Row | None
    before: Row | None = None
    key: Row | None = None
    attributes: Mapping[str, object] = field(default_factory=dict)
    version: RowVersion | None = None
    is_snapshot: bool = False
    is_row: bool = False


def is_debezium(value: object) -> bool:
    """Return True for the payload of a Debezium envelope."""
    return isinstance(value, dict) and isinstance(value.get("op"), str) and ("after" in value or "before" in value)


def debezium(value: Mapping[str, Any], key: Row | None, attributes: Mapping[str, object]) -> Envelope:
    """Return the envelope in a payload of Debezium. Raises Rejected for a malformed one."""
    operation = str(value["op"])
    before, after = (_row(value.get(name), name) for name in ("before", "after"))
    source = value.get("source")
    source = source if isinstance(source, dict) else {}
    if after is not None and before is not None:
        after = {name: _available(name, inner, before) for name, inner in after.items()}
    if after is None and operation in ("c", UPDATE, READ):
        raise Rejected(f"the Debezium envelope of operation {operation!r} has no row in `after`: check the connector")
    snapshot = str(source.get("snapshot", "")).lower() not in ("", "false") or operation == READ
    others = {"op": operation, "ts_ms": value.get("ts_ms"), "source": source}
    found = {**others, **attributes}
    return Envelope(operation, after, before, key, found, version_of(source), snapshot, is_row=True)


def unwrapped(value: Mapping[str, Any], key: Row | None, attributes: Mapping[str, object]) -> Envelope:
    """Return the envelope of a row on its own, with the fields that ExtractNewRecordState adds."""
    deleted = str(value.get("__deleted", "")).lower() == "true"
    added = value.get("__op")
    operation = DELETE if deleted or added == DELETE else added if isinstance(added, str) else UPDATE
    row = {name: inner for name, inner in value.items() if not name.startswith("__")}
    found = {name[2:]: inner for name, inner in value.items() if name.startswith("__")}
    lsn = value.get("__source_lsn", value.get("__lsn"))
    version = version_of({"lsn": lsn, "ts_ms": value.get("__source_ts_ms", value.get("__ts_ms"))})
    after, before = (None, row) if operation == DELETE else (row, None)
    return Envelope(operation, after, before, key, {**found, **attributes}, version, operation == READ)


def tombstone(key: Row, attributes: Mapping[str, object]) -> Envelope:
    """Return the envelope of a null value: the deletion of the row that the key names."""
    return Envelope(DELETE, None, None, key, {"op": DELETE, **attributes})


def version_of(source: Mapping[str, Any]) -> RowVersion | None:
    """Return the place of a change in PostgreSQL's log; other databases have no single number, and get None."""
    lsn, moment = _whole(source.get("lsn")), _whole(source.get("ts_ms"))
    return None if lsn is None or moment is None else RowVersion(lsn, moment)


def _whole(value: object) -> int | None:
    if isinstance(value, str) and value.isascii() and value.isdecimal() and len(value) <= 20:
        return int(value)
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def _row(value: object, name: str) -> Row | None:
    if value is None or isinstance(value, dict):
        return value
    raise Rejected(f"`{name}` of the Debezium envelope is a {type(value).__name__}, not a row: check the connector")


def _available(name: str, value: object, before: Row) -> object:
    """Return the column's value, from the row before the change if the change does not contain it."""
    return before.get(name, value) if is_unavailable(value) else value
