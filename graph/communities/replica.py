"""Replica of the hierarchy: applies the writer's changes and answers reads from the copy.

It decides nothing and holds no weights, so it has no modularity. After each change it equals the writer's hierarchy.
"""

from array import array
from collections.abc import Iterator, MutableMapping

import numpy as np

from graphtide.graph.communities.types import DEPTH, CommunityChange, Hierarchy, Int64
from graphtide.graph.int_sets import EMPTY, IntSet, excluding, including, shared_int
from graphtide.graph.numbered_ints import NumberedInts
from graphtide.graph.view_state.overlay import Overlay, OverlayColumn, OverlayInts, Writing, own_ints


class HierarchyReplica:
    """A copy that starts from a snapshot and applies each change, in order and without gaps.

    Level, parent and members of a community are in columns, at the row that `_rows` gives.
    """

    def __init__(self, snapshot: Hierarchy | None = None) -> None:
        self._community = NumberedInts()
        self._rows: MutableMapping[int, int] = {}
        self._free: list[int] = []
        self._levels: array[int] | OverlayColumn[int] = array("b")
        self._parents: array[int] | OverlayColumn[int] = array("q")
        self._members: list[IntSet] | OverlayColumn[IntSet] = []
        self._roots: IntSet = EMPTY
        if snapshot is not None:
            none = np.zeros(0, dtype=np.int64)
            self.apply(
                CommunityChange(
                    snapshot.nodes, snapshot.communities, snapshot.ids, snapshot.levels, snapshot.parents, none
                )
            )

    def fork(self, writing: Writing) -> "HierarchyReplica":
        """Return a copy that refers to this one, for a fork of its view (view_state/overlay.py)."""
        forked = HierarchyReplica()
        forked._community, forked._rows = OverlayInts(self._community, writing), Overlay(self._rows, writing)
        forked._levels = OverlayColumn(self._levels, writing)  # type: ignore[arg-type]
        forked._parents = OverlayColumn(self._parents, writing)  # type: ignore[arg-type]
        forked._members = OverlayColumn(self._members, writing, own_ints)  # type: ignore[arg-type]
        forked._roots = own_ints(self._roots)
        return forked

    def apply(self, change: CommunityChange) -> None:
        """Apply one change; O(change). Raises KeyError for a change out of order that refers to an unknown node or
        community.
        """
        rows = zip(change.children.tolist(), change.levels.tolist(), change.parents.tolist(), strict=True)
        for child, level, parent in rows:
            row = self._row(child)
            self._leave(child, self._parents[row])
            self._levels[row], self._parents[row] = level, parent
            if parent:
                self._join(child, self._row(parent))
                self._roots = excluding(self._roots, child)
            else:
                self._roots = including(self._roots, child)
        for node, community in zip(change.nodes.tolist(), change.communities.tolist(), strict=True):
            self._leave(node, self._community[node])
            self._community[node] = community
            if community:
                self._join(shared_int(node), self._rows[community])
        for ident in change.removed.tolist():
            row = self._rows.pop(ident)
            self._leave(ident, self._parents[row])
            self._levels[row], self._parents[row], self._members[row] = 0, 0, EMPTY
            self._free.append(row)
            self._roots = excluding(self._roots, ident)

    def _row(self, community: int) -> int:
        """Return the row of a community, a new one for one that is not known yet."""
        row = self._rows.get(community)
        if row is not None:
            return row
        if self._free:
            row = self._free.pop()
        else:
            row = shared_int(len(self._members))
            self._levels.append(0)
            self._parents.append(0)
            self._members.append(EMPTY)
        self._rows[community] = row
        return row

    def _join(self, member: int, row: int) -> None:
        self._members[row] = including(self._members[row], member)

    def _leave(self, member: int, community: int) -> None:
        row = self._rows.get(community)
        if row is not None:
            self._members[row] = excluding(self._members[row], member)

    def __contains__(self, community: int) -> bool:
        return community in self._rows

    def levels(self) -> int:
        """Return the number of levels, which is fixed."""
        return DEPTH

    def community(self, node: int, level: int = 0) -> int:
        """Return the id of a node's community at a level, 0 for an unknown node; KeyError for an unknown level."""
        ident = self._community[node]
        for _ in range(level if ident else 0):
            ident = self._parents[self._rows[ident]]
        return ident

    def level(self, community: int) -> int:
        """Return the level of a community. Raises KeyError for an unknown id."""
        return self._levels[self._rows[community]]

    def parent(self, community: int) -> int:
        """Return the parent community, 0 at the coarsest level. Raises KeyError for an unknown id."""
        return self._parents[self._rows[community]]

    def members(self, community: int) -> Int64:
        """Return the sorted nodes (level 0) or child communities. Raises KeyError for an unknown id."""
        return np.array(sorted(self._members[self._rows[community]]), dtype=np.int64)

    def size(self, community: int) -> int:
        """Return the number of nodes (level 0) or child communities. Raises KeyError for an unknown id. O(1)."""
        return len(self._members[self._rows[community]])

    def __iter__(self) -> Iterator[int]:
        """Yield the communities, in no order."""
        return iter(self._rows)

    def at_level(self, level: int) -> Iterator[int]:
        """Yield the communities of a level, in no order. Cost: all communities."""
        return (community for community, row in self._rows.items() if self._levels[row] == level)

    def roots(self) -> list[int]:
        """Return the coarsest communities, sorted."""
        return sorted(self._roots)

    def hierarchy(self) -> Hierarchy:
        """Return the copy as a snapshot, with the smallest ``next_id`` that its ids allow; O(n log n)."""
        rows = sorted(self._rows.items())
        tree = [(community, self._levels[row], self._parents[row]) for community, row in rows]
        return Hierarchy.of_rows(list(self._community.items()), tree, 1 + max(self._rows, default=0))
