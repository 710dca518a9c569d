"""The oracle of dynamic trussness: a set of edges, and networkx.k_truss run from scratch for every requested value.

It is slow and keeps no derived state between updates, so nothing in it can be stale. Same interface as
graphtide.graph.algorithms.trussness.Trussness; `violations` is empty by construction.
"""

import networkx
import numpy as np
from numpy.typing import NDArray

from graphtide.graph.algorithms.trussness import EdgeArray, TrussnessChange

Pair = tuple[int, int]


def trussness_by_networkx(edges: set[Pair]) -> dict[Pair, int]:
    """Return the trussness of every edge: the largest k for which networkx.k_truss keeps it."""
    graph = networkx.Graph(sorted(edges))
    values: dict[Pair, int] = {}
    k = 2
    while graph.number_of_edges():
        values.update(((min(pair), max(pair)), k) for pair in graph.edges())
        k += 1
        graph = networkx.k_truss(graph, k)
    return values


class TrussnessOracle:
    """Trussness by recomputation."""

    def __init__(self, edges: EdgeArray) -> None:
        self._values: dict[Pair, int] = {}
        self.update(edges, np.empty((0, 2), dtype=np.int32))

    def update(self, added: EdgeArray, removed: EdgeArray) -> TrussnessChange:
        """Remove, then add, then recompute everything and compare."""
        present = set(self._values)
        to_add, to_remove = _pairs(added), _pairs(removed)
        for pair in to_remove:
            if pair not in present:
                raise ValueError(f"edge {pair} is not there")
            present.remove(pair)
        for pair in to_add:
            if pair in present or pair[0] < 0 or pair[0] == pair[1]:
                raise ValueError(f"edge {pair} cannot be added")
            present.add(pair)
        before, self._values = self._values, trussness_by_networkx(present)
        return TrussnessChange(_columns({e: k for e, k in self._values.items() if before.get(e) != k}))

    def trussness(self, u: int, v: int) -> int:
        """Return the trussness of one edge; KeyError if there is no such edge."""
        return self._values[min(u, v), max(u, v)]

    def edges(self) -> tuple[EdgeArray, NDArray[np.int32]]:
        """Return all edges and their trussness."""
        return _columns(self._values)

    def violations(self) -> list[str]:
        """Return nothing: every value has just been computed."""
        return []

    def violations_of(self, edges: EdgeArray) -> list[str]:
        """Return those of the edges that are absent."""
        return [f"edge {pair} is not there" for pair in _pairs(edges) if pair not in self._values]

    def memory_bytes(self) -> int:
        """Return a rough size, which no test measures."""
        return 100 * len(self._values)

    def __len__(self) -> int:
        return len(self._values)


def _pairs(edges: EdgeArray) -> list[Pair]:
    return [(min(u, v), max(u, v)) for u, v in edges.tolist()]


def _columns(values: dict[Pair, int]) -> tuple[EdgeArray, NDArray[np.int32]]:
    rows = sorted(values.items())
    edges = np.array([pair for pair, _ in rows], dtype=np.int32).reshape(-1, 2)
    return edges, np.array([value for _, value in rows], dtype=np.int32)
