"""Communities of a growing and shrinking weighted graph, kept current at a cost that depends on the change."""

from graphtide.graph.communities.facade import Communities, build
from graphtide.graph.communities.replica import HierarchyReplica
from graphtide.graph.communities.types import CommunityChange, Hierarchy, LevelGraph

__all__ = ["Communities", "CommunityChange", "Hierarchy", "HierarchyReplica", "LevelGraph", "build"]
