"""From what documents contribute to what the graph is: the write model, one per graph, owned by its single writer."""

from graphtide.graph.consolidation.consolidator import Consolidator
from graphtide.graph.consolidation.kernel_work import KernelWork

__all__ = ["Consolidator", "KernelWork"]
