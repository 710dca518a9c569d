"""Types of the compiled community kernel (graph/kernels/communities.cpp).

Same methods and same results as ``graph.communities.array_adapter.PureKernel``. The GIL is released while edges
change, while
a hierarchy is found and while one is loaded. RuntimeError if another thread is inside: one owner.
"""

import numpy as np
from numpy.typing import NDArray

Int32 = NDArray[np.int32]
Int64 = NDArray[np.int64]

class Kernel:
    def __init__(self) -> None: ...
    def update(self, edges: Int32, deltas: Int64) -> tuple[Int32, Int64, Int64, Int32, Int64, Int64]:
        """Fields of ``CommunityChange``. ValueError, changing nothing, for what cannot be applied."""

    def fill(self, edges: Int32, weights: Int64) -> None:
        """Edges of an empty kernel; ``build`` or ``load`` follows."""

    def build(self) -> None:
        """Find the hierarchy of the edges from nothing."""

    def load(self, tree: tuple[Int32, Int64, Int64, Int32, Int64, int]) -> None:
        """Replace the hierarchy by the fields of a valid ``Hierarchy``; the edges stay."""

    def settle(self) -> None:
        """Split what is disconnected and examine everything; after a ``load`` that was not a snapshot."""

    def hierarchy(self) -> tuple[Int32, Int64, Int64, Int32, Int64, int]:
        """Fields of ``Hierarchy``."""

    def graph(self, level: int) -> tuple[Int64, Int64, Int64, Int64]:
        """Fields of ``LevelGraph``."""

    def levels(self) -> int: ...
    def community(self, node: int, level: int) -> int: ...
    def level(self, community: int) -> int: ...
    def parent(self, community: int) -> int: ...
    def members(self, community: int) -> Int64: ...
    def sums(self, level: int) -> tuple[int, int, int]:
        """Weight inside communities, sum of their squared degrees, total weight."""

    def work(self) -> tuple[int, int]:
        """Fields of ``Work``."""

    def memory_bytes(self) -> int: ...
