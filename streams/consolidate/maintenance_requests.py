"""Asking the writer of a graph for what only a single writer can do: to recount a graph, or to build it anew.

A request is a record of `extractions`, with the graph as its key like any other: the consolidator that owns the
partition meets it between two batches, when nothing else writes the graph, and its commit is fenced like any batch.
The reply is a record of `deltas`, behind everything it speaks of, where whoever asked follows anyway.

Invariant: a request is served at most once with an effect, and a repeated one gives the same graph.
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
MAX_LINES = 100
MAX_LINE_CHARS = 300
_MALFORMED = (KeyError, TypeError, ValueError, AttributeError)


class MaintenanceKind(StrEnum):
    """What can be asked for."""

    VERIFY = "verify"
    REBUILD = "rebuild"


@dataclass(frozen=True, slots=True)
class MaintenanceRequest:
    """`id` is the asker's, to know the reply by."""

    graph: str
    kind: MaintenanceKind
    id: str

    def record(self) -> Record:
        """What is appended to `extractions`."""
        return Record(self.graph, _dump({"schema": SCHEMA, **asdict(self)}), ((REQUEST, self.id.encode()),))


@dataclass(frozen=True, slots=True)
class MaintenanceReply:
    """What was found at `version`, or why nothing was done (`failure`). `stored` and `recounted` are digests."""

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
        """What is announced in `deltas`. Differences beyond the first hundred are counted, not told."""
        body = {"schema": SCHEMA, **asdict(self), "differences": _bounded(self.differences)}
        return Record(self.graph, _dump(body), ((REPLY, self.id.encode()),))


def parse_request(delivered: ConsumedRecord) -> MaintenanceRequest | None:
    """The request in a record of `extractions`; None for all others. Raises Rejected for a malformed one."""
    if REQUEST not in dict(delivered.record.headers):
        return None
    body = _load(delivered)
    try:
        request = MaintenanceRequest(body["graph"], MaintenanceKind(body["kind"]), str(body["id"]))
    except _MALFORMED as error:
        raise Rejected(f"the request for upkeep is malformed: {type(error).__name__}") from error
    if request.graph != delivered.record.key:
        raise Rejected("the request for upkeep names another graph than its key")
    return request


def parse_reply(delivered: ConsumedRecord) -> MaintenanceReply | None:
    """The reply in a record of `deltas`; None for all others. Raises Rejected for a malformed one."""
    if REPLY not in dict(delivered.record.headers):
        return None
    body = _load(delivered)
    try:
        checked = {str(name): int(count) for name, count in body["checked"].items()}
        said = (int(body["version"]), str(body["stored"]), str(body["recounted"]), tuple(map(str, body["differences"])))
        return MaintenanceReply(
            body["graph"], MaintenanceKind(body["kind"]), str(body["id"]), *said, checked, str(body["failure"])
        )
    except _MALFORMED as error:
        raise Rejected(f"the reply is malformed: {type(error).__name__}") from error


def without_requests(headers: tuple[tuple[str, bytes], ...]) -> tuple[tuple[str, bytes], ...]:
    """The headers without those by which requests and replies are known: anybody may write to `documents`."""
    return tuple(each for each in headers if each[0] not in (REQUEST, REPLY))


def _bounded(lines: tuple[str, ...]) -> list[str]:
    told = [line[:MAX_LINE_CHARS] for line in lines[:MAX_LINES]]
    return told if len(lines) <= MAX_LINES else [*told, f"and {len(lines) - MAX_LINES} more"]


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
