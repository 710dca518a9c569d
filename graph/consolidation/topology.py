"""Topology: the edges between entities as the sum of their statements, and the changes of a batch."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from itertools import chain

import numpy as np

from graphtide.graph.algorithms.in_parts import sorted_in_parts
from graphtide.graph.algorithms.trussness import EdgeArray
from graphtide.graph.consolidation.state import EdgeKey
from graphtide.graph.number_table import PairCounts


@dataclass(slots=True)
class Topology:
    """Undirected weighted edges by (u, v) with u < v. `before` holds the weights at the start of the batch."""

    weights: PairCounts = field(default_factory=PairCounts)
    before: dict[EdgeKey, int] = field(default_factory=dict)

    def changed(self) -> list[tuple[EdgeKey, int, int]]:
        """Return (edge, weight before, weight now) of every edge the batch changed, sorted, and end the batch."""
        moved = [(key, old, self.weights.get(key, 0)) for key, old in self.before.items()]
        self.before.clear()
        return sorted_in_parts(change for change in moved if change[1] != change[2])

    def add(self, edge: EdgeKey, amount: int) -> None:
        """Add to the weight of an edge; one of weight 0 does not exist."""
        weight = self.weights.get(edge, 0)
        self.before.setdefault(edge, weight)
        if weight + amount:
            self.weights[edge] = weight + amount
        else:
            del self.weights[edge]


def edge_between(u: int, v: int, count: int) -> EdgeKey | None:
    """Return the edge that a statement between two entities supports; None for a statement about one entity."""
    if u == v or not count:
        return None
    return (u, v) if u < v else (v, u)


def edge_pairs(changes: Iterable[tuple[EdgeKey, int, int]], *, appeared: bool) -> list[EdgeKey]:
    """Return the edges that were created, or those that were removed."""
    return [key for key, old, new in changes if (old == 0 if appeared else new == 0)]


def edge_array(edges: Sequence[EdgeKey]) -> EdgeArray:
    """Return edges as an array (n, 2) int32."""
    return np.fromiter(chain.from_iterable(edges), np.int32, 2 * len(edges)).reshape(-1, 2)
