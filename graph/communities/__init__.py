"""Communities of a growing and shrinking weighted graph, kept current at a cost that depends on the change."""

from graph.communities.contract import Communities, CommunityChange, Hierarchy, LevelGraph
from graph.communities.live import build
from graph.communities.mirror import MirroredHierarchy

__all__ = ["Communities", "CommunityChange", "Hierarchy", "LevelGraph", "MirroredHierarchy", "build"]
