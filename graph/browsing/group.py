"""The cohesive group around an entity: the connected k-truss that holds it, by the kept trussness, bounded.

A k-truss is a graph each of whose edges is in at least k - 2 of its triangles (Cohen 2008); the trussness of an edge is
the largest k of a k-truss that holds it. So the edges of trussness k or more are the maximal k-truss, and the group is
the part of it that is connected with the entity: a search along kept values, without a decomposition.

Cost: the edges of the entities found, at most MAX_LINKS; not the size of the graph.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from graphtide.graph.browsing.neighbourhood import (
    NeighbourEdge,
    NeighbourNode,
    linked_within,
    neighbour_edge,
    neighbour_node,
    stated_predicates,
)

if TYPE_CHECKING:
    from graphtide.graph.view import LiveView

MAX_K = 1_000_000
MAX_LINKS = 200_000
"""The number of edges that a search reads."""


@dataclass(frozen=True, slots=True)
class CohesiveGroup:
    """The entities of the group, by distance from the center along edges of trussness `k` or more, and these edges.

    There is none, and `nodes` is empty, for a `k` above `max_k`, the largest trussness of the center's edges, which is
    0 without one. `truncated`: the limit left out entities, and the edges to them.
    """

    center: str
    k: int
    max_k: int
    nodes: tuple[NeighbourNode, ...]
    edges: tuple[NeighbourEdge, ...]
    truncated: bool
    version: int


def cohesive_group(view: LiveView, node: int, k: int | None, limit: int) -> CohesiveGroup:
    """Return the group of an entity for `k`, by default `max_k`. Call under `lock.read()`.

    Within a distance the entities with the heaviest edge to a nearer one come first, ties by id, so the result is a
    function of the graph's content alone.
    """
    max_k = largest_k(view, node)
    k = max_k if k is None else k
    distance, truncated = members(view, node, k, limit) if 0 < k <= max_k else ({}, False)
    predicates = stated_predicates(view, distance)
    edges = tuple(
        neighbour_edge(view, u, v, predicates.get((min(u, v), max(u, v)), {}))
        for u in distance
        for v in linked_within(view, u, distance)
        if view.entities[u].id < view.entities[v].id and view.neighbours[u][v].trussness >= k
    )
    nodes = tuple(neighbour_node(view, each, hop) for each, hop in distance.items())
    return CohesiveGroup(view.entities[node].id, k, max_k, nodes, edges, truncated, view.version)


def largest_k(view: LiveView, node: int) -> int:
    """Return the largest k of a k-truss that holds an entity, 0 for one without edges. Cost: its edges."""
    return max((edge.trussness for edge in view.neighbours.get(node, {}).values()), default=0)


def members(view: LiveView, center: int, k: int, limit: int) -> tuple[dict[int, int], bool]:
    """Return the entities of the group with their distances, the nearest first, and whether some were left out."""
    distance, frontier, read, truncated = {center: 0}, [center], 0, False
    while frontier:
        strongest: dict[int, int] = {}
        for node in frontier:
            edges = view.neighbours.get(node, {})
            read += len(edges)
            if read > MAX_LINKS:
                return distance, True
            for other, edge in edges.items():
                if edge.trussness >= k and other not in distance:
                    strongest[other] = max(edge.weight, strongest.get(other, 0))
        ranked = sorted(strongest, key=lambda each: (-strongest[each], view.entities[each].id))
        room = limit - len(distance)
        truncated = truncated or len(ranked) > room
        hop = distance[frontier[0]] + 1
        frontier = ranked[:room]
        distance.update(dict.fromkeys(frontier, hop))
    return distance, truncated
