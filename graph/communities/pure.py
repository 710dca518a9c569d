"""The pure-Python core: needs no compiler, and is the reference for the compiled core.

It is the algorithm over plain lists; the facade (``facade``) checks arguments and converts arrays and reports.
Invariants after every call: each partition is a set of connected communities, the hierarchy is a tree, every sum equals
its recount.
"""

from collections.abc import Iterable

from graphtide.graph.communities.connectivity import split
from graphtide.graph.communities.id_matching import settle_names
from graphtide.graph.communities.levels import NEW, Level, Levels
from graphtide.graph.communities.local_moving import DEPTH, propagate
from graphtide.graph.communities.merging import merge
from graphtide.graph.communities.refinement import divide

PASSES = 4  # maximum of moves, splits and merges at one level
CYCLES = 3  # maximum of passes over all levels when every unit is examined


class PureCore(Levels):
    """The hierarchy and the operations on it; edges are (u, v, weight) with u != v."""

    def __init__(self) -> None:
        super().__init__(DEPTH)

    # -- changes ---------------------------------------------------------------------------------------------------

    def update(self, deltas: dict[tuple[int, int], int]) -> None:
        """Change edge weights (u < v, no zero deltas, no weight below zero), and update every level above."""
        self.begin()
        first_new = self.next_id
        if deltas:
            self.levels[0].extend(1 + max(v for _, v in deltas))
        for u in sorted({u for edge in deltas for u in edge}):
            if self.levels[0].community[u] < 0:
                self.enter(u)
        for (u, v), delta in sorted(deltas.items()):
            self.change(u, v, delta)
        for u in sorted({u for edge in deltas for u in edge}):
            if self.levels[0].degree[u] == 0:
                self.leave(u)
        self.ascend(first_new)

    def enter(self, node: int) -> None:
        """Add a node with its first edge: alone in a community at every level."""
        level = self.levels[0]
        self.journal[0][node] = NEW
        level.live += 1
        level.size[node] = 1
        level.community[node] = bottom = self.open_chain(0, self.top - 1, -1)
        self.levels[1].members[bottom].add(node)
        for s, community in enumerate(self.chain(0, bottom), 1):
            self.levels[s].size[community] += 1

    def leave(self, node: int) -> None:
        """Remove a node without edges from its communities."""
        level = self.levels[0]
        bottom = level.community[node]
        self.record(0, node)
        self.touched[0].pop(node, None)
        for s, community in enumerate(self.chain(0, bottom), 1):
            self.levels[s].size[community] -= 1
        level.community[node], level.size[node] = -1, 0
        level.live -= 1
        self.levels[1].members[bottom].discard(node)
        self.close_if_empty(0, bottom)

    def change(self, u: int, v: int, delta: int) -> None:
        """Add ``delta`` to an edge and to every sum that contains it."""
        self.total_weight += delta
        together = False
        for s in range(self.top + 1):
            level = self.levels[s]
            self.add_degree(s, u, delta)
            self.add_degree(s, v, delta)
            if not together:
                self.add_edge(s, u, v, delta)
            if s < self.top:
                u, v = level.community[u], level.community[v]
                together = u == v
                level.inside += delta if together else 0

    def ascend(self, first_new: int) -> bool:
        """Settle every level from the bottom; return True if any unit moved."""
        moved = False
        for h in range(self.top):
            moved |= self.settle_level(h, first_new)
        return moved

    def settle_level(self, h: int, first_new: int) -> bool:
        """Move, split and merge at one level until nothing changes, then match the ids; a merge needs no split."""
        moved = False
        for turn in range(PASSES):
            moved |= propagate(self, h)
            apart = split(self, h) | (turn == 0 and divide(self, h))
            merged = self.tracked_top and merge(self, h)
            if not apart and not merged:
                break
            moved = True
        settle_names(self, h, first_new)
        return moved

    def raise_top(self) -> None:
        """Open a new coarsest partition, at first with one community for each coarsest community so far."""
        below = self.levels[self.top]
        below.inside = self.levels[self.top - 1].inside
        self.levels.append(Level())
        self.tracked_top = False
        for unit in sorted((u for u, ident in enumerate(below.ident) if ident), key=lambda u: below.ident[u]):
            self.record(self.top - 1, unit)
            self.touch(self.top - 1, unit, below.degree[unit])
            slot = self.open_community(self.top - 1, -1)
            below.community[unit] = slot
            above = self.levels[self.top]
            above.members[slot].add(unit)
            above.degree[slot], above.size[slot] = below.degree[unit], below.size[unit]
            above.squares += below.degree[unit] ** 2

    # -- from scratch ----------------------------------------------------------------------------------------------

    def build(self) -> None:
        """Build the hierarchy of a filled core from scratch: level by level upwards, then every level once more."""
        self.levels = [self.levels[0], Level()]
        self.tracked_top = False
        for node, degree in enumerate(self.levels[0].degree):
            if degree:
                self.enter(node)
                self.add_degree(1, self.levels[0].community[node], degree)
                self.touch(0, node, degree)
        while True:
            self.settle_level(self.top - 1, self.next_id)
            self.sum_weights(self.top - 1)
            if self.top == DEPTH:
                break
            self.raise_top()
        self.examine(self.next_id)

    def fill(self, edges: Iterable[tuple[int, int, int]]) -> None:
        """Set the graph of level 0; edges are unique."""
        level = self.levels[0]
        for u, v, weight in edges:
            level.extend(1 + max(u, v))
            level.adjacency[u][v] = level.adjacency[v][u] = weight
            self.total_weight += weight
            self.add_degree(0, u, weight)
            self.add_degree(0, v, weight)

    def settle(self) -> None:
        """Split every disconnected community, then examine every unit; call it after the hierarchy was replaced."""
        first_new = self.next_id
        for h in range(self.top):
            above = self.levels[h + 1]
            self.loosened[h] = {c: set(above.members[c]) for c, ident in enumerate(above.ident) if ident}
            split(self, h)
        self.examine(first_new)

    def examine(self, first_new: int) -> None:
        """Examine every unit of every level until none moves."""
        for _ in range(CYCLES):
            for h, level in enumerate(self.levels):
                for unit, degree in enumerate(level.degree):
                    if degree:
                        self.touch(h, unit, degree)
            if not self.ascend(first_new):
                break

    def load(self, assigned: dict[int, int], tree: list[tuple[int, int, int]], next_id: int) -> None:
        """Replace the hierarchy: node -> community, (community, level of its partition, parent or 0), parents valid.

        The level-0 graph stays. Slots are allocated in the order of the ids, so equal hierarchies load equally.
        """
        self.levels[1:] = [Level() for _ in range(DEPTH)]
        self.slots, self.next_id, self.tracked_top = {}, next_id, True
        for ident, h, _ in sorted(tree):
            level = self.levels[h + 1]
            level.extend(len(level.degree) + 1)
            level.ident[-1], self.slots[ident] = ident, (h + 1, len(level.degree) - 1)
            level.live += 1
        self.begin()
        bottom, bottom.live = self.levels[0], len(assigned)
        for unit, community in assigned.items():
            bottom.size[unit] = 1
            self.place(0, unit, community)
        for ident, h, parent in sorted(tree, key=lambda row: row[1]):
            if parent:
                self.place(h + 1, self.slots[ident][1], parent)
        for h in range(self.top):
            for slot, members in enumerate(self.levels[h + 1].members):
                self.levels[h + 1].size[slot] = sum(self.levels[h].size[u] for u in members)
                self.add_degree(h + 1, slot, sum(self.levels[h].degree[u] for u in members))
            self.levels[h].inside = self.sum_weights(h) + (self.levels[h - 1].inside if h else 0)
        self.begin()

    def place(self, h: int, unit: int, ident: int) -> None:
        """Set a unit's membership while loading."""
        slot = self.slots[ident][1]
        self.levels[h].community[unit] = slot
        self.levels[h + 1].members[slot].add(unit)

    def sum_weights(self, h: int) -> int:
        """Sum the weights between the communities of partition ``h`` in one pass; return the weight inside them."""
        level, above, twice_inside = self.levels[h], self.levels[h + 1], 0
        for unit, neighbours in enumerate(level.adjacency):
            a = level.community[unit]
            for other, weight in neighbours.items():
                if a == (b := level.community[other]):
                    twice_inside += weight
                else:
                    above.adjacency[a][b] = above.adjacency[a].get(b, 0) + weight
        self.tracked_top = True
        return twice_inside // 2
