"""Dynamic trussness: the truss decomposition of a graph that changes, exact after every batch of edges.

The C++ kernel graph/kernels/trussness.cpp holds all the state. It maintains the order in which a peeling would remove
the edges (Zhang & Yu, SIGMOD 2019), so an update costs what it changes, and the state can verify itself without an
oracle. The module does not search truss communities and holds no names: nodes are small ints given by the caller.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from graphtide.graph._trussness import Kernel

# (n, 2) int32: one undirected edge per row, its two nodes in any order. Nodes are dense and non-negative, and may grow
# over time; the graph is simple and without self-loops.
EdgeArray = NDArray[np.int32]

NO_EDGES: EdgeArray = np.empty((0, 2), dtype=np.int32)
NO_EDGES.flags.writeable = False


class TrussnessChange(NamedTuple):
    """Every edge whose trussness after an update is new or different; removed edges are not included."""

    edges: EdgeArray
    """(k, 2) int32, u < v, sorted."""
    values: NDArray[np.int32]
    """(k,) int32, the trussness after the update."""


class Trussness(Kernel):
    """The trussness of every edge of a changing graph, exact after each update.

    An edge of a k-truss closes at least k - 2 triangles in it, and the trussness is the largest such k (Cohen 2008): an
    edge in no triangle has trussness 2. It has one owner at a time. An update is one batch, applied completely or not
    at all. The GIL is released while the kernel builds, updates and checks. `Trussness(edges)` decomposes the graph of
    these edges, (n, 2) int32 in any order; a million edges per second. graph/_trussness.pyi holds the contracts.
    """

    def update(self, added: EdgeArray, removed: EdgeArray) -> TrussnessChange:
        """Remove, then add; return the new and different values. An edge in both arrays is left unchanged.

        Raises ValueError naming the edge, and changes nothing, for an added edge that exists (or is added twice), a
        removed one that does not exist (or is removed twice), a self-loop, a negative node; TypeError for arrays of
        another type than int32. Cost: the triangles of the batch, and of the old edges whose value or position in the
        peel order changes.
        """
        return TrussnessChange(*super().update(added, removed))
