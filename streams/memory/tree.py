"""The community rows of one graph, folded from changes: who is in which community, and which is in which.

Invariant: `next_id` is above every community id ever seen, so that none is given out twice after a restart.
"""

from __future__ import annotations

from graphtide.graph.communities import CommunityChange, Hierarchy


class HierarchyRows:
    """Assignments by node, and (level, parent) by community."""

    def __init__(self) -> None:
        self._known = False
        self._community: dict[int, int] = {}
        self._places: dict[int, tuple[int, int]] = {}
        self._next_id = 1

    def apply(self, change: CommunityChange | Hierarchy) -> None:
        """Follow a change, or take a whole hierarchy in the place of what is held."""
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
        """What `graphtide.graph.communities.build` takes as its snapshot; None while there never was a change."""
        if not self._known:
            return None
        tree = [(community, *self._places[community]) for community in sorted(self._places)]
        return Hierarchy.of_rows(sorted(self._community.items()), tree, self._next_id)
