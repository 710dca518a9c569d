"""Edges between entities, as the sum of the statements that support them, and what a batch did to them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from graphtide.graph.consolidation.state import Placement

EdgeKey = tuple[int, int]


@dataclass(slots=True)
class Topology:
    """Undirected weighted edges by (u, v) with u < v. `before` holds the weights that the running batch found."""

    weights: dict[EdgeKey, int] = field(default_factory=dict)
    before: dict[EdgeKey, int] = field(default_factory=dict)

    def place(self, placement: Placement) -> None:
        self._add(placement, placement.count)

    def lift(self, placement: Placement) -> None:
        self._add(placement, -placement.count)

    def changed(self) -> list[tuple[EdgeKey, int, int]]:
        """(edge, weight before, weight now) of every edge the batch changed, sorted; the batch is over then."""
        moved = [(key, old, self.weights.get(key, 0)) for key, old in self.before.items()]
        self.before.clear()
        return sorted((key, old, new) for key, old, new in moved if old != new)

    def _add(self, placement: Placement, amount: int) -> None:
        key = (placement.u, placement.v)
        weight = self.weights.get(key, 0)
        self.before.setdefault(key, weight)
        if weight + amount:
            self.weights[key] = weight + amount
        else:
            del self.weights[key]


def placement(u: int, v: int, count: int) -> Placement | None:
    """Where a statement between two entities stands; a statement of an entity about itself has no edge."""
    if u == v or not count:
        return None
    return Placement(min(u, v), max(u, v), count)


def edge_pairs(changes: Iterable[tuple[EdgeKey, int, int]], *, appeared: bool) -> list[EdgeKey]:
    """The edges that came into being, or those that went."""
    return [key for key, old, new in changes if (old == 0 if appeared else new == 0)]
