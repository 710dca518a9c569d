"""Dynamic trussness: the truss decomposition of a graph that changes, exact after every batch of edges.

The C++ kernel graph/kernels/trussness.cpp holds all the state. It maintains the order in which a peeling would remove
the edges (Zhang & Yu, SIGMOD 2019), so an update costs what it changes, and the state can verify itself without an
oracle. The module does not search truss communities and holds no names: nodes are small ints given by the caller.
graph/_trussness.pyi holds the contracts.
"""

import numpy as np
from numpy.typing import NDArray

from graphtide.graph._trussness import Trussness, TrussnessChange

__all__ = ["NO_EDGES", "EdgeArray", "Trussness", "TrussnessChange"]

# (n, 2) int32: one undirected edge per row, its two nodes in any order. Nodes are dense and non-negative, and may grow
# over time; the graph is simple and without self-loops.
EdgeArray = NDArray[np.int32]

NO_EDGES: EdgeArray = np.empty((0, 2), dtype=np.int32)
NO_EDGES.flags.writeable = False
