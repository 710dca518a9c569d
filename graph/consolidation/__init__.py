"""From what documents contribute to what the graph is: the write model, one per graph, owned by its single writer."""

from graph.consolidation.consolidator import Consolidator

__all__ = ["Consolidator"]
