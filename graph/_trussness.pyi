"""Compiled kernel of graphtide.graph.algorithms.trussness (graph/kernels/trussness.cpp)."""

import numpy as np
from numpy.typing import NDArray

class TrussnessChange(tuple[NDArray[np.int32], NDArray[np.int32]]):
    """Every edge whose trussness after an update is new or different; removed edges are not included.

    It is made from one pair of arrays, and compares as a tuple.
    """

    @property
    def edges(self) -> NDArray[np.int32]:
        """(k, 2) int32, u < v, sorted."""

    @property
    def values(self) -> NDArray[np.int32]:
        """(k,) int32, the trussness after the update."""

class Trussness:
    """The trussness of every edge of a changing graph, exact after each update.

    An edge of a k-truss closes at least k - 2 triangles in it, and the trussness is the largest such k (Cohen 2008): an
    edge in no triangle has trussness 2. It has one owner at a time. An update is one batch, applied completely or not
    at all. The GIL is released while the kernel builds, updates and checks. `Trussness(edges)` decomposes the graph of
    these edges, (n, 2) int32 in any order; a million edges per second.
    """

    def __init__(self, edges: NDArray[np.int32], *, stride: int = ...) -> None:
        """Decompose the graph of these edges: O(sum over edges of the smaller degree).

        `stride` is the distance of labels in the peel order, for tests. Raises ValueError and TypeError as `update`.
        """

    def update(self, added: NDArray[np.int32], removed: NDArray[np.int32]) -> TrussnessChange:
        """Remove, then add; return the new and different values. An edge in both arrays is left unchanged.

        Raises ValueError naming the edge, and changes nothing, for an added edge that exists (or is added twice), a
        removed one that does not exist (or is removed twice), a self-loop, a negative node; TypeError for arrays of
        another type than int32. Cost: the triangles of the batch, and of the old edges whose value or position in the
        peel order changes.
        """

    def trussness(self, u: int, v: int) -> int:
        """Return the trussness of one edge. Raises KeyError for an unknown edge."""

    def edges(self) -> TrussnessChange:
        """Return all edges, (n, 2) int32 with u < v and sorted, and their trussness, (n,) int32."""

    def violations(self) -> list[str]:
        """Check the whole state without an oracle; an empty list proves every value exact.

        Each edge has at most trussness - 2 triangles whose other edges come later in the maintained peel order (no
        value is too low), and at least trussness - 2 whose other edges have its trussness or more (none is too high).
        Cost: all triangles.
        """

    def violations_of(self, edges: NDArray[np.int32]) -> list[str]:
        """Check these edges only, by the same two counts; an unknown edge is a violation.

        Run on the edges of a TrussnessChange it costs what the change did, and finds the errors of that change.
        """

    def work(self) -> int:
        """Return how many triangles updates have listed since the object was made, to which their cost is
        proportional; O(1).
        """

    def memory_bytes(self) -> int:
        """Return the bytes allocated, spare capacity included."""

    def overwrite(self, u: int, v: int, value: int) -> None:
        """Break the state, so that a test can see the self-check fail: only the value changes."""

    def __len__(self) -> int:
        """Return the number of edges."""

class BareAdjacency:
    """The adjacency alone, as the benchmark's yardstick."""

    def __init__(self) -> None: ...
    def insert(self, edges: NDArray[np.int32]) -> None: ...
    def __len__(self) -> int: ...
