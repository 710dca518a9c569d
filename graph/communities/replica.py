"""Replica of the hierarchy: applies the writer's changes and answers reads from the copy.

It decides nothing and holds no weights, so it has no modularity. After each change it equals the writer's hierarchy.
"""

from collections.abc import Iterator

import numpy as np

from graphtide.graph.communities.types import DEPTH, CommunityChange, Hierarchy, Int64
from graphtide.graph.int_sets import EMPTY, IntSet, excluding, including
from graphtide.graph.numbered_ints import NumberedInts


class HierarchyReplica:
    """A copy that starts from a snapshot and applies each change, in order and without gaps."""

    def __init__(self, snapshot: Hierarchy | None = None) -> None:
        self._community = NumberedInts()
        self._tree: dict[int, tuple[int, int]] = {}  # community -> (level, parent)
        self._members: dict[int, IntSet] = {}
        self._roots: set[int] = set()
        if snapshot is not None:
            none = np.zeros(0, dtype=np.int64)
            self.apply(
                CommunityChange(
                    snapshot.nodes, snapshot.communities, snapshot.ids, snapshot.levels, snapshot.parents, none
                )
            )

    def apply(self, change: CommunityChange) -> None:
        """Apply one change; O(change). Raises KeyError for a change out of order that refers to an unknown node or
        community.
        """
        rows = zip(change.children.tolist(), change.levels.tolist(), change.parents.tolist(), strict=True)
        for child, level, parent in rows:
            self._leave(child, self._tree.get(child, (0, 0))[1])
            self._tree[child] = (level, parent)
            self._members.setdefault(child, EMPTY)
            if parent:
                self._members[parent] = including(self._members.get(parent, EMPTY), child)
                self._roots.discard(child)
            else:
                self._roots.add(child)
        for node, community in zip(change.nodes.tolist(), change.communities.tolist(), strict=True):
            self._leave(node, self._community[node])
            self._community[node] = community
            if community:
                self._members[community] = including(self._members[community], node)
        for ident in change.removed.tolist():
            self._leave(ident, self._tree.pop(ident)[1])
            del self._members[ident]
            self._roots.discard(ident)

    def _leave(self, member: int, community: int) -> None:
        if community in self._members:
            self._members[community] = excluding(self._members[community], member)

    def levels(self) -> int:
        """Return the number of levels, which is fixed."""
        return DEPTH

    def community(self, node: int, level: int = 0) -> int:
        """Return the id of a node's community at a level, 0 for an unknown node; KeyError for an unknown level."""
        ident = self._community[node]
        for _ in range(level if ident else 0):
            ident = self._tree[ident][1]
        return ident

    def level(self, community: int) -> int:
        """Return the level of a community. Raises KeyError for an unknown id."""
        return self._tree[community][0]

    def parent(self, community: int) -> int:
        """Return the parent community, 0 at the coarsest level. Raises KeyError for an unknown id."""
        return self._tree[community][1]

    def members(self, community: int) -> Int64:
        """Return the sorted nodes (level 0) or child communities. Raises KeyError for an unknown id."""
        return np.array(sorted(self._members[community]), dtype=np.int64)

    def size(self, community: int) -> int:
        """Return the number of nodes (level 0) or child communities. Raises KeyError for an unknown id. O(1)."""
        return len(self._members[community])

    def at_level(self, level: int) -> Iterator[int]:
        """Yield the communities of a level, in no order. Cost: all communities."""
        return (community for community, (its, _) in self._tree.items() if its == level)

    def roots(self) -> list[int]:
        """Return the coarsest communities, sorted."""
        return sorted(self._roots)

    def hierarchy(self) -> Hierarchy:
        """Return the copy as a snapshot, with the smallest ``next_id`` that its ids allow; O(n log n)."""
        tree = [(community, *self._tree[community]) for community in sorted(self._tree)]
        return Hierarchy.of_rows(list(self._community.items()), tree, 1 + max(self._tree, default=0))
