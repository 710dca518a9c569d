"""From what documents contribute to what the graph is: the write model, one per graph, owned by its single writer."""

from graph.consolidation.consolidator import Consolidator
from graph.consolidation.effort import Effort

__all__ = ["Consolidator", "Effort"]
