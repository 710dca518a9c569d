"""The compiled implementation: a thin wrapper of the kernel graph/kernels/trussness.cpp, which holds all the state.

Importing this module fails with ImportError if the extension was not built; graph.trussness.build then uses pure.py.
"""

import numpy as np
from numpy.typing import NDArray

from graphtide.graph._trussness import Kernel
from graphtide.graph.trussness.types import EdgeArray, TrussnessChange


class CompiledTrussness:
    """Trussness maintained by the C++ kernel; the GIL is released while it builds, updates and checks.

    The contract is that of graph.trussness.types.Trussness. Arrays of another type than int32 raise TypeError.
    """

    name = "compiled"

    def __init__(self, edges: EdgeArray) -> None:
        """Decompose the graph of these edges: O(sum over edges of the smaller degree)."""
        self.adopt(Kernel(edges))

    def adopt(self, kernel: Kernel) -> None:
        """Wrap this kernel from now on."""
        self.kernel = kernel
        self._update = kernel.update

    def update(self, added: EdgeArray, removed: EdgeArray) -> TrussnessChange:
        """See Trussness.update."""
        return TrussnessChange(*self._update(added, removed))

    def trussness(self, u: int, v: int) -> int:
        """See Trussness.trussness."""
        return self.kernel.trussness(u, v)

    def edges(self) -> tuple[EdgeArray, NDArray[np.int32]]:
        """See Trussness.edges."""
        return self.kernel.edges()

    def violations(self) -> list[str]:
        """See Trussness.violations."""
        return self.kernel.violations()

    def violations_of(self, edges: EdgeArray) -> list[str]:
        """See Trussness.violations_of."""
        return self.kernel.violations_of(edges)

    def work(self) -> int:
        """See Trussness.work."""
        return self.kernel.work()

    def memory_bytes(self) -> int:
        """Return the bytes allocated by the kernel, spare capacity included."""
        return self.kernel.memory_bytes()

    def __len__(self) -> int:
        """Return the number of edges."""
        return len(self.kernel)
