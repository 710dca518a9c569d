"""The compiled implementation: checks in Python, then the kernel graph/kernels/pagerank.cpp, which holds the graph.

Importing this module fails with ImportError if the extension was not built; graph.pagerank.build then uses pure.py.
"""

from graphtide.graph._pagerank import Kernel
from graphtide.graph.pagerank.types import Nodes, Scores, checked_restart, checked_update


class CompiledWalkGraph:
    """A WalkGraph in C++; the GIL is released while it updates and pushes."""

    name = "compiled"

    def __init__(self) -> None:
        """Create an empty graph."""
        self._kernel = Kernel()

    def update(self, edges: Nodes, weights: Scores) -> None:
        """See WalkGraph.update."""
        self._kernel.update(*checked_update(edges, weights))

    def push(
        self,
        seeds: Nodes,
        mass: Scores,
        *,
        damping: float = 0.5,
        epsilon: float = 1e-4,
        max_pushes: int = 1_000_000,
    ) -> tuple[Nodes, Scores]:
        """See WalkGraph.push."""
        start = checked_restart(seeds, mass, damping, epsilon, max_pushes)
        return self._kernel.push(start.seeds, start.units, start.damping, start.tolerance, start.unit, start.max_pushes)

    def degree(self, node: int) -> float:
        """See WalkGraph.degree."""
        return self._kernel.degree(node)

    def weight(self, u: int, v: int) -> float:
        """See WalkGraph.weight."""
        return self._kernel.weight(u, v)

    def memory_bytes(self) -> int:
        """Return the bytes allocated by the kernel."""
        return self._kernel.memory_bytes()

    def __len__(self) -> int:
        """Return the number of edges."""
        return len(self._kernel)
