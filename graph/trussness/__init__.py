"""Dynamic trussness: the truss decomposition of a graph that changes, exact after every batch of edges.

Two implementations of one Protocol give identical values: a C++ kernel, chosen if it was built, and pure Python. Both
maintain the order in which a peeling would remove the edges (Zhang & Yu, SIGMOD 2019), so an update costs what it
changes, and the state can verify itself without an oracle. The module does not search truss communities and holds no
names: nodes are small ints given by the caller.
"""

from typing import Literal

from graphtide.graph.trussness.pure import PureTrussness
from graphtide.graph.trussness.types import NO_EDGES, EdgeArray, Trussness, TrussnessChange

__all__ = ["NO_EDGES", "EdgeArray", "Trussness", "TrussnessChange", "build"]

try:
    from graphtide.graph.trussness.compiled import CompiledTrussness
except ImportError:
    COMPILED_AVAILABLE = False
else:
    COMPILED_AVAILABLE = True


def build(edges: EdgeArray, *, implementation: Literal["auto", "compiled", "pure"] = "auto") -> Trussness:
    """Decompose the graph of these edges, (n, 2) int32 in any order, and return it ready for updates.

    `auto` takes the compiled implementation if the extension was built, else the pure one. Raises ValueError as
    Trussness.update; ImportError if `compiled` is requested and was not built. Cost: O(sum over edges of the smaller
    degree); a million edges per second compiled, a hundred thousand pure.
    """
    if implementation == "pure" or (implementation == "auto" and not COMPILED_AVAILABLE):
        return PureTrussness(edges)
    if not COMPILED_AVAILABLE:
        raise ImportError("the extension graphtide.graph._trussness was not built: request 'auto' or 'pure'")
    return CompiledTrussness(edges)
