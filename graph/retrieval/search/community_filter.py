"""Community filter: the communities of a question's entities, and a search restricted to communities.

Article "graph-rag-algorithms", "Louvain: Community Detection"; here the maintained hierarchy, which is compared with
Leiden (graph/communities). Communities are heuristic and may differ between two builds of the same graph, so no mode
lets them decide which passages it returns, unless its documentation says so. No function here reads a whole community.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass

from graphtide.graph.retrieval.filters import ChunkPredicate
from graphtide.graph.view import LiveView


@dataclass(frozen=True, slots=True)
class CommunityRegion:
    """A community of a level, its share of the question's weight, and its members among the given entities.

    `entities` are by weight, equal ones by name.
    """

    community: int
    share: float
    entities: tuple[int, ...]


def regions(view: LiveView, weights: Mapping[int, float], level: int = 0) -> tuple[CommunityRegion, ...]:
    """Return the communities of weighted entities, the heaviest first. Cost: linear in the given entities.

    Ties are broken by the name of the first entity. Entities without relations are in no community, and left out.
    """
    members: dict[int, list[int]] = {}
    for node in sorted(weights, key=lambda node: (-weights[node], view.entity_id(node))):
        community = view.hierarchy.community(node, level)
        if community:
            members.setdefault(community, []).append(node)
    whole = sum(weights[node] for nodes in members.values() for node in nodes) or 1.0
    found = [
        CommunityRegion(community, sum(weights[node] for node in nodes) / whole, tuple(nodes))
        for community, nodes in members.items()
    ]
    return tuple(sorted(found, key=lambda region: (-region.share, view.entity_id(region.entities[0]))))


def within(
    view: LiveView, communities: Collection[int], level: int = 0, admits: ChunkPredicate | None = None
) -> ChunkPredicate:
    """Return a test of a passage: admitted, and it mentions an entity of one of the communities of that level.

    It serves callers that restrict a search to communities, in every place that takes a filter's test (`find_seeds`,
    `gather`). Cost of a test: the passage's entities.
    """
    chosen = frozenset(communities)

    def inside(chunk: int) -> bool:
        if admits is not None and not admits(chunk):
            return False
        nodes = (view.labels[label].node for label in view.chunks[chunk].mentions.labels)
        return any(view.hierarchy.community(node, level) in chosen for node in nodes)

    return inside
