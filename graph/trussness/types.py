"""The port of a dynamic truss decomposition: a Protocol, and the change that an update reports.

It knows nothing of documents or entities: nodes are small ints. The implementations are compiled.py and pure.py.
"""

from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

# (n, 2) int32: one undirected edge per row, its two nodes in any order. Nodes are dense and non-negative, and may grow
# over time; the graph is simple and without self-loops.
EdgeArray = NDArray[np.int32]

NO_EDGES: EdgeArray = np.empty((0, 2), dtype=np.int32)
NO_EDGES.flags.writeable = False


@dataclass(frozen=True, slots=True)
class TrussnessChange:
    """Every edge whose trussness after an update is new or different; removed edges are not included."""

    edges: EdgeArray
    """(k, 2) int32, u < v, sorted."""
    values: NDArray[np.int32]
    """(k,) int32, the trussness after the update."""


class Trussness(Protocol):
    """The trussness of every edge of a changing graph, exact after each update.

    An edge of a k-truss closes at least k - 2 triangles in it, and the trussness is the largest such k (Cohen 2008): an
    edge in no triangle has trussness 2. It has one owner at a time. An update is one batch, applied completely or not
    at all.
    """

    @property
    def name(self) -> str:
        """Return `compiled` or `pure`, for `stats` only."""
        ...

    def update(self, added: EdgeArray, removed: EdgeArray) -> TrussnessChange:
        """Remove, then add; return the new and different values. An edge in both arrays is left unchanged.

        Raises ValueError naming the edge, and changes nothing, for an added edge that exists (or is added twice), a
        removed one that does not exist (or is removed twice), a self-loop, a negative node. Cost: the triangles of the
        batch, and of the old edges whose value or position in the peel order changes.
        """
        ...

    def trussness(self, u: int, v: int) -> int:
        """Return the trussness of one edge. Raises KeyError for an unknown edge."""
        ...

    def edges(self) -> tuple[EdgeArray, NDArray[np.int32]]:
        """Return all edges, (n, 2) int32 with u < v and sorted, and their trussness, (n,) int32."""
        ...

    def violations(self) -> list[str]:
        """Check the whole state without an oracle; an empty list proves every value exact.

        Each edge has at most trussness - 2 triangles whose other edges come later in the maintained peel order (no
        value is too low), and at least trussness - 2 whose other edges have its trussness or more (none is too high).
        Cost: all triangles.
        """
        ...

    def violations_of(self, edges: EdgeArray) -> list[str]:
        """Check these edges only, by the same two counts; an unknown edge is a violation.

        Run on the edges of a TrussnessChange it costs what the change did, and finds the errors of that change.
        """
        ...

    def work(self) -> int:
        """Return how many triangles updates have listed since the object was made; O(1).

        It is proportional to the cost of the updates. Which edge sinks first depends on the order in which triangles
        are listed, so implementations differ in it by some per mille.
        """
        ...

    def memory_bytes(self) -> int:
        """Return the bytes held: adjacency and trussness. An estimate for the pure implementation."""
        ...

    def __len__(self) -> int:
        """Return the number of edges."""
        ...
