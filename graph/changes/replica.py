"""A copy of a graph's rows that an outside reader keeps current from the change feed, and its digest.

It needs nothing but the events of a feed with `detail=rows`: the parts of the snapshot, then the changes.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields, is_dataclass
from typing import Any

from graphtide.graph.changes.rows import rows_in
from graphtide.graph.changes.tables import RowTables
from graphtide.graph.digest import digest


@dataclass(frozen=True, slots=True)
class ReplicaEntity:
    """An entity of a copy, by its public id."""

    id: str
    name: str
    type: str
    mentions: int


@dataclass(frozen=True, slots=True)
class ReplicaEdge:
    """An undirected edge between two entities, by their public ids; `weight` counts the statements between them."""

    u: str
    v: str
    weight: int
    trussness: int


class GraphReplica:
    """The rows of one graph at `version`. Memory: the rows; cost of a change: the rows that it names."""

    def __init__(self) -> None:
        self._tables = RowTables("")

    @property
    def version(self) -> int:
        """Return the version of the last applied event; 0 before the first."""
        return self._tables.version

    def apply(self, event: object) -> None:
        """Apply one event of the feed: a part of the snapshot, or a change with rows, as JSON or as the Python object.

        Part 1 begins anew. A change that is applied already is ignored; versions may have gaps. Raises ValueError for a
        change that has no rows: the graph was rebuilt, or the feed was opened without them; begin with a snapshot.
        """
        items = _items(event)
        version = int(items["version"])
        rows = items.get("rows")
        if "part" in items:
            if items["part"] == 1:
                self._tables = RowTables("")
            self._tables.apply(rows_in("", version, rows or {}, snapshot=True))
            return
        if version <= self.version:
            return
        if rows is None:
            raise ValueError(f"the change to version {version} has no rows; begin with a snapshot")
        self._tables.apply(rows_in("", version, rows))

    def entities(self) -> Iterator[ReplicaEntity]:
        """Yield all entities. Cost: their labels."""
        for row in self._tables.entities.values():
            yield ReplicaEntity(self._tables.entity_id(row.node), row.name, row.type, row.mentions)

    def edges(self) -> Iterator[ReplicaEdge]:
        """Yield all edges. Cost: the edges, and the labels of their ends."""
        ids = {node: self._tables.entity_id(node) for node in self._tables.entities}
        for row in self._tables.edges.values():
            yield ReplicaEdge(ids[row.u], ids[row.v], row.weight, row.trussness)

    def digest(self) -> str:
        """Return the digest of the rows, which equals the graph's own at that version. Cost: n log n in the rows."""
        return digest(self._tables.snapshot())


def _items(event: object) -> Mapping[str, Any]:
    """Return the fields of an event by name."""
    if isinstance(event, Mapping):
        return event
    if is_dataclass(event):
        return {each.name: getattr(event, each.name) for each in fields(event)}
    raise TypeError(f"an event of the change feed is needed, not {type(event).__name__}")
