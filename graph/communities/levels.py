"""The weighted graphs of the hierarchy, one per level, and the sums that modularity is computed from.

Level 0 holds the caller's nodes. A community of level ``h`` is a unit of level ``h + 1``: it has the same slot, its
total degree is the unit's degree, and the weight between two communities is the weight of the edge between the two
units. Every number is an integer sum with an inverse, so a deletion is an insertion with the opposite sign.

This module moves weights and decides nothing. Slots are internal and reused. Every step that depends on an order uses
``ident`` (level 0: the node, above: the community's id), so a restored hierarchy behaves like the saved one.
"""

from dataclasses import dataclass, field

NEW = -1  # journal: the unit did not exist when the update began
NONE = 0  # journal: the unit was in no community


@dataclass(slots=True)
class Level:
    """The graph of one level and the partition of its units into the communities above."""

    adjacency: list[dict[int, int]] = field(default_factory=list)
    degree: list[int] = field(default_factory=list)
    size: list[int] = field(default_factory=list)  # level-0 nodes below the unit
    community: list[int] = field(default_factory=list)  # slot at the next level; -1: none
    members: list[set[int]] = field(default_factory=list)  # units of the level below
    ident: list[int] = field(default_factory=list)  # 0: slot not in use (above level 0)
    free: list[int] = field(default_factory=list)
    live: int = 0
    inside: int = 0  # weight of the edges with both ends in one community
    squares: int = 0  # sum of the units' squared degrees

    def extend(self, count: int) -> None:
        """Append unused slots until there are ``count``."""
        while len(self.degree) < count:
            self.adjacency.append({})
            self.degree.append(0)
            self.size.append(0)
            self.community.append(-1)
            self.members.append(set())
            self.ident.append(0)


@dataclass(slots=True)
class PendingChange:
    """The change of a unit since it was last examined: its degree then, and the weight that changed around it."""

    degree: int
    weight: int = 0


