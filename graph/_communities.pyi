"""Types of the compiled community kernel (graph/kernels/communities.cpp).

The kernel releases the GIL while it changes edges, builds a hierarchy or loads one. It raises RuntimeError if a second
thread enters it: it has one owner.
"""

import numpy as np
from numpy.typing import NDArray

Int32 = NDArray[np.int32]
Int64 = NDArray[np.int64]

class Kernel:
    def __init__(self) -> None: ...
    def update(self, edges: Int32, deltas: Int64) -> tuple[Int32, Int64, Int64, Int32, Int64, Int64]:
        """Return the fields of ``CommunityChange``. Raises ValueError, changing nothing, for an invalid batch."""

    def fill(self, edges: Int32, weights: Int64) -> None:
        """Add the edges of an empty kernel; call ``build`` or ``load`` next."""

    def build(self) -> None:
        """Build the hierarchy of the edges from scratch."""

    def load(self, tree: tuple[Int32, Int64, Int64, Int32, Int64, int]) -> None:
        """Replace the hierarchy by the fields of a valid ``Hierarchy``; the edges stay."""

    def settle(self) -> None:
        """Split disconnected communities and examine every unit. Call it after a ``load`` that was not a snapshot."""

    def hierarchy(self) -> tuple[Int32, Int64, Int64, Int32, Int64, int]:
        """Return the fields of ``Hierarchy``."""

    def graph(self, level: int) -> tuple[Int64, Int64, Int64, Int64]:
        """Return the fields of ``LevelGraph``."""

    def levels(self) -> int: ...
    def community(self, node: int, level: int) -> int: ...
    def level(self, community: int) -> int: ...
    def parent(self, community: int) -> int: ...
    def members(self, community: int) -> Int64: ...
    def sums(self, level: int) -> tuple[int, int, int]:
        """Return the weight inside communities, the sum of their squared degrees, and the total weight."""

    def work(self) -> tuple[int, int]:
        """Return the fields of ``WorkCounters``."""

    def memory_bytes(self) -> int: ...
