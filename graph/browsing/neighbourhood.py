"""The part of the graph around an entity, for display: nearest first, strongest first, bounded.

Cost: the edges of the expanded nodes, and the statements of the returned ones, both bounded; not the size of the graph.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from graphtide.graph.view import LiveView


MAX_HOPS = 3
MAX_NODES = 1000
EDGES_PER_NODE = 2_000
"""Edges read of each expanded node, the strongest first."""
STATEMENTS_PER_NODE = 2_000
PREDICATES_SHOWN = 3


@dataclass(frozen=True, slots=True)
class NeighbourNode:
    """An entity of a neighbourhood; `hop` is its distance from the centre, `community` its finest community."""

    id: str
    name: str
    type: str
    mentions: int
    degree: int
    community: int
    hop: int


@dataclass(frozen=True, slots=True)
class NeighbourEdge:
    """An edge between two entities of a neighbourhood, with the names of both.

    `trussness` is the largest k such that a k-truss holds the edge; `community` is the finest community that holds both
    ends, 0 without one. `predicates` are the most stated relations between the two, in either direction.
    """

    source: str
    target: str
    source_name: str
    target_name: str
    weight: float
    trussness: int
    community: int
    predicates: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Neighbourhood:
    """The part of the graph around `center`. `truncated`: the limit left out nodes."""

    center: str
    nodes: tuple[NeighbourNode, ...]
    edges: tuple[NeighbourEdge, ...]
    truncated: bool
    version: int


def neighbourhood(view: LiveView, node: int, hops: int, limit: int) -> Neighbourhood:
    """Return at most `limit` entities within `hops` of one, and all edges between them. Call under `lock.read()`.

    Breadth first; within a hop the entities with the heaviest edge to an earlier hop come first, ties by id, so the
    result is a function of the graph's content alone.
    """
    distance, truncated = _expand(view, node, hops, limit)
    predicates = stated_predicates(view, distance)
    edges = tuple(
        neighbour_edge(view, u, v, predicates.get((min(u, v), max(u, v)), {}))
        for u in distance
        for v in linked_within(view, u, distance)
        if view.entities[u].id < view.entities[v].id
    )
    nodes = tuple(neighbour_node(view, each, hop) for each, hop in distance.items())
    return Neighbourhood(view.entities[node].id, nodes, edges, truncated, view.version)


def _expand(view: LiveView, center: int, hops: int, limit: int) -> tuple[dict[int, int], bool]:
    distance, frontier, truncated = {center: 0}, [center], False
    for hop in range(1, hops + 1):
        strongest: dict[int, int] = {}
        for node in frontier:
            edges = view.neighbours.get(node, {})
            kept = edges.items()
            if len(edges) > EDGES_PER_NODE:
                kept = dict(sorted(edges.items(), key=lambda item: (-item[1].weight, item[0]))[:EDGES_PER_NODE]).items()
            for other, edge in kept:
                if other not in distance:
                    strongest[other] = max(edge.weight, strongest.get(other, 0))
        ranked = sorted(strongest, key=lambda each: (-strongest[each], view.entities[each].id))
        room = limit - len(distance)
        truncated = truncated or len(ranked) > room
        frontier = ranked[:room]
        distance.update(dict.fromkeys(frontier, hop))
    return distance, truncated


def linked_within(view: LiveView, node: int, nodes: dict[int, int]) -> Iterator[int]:
    """Yield the neighbours of a node among `nodes`. Cost: the smaller of the two."""
    edges = view.neighbours.get(node, {})
    if len(edges) <= len(nodes):
        yield from (other for other in edges if other in nodes)
    else:
        yield from (other for other in nodes if other in edges)


def stated_predicates(view: LiveView, nodes: dict[int, int]) -> dict[tuple[int, int], dict[str, int]]:
    """Return the weights of the predicates between two nodes, by the pair in ascending order."""
    found: dict[tuple[int, int], dict[str, int]] = {}
    for node in nodes:
        for number in islice(view.statements_of(node), STATEMENTS_PER_NODE):
            subject, object_ = view.ends(number)
            if subject in nodes and object_ in nodes:
                statement = view.statements[number]
                weights = found.setdefault((min(subject, object_), max(subject, object_)), {})
                predicate = view.predicate_of(number)
                weights[predicate] = max(statement.weight_milli, weights.get(predicate, 0))
    return found


def neighbour_edge(view: LiveView, u: int, v: int, predicates: dict[str, int]) -> NeighbourEdge:
    """Return the edge between two entities; `predicates` are the weights of the relations that they have."""
    edge, (source, target) = view.neighbours[u][v], (view.entities[u], view.entities[v])
    shown = sorted(predicates, key=lambda each: (-predicates[each], each))[:PREDICATES_SHOWN]
    return NeighbourEdge(
        source.id,
        target.id,
        source.name,
        target.name,
        float(edge.weight),
        edge.trussness,
        common_community(view, u, v),
        tuple(shown),
    )


def common_community(view: LiveView, u: int, v: int) -> int:
    """Return the finest community that holds both entities, 0 without one."""
    for level in range(view.hierarchy.levels()):
        community = view.hierarchy.community(u, level)
        if community and community == view.hierarchy.community(v, level):
            return community
    return 0


def neighbour_node(view: LiveView, node: int, hop: int) -> NeighbourNode:
    """Return an entity at a distance from the centre."""
    entity = view.entities[node]
    degree = len(view.neighbours.get(node, ()))
    return NeighbourNode(
        entity.id, entity.name, entity.type, entity.mentions, degree, view.hierarchy.community(node), hop
    )
