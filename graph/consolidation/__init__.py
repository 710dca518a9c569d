"""The write model: derives a graph from the documents' contributions. Each graph has one, owned by its writer."""

from graphtide.graph.consolidation.consolidator import Consolidator
from graphtide.graph.consolidation.kernel_work import KernelWork

__all__ = ["Consolidator", "KernelWork"]
