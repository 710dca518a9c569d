"""Personalised PageRank on a changing graph, by local push: a query costs what it reaches, an update its edges.

Two implementations of one Protocol give the same results: a C++ kernel, chosen if it was built, and pure Python.
Nothing is precomputed, so only the adjacency is maintained. The module chooses no seeds and holds no names: nodes are
small ints given by the caller.
"""

from typing import Literal

from graphtide.graph.pagerank.pure import PureWalkGraph
from graphtide.graph.pagerank.types import WalkGraph

__all__ = ["WalkGraph", "build"]

try:
    from graphtide.graph.pagerank.compiled import CompiledWalkGraph
except ImportError:
    COMPILED_AVAILABLE = False
else:
    COMPILED_AVAILABLE = True


def build(*, implementation: Literal["auto", "compiled", "pure"] = "auto") -> WalkGraph:
    """Return an empty walk graph.

    `auto` takes the compiled implementation if the extension was built, else the pure one. Raises ImportError if
    `compiled` is requested and was not built.
    """
    if implementation == "pure" or (implementation == "auto" and not COMPILED_AVAILABLE):
        return PureWalkGraph()
    if not COMPILED_AVAILABLE:
        raise ImportError("the extension graphtide.graph._pagerank was not built: request 'auto' or 'pure'")
    return CompiledWalkGraph()