class Levels:
    """The mutable hierarchy of the pure implementation. ``levels[top]`` holds the coarsest communities as units."""

    def __init__(self, depth: int) -> None:
        self.levels = [Level() for _ in range(depth + 1)]
        self.tracked_top = (
            True  # False while the top graph's edges are not maintained because they will be summed at once
        )
        self.next_id = 1
        self.total_weight = 0
        self.slots: dict[int, tuple[int, int]] = {}  # community id -> (level of its unit, slot)
        self.touched: list[dict[int, PendingChange]] = [{} for _ in self.levels]
        self.loosened: list[dict[int, set[int]]] = [
            {} for _ in self.levels
        ]  # community slot -> members that lost a link in it
        self.journal: list[dict[int, int]] = [{} for _ in self.levels]  # unit ident -> community id before the update
        self.units_examined = 0
        self.links_read = 0

    @property
    def top(self) -> int:
        """Return the number of partitions; ``levels[top]`` has no partition of its own."""
        return len(self.levels) - 1

    # -- bookkeeping of one update -------------------------------------------------------------------------------

    def begin(self) -> None:
        """Clear the journal of the last update."""
        self.touched = [{} for _ in self.levels]
        self.loosened = [{} for _ in self.levels]
        self.journal = [{} for _ in self.levels]

    def touch(self, h: int, unit: int, weight: int) -> PendingChange:
        """Note that ``weight`` changed around a unit; call it before the degree changes."""
        mark = self.touched[h].get(unit)
        if mark is None:
            mark = self.touched[h][unit] = PendingChange(self.levels[h].degree[unit])
        mark.weight += weight
        return mark

    def due(self, h: int, unit: int) -> bool:
        """Return whether 1/16 of a unit's degree changed, in one update or since it was last examined, so that it is
        due.

        The number of changes between two scans of a unit thus grows with its degree, which keeps the cost of a document
        flat while hubs and coarse communities grow. The rule keeps no state beyond the degree itself.
        """
        mark, degree = self.touched[h][unit], self.levels[h].degree[unit]
        step = max(0, max(mark.degree, degree).bit_length() - 5)
        return mark.weight * 16 >= degree or (mark.degree >> step) != (degree >> step)

    def regrown(self, h: int, unit: int) -> bool:
        """Return whether a unit's degree passed a multiple of a quarter of its power of two since it was examined."""
        before, degree = self.touched[h][unit].degree, self.levels[h].degree[unit]
        step = max(0, max(before, degree).bit_length() - 3)
        return (before >> step) != (degree >> step)

    def key(self, h: int, unit: int) -> int:
        """Return the external name of a unit: the node at level 0, the community id above."""
        return unit if h == 0 else self.levels[h].ident[unit]

    def parent_id(self, h: int, unit: int) -> int:
        """Return the id of the unit's community, or 0."""
        above = self.levels[h].community[unit]
        return self.levels[h + 1].ident[above] if above >= 0 else NONE

    def record(self, h: int, unit: int) -> None:
        """Record the unit's community as of the start of the update; later calls change nothing."""
        self.journal[h].setdefault(self.key(h, unit), self.parent_id(h, unit))

    def visit(self, h: int, unit: int) -> None:
        """Count a unit whose links are about to be read."""
        self.units_examined += 1
        self.links_read += len(self.levels[h].adjacency[unit])

    # -- weights ---------------------------------------------------------------------------------------------------

    def add_degree(self, h: int, unit: int, delta: int) -> None:
        """Change a unit's degree, and the sum of squares with it."""
        level = self.levels[h]
        self.touch(h, unit, abs(delta))
        old = level.degree[unit]
        level.degree[unit] = old + delta
        level.squares += delta * (2 * old + delta)

    def add_edge(self, h: int, a: int, b: int, delta: int) -> None:
        """Change the weight between two units; note a vanished link inside a community for the connectivity check."""
        level = self.levels[h]
        weight = level.adjacency[a].get(b, 0) + delta
        if weight:
            level.adjacency[a][b] = level.adjacency[b][a] = weight
            return
        del level.adjacency[a][b], level.adjacency[b][a]
        if level.community[a] >= 0 and level.community[a] == level.community[b]:
            self.mark_disconnected(h, level.community[a], a, b)

    def mark_disconnected(self, h: int, community: int, *units: int) -> None:
        """Note members of a community of partition ``h`` that lost a link to another member."""
        self.loosened[h].setdefault(community, set()).update(units)

    # -- units and membership --------------------------------------------------------------------------------------

    def open_community(self, h: int, parent: int) -> int:
        """Open an empty community of partition ``h`` under ``parent`` (a slot, or -1 at the top); return its slot."""
        level = self.levels[h + 1]
        if not level.free:
            level.extend(len(level.degree) + 1)
            level.free.append(len(level.degree) - 1)
        slot = level.free.pop()
        level.ident[slot] = self.next_id
        self.slots[self.next_id] = (h + 1, slot)
        self.journal[h + 1][self.next_id] = NEW
        self.next_id += 1
        level.live += 1
        if parent >= 0:
            level.community[slot] = parent
            self.levels[h + 2].members[parent].add(slot)
        return slot

    def open_chain(self, h: int, highest: int, parent: int) -> int:
        """Open new empty communities of the partitions ``highest`` down to ``h``, each in the one above; return the
        last slot.
        """
        for s in range(highest, h - 1, -1):
            parent = self.open_community(s, parent)
        return parent

    def chain(self, h: int, community: int) -> list[int]:
        """Return the slots of a community of partition ``h`` and of its ancestors."""
        slots = [community]
        for s in range(h + 1, self.top):
            slots.append(self.levels[s].community[slots[-1]])
        return slots

    def close_if_empty(self, h: int, community: int) -> None:
        """Remove a community of partition ``h`` without members, then each ancestor that becomes empty."""
        while not self.levels[h + 1].members[community]:
            level = self.levels[h + 1]
            self.record(h + 1, community)
            parent = level.community[community]
            self.touched[h + 1].pop(community, None)
            self.loosened[h].pop(community, None)
            del self.slots[level.ident[community]]
            level.ident[community], level.community[community] = 0, -1
            level.free.append(community)
            level.live -= 1
            if parent < 0:
                return
            self.levels[h + 2].members[parent].discard(community)
            h, community = h + 1, parent

    # -- answers ---------------------------------------------------------------------------------------------------

    def changes(self) -> tuple[list[tuple[int, int]], list[tuple[int, int, int]], list[int]]:
        """Return the differences of this update: (node, community), (child, level, parent) and removed ids, each
        sorted.
        """
        nodes: list[tuple[int, int]] = []
        children: list[tuple[int, int, int]] = []
        removed: list[int] = []
        for key, old in sorted(self.journal[0].items()):
            now = self.parent_id(0, key)
            if now != max(old, NONE):
                nodes.append((key, now))
        for h, journal in enumerate(self.journal[1:], 1):
            for key, old in sorted(journal.items()):
                if key not in self.slots:
                    removed.extend([key] if old != NEW else [])
                elif (now := self.parent_id(h, self.slots[key][1])) != old:
                    children.append((key, h - 1, now))
        return nodes, sorted(children), sorted(removed)
