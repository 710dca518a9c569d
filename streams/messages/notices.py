"""The messages of the topic `deltas`: notices of versions, and requests for reports."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from graphtide.streams.errors import Rejected
from graphtide.streams.json_parts import dump
from graphtide.streams.messages.fields import MALFORMED, SCHEMA, describe, load_record, parse_string


@dataclass(frozen=True, slots=True)
class DeltaNotice:
    """Notice that a graph reached a version, with the entities (by node) that changed, themselves or in an edge.

    The delta follows the notice in `parts` records; with 0 it is not sent, and followers read the store. `replaced`
    means that the graph was rebuilt: the node numbers are new, and every entity changed. `deleted` means that the graph
    was deleted.
    """

    graph: str
    version: int
    nodes: tuple[int, ...] = ()
    parts: int = 0
    replaced: bool = False
    deleted: bool = False

    def encode(self) -> bytes:
        body: dict[str, Any] = {"schema": SCHEMA, "graph": self.graph, "version": self.version}
        body["nodes"] = list(self.nodes)
        if self.parts:
            body["parts"] = self.parts
        if self.replaced:
            body["replaced"] = True
        if self.deleted:
            body["deleted"] = True
        return dump(body)


@dataclass(frozen=True, slots=True)
class ReportRequest:
    """Request of a query process for the reports of communities. It announces no change.

    It is encoded as a notice with version 0, which followers of every release pass over.
    """

    graph: str
    communities: tuple[int, ...]

    def encode(self) -> bytes:
        """Return the record's value."""
        return dump(
            {"schema": SCHEMA, "graph": self.graph, "version": 0, "nodes": [], "wanted": list(self.communities)}
        )


def decode_notice(value: bytes) -> DeltaNotice | ReportRequest:
    """Return the notice or the report request in a record of `deltas`. Raises Rejected for a malformed one."""
    body = load_record(value)
    try:
        nodes = tuple(map(int, body["nodes"]))
        graph, version = parse_string(body["graph"]), int(body["version"])
        if "wanted" in body and not version:
            return ReportRequest(graph, tuple(map(int, body["wanted"])))
        ends = bool(body.get("replaced", False)), bool(body.get("deleted", False))
        return DeltaNotice(graph, version, nodes, int(body.get("parts", 0)), *ends)
    except MALFORMED as error:
        raise Rejected(f"the delta notice is malformed: {describe(error)}") from error
