"""What a dynamic truss decomposition is to its callers: a Protocol, and the change that an update reports.

It is not an implementation (compiled.py, pure.py), and knows nothing of documents or entities: nodes are small ints.
"""

from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

# (n, 2) int32: one undirected edge a row, its two nodes in any order. Nodes are dense and non-negative, and may grow
# over time; the graph is simple and without self-loops.
EdgeArray = NDArray[np.int32]

NO_EDGES: EdgeArray = np.empty((0, 2), dtype=np.int32)
NO_EDGES.flags.writeable = False


@dataclass(frozen=True, slots=True)
class TrussnessChange:
    """Every edge whose trussness after an update is new or differs from before; removed edges are not in it."""

    edges: EdgeArray
    """(k, 2) int32, u < v, sorted."""
    values: NDArray[np.int32]
    """(k,) int32, the trussness after the update."""


class Trussness(Protocol):
    """The trussness of every edge of a changing graph, exact after each update.

    An edge of a k-truss closes at least k - 2 triangles in it, and the trussness is the largest such k (Cohen 2008):
    an edge in no triangle has trussness 2. One owner at a time; an update is one batch and all of it or none of it
    happens.
    """

    @property
    def name(self) -> str:
        """`compiled` or `pure`: for `stats`, and for nothing else."""
        ...

    def update(self, added: EdgeArray, removed: EdgeArray) -> TrussnessChange:
        """Remove, then add; return what is new or differs. An edge in both arrays is left as it is.

        ValueError, naming the edge, and nothing done: an added edge that is there (or added twice), a removed one
        that is not there (or removed twice), a self-loop, a negative node.
        Cost: the triangles of the batch, and of the old edges whose value or place in the peel order changes.
        """
        ...

    def trussness(self, u: int, v: int) -> int:
        """Return the trussness of one edge; KeyError if there is no such edge."""
        ...

    def edges(self) -> tuple[EdgeArray, NDArray[np.int32]]:
        """Return all edges, (n, 2) int32 with u < v and sorted, and their trussness, (n,) int32."""
        ...

    def violations(self) -> list[str]:
        """Check the whole state without an oracle; an empty list proves every value exact.

        Each edge has at most trussness - 2 triangles whose other edges come later in the kept peel order (no value is
        too low), and at least trussness - 2 whose other edges have its trussness or more (none is too high).
        Cost: all triangles.
        """
        ...

    def violations_of(self, edges: EdgeArray) -> list[str]:
        """Check these edges only, by the same two counts; an edge that is not there is a violation.

        Run on the edges of a TrussnessChange it costs what the change did, and finds what went wrong there.
        """
        ...

    def work(self) -> int:
        """Return how many triangles updates have listed since the object was made; O(1).

        An update's cost follows it. Which edge sinks first depends on the order in which triangles are listed, so
        implementations differ in it by some per mille.
        """
        ...

    def memory_bytes(self) -> int:
        """Return the bytes held: adjacency and trussness. An estimate for the pure implementation."""
        ...

    def __len__(self) -> int:
        """Return the number of edges."""
        ...
