"""Breadth-first search over relations, with limits on depth, degree and size.

Article "graph-rag-algorithms", "BFS: Multi-Hop Exploration". Invariant: the result is a function of the live graph and
the starts; at a limit the heaviest relation wins, ties by name.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterable
from dataclasses import dataclass

from graphtide.graph.retrieval.filters import ChunkPredicate
from graphtide.graph.view import LiveView

HUB = 128


@dataclass(frozen=True, slots=True)
class BfsLimits:
    """The maximum numbers of hops, of neighbours of an entity, and of entities.

    An entity of more than HUB neighbours is found, but not expanded: reading its neighbours would make the cost of a
    question grow with the graph, and neighbours of a hub are unspecific.
    """

    depth: int = 2
    degree: int = 20
    size: int = 300


def breadth_first(
    view: LiveView, starts: Iterable[int], caps: BfsLimits = BfsLimits(), admits: ChunkPredicate | None = None
) -> dict[int, int]:
    """Return the entities within reach by hops from the nearest start, in the order they are found; starts have 0.

    Under a filter only entities that an admitted passage mentions. Cost: HUB links for each of at most `size` entities.
    """
    found = dict.fromkeys(sorted(set(starts), key=view.entity_id)[: caps.size], 0)
    layer = list(found)
    for hop in range(1, caps.depth + 1):
        following: list[int] = []
        for node in layer:
            for other in heaviest(view, node, caps.degree):
                if len(found) < caps.size and other not in found and _admitted(view, other, admits):
                    found[other] = hop
                    following.append(other)
        layer = following
    return found


def heaviest(view: LiveView, node: int, count: int) -> list[int]:
    """Return the `count` neighbours with the heaviest relations, equal ones by name; none of a hub."""
    edges = view.neighbours.get(node, {})
    if len(edges) > HUB:
        return []
    return heapq.nsmallest(count, edges, key=lambda other: (-edges[other].weight, view.entity_id(other)))


def _admitted(view: LiveView, node: int, admits: ChunkPredicate | None) -> bool:
    return admits is None or any(map(admits, view.entities[node].chunks))
