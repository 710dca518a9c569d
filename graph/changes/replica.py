"""A copy of a graph's rows that an outside reader keeps current from the change feed, and its digest.

It needs nothing but the events of a feed with `detail=rows`: the parts of the snapshot, then the changes.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from graphtide.graph.changes.rows import rows_in
from graphtide.graph.changes.tables import RowTables
from graphtide.graph.digest import digest


class GraphReplica:
    """The rows of one graph at `version`. Memory: the rows; cost of a change: the rows that it names."""

    def __init__(self) -> None:
        self._tables = RowTables("")

    @property
    def version(self) -> int:
        """Return the version of the last applied event; 0 before the first."""
        return self._tables.version

    def apply(self, event: Mapping[str, Any]) -> None:
        """Apply one event of the feed: the JSON of a part of the snapshot or of a change with rows.

        Part 1 begins anew. A change that is applied already is ignored. Raises ValueError for a change that does not
        follow, or that has no rows: the graph was rebuilt, or the feed was opened without them; begin with a snapshot.
        """
        version = int(event["version"])
        rows = event.get("rows")
        if "part" in event:
            if event["part"] == 1:
                self._tables = RowTables("")
            self._tables.apply(rows_in("", version, rows or {}, snapshot=True))
            return
        if version <= self.version:
            return
        if rows is None:
            raise ValueError(f"the change to version {version} has no rows; begin with a snapshot")
        if version < self.version:
            raise ValueError(f"the change to version {version} does not follow version {self.version}")
        self._tables.apply(rows_in("", version, rows))

    def digest(self) -> str:
        """Return the digest of the rows, which equals the graph's own at that version. Cost: n log n in the rows."""
        return digest(self._tables.snapshot())
