"""Q-Peel: a connected k-truss of high relevance, by removing the least relevant nodes (Zeng et al. 2026, Alg. 1).

The embedding-attributed community search (section 5.1) asks for the connected k-truss with the highest QRScore, which
is NP-hard (appendix A.4); this is the paper's heuristic. Invariant: the result is a connected k-truss, so its density
is at least (k - 1) / (n - 1) (appendix A.1) and its diameter at most (2 n - 2) / k (appendix A.2).

Interpretation where the pseudocode leaves a choice: a community is a set of nodes with the edges of the maximal k-truss
among them, since other edges between them may close too few triangles; a removal must improve the score strictly
(section 5.2: "improves the QRScore"); `updated` is reset for every component; of equal scores the larger community is
taken (property 3, maximality), then the first by name.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from graphtide.graph.retrieval.darag.attributed_graph import Adjacency, AttributedGraph, Members, reached


def q_peel(graph: AttributedGraph, k: int) -> Members | None:
    """Return the best community of trussness `k`, ascending positions; None if there is no k-truss.

    The result equals that of Algorithm 1, which restarts from the least relevant node after each removal, at less cost.
    A node that cannot be removed becomes removable only when a neighbour is removed (a cut node too: it connected that
    neighbour alone), so it waits until then; and the tight edges of a node are counted instead of searched again. Cost:
    two products of (n, n) matrices, a row of n for each edge, and a search of the component for each node without a
    tight edge.
    """
    adjacency = graph.truss(k)
    found = [_Peeling(graph, adjacency, component, k).peel() for component in _components(adjacency)]
    if not found:
        return None
    best = found[0]
    for members in found[1:]:
        if _better(graph, members, best):
            best = members
    return best


def _better(graph: AttributedGraph, one: Members, other: Members) -> bool:
    first, second = (sum(graph.relevance[node] for node in members) for members in (one, other))
    return (first * len(other), len(one)) > (second * len(one), len(other))


def _components(adjacency: Adjacency) -> Iterator[Members]:
    """Yield the connected components that have edges, in the order of their first nodes."""
    left: NDArray[np.bool_] = np.asarray(adjacency.any(axis=0))
    while left.any():
        component = reached(adjacency, int(left.argmax()), left)
        left &= ~component
        yield tuple(np.flatnonzero(component).tolist())


class _Peeling:
    """One component while it is peeled: its members, and how many triangles each edge closes.

    An edge is tight when it closes k - 2 triangles, the minimum of a k-truss: it blocks the removal of each node that
    closes one of them. `_holding` counts the tight edges that block each node. Supports only decrease, so an edge
    becomes tight once.
    """

    def __init__(self, graph: AttributedGraph, adjacency: Adjacency, members: Members, k: int) -> None:
        self._k = k
        self._relevance = [graph.relevance[node] for node in members]
        self._members = members
        self._adjacency = adjacency[np.ix_(members, members)].copy()
        counted = self._adjacency.astype(np.float32)
        self._support = (counted @ counted).astype(np.int32) * self._adjacency
        self._tight = self._adjacency & (self._support <= k - 2)
        twice = ((counted @ self._tight.astype(np.float32)) * counted).sum(axis=1)
        self._holding = (twice / 2).astype(np.int64)
        self._alive = np.ones(len(members), dtype=bool)

    def peel(self) -> Members:
        """Remove the least relevant removable node, until there is none or none would improve the mean."""
        heap = [(relevance, node) for node, relevance in enumerate(self._relevance)]
        heapq.heapify(heap)
        total, count, waiting = sum(self._relevance), len(heap), set[int]()
        while heap and heap[0][0] * count < total and count > self._k:
            relevance, node = heapq.heappop(heap)
            if not self._can_go(node):
                waiting.add(node)
                continue
            around = self._remove(node)
            total, count = total - relevance, count - 1
            for other in waiting.intersection(around):
                waiting.discard(other)
                heapq.heappush(heap, (self._relevance[other], other))
        return tuple(self._members[node] for node in np.flatnonzero(self._alive).tolist())

    def _can_go(self, node: int) -> bool:
        """Return whether the rest stays a k-truss (the edges opposite the node keep k - 2 triangles) and connected."""
        if self._holding[node]:
            return False
        around = np.flatnonzero(self._adjacency[node])
        if self._adjacency[around[:, None], around].sum() == len(around) * (len(around) - 1):
            return True
        others = self._alive.copy()
        others[node] = False
        return bool(reached(self._adjacency, int(around[0]), others)[around].all())

    def _remove(self, node: int) -> list[int]:
        """Remove a node without tight edges; return its neighbours."""
        around = np.flatnonzero(self._adjacency[node])
        inner = around[:, None], around
        released = self._tight[node]
        if released.any():
            self._holding -= (self._adjacency[released] & self._adjacency[node]).sum(axis=0)
        for matrix in (self._adjacency, self._tight):
            matrix[node, :] = matrix[:, node] = False
        self._support[node, :] = self._support[:, node] = 0
        edges = self._adjacency[inner]
        support = self._support[inner] - edges
        self._support[inner] = support
        tight = edges & (support == self._k - 2)
        if tight.any():
            self._tight[inner] |= tight
            one, other = np.nonzero(tight)
            upper = one < other
            both = self._adjacency[around[one[upper]]] & self._adjacency[around[other[upper]]]
            self._holding += both.sum(axis=0)
        self._alive[node] = False
        neighbours: list[int] = around.tolist()
        return neighbours
