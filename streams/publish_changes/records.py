"""Records of `graph-changes`: nodes and relationships in Neo4j's CUD format, and tombstones.

The key is `graph|element`, the value the whole element after the change. A removal is two records of one key: the
operation that deletes the element, for sinks, then a tombstone, so that compaction removes the key. The last record of
a version is the node `Graph` with that version. The header `version` is that of the commit.

Relationships name their ends with the operation `merge`, so the order of keys that compaction leaves has no effect.
"""

from __future__ import annotations

import json
import zlib
from collections.abc import Iterator
from typing import Any

from graphtide.graph.changes.elements import ElementChange, End, GraphElement
from graphtide.streams.errors import Rejected
from graphtide.streams.ports import Record
from graphtide.streams.tracing import Headers

VERSION = "version"
GRAPH_KEY = "graph"
MAX_VERSION_DIGITS = 18


def partition_of(graph: str, partitions: int) -> int:
    """Return the partition of a graph: all of its records are in one, in the order of the commits."""
    return zlib.crc32(graph.encode()) % partitions


def change_records(graph: str, version: int, change: ElementChange, partition: int) -> Iterator[Record]:
    """Yield the records of a version: nodes, relationships, removals, and the graph's version."""
    headers = ((VERSION, str(version).encode()),)
    for relations in (False, True):
        for key, each in change.written.items():
            if (each.start is not None) is relations:
                yield Record(f"{graph}|{key}", element_value(graph, each), headers, partition)
    for relations in (True, False):
        for key, each in change.removed.items():
            if (each.start is not None) is relations:
                yield Record(f"{graph}|{key}", removal_value(graph, each), headers, partition)
                yield Record(f"{graph}|{key}", None, headers, partition)
    yield version_record(graph, version, partition)


def version_record(graph: str, version: int, partition: int, deleted: bool = False) -> Record:
    """Return the record that ends a version; of a deleted graph, the one that deletes its node."""
    key = f"{graph}|{GRAPH_KEY}"
    node = {"type": "node", "labels": ["Graph"], "ids": {"key": key}}
    about = {"graph": graph, "version": version}
    ended = {"op": "delete", "detach": True} if deleted else {"op": "merge", "properties": about}
    return Record(key, _dump(node | ended), ((VERSION, str(version).encode()),), partition)


def element_value(graph: str, each: GraphElement) -> bytes:
    """Return the value that writes an element whole."""
    if each.start is None or each.end is None:
        return _dump(_node(graph, each) | {"op": "merge", "properties": {**each.properties, "graph": graph}})
    return _dump(_relationship(graph, each, "merge") | {"op": "merge", "properties": each.properties})


def removal_value(graph: str, each: GraphElement) -> bytes:
    """Return the value that deletes an element."""
    if each.start is None or each.end is None:
        return _dump(_node(graph, each) | {"op": "delete", "detach": True})
    return _dump(_relationship(graph, each, "match") | {"op": "delete"})


def removal_of(value: bytes) -> bytes:
    """Return the value that deletes the element which a value writes. Raises Rejected for another value."""
    try:
        body = json.loads(value)
        body.pop("properties", None)
        if body["type"] == "node":
            return _dump(body | {"op": "delete", "detach": True})
        ends = {name: body[name] | {"op": "match"} for name in ("from", "to")}
        return _dump(body | ends | {"op": "delete"})
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise Rejected(f"a record of graph-changes is not an element: {value[:80]!r}") from error


def version_in(headers: Headers) -> int:
    """Return the version in a record's headers; 0 without a well-formed one: any producer may write to the topic."""
    text = dict(headers).get(VERSION, b"")
    return int(text) if len(text) <= MAX_VERSION_DIGITS and text.isdigit() else 0


def is_removal(value: bytes) -> bool:
    """Return True for a value that deletes its element. Texts of the graph cannot contain the unescaped quotes."""
    return b'"op":"delete"' in value


def _node(graph: str, each: GraphElement) -> dict[str, Any]:
    return {"type": "node", "labels": [each.type], "ids": {"key": f"{graph}|{each.key}"}}


def _relationship(graph: str, each: GraphElement, operation: str) -> dict[str, Any]:
    ends = {"from": each.start, "to": each.end}
    named = {name: _end(graph, end, operation) for name, end in ends.items() if end is not None}
    return {"type": "relationship", "rel_type": each.type, "ids": {"key": f"{graph}|{each.key}"}, **named}


def _end(graph: str, end: End, operation: str) -> dict[str, Any]:
    return {"labels": [end[0]], "ids": {"key": f"{graph}|{end[1]}"}, "op": operation}


def _dump(body: dict[str, Any]) -> bytes:
    return json.dumps(body, ensure_ascii=False, separators=(",", ":")).encode()
