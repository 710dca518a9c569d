"""All rows of a graph at one version, compressed, for readers that take them slowly.

A reader holds them until it has the last part, which may take hours. The invariant: readers of one version share one
copy, of about a tenth of the memory that the rows occupy.
"""

from __future__ import annotations

import json
import weakref
import zlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any
from weakref import ReferenceType, WeakValueDictionary

from graphtide.graph.changes.rows import KINDS, rows_out
from graphtide.graph.view import LiveView
from graphtide.services.changes.types import GraphRows
from graphtide.streams.changes.changed_document import change_token
from graphtide.streams.json_parts import dump

PART_ROWS = 500
"""Rows of one part."""
LEVEL = 1
"""zlib's fastest level."""


@dataclass(frozen=True, slots=True, weakref_slot=True, eq=False)
class PackedRows:
    """The parts, each as compressed JSON. `view`: the view whose rows they are."""

    version: int
    parts: tuple[bytes, ...]
    view: ReferenceType[LiveView] | None = None

    def part(self, number: int) -> GraphRows:
        """Return a part, from 1. Cost: its rows."""
        rows = json.loads(zlib.decompress(self.parts[number - 1]))
        return GraphRows(self.version, change_token(self.version), number, len(self.parts), rows)


class RowPacker:
    """The packed rows that readers hold. Used in one thread."""

    def __init__(self) -> None:
        self._recent: WeakValueDictionary[tuple[str, int], PackedRows] = WeakValueDictionary()

    def pack(self, graph: str, view: LiveView | None) -> PackedRows:
        """Return the rows of a view; one part without rows for a graph without a view. Cost: the rows, once a
        version.
        """
        if view is None:
            return PackedRows(0, (_packed({}),))
        with view.lock.read():
            cached = self._recent.get((graph, view.version))
            if cached is not None and cached.view is not None and cached.view() is view:
                return cached
            body, version = rows_out(view.rows()), view.version
        del body["gone"]
        packed = PackedRows(version, tuple(map(_packed, _portions(body))) or (_packed({}),), weakref.ref(view))
        self._recent[graph, version] = packed
        return packed


def _portions(body: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    for kind in KINDS:
        rows = body.get(kind, ())
        for start in range(0, len(rows), PART_ROWS):
            yield {kind: rows[start : start + PART_ROWS]}


def _packed(rows: Mapping[str, Any]) -> bytes:
    return zlib.compress(dump(rows), LEVEL)
