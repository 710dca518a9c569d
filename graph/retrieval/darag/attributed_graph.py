"""Attributed graph: a small graph whose nodes have a relevance to the question, the input of community search.

Nodes are positions 0 … n-1 in canonical order, so that a decision by position is a decision by name. Invariant:
relevance is an integer in fixed point: means of it compare exactly, in whatever order they were summed.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from graphtide.graph.algorithms.trussness import EdgeArray, Trussness
from graphtide.graph.layers import LayerLink

ONE = 1 << 30

Members = tuple[int, ...]
Adjacency = NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class AttributedGraph:
    """n nodes by `numbers` in the view, their `relevance` (cosine times ONE), `edges` (m, 2) with `trussness` (m,).

    The trussness is that of this graph, which is at most that of the whole graph.
    """

    numbers: tuple[int, ...]
    relevance: tuple[int, ...]
    edges: EdgeArray
    trussness: NDArray[np.int32]

    @classmethod
    def over(cls, numbers: Sequence[int], cosines: Sequence[float], links: Sequence[LayerLink]) -> AttributedGraph:
        """Build from the numbers in canonical order, their cosines, and a layer's links among them."""
        place = {number: position for position, number in enumerate(numbers)}
        ends = np.array([(place[a], place[b]) for a, b, _ in links], dtype=np.int32).reshape(-1, 2)
        edges, values = Trussness(ends).edges()
        return cls(tuple(numbers), tuple(round(cosine * ONE) for cosine in cosines), edges, values)

    def levels(self) -> list[int]:
        """Return the distinct trussness values, ascending."""
        found: list[int] = np.unique(self.trussness).tolist()
        return found

    def truss(self, k: int) -> Adjacency:
        """Return the maximal k-truss as an (n, n) matrix."""
        kept = self.edges[self.trussness >= k]
        matrix = np.zeros((len(self.numbers), len(self.numbers)), dtype=bool)
        matrix[kept[:, 0], kept[:, 1]] = matrix[kept[:, 1], kept[:, 0]] = True
        return matrix

    def score(self, members: Members) -> float:
        """Return QRScore, the members' mean cosine to the question (equation 1)."""
        return sum(self.relevance[node] for node in members) / len(members) / ONE


def reached(adjacency: Adjacency, start: int, alive: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Return the nodes of `alive` that a path within them connects with `start`. Cost: a row for each node."""
    seen = np.zeros(len(adjacency), dtype=bool)
    seen[start] = True
    frontier = seen.copy()
    while frontier.any():
        frontier = adjacency[frontier].any(axis=0) & alive & ~seen
        seen |= frontier
    return seen
