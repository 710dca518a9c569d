"""Markers in `documents.dlq` of deleted graphs: the letters before a marker's offsets are no longer part of a graph."""

from __future__ import annotations

import json
from collections.abc import Mapping

from graphtide.streams.messages import SCHEMA
from graphtide.streams.ports import Position, Record


def letter_marks(graph: str, before: Mapping[int, int]) -> list[Record]:
    """Return a marker for each partition that has letters."""
    return [_mark(graph, partition, offset) for partition, offset in sorted(before.items()) if offset]


def _mark(graph: str, partition: int, offset: int) -> Record:
    body = {"schema": SCHEMA, "deleted_graph": graph, "partition": partition, "before": offset}
    return Record(graph, json.dumps(body).encode(), partition=partition)


def parse_letter_mark(value: bytes) -> tuple[str, Position] | None:
    """Return the deleted graph, and the position before which its letters are not listed; None for other records."""
    if b'"deleted_graph"' not in value[:200]:
        return None
    try:
        body = json.loads(value)
        return str(body["deleted_graph"]), Position(int(body["partition"]), int(body["before"]))
    except (ValueError, KeyError, TypeError, RecursionError):
        return None
