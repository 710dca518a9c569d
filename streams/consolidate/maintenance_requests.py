"""Maintenance requests to the single writer of a graph: verify the graph, rebuild it, or delete it.

A request is a record of `extractions` with the graph as its key: the consolidator that owns the partition serves it
between two batches, when nothing else writes the graph, and its commit is fenced like that of a batch. The reply is a
record of `deltas`, after all the deltas it covers; the caller follows that topic anyway.

Invariant: a request takes effect at most once, and a repeated one gives the same graph.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from enum import StrEnum
from typing import Any

from graphtide.streams.errors import Rejected
from graphtide.streams.messages import SCHEMA
from graphtide.streams.ports import ConsumedRecord, Record

REQUEST = "upkeep-request"
REPLY = "upkeep-reply"
"""The headers of requests and replies keep the names that processes of earlier versions write and read."""
MAX_LINES = 100
MAX_LINE_CHARS = 300
_MALFORMED = (KeyError, TypeError, ValueError, AttributeError, ArithmeticError)


class MaintenanceKind(StrEnum):
    """The kinds of maintenance."""

    VERIFY = "verify"
    REBUILD = "rebuild"
    DELETE = "delete"


@dataclass(frozen=True, slots=True)
class MaintenanceRequest:
    """A request for one graph. The caller chooses `id` to recognise the reply.

    A deletion covers what is before these offsets, by partition: `before` of `documents`, `letters` of
    `documents.dlq`.
    """

    graph: str
    kind: MaintenanceKind
    id: str
    before: Mapping[int, int] = field(default_factory=dict)
    letters: Mapping[int, int] = field(default_factory=dict)

    def record(self) -> Record:
        """Return the record to append to `extractions`."""
        return Record(self.graph, _dump({"schema": SCHEMA, **asdict(self)}), ((REQUEST, self.id.encode()),))


@dataclass(frozen=True, slots=True)
class MaintenanceReply:
    """The result at `version`, or the reason why nothing was done (`failure`). `stored`, `recounted`: digests."""

    graph: str
    kind: MaintenanceKind
    id: str
    version: int = 0
    stored: str = ""
    recounted: str = ""
    differences: tuple[str, ...] = ()
    checked: Mapping[str, int] = field(default_factory=dict)
    failure: str = ""

    def record(self) -> Record:
        """Return the record to append to `deltas`. Differences after the first hundred are only counted."""
        body = {"schema": SCHEMA, **asdict(self), "differences": _bounded(self.differences)}
        return Record(self.graph, _dump(body), ((REPLY, self.id.encode()),))


def is_request(delivered: ConsumedRecord) -> bool:
    """Return True if the record's headers mark it as a maintenance request."""
    return any(name == REQUEST for name, _ in delivered.record.headers)


def parse_request(delivered: ConsumedRecord) -> MaintenanceRequest | None:
    """Return the request in a record of `extractions`; None for other records. Raises Rejected for a malformed one."""
    if REQUEST not in dict(delivered.record.headers):
        return None
    body = _load(delivered)
    try:
        offsets = offsets_in(body.get("before", {})), offsets_in(body.get("letters", {}))
        request = MaintenanceRequest(body["graph"], MaintenanceKind(body["kind"]), str(body["id"]), *offsets)
    except _MALFORMED as error:
        raise Rejected(f"the maintenance request is malformed: {type(error).__name__}") from error
    if request.graph != delivered.record.key:
        raise Rejected("the maintenance request names another graph than the record key")
    return request


def parse_reply(delivered: ConsumedRecord) -> MaintenanceReply | None:
    """Return the reply in a record of `deltas`; None for other records. Raises Rejected for a malformed one."""
    if REPLY not in dict(delivered.record.headers):
        return None
    body = _load(delivered)
    try:
        checked = {str(name): int(count) for name, count in body["checked"].items()}
        digests = int(body["version"]), str(body["stored"]), str(body["recounted"])
        differences = tuple(map(str, body["differences"]))
        kind, id_ = MaintenanceKind(body["kind"]), str(body["id"])
        return MaintenanceReply(body["graph"], kind, id_, *digests, differences, checked, str(body["failure"]))
    except _MALFORMED as error:
        raise Rejected(f"the maintenance reply is malformed: {type(error).__name__}") from error


def offsets_in(body: Mapping[str, Any]) -> dict[int, int]:
    """Return the offsets by partition in a JSON object. Raises ValueError, TypeError or AttributeError."""
    return {int(partition): int(offset) for partition, offset in body.items()}


def without_requests(headers: tuple[tuple[str, bytes], ...]) -> tuple[tuple[str, bytes], ...]:
    """Return the headers without those that mark requests and replies: any producer may write to `documents`."""
    return tuple(header for header in headers if header[0] not in (REQUEST, REPLY))


def _bounded(lines: tuple[str, ...]) -> list[str]:
    shown = [line[:MAX_LINE_CHARS] for line in lines[:MAX_LINES]]
    return shown if len(lines) <= MAX_LINES else [*shown, f"and {len(lines) - MAX_LINES} more"]


def _dump(body: Mapping[str, object]) -> bytes:
    return json.dumps(body, ensure_ascii=False, separators=(",", ":")).encode(errors="backslashreplace")


def _load(delivered: ConsumedRecord) -> dict[str, Any]:
    try:
        body = json.loads(delivered.record.value or b"")
    except (ValueError, RecursionError) as error:
        raise Rejected(f"the record is not JSON: {error}") from error
    if not isinstance(body, dict) or body.get("schema") != SCHEMA:
        raise Rejected(f"the record is not of schema {SCHEMA}")
    return body
