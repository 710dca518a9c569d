"""The pure-Python implementation: needs no compiler, and its values equal the kernel's for every edge.

It is slow (tens to hundreds of microseconds per edge). It is the kernel's method, step by step, in readable form:
decomposing.py, inserting.py, raising.py, removing.py, audit.py over state.py.
"""

from sys import getsizeof

import numpy as np
from numpy.typing import NDArray

from graphtide.graph.trussness.audit import check_all, check_edges
from graphtide.graph.trussness.decomposing import decompose
from graphtide.graph.trussness.inserting import insert
from graphtide.graph.trussness.removing import remove
from graphtide.graph.trussness.state import PeelState
from graphtide.graph.trussness.types import EdgeArray, TrussnessChange

Pair = tuple[int, int]


class PureTrussness:
    """Trussness in Python lists and dicts. The contract is that of graphtide.graph.trussness.types.Trussness."""

    name = "pure"

    def __init__(self, edges: EdgeArray) -> None:
        """Decompose the graph of these edges: O(sum over edges of the smaller degree)."""
        self._state = PeelState()
        decompose(self._state, _pairs(edges, "is given twice"))

    def update(self, added: EdgeArray, removed: EdgeArray) -> TrussnessChange:
        """See Trussness.update."""
        state = self._state
        to_add, to_remove = _pairs(added, "is added twice"), _pairs(removed, "is removed twice")
        gone = self._present(to_remove)
        unchanged = set(to_add) & set(to_remove)
        to_add = [pair for pair in to_add if pair not in unchanged]
        for u, v in to_add:
            if state.find(u, v) is not None:
                raise ValueError(f"edge ({u}, {v}) is there already")
        state.changes.clear()
        remove(state, [edge for edge, pair in zip(gone, to_remove, strict=True) if pair not in unchanged])
        insert(state, [state.create(u, v) for u, v in to_add])
        changed = [edge for edge, before in state.changes.items() if state.trussness[edge] != before]
        return TrussnessChange(*self._columns(changed))

    def _present(self, pairs: list[Pair]) -> list[int]:
        found: list[int] = []
        for u, v in pairs:
            edge = self._state.find(u, v)
            if edge is None:
                raise ValueError(f"edge ({u}, {v}) is not there")
            found.append(edge)
        return found

    def _columns(self, edges: list[int]) -> tuple[EdgeArray, NDArray[np.int32]]:
        rows = sorted((*self._state.ends_of(edge), self._state.trussness[edge]) for edge in edges)
        table = np.array(rows, dtype=np.int32).reshape(-1, 3)
        return np.ascontiguousarray(table[:, :2]), np.ascontiguousarray(table[:, 2])

    def trussness(self, u: int, v: int) -> int:
        """See Trussness.trussness."""
        edge = self._state.find(u, v)
        if edge is None:
            raise KeyError(f"edge ({u}, {v}) is not there")
        return self._state.trussness[edge]

    def edges(self) -> tuple[EdgeArray, NDArray[np.int32]]:
        """See Trussness.edges."""
        return self._columns(self._state.live())

    def violations(self) -> list[str]:
        """See Trussness.violations."""
        return list(check_all(self._state))

    def violations_of(self, edges: EdgeArray) -> list[str]:
        """See Trussness.violations_of."""
        return list(check_edges(self._state, _as_pairs(edges)))

    def work(self) -> int:
        """See Trussness.work."""
        return self._state.work

    def memory_bytes(self) -> int:
        """Estimate the bytes held: the containers, and 32 for each int of an edge."""
        state = self._state
        columns = (state.ends, state.trussness, state.later, state.support, state.label, state.previous, state.next)
        own_ints = 32 * 4 * len(state.ends)
        return own_ints + sum(map(getsizeof, columns)) + sum(map(getsizeof, state.adjacency))

    def __len__(self) -> int:
        """Return the number of edges."""
        return len(self._state.ends) - len(self._state.free)


def _as_pairs(edges: EdgeArray) -> list[Pair]:
    if edges.dtype != np.int32:
        raise TypeError(f"edges must be int32, not {edges.dtype}")
    if edges.ndim != 2 or edges.shape[1] != 2:
        raise ValueError("edges must have the shape (n, 2)")
    return [(u, v) for u, v in edges.tolist()]


def _pairs(edges: EdgeArray, twice: str) -> list[Pair]:
    """Return the edges as pairs u < v, sorted, each once. Raises ValueError naming the first invalid edge."""
    pairs = sorted((min(pair), max(pair)) for pair in _as_pairs(edges))
    for before, (u, v) in zip([None, *pairs], pairs, strict=False):
        if u < 0:
            raise ValueError(f"edge ({u}, {v}) has a negative node")
        if u == v:
            raise ValueError(f"edge ({u}, {v}) is a self-loop")
        if before == (u, v):
            raise ValueError(f"edge ({u}, {v}) {twice}")
    return pairs
