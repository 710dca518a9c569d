"""The weighted graphs of the hierarchy, one on top of the other, and the sums that modularity is made of.

Level 0 holds the caller's nodes. A community of level ``l`` is a unit of level ``l + 1``: same slot, its total degree is the
unit's degree, and the weight between two communities is the weight of the edge between the two units. Every number is
an integer sum with an inverse, so a deletion is an insertion with the sign turned.

This module is not the algorithm: it moves weights, never decides. Slots are internal and reused; whatever depends on an
order uses ``ident`` (level 0: the node, above: the community's id), so a restored hierarchy behaves like the one saved.
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
    squares: int = 0  # sum of the squared degrees of the units

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
class Touch:
    """What happened to a unit since it was last examined: its degree then, and the weight that changed around it."""

    degree: int
    weight: int = 0


class Levels:
    """The mutable hierarchy of the pure implementation. ``levels[top]`` holds the coarsest communities as units."""

    def __init__(self, depth: int) -> None:
        self.levels = [Level() for _ in range(depth + 1)]
        self.tracked_top = True  # False while the top graph's edges are not kept because they will be summed at once
        self.next_id = 1
        self.total_weight = 0
        self.slots: dict[int, tuple[int, int]] = {}  # community id -> (level of its unit, slot)
        self.touched: list[dict[int, Touch]] = [{} for _ in self.levels]
        self.loosened: list[dict[int, set[int]]] = [
            {} for _ in self.levels
        ]  # community slot -> members that lost a link in it
        self.journal: list[dict[int, int]] = [{} for _ in self.levels]  # unit ident -> community id before the update

    @property
    def top(self) -> int:
        """Number of partitions; ``levels[top]`` has no partition of its own."""
        return len(self.levels) - 1

    # -- bookkeeping of one update -------------------------------------------------------------------------------

    def begin(self) -> None:
        """Forget what the last update touched."""
        self.touched = [{} for _ in self.levels]
        self.loosened = [{} for _ in self.levels]
        self.journal = [{} for _ in self.levels]

    def touch(self, l: int, unit: int, weight: int) -> Touch:
        """Note that ``weight`` changed around a unit; call before the degree changes."""
        mark = self.touched[l].get(unit)
        if mark is None:
            mark = self.touched[l][unit] = Touch(self.levels[l].degree[unit])
        mark.weight += weight
        return mark

    def due(self, l: int, unit: int) -> bool:
        """Whether enough changed around a unit to examine it again: 1/32 of its degree, at once or since it last did.

        A unit with many edges is thus scanned once in a number of changes that grows with its degree, which keeps the cost
        of a document flat while hubs and coarse communities grow. The rule has no memory beyond the degree itself.
        """
        mark, degree = self.touched[l][unit], self.levels[l].degree[unit]
        step = max(0, max(mark.degree, degree).bit_length() - 6)
        return mark.weight * 32 >= degree or (mark.degree >> step) != (degree >> step)

    def key(self, l: int, unit: int) -> int:
        """What names the unit outside: the node at level 0, the community id above."""
        return unit if l == 0 else self.levels[l].ident[unit]

    def parent_id(self, l: int, unit: int) -> int:
        """Id of the community the unit is in, or 0."""
        above = self.levels[l].community[unit]
        return self.levels[l + 1].ident[above] if above >= 0 else NONE

    def record(self, l: int, unit: int) -> None:
        """Keep the unit's community as it was when the update began; later calls change nothing."""
        self.journal[l].setdefault(self.key(l, unit), self.parent_id(l, unit))

    # -- weights ---------------------------------------------------------------------------------------------------

    def add_degree(self, l: int, unit: int, delta: int) -> None:
        """Change a unit's degree, and the sum of squares with it."""
        level = self.levels[l]
        self.touch(l, unit, abs(delta))
        old = level.degree[unit]
        level.degree[unit] = old + delta
        level.squares += delta * (2 * old + delta)

    def add_edge(self, l: int, a: int, b: int, delta: int) -> None:
        """Change the weight between two units; a link inside a community that vanishes is noted for the split check."""
        level = self.levels[l]
        weight = level.adjacency[a].get(b, 0) + delta
        if weight:
            level.adjacency[a][b] = level.adjacency[b][a] = weight
            return
        del level.adjacency[a][b], level.adjacency[b][a]
        if level.community[a] >= 0 and level.community[a] == level.community[b]:
            self.loosen(l, level.community[a], a, b)

    def loosen(self, l: int, community: int, *units: int) -> None:
        """Note members of a community of partition ``l`` that lost a link to another member."""
        self.loosened[l].setdefault(community, set()).update(units)

    # -- units and membership --------------------------------------------------------------------------------------

    def open_community(self, l: int, parent: int) -> int:
        """A new, empty community of partition ``l`` under ``parent`` (a slot, or -1 at the top); returns its slot."""
        level = self.levels[l + 1]
        if not level.free:
            level.extend(len(level.degree) + 1)
            level.free.append(len(level.degree) - 1)
        slot = level.free.pop()
        level.ident[slot] = self.next_id
        self.slots[self.next_id] = (l + 1, slot)
        self.journal[l + 1][self.next_id] = NEW
        self.next_id += 1
        level.live += 1
        if parent >= 0:
            level.community[slot] = parent
            self.levels[l + 2].members[parent].add(slot)
        return slot

    def open_chain(self, l: int, highest: int, parent: int) -> int:
        """New empty communities of the partitions ``highest`` down to ``l``, each in the one above; the lowest's slot."""
        for s in range(highest, l - 1, -1):
            parent = self.open_community(s, parent)
        return parent

    def chain(self, l: int, community: int) -> list[int]:
        """Slots of a community of partition ``l`` and of its ancestors."""
        slots = [community]
        for s in range(l + 1, self.top):
            slots.append(self.levels[s].community[slots[-1]])
        return slots

    def close_if_empty(self, l: int, community: int) -> None:
        """Remove a community of partition ``l`` without members, then its parent if that is empty now, and so on."""
        while not self.levels[l + 1].members[community]:
            level = self.levels[l + 1]
            self.record(l + 1, community)
            parent = level.community[community]
            self.touched[l + 1].pop(community, None)
            self.loosened[l].pop(community, None)
            del self.slots[level.ident[community]]
            level.ident[community], level.community[community] = 0, -1
            level.free.append(community)
            level.live -= 1
            if parent < 0:
                return
            self.levels[l + 2].members[parent].discard(community)
            l, community = l + 1, parent

    # -- answers ---------------------------------------------------------------------------------------------------

    def changes(self) -> tuple[list[tuple[int, int]], list[tuple[int, int, int]], list[int]]:
        """What differs from before the update: (node, community), (child, level, parent) and removed ids, each sorted."""
        nodes: list[tuple[int, int]] = []
        children: list[tuple[int, int, int]] = []
        removed: list[int] = []
        for key, old in sorted(self.journal[0].items()):
            now = self.parent_id(0, key)
            if now != max(old, NONE):
                nodes.append((key, now))
        for l, journal in enumerate(self.journal[1:], 1):
            for key, old in sorted(journal.items()):
                if key not in self.slots:
                    removed.extend([key] if old != NEW else [])
                elif (now := self.parent_id(l, self.slots[key][1])) != old:
                    children.append((key, l - 1, now))
        return nodes, children, sorted(removed)
