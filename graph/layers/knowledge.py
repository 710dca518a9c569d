"""The knowledge graph layer L_KG: entities and the relations between them (DA-RAG, section 3).

Its links are the edges of the view's topology; their weight is the frequency of the statements of the edge. The writer
maintains trussness and the deltas carry it, so that a k-truss is read and not computed.
"""

from __future__ import annotations

from collections.abc import Collection

from graphtide.graph.layers.types import LayerLink, Neighbour, intersection, linked, ranked
from graphtide.graph.view import LiveView


class KnowledgeLayer:
    """The knowledge layer; see the module. A `Layer` over entities, by node, restricted to edges of trussness
    `min_trussness` or more.

    The minimum trussness, 2, restricts nothing (Cohen 2008). DA-RAG's layer has no weights; deviation: the weights here
    are statement counts.
    """

    def __init__(self, view: LiveView, min_trussness: int = 2) -> None:
        self._view = view
        self._min_trussness = min_trussness

    def neighbours(self, number: int) -> tuple[Neighbour, ...]:
        """See `Layer.neighbours`. Cost: the entity's degree, and its logarithm."""
        edges = self._view.neighbours.get(number, {}).items()
        found = ((other, float(edge.weight)) for other, edge in edges if edge.trussness >= self._min_trussness)
        return ranked(found, self._view.entity_id)

    def induced_edges(self, numbers: Collection[int]) -> tuple[LayerLink, ...]:
        """See `Layer.induced_edges`. Cost: per number, the smaller of its degree and the count of numbers."""
        inside = set(numbers)
        found: dict[tuple[int, int], float] = {}
        for number in inside:
            edges = self._view.neighbours.get(number, {})
            for other in intersection(edges, inside):
                edge = edges[other]
                if number < other and edge.trussness >= self._min_trussness:
                    found[number, other] = float(edge.weight)
        return linked(found, self._view.entity_id)

    def trussness(self, one: int, other: int) -> int:
        """Return the trussness of an edge. Raises KeyError for an unknown edge."""
        return self._view.neighbours[one][other].trussness
