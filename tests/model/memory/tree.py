"""The community rows of one graph, folded from changes: the community of each node, and the parent of each community.

Invariant: `next_id` is above every community id ever seen, so that no id is assigned twice after a restart.
"""

from __future__ import annotations

from graphtide.graph.communities import CommunityChange, Hierarchy


class HierarchyRows:
    """The hierarchy rows: assignments by node, and (level, parent) by community."""

    def __init__(self) -> None:
        self._known = False
        self._community: dict[int, int] = {}
        self._places: dict[int, tuple[int, int]] = {}
        self._next_id = 1

    def apply(self, change: CommunityChange | Hierarchy) -> None:
        """Apply a change, or replace the rows by a whole hierarchy."""
        self._known = True
        if isinstance(change, Hierarchy):
            self._community = dict(zip(change.nodes.tolist(), change.communities.tolist(), strict=True))
            places = zip(change.levels.tolist(), change.parents.tolist(), strict=True)
            self._places = dict(zip(change.ids.tolist(), places, strict=True))
            self._next_id = max(self._next_id, change.next_id)
            return
        for node, community in zip(change.nodes.tolist(), change.communities.tolist(), strict=True):
            self._community[node] = community
            if not community:
                del self._community[node]
        for child, place in zip(
            change.children.tolist(), zip(change.levels.tolist(), change.parents.tolist(), strict=True), strict=True
        ):
            self._places[child] = place
            self._next_id = max(self._next_id, child + 1)
        for community in change.removed.tolist():
            self._places.pop(community, None)

    def hierarchy(self) -> Hierarchy | None:
        """Return the snapshot for `graphtide.graph.communities.build`; None before the first change."""
        if not self._known:
            return None
        tree = [(community, *self._places[community]) for community in sorted(self._places)]
        return Hierarchy.of_rows(sorted(self._community.items()), tree, self._next_id)
