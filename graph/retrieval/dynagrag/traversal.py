"""Traversal of a subgraph: the order of exploration, and the resulting tree.

Pure, on positions of one ego-graph. Invariant: every entity reachable from the centre is in the tree once, and every
relation is either a tree edge or a non-tree edge.
"""

from __future__ import annotations

import heapq
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass

from graphtide.graph.retrieval.dynagrag.embedding import DECIMALS
from graphtide.graph.retrieval.dynagrag.pruning import Pruned
from graphtide.graph.retrieval.dynagrag.settings import Traversal

CENTRE = 0


@dataclass(frozen=True, slots=True)
class TraversalTree:
    """`order` are positions in order of exploration, `parents` (relation, parent) of each but the centre."""

    order: tuple[int, ...]
    parents: dict[int, tuple[int, int]]
    children: dict[int, tuple[int, ...]]

    def pre_order(self) -> Iterator[tuple[int, int]]:
        """Yield (position, depth), a parent before its children, those in order of exploration."""
        stack = [(CENTRE, 0)]
        while stack:
            place, depth = stack.pop()
            yield place, depth
            stack.extend((child, depth + 1) for child in reversed(self.children.get(place, ())))


def explore(pruned: Pruned, traversal: Traversal, limit: int) -> TraversalTree:
    """Return the first `limit` entities from the centre on.

    Dynamic similarity-aware BFS (section 3.4): the best discovered entity is explored next, by mask times similarity to
    the question, so that a similar neighbour's neighbours precede a less similar neighbour. The paper gives no formula:
    similarity is (1 + cosine) / 2 of the vector that pruning refined. Plain BFS explores in order of discovery. Ties
    are in order of discovery, which is canonical.
    """
    worth = (pruned.nodes * (1 + pruned.similarity) / 2).round(DECIMALS).tolist()
    beside = _beside(pruned)
    waiting = [(0.0, CENTRE, CENTRE)]  # (negative priority, order of discovery, position)
    order: list[int] = []
    parents: dict[int, tuple[int, int]] = {}
    children: dict[int, list[int]] = defaultdict(list)
    while waiting and len(order) < limit:
        _, _, place = heapq.heappop(waiting)
        order.append(place)
        if place != CENTRE:
            children[parents[place][1]].append(place)
        for other, relation in beside[place]:
            if other != CENTRE and other not in parents:
                parents[other] = (relation, place)
                late = -worth[other] if traversal is Traversal.SIMILARITY else 0.0
                heapq.heappush(waiting, (late, len(parents), other))
    return TraversalTree(tuple(order), {p: parents[p] for p in order[1:]}, {p: tuple(c) for p, c in children.items()})


def _beside(pruned: Pruned) -> dict[int, list[tuple[int, int]]]:
    """Return the neighbours of each position, in their order, each by its relation of greatest mask."""
    best: dict[tuple[int, int], int] = {}
    for number, relation in enumerate(pruned.ego.relations):
        for pair in ((relation.subject, relation.object), (relation.object, relation.subject)):
            chosen = best.get(pair)
            if chosen is None or pruned.relations[number] > pruned.relations[chosen]:
                best[pair] = number
    beside: dict[int, list[tuple[int, int]]] = defaultdict(list)
    for (place, other), number in sorted(best.items()):
        beside[place].append((other, number))
    return beside
