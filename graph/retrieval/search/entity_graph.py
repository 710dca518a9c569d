"""The knowledge graph for path searches: the cost of a step from one entity to the next.

Invariant: a cost is a function of the live graph alone, an integer, and the same from both ends.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable

from graphtide.graph.retrieval.filters import ChunkPredicate
from graphtide.graph.view import LiveView

UNIT = 1_000_000
"""The cost of an edge that is stated once, between two entities that have no other edge."""


class EntityPathGraph:
    """The edges of a view, under a filter only those that an admitted passage states. A `steiner.WeightedGraph`.

    `ends` are the entities that a search wants to reach: others with a single neighbour lead nowhere, and are left out.
    """

    def __init__(self, view: LiveView, ends: Collection[int], admits: ChunkPredicate | None = None) -> None:
        self._view = view
        self._ends = frozenset(ends)
        self._admits = admits

    def links(self, node: int) -> int:
        """Return the number of the entity's neighbours, or under a filter of the statements to read to find them."""
        neighbours = len(self._view.neighbours.get(node, ()))
        if self._admits is None or node not in self._view.entities:
            return neighbours
        return neighbours + sum(len(self._view.labels[label].statements) for label in self._view.entities[node].labels)

    def neighbours(self, node: int) -> Iterable[tuple[int, int]]:
        """Yield each neighbour with the edge's cost, (1 + log10 sqrt(d e)) / (1 + ln w) UNIT for degrees d, e and
        weight w.

        A frequent relation is cheap. A hub (a country, a year) is an unspecific link between two of its neighbours, and
        expensive to traverse. The sources leave the weights open.
        """
        adjacency = self._view.neighbours
        edges = adjacency.get(node, {})
        degree, stated = len(edges), None if self._admits is None else self._stated(node)
        for other, edge in edges.items():
            if len(adjacency[other]) == 1 and other not in self._ends:
                continue
            if stated is None or other in stated:
                generic = 1 + math.log10(degree * len(adjacency[other])) / 2
                yield other, max(1, round(UNIT * generic / (1 + math.log(edge.weight))))

    def _stated(self, node: int) -> set[int]:
        """Return the neighbours that an admitted passage relates to the entity."""
        admits, view = self._admits, self._view
        return {
            end
            for number in view.statements_of(node)
            if admits is None or any(map(admits, view.statements[number].chunks))
            for end in view.ends(number)
        }
